//! Developer commands behind `./x`.

mod bench;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((verb, rest)) if verb == "bench" => bench::run(rest),
        _ => anyhow::bail!("usage: ./x bench …"),
    }
}
