//! TIDE.COMMIT.

use super::TIDEMARK;
use crate::redis::interactive::Ending;
use crate::redis::prelude::*;
use tidemark_core::Failure;

pub(super) static SPEC: Spec = Spec {
    name: "tide.commit",
    arity: -1,
    flags: &["noscript", "no_multi"],
    syntax: "[CHECK]",
    summary: "Commits the transaction that TIDE.BEGIN has begun: all of its writes are seen at once, or none.",
    remark: "With CHECK (`tidemark` only) nothing is written, and the reply is null, if a key that the transaction has read is another \
             one here now. Another region may change it at the same time: what both write merges, type by type.",
    handler: Handler::Local(|connection, call, _| {
        let check = match &call.arguments[..] {
            [] => false,
            [word] if word.eq_ignore_ascii_case(b"check") => true,
            _ => return Err(ErrorReply::SYNTAX),
        };
        let ending = connection.interactive.commit(check);
        let ending = ending.ok_or(ErrorReply::fixed("ERR TIDE.COMMIT without TIDE.BEGIN"))?;
        Ok(Next::Begin(Task::several(End::of(ending))))
    }),
    ..TIDEMARK
};

/// The end of a transaction, between two of its steps.
pub(super) struct End {
    ending: Option<Ending>,
    /// Nothing that was to be checked has changed.
    unchanged: bool,
    /// Why it was not committed.
    failed: Option<ErrorReply>,
}

impl End {
    pub(super) fn of(ending: Ending) -> Self {
        Self { ending: Some(ending), unchanged: true, failed: None }
    }

    fn next(&mut self, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let Some(Ending { commit, end }) = self.ending.take() else {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            match self.unchanged {
                true => out.ok(),
                false => out.null(),
            }
            return Ok(Step::Done);
        };
        Ok(Step::Op(match commit {
            Some(commit) => {
                self.ending = Some(Ending { commit: None, end });
                commit
            }
            None => end,
        }))
    }
}

impl Steps for End {
    fn begin(&mut self, _: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        self.next(out)
    }

    /// A commit that was refused gives its snapshot back all the same. If a server did not answer, the client is not kept waiting for
    /// another one: the snapshot is not held for ever. Nor does that undo a commit.
    fn after_failure(
        &mut self,
        failure: &Failure,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Option<Step>, ErrorReply> {
        if self.ending.is_some() {
            if matches!(failure, Failure::Unavailable(_) | Failure::Indefinite(_)) {
                return Ok(None);
            }
            self.failed = Some(ErrorReply::of(failure));
        }
        self.next(out).map(Some)
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        match outcome {
            Outcome::Written { previous: Some(_), .. } => self.unchanged = false,
            Outcome::Written { .. } => {}
            _ => return Err(ErrorReply::UNEXPECTED),
        }
        self.next(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::Scripts;
    use tidemark_contract::Topology;
    use tidemark_core::{Hlc, PartitionId, Snapshot, Transact};
    use tidemark_wire::resp::Version;

    /// What is asked and answered when a commit and the end that follows come to this.
    fn told(outcomes: [Outcome; 2]) -> Vec<String> {
        let snapshot = Snapshot { holder: PartitionId(0), life: 1, number: 1, floor: Hlc::ZERO, base: false };
        let commit = Op::Transact(Box::new(Transact::Commit { writes: Vec::new(), watched: Vec::new() }));
        let end = Op::Transact(Box::new(Transact::End { snapshot }));
        let mut steps = End::of(Ending { commit: Some(commit), end });
        let (topology, scripts) = (Topology::new(1, 1), Scripts::default());
        let keyspace = Keyspace {
            topology: &topology,
            write_transactions: true,
            types: true,
            now: 0,
            scripts: &scripts,
        };
        let (mut written, mut told) = (Vec::new(), Vec::new());
        let mut out = Encoder::new(&mut written, Version::Resp2);
        let mut step = steps.begin(&keyspace, &mut out).map(Some);
        for outcome in outcomes {
            match step {
                Ok(Some(Step::Op(op))) => {
                    let Op::Transact(asked) = op else { panic!("it is a step of a transaction") };
                    told.push(if let Transact::End { .. } = *asked { "end" } else { "commit" }.into());
                }
                _ => break,
            }
            step = match outcome {
                Outcome::Failed(failure) => steps.after_failure(&failure, &keyspace, &mut out),
                outcome => steps.step(outcome, &keyspace, &mut out).map(Some),
            };
        }
        match step {
            Ok(Some(Step::Done)) => told.push(String::from_utf8(written).expect("text").trim().into()),
            Ok(_) => told.push("fails with that".into()),
            Err(error) => {
                error.write(&mut out);
                told.push(String::from_utf8(written).expect("text").trim().into());
            }
        }
        told
    }

    #[test]
    fn a_snapshot_is_given_back_unless_a_server_does_not_answer() {
        let done = || Outcome::Written { stamp: None, previous: None };
        let changed = || Outcome::Written { stamp: None, previous: Some(Found::default()) };
        let lost = || Outcome::Failed(Failure::Unavailable("gone".into()));
        let refused = || Outcome::Failed(Failure::Refused("too late".into()));
        assert_eq!(told([done(), done()]), ["commit", "end", "+OK"]);
        assert_eq!(told([changed(), done()]), ["commit", "end", "$-1"]);
        assert_eq!(told([refused(), done()]), ["commit", "end", "-ERR too late"]);
        assert_eq!(told([refused(), lost()]), ["commit", "end", "-ERR too late"]);
        assert_eq!(told([lost(), done()]), ["commit", "fails with that"]);
        assert_eq!(told([done(), lost()]), ["commit", "end", "+OK"], "it has committed");
    }
}
