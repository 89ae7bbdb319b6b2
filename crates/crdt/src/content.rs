//! The content of a key as an answer, for commands on keys of several partitions: it is read where each key lives, all in one
//! snapshot, and such a command is evaluated elsewhere on what was read.

use crate::draft::{Answer, Draft, Moment};
use crate::effect::Kind;
use crate::evaluate::evaluate_many;
use crate::plain::{Ranked, Table};
use crate::shape::Plain;
use crate::state::State;
use bytes::Bytes;
use tidemark_core::{Command, DcId, Hlc, Key, Reply, Verb};

/// Evaluates the command that answers the content of a key; none if it is another.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    (verb == Verb::Content).then(|| Ok(content(draft, args)))
}

/// A string, the elements of a list, the members of a set, those of a sorted set with their scores, or these `fields` of a hash;
/// null if the key is not there.
fn content(draft: &Draft<'_>, fields: &[Bytes]) -> Reply {
    match draft.plain() {
        None => Reply::Null,
        Some(Plain::String(value)) => Reply::bulk(value),
        Some(Plain::List(values)) => {
            Reply::Array(values.iter().map(|(_, value)| Reply::bulk(value)).collect())
        }
        Some(Plain::Set(members)) => {
            Reply::Set(members.iter().map(|(member, ())| Reply::bulk(member)).collect())
        }
        Some(Plain::Zset(members)) => {
            let pair = |(member, score): (&[u8], f64)| (Reply::bulk(member), Reply::Double(score));
            Reply::Pairs(members.iter().map(pair).collect())
        }
        Some(Plain::Hash(values)) => {
            let pair = |field: &Bytes| Some((Reply::Bulk(field.clone()), Reply::bulk(values.get(field)?)));
            Reply::Map(fields.iter().filter_map(pair).collect())
        }
        Some(_) => Reply::WRONG_TYPE,
    }
}

/// Evaluates a command that only reads on the contents of its keys, in the order of `keys`.
pub fn evaluate_contents(command: &Command, keys: &[&Key], contents: &[Reply]) -> Reply {
    let states: Vec<State> = contents.iter().map(state).collect();
    // Deadlines were judged where the keys live, and nothing is written.
    let (time, origin, floor) = (Hlc::ZERO, DcId(0), Hlc::ZERO);
    let moment = Moment {
        time,
        origin,
        floor,
        expiring: false,
        alone: false,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    };
    evaluate_many(command, keys, &states.iter().collect::<Vec<_>>(), moment).0
}

/// A key with this content.
fn state(content: &Reply) -> State {
    match content {
        Reply::Null => State::default(),
        Reply::Bulk(value) => State::string(value[..].into()),
        Reply::Set(members) => {
            let mut plain = Table::new();
            members.iter().filter_map(bytes).for_each(|member| {
                plain.insert(member, ());
            });
            State::settled(Plain::Set(plain))
        }
        Reply::Pairs(members) => {
            let mut plain = Ranked::new();
            for (member, score) in members {
                if let (Some(member), Reply::Double(score)) = (bytes(member), score) {
                    plain.insert(member, *score);
                }
            }
            State::settled(Plain::Zset(plain))
        }
        // Of a type that none of these commands takes.
        _ => State::settled(Plain::new(Kind::Hash)),
    }
}

fn bytes(reply: &Reply) -> Option<&Bytes> {
    if let Reply::Bulk(bytes) = reply { Some(bytes) } else { None }
}
