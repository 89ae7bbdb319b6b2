//! What several tests share.

pub(crate) mod draw;
pub(crate) mod json;
pub(crate) mod script;

use std::path::PathBuf;

/// A file of `tests/fixtures`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Compares `text` with a fixture; with `UPDATE_GOLDEN=1` it is written instead. Do that only if you understand why it differs:
/// clients in other languages are tested with the same files.
pub(crate) fn golden(name: &str, text: &str) {
    let path = fixture(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
        std::fs::write(&path, text).expect("it can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (there, here)) in there.lines().zip(text.lines()).enumerate() {
        assert_eq!(there, here, "{name}:{}", number + 1);
    }
    assert_eq!(there.lines().count(), text.lines().count(), "{name}: its length");
}
