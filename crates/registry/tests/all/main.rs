//! Tests of the registry. Beside the library, which would be compiled once more for tests in it: that takes minutes.

mod names;
