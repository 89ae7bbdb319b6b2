//! Commands that wait until there is something: BLPOP and its kin.
//!
//! Such a command tries what it does on each of its keys, in order, one operation a key: the keys may lie in several
//! partitions. If none has anything it asks to wait ([`Step::Block`]). The gateway lets it try again when something may
//! have become available, or tells it that its time is up.

use super::error::ErrorReply;
use super::keyspace::Keyspace;
use super::task::{Step, Steps, Task};
use super::typed::{self, Answered};
use bytes::Bytes;
use tidemark_core::{Command, Key, Micros, Op, Outcome, Reply, Verb};
use tidemark_wire::resp::Encoder;

/// For what a command waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// One of these keys has to have something.
    pub keys: Vec<Key>,
    /// What it has to have.
    pub queue: Queue,
    /// How long it waits; for ever if there is none.
    pub timeout_us: Option<Micros>,
    /// Instead of a key, that so much is confirmed.
    pub confirmed: Option<Confirmed>,
}

/// Those who wait for the same at a key: if there is nothing for the first of them, there is nothing for the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// For an element of a list.
    List,
    /// For a member of a sorted set.
    SortedSet,
    /// For an entry that was not delivered to this consumer group of a stream.
    ConsumerGroup(Bytes),
    /// For an entry of a stream, everybody behind an id of its own.
    Stream,
}

/// How much has to be confirmed of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmed {
    /// That it is synced in this region; none if nothing is said of that.
    pub local: Option<bool>,
    /// That so many other regions have received it durably.
    pub regions: usize,
}

impl Confirmed {
    /// Whether this is enough.
    pub fn is_met(&self, synced: bool, regions: usize) -> bool {
        regions >= self.regions && (synced || self.local != Some(true))
    }
}

/// How the keys are tried, and what is answered.
pub(super) enum Form {
    /// LPOP or RPOP: the key and the element.
    Element(Verb),
    /// ZPOPMIN or ZPOPMAX: the key, the member and its score.
    Scored(Verb),
    /// LMPOP or ZMPOP with these arguments behind the keys: as they answer.
    Several(Verb, Vec<Bytes>),
    /// LMOVE or RPOPLPUSH to a key, with these arguments: the element.
    Move(Verb, Key, Vec<Bytes>),
}

/// A command that waits, between two of its operations.
struct Blocking {
    wanted: Wanted,
    form: Form,
    /// The key that is tried.
    at: usize,
    /// It has tried all keys once. From then on keys of another type are passed over, as in Redis.
    waits: bool,
    /// It asks how long its source is: if that is a list then the destination has the wrong type.
    measures: bool,
}

/// The task of a command that waits.
pub(super) fn task(wanted: Wanted, form: Form) -> Task {
    Task::several(Blocking { wanted, form, at: 0, waits: false, measures: false })
}

/// A timeout: seconds, perhaps with a fraction; 0 is for ever.
pub(super) fn timeout(text: &[u8]) -> Result<Option<Micros>, ErrorReply> {
    const NO_FLOAT: ErrorReply = ErrorReply::fixed("ERR timeout is not a float or out of range");
    let seconds: f64 = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(NO_FLOAT)?;
    if seconds.is_nan() {
        return Err(NO_FLOAT);
    }
    let milliseconds = (seconds * 1_000.0).ceil();
    if milliseconds < 0.0 {
        return Err(ErrorReply::fixed("ERR timeout is negative"));
    }
    if milliseconds >= i64::MAX as f64 {
        return Err(ErrorReply::fixed("ERR timeout is out of range"));
    }
    Ok((milliseconds > 0.0).then(|| (milliseconds as Micros).saturating_mul(1_000)))
}

impl Blocking {
    /// The operation that tries the current key.
    fn attempt(&self) -> Op {
        let key = self.wanted.keys[self.at].clone();
        let command = match &self.form {
            Form::Element(verb) | Form::Scored(verb) => Command::new(*verb, Vec::new()),
            Form::Several(verb, args) => Command::new(*verb, args.clone()),
            Form::Move(verb, to, args) => {
                Command { keys: vec![to.clone()], ..Command::new(*verb, args.clone()) }
            }
        };
        typed::call(key, command)
    }

    /// The current key has nothing.
    fn pass(&mut self) -> Step {
        self.measures = false;
        self.at += 1;
        if self.at < self.wanted.keys.len() {
            return Step::Op(self.attempt());
        }
        self.waits = true;
        Step::Block
    }

    /// Writes the reply, unless there is nothing to reply.
    fn reply(&self, reply: &Reply, out: &mut Encoder<'_>) -> bool {
        match (&self.form, reply) {
            (_, Reply::Null | Reply::NullArray) => false,
            (Form::Scored(_), Reply::Array(items)) if !items.is_empty() => {
                out.array(1 + items.len());
                out.bulk(&*self.wanted.keys[self.at]);
                items.iter().for_each(|item| typed::write(item, out));
                true
            }
            (Form::Scored(_), _) => false,
            (Form::Element(_), element) => {
                out.array(2);
                out.bulk(&*self.wanted.keys[self.at]);
                typed::write(element, out);
                true
            }
            (Form::Several(..) | Form::Move(..), reply) => {
                typed::write(reply, out);
                true
            }
        }
    }
}

impl Steps for Blocking {
    fn begin(&mut self, _: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        self.at = 0;
        Ok(Step::Op(self.attempt()))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let reply = match typed::answered(outcome) {
            Answered::Reply(reply) => reply,
            Answered::WrongType if self.waits && !self.measures => {
                if !matches!(self.form, Form::Move(..)) {
                    return Ok(self.pass());
                }
                self.measures = true;
                let key = self.wanted.keys[self.at].clone();
                return Ok(Step::Op(typed::call(key, Command::new(Verb::LLen, Vec::new()))));
            }
            Answered::WrongType if self.measures => return Ok(self.pass()),
            Answered::WrongType => return Err(ErrorReply::WRONG_TYPE),
            Answered::Error(error) => return Err(error),
        };
        if self.measures {
            return if matches!(reply, Reply::Int(1..)) {
                Err(ErrorReply::WRONG_TYPE)
            } else {
                Ok(self.pass())
            };
        }
        Ok(if self.reply(&reply, out) { Step::Done } else { self.pass() })
    }

    fn wanted(&self) -> Option<&Wanted> {
        Some(&self.wanted)
    }

    fn give_up(&self, out: &mut Encoder<'_>) {
        out.null_array();
    }

    fn find_nothing(&self, out: &mut Encoder<'_>) {
        if matches!(self.form, Form::Move(..)) { out.null() } else { out.null_array() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As redis-server 7.2 does, whose words for what is too long differ from those of 7.0.
    #[test]
    fn timeouts_are_read_as_redis_does() {
        for (text, expected) in [
            ("0", Ok(None)),
            ("0.0", Ok(None)),
            ("1", Ok(Some(1_000_000))),
            ("0.0015", Ok(Some(2_000))),
            ("1e3", Ok(Some(1_000_000_000))),
            ("-0.1", Err("ERR timeout is negative")),
            ("-1", Err("ERR timeout is negative")),
            ("", Err("ERR timeout is not a float or out of range")),
            (" 1", Err("ERR timeout is not a float or out of range")),
            ("nan", Err("ERR timeout is not a float or out of range")),
            ("x", Err("ERR timeout is not a float or out of range")),
            ("inf", Err("ERR timeout is out of range")),
            ("1e30", Err("ERR timeout is out of range")),
        ] {
            let found = timeout(text.as_bytes());
            assert_eq!(found, expected.map_err(ErrorReply::fixed), "{text}");
        }
    }
}
