//! FUNCTION's subcommands: each reads the libraries, and then answers, or writes on what it has read. If somebody else has written
//! meanwhile, it begins anew.

use super::reading::{at_mark, replies};
use super::{Libraries, Read, Reading};
use crate::redis::prelude::*;
use tidemark_core::Micros;

/// What a subcommand comes to at this time: requests that it writes, and its reply.
type Decide = dyn Fn(&Libraries, Micros) -> Result<(Vec<Vec<Bytes>>, Reply), ErrorReply>;

/// The task of a subcommand.
pub(in crate::redis) fn manage(
    decide: impl Fn(&Libraries, Micros) -> Result<(Vec<Vec<Bytes>>, Reply), ErrorReply> + 'static,
) -> Task {
    Task::several(Manage {
        decide: Box::new(decide),
        reading: Reading::default(),
        writing: None,
        written: None,
    })
}

struct Manage {
    decide: Box<Decide>,
    reading: Reading,
    /// The reply, while it writes.
    writing: Option<Reply>,
    /// The reply, while it reads what it has written: then this node knows what the functions do.
    written: Option<Reply>,
}

impl Steps for Manage {
    fn begin(&mut self, _: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(Step::Op(self.reading.begin()))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        if let Some(reply) = self.writing.take() {
            if replies(outcome)?.is_none() {
                return self.begin(keyspace, out);
            }
            self.written = Some(reply);
            return self.begin(keyspace, out);
        }
        let (mark, libraries) = match self.reading.step(outcome, keyspace.scripts)? {
            Read::Op(op) => return Ok(Step::Op(op)),
            Read::Libraries(mark, libraries) => (mark, libraries),
        };
        if let Some(reply) = self.written.take() {
            typed::write(&reply, out);
            return Ok(Step::Done);
        }
        let (writes, reply) = (self.decide)(&libraries, keyspace.now)?;
        if writes.is_empty() {
            typed::write(&reply, out);
            return Ok(Step::Done);
        }
        self.writing = Some(reply);
        Ok(Step::Op(at_mark(mark, &writes)))
    }
}
