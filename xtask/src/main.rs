//! Developer commands behind `./x`.

fn main() {}
