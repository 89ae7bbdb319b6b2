//! A tape of the messages that servers send, byte by byte, for runs in which it matters what was said and not only how much.

use tidemark_core::Micros;
use tidemark_node::{Content, NodeId, Sink, What};

/// A message of a server, as it left.
pub(crate) struct Sent {
    /// When.
    pub(crate) at_us: Micros,
    /// The node that it left.
    pub(crate) from: NodeId,
    /// Where it goes: to another server's node, or to that of a session.
    pub(crate) to: NodeId,
    /// It belongs to a read-only transaction that runs.
    pub(crate) transaction: bool,
    /// The message in the form in which nodes send it; empty if it is a refusal.
    pub(crate) bytes: Vec<u8>,
}

/// All that servers said, in the order in which they said it.
#[derive(Default)]
pub(crate) struct Tape(pub(crate) Vec<Sent>);

impl Tape {
    /// Adds what leaves, if a server says it.
    pub(super) fn add(
        &mut self,
        at_us: Micros,
        (from, to): (NodeId, NodeId),
        transaction: bool,
        what: What<'_>,
    ) {
        let content = match what {
            What::Message { content, .. } | What::Record { content, .. } | What::Beat { content, .. } => {
                Some(content)
            }
            What::Reply { content, .. } => content,
            What::Request { .. } | What::Token { .. } | What::Raft { .. } | What::Timers => return,
        };
        let bytes = content.map(bytes_of).unwrap_or_default();
        self.0.push(Sent { at_us, from, to, transaction, bytes });
    }
}

fn bytes_of(content: &dyn Content) -> Vec<u8> {
    struct Bytes(Vec<u8>);
    impl Sink for Bytes {
        fn byte(&mut self, byte: u8) {
            self.0.push(byte);
        }

        fn bytes(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }
    }
    let mut sink = Bytes(Vec::new());
    content.pour(&mut sink);
    sink.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, PartitionId, ServerId};

    #[test]
    fn only_what_servers_say_is_on_the_tape() {
        let mut tape = Tape::default();
        let server = |p| ServerId::new(DcId(0), PartitionId(p));
        let ends = (NodeId(0), NodeId(1));
        let message = What::Message { from: server(0), to: server(1), content: &(7u8, "ab") };
        tape.add(5, ends, true, message);
        tape.add(6, ends, false, What::Timers);
        let [Sent { at_us: 5, transaction: true, bytes, .. }] = &tape.0[..] else { panic!("one message") };
        assert_eq!(bytes, &[7, 2, b'a', b'b']);
    }
}
