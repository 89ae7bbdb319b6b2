//! Messages between servers, counted by what they are and on whose behalf they are sent.

use std::fmt::{self, Debug, Write};

/// Messages of one kind between servers.
#[derive(Clone, Copy, Default)]
pub(super) struct Traffic {
    pub(super) near: u64,
    pub(super) far: u64,
    pub(super) bytes: u64,
}

/// Messages of one variant between servers, by cause: of each kind of operation, and of nobody.
#[derive(Default)]
pub(super) struct Variant {
    /// It was sent while nobody asked anything.
    pub(super) idle: bool,
    pub(super) caused: [Traffic; 3],
    pub(super) uncaused: Traffic,
    /// After the end.
    pub(super) uncaused_late: Traffic,
}

impl Traffic {
    /// One message more.
    pub(super) fn add(&mut self, near: bool, bytes: u64) {
        if near {
            self.near += 1
        } else {
            self.far += 1
        }
        self.bytes += bytes;
    }

    /// Several more.
    pub(super) fn include(&mut self, other: Self) {
        self.near += other.near;
        self.far += other.far;
        self.bytes += other.bytes;
    }
}

/// The name of a message's variant: the first word of its description.
pub(super) fn variant_name(message: &impl Debug) -> String {
    struct FirstWord(String);
    impl Write for FirstWord {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
            self.0.push_str(&text[..end.unwrap_or(text.len())]);
            if end.is_some() { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut word = FirstWord(String::new());
    let _ = write!(word, "{message:?}"); // ends at the end of the word
    word.0
}

#[cfg(test)]
mod tests {
    use super::super::Cause;
    use super::*;

    #[test]
    fn a_message_is_called_by_its_variant() {
        assert_eq!(variant_name(&Some(vec![1])), "Some");
        assert_eq!(variant_name(&Cause::Op { number: 1, hops: 2 }), "Op");
        assert_eq!(variant_name(&Cause::Nobody), "Nobody");
    }
}
