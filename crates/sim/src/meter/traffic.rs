//! Messages between servers, counted by what they are and on whose behalf they are sent.

use super::KINDS;
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
    pub(super) caused: [Traffic; KINDS.len()],
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

/// How much of a message's description is read.
const HEAD: usize = 80;

/// What a message says of itself: the first word of its description, its variant; and its `id`, which a question and the
/// answers to it share, if it has one at its head.
pub(crate) fn heading(message: &(impl Debug + ?Sized)) -> (String, Option<String>) {
    struct Head(String);
    impl Write for Head {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.push_str(text);
            if self.0.len() < HEAD { Ok(()) } else { Err(fmt::Error) }
        }
    }
    let mut head = Head(String::new());
    let _ = write!(head, "{message:?}"); // ends where enough is read
    let variant = head.0.split(|c: char| !c.is_alphanumeric() && c != '_').next();
    let id = head.0.split_once("{ id: ").and_then(|(_, id)| id.split_once([',', ' ']));
    (variant.unwrap_or_default().to_string(), id.map(|(id, _)| id.to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::Cause;
    use super::*;
    use tidemark_contract::SliceReq;
    use tidemark_contract::gather::Gather;

    #[test]
    fn a_message_is_called_by_its_variant() {
        assert_eq!(heading(&Some(vec![1])), ("Some".into(), None));
        assert_eq!(heading(&Cause::Op { number: 1, hops: 2 }), ("Op".into(), None));
        assert_eq!(heading(&Cause::Nobody), ("Nobody".into(), None));
    }

    #[test]
    fn a_question_and_its_answer_have_one_id() {
        let id = Gather::new(3).open(Vec::new(), 0, ());
        let message = Some(SliceReq { id, keys: vec![(0, "x".into()); 99].into(), at: 7 });
        assert_eq!(heading(&message), ("Some".into(), Some(format!("{id:?}"))));
    }
}
