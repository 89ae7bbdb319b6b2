//! What becomes of keys of data types in the end: every region says the same of each, and what was acknowledged is there, once.

use super::{BOUND, Family, call, program, reply};
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::{DcId, Failure, Key, Micros, Op, Outcome, Reply, Update, Verb};

/// Who was told what became of an operation, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) dc: DcId,
    pub(crate) start_us: Micros,
    pub(crate) end_us: Micros,
}

impl Told {
    /// An edge client was, which has its operations itself.
    pub(crate) const EDGE: Self = Self { dc: DcId::EDGE, start_us: 0, end_us: 0 };
}

/// What was done to an element: acknowledged, and perhaps.
#[derive(Default)]
struct Done {
    acknowledged: Vec<(i64, Told)>,
    perhaps: Vec<i64>,
}

/// What was done, and what every region says in the end.
#[derive(Default)]
pub(crate) struct Ledger {
    touched: BTreeSet<Key>,
    /// By key and element: by how much it was increased, or how often it was added.
    done: BTreeMap<(Key, String), Done>,
    /// By key and question.
    answers: BTreeMap<(Key, &'static str), Vec<(DcId, Reply)>>,
}

impl Ledger {
    /// Whether there is nothing to judge.
    pub(crate) fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// An operation has ended.
    pub(crate) fn note(&mut self, op: &Op, outcome: &Outcome, told: Told) {
        if let Some((ops, void)) = program::read(op) {
            let all = program::outcomes(ops.len(), outcome);
            let happened = ops.iter().zip(&all).filter(|_| !void);
            return happened.for_each(|(op, outcome)| self.note(op, outcome, told));
        }
        let Op::Put { key, update } = op else { return };
        let Some(family) = Family::find(key) else { return };
        self.touched.insert(key.clone());
        let Update { command: Some(command), .. } = update else { return };
        self.touched.extend(command.keys.iter().cloned());
        let word = |at: usize| command.args.get(at).map_or("".into(), |word| String::from_utf8_lossy(word));
        let by = |at: usize| word(at).parse().unwrap_or(0);
        let (element, count) = match (family, command.verb) {
            (Family::Counter, Verb::IncrBy) => (String::new(), by(0)),
            (Family::Counts, Verb::HIncrBy) => (word(0).into(), by(1)),
            (Family::Scores, Verb::ZIncrBy) => (word(1).into(), by(0)),
            (Family::Set, Verb::SAdd) | (Family::List, Verb::LPush | Verb::RPush) => (word(0).into(), 1),
            (Family::Doc, Verb::DocPut) => (word(0).into(), 1),
            (Family::List, Verb::PutAt) => (word(1).into(), 1),
            (Family::Stream, Verb::XAdd) => (word(2).into(), 1),
            (Family::Stock, Verb::BCounterCreate) => (String::new(), by(1)),
            (Family::Stock, Verb::BCounterIncrBy) => (String::new(), by(0)),
            (Family::Stock, Verb::BCounterDecrBy) => (String::new(), -by(0)),
            _ => return,
        };
        let done = self.done.entry((key.clone(), element)).or_default();
        match outcome {
            Outcome::Written { stamp: Some(_), .. } => done.acknowledged.push((count, told)),
            Outcome::Failed(Failure::Indefinite(_)) => done.perhaps.push(count),
            _ => {}
        }
    }

    /// What every region is asked in the end.
    pub(crate) fn questions(&self) -> Vec<Op> {
        let ask = |key: &Key| {
            [
                call(Verb::Type, key.clone(), &[]),
                call(Verb::PExpireTime, key.clone(), &[]),
                call(Verb::Get, key.clone(), &[]),
                call(Verb::HGetAll, key.clone(), &[]),
                call(Verb::SMembers, key.clone(), &[]),
                call(Verb::LRange, key.clone(), &["0", "-1"]),
                call(Verb::ZRange, key.clone(), &["0", "-1", "WITHSCORES"]),
                call(Verb::DocRead, key.clone(), &[]),
                call(Verb::BCounterGet, key.clone(), &[]),
                call(Verb::BCounterRights, key.clone(), &[]),
            ]
        };
        let streams = |key: &Key| {
            let group = |verb: Verb| call(verb, key.clone(), &[&key.to_string(), "g"]);
            let all = call(Verb::XRange, key.clone(), &["-", "+"]);
            match Family::find(key) {
                Some(Family::Stream) => vec![all, call(Verb::XInfoStream, key.clone(), &[])],
                Some(Family::Log) => vec![
                    all,
                    call(Verb::XInfoStream, key.clone(), &[]),
                    call(Verb::XInfoGroups, key.clone(), &[]),
                    group(Verb::XPending),
                ],
                _ => Vec::new(),
            }
        };
        self.touched.iter().flat_map(|key| ask(key).into_iter().chain(streams(key))).collect()
    }

    /// A question was answered; false if it was not.
    pub(crate) fn answer(&mut self, dc: DcId, op: &Op, outcome: &Outcome) -> bool {
        let (Op::Put { key, update }, Some(reply)) = (op, reply(outcome)) else { return false };
        let Some(command) = &update.command else { return false };
        let reply = if command.verb == Verb::DocRead { without_token(reply) } else { reply.clone() };
        let said = (dc, sorted(reply));
        self.answers.entry((key.clone(), command.verb.name())).or_default().push(said);
        true
    }

    /// What the first region said.
    pub(crate) fn said(&self, key: &Key, question: Verb) -> Option<&Reply> {
        Some(&self.answers.get(&(key.clone(), question.name()))?.first()?.1)
    }

    /// What is wrong, if everything was answered. What `may_be_lost` of what was acknowledged counts or does not.
    pub(crate) fn judge(&self, may_be_lost: impl Fn(&Key, &Told) -> bool) -> Vec<String> {
        let mut wrong = Vec::new();
        for ((key, question), all) in &self.answers {
            if let Some(other) = all.iter().find(|(_, reply)| *reply != all[0].1) {
                let ((dc, reply), question) = (&all[0], question.to_uppercase());
                let text = format!("{question} {key} is {reply:?} in {dc}, and {:?} in {}", other.1, other.0);
                wrong.push(format!("in the end {text}"));
            }
        }
        for key in &self.touched {
            wrong.extend(self.lost(key, |told| may_be_lost(key, told)));
            wrong.extend(self.forged(key));
        }
        wrong
    }

    /// Whether the rights to a bounded counter are not what it stands above its bound.
    fn forged(&self, key: &Key) -> Option<String> {
        Family::find(key).filter(|family| *family == Family::Stock)?;
        let (Some(Reply::Int(value)), Some(Reply::Map(regions))) =
            (self.said(key, Verb::BCounterGet), self.said(key, Verb::BCounterRights))
        else {
            return None;
        };
        let number = |rights: &Reply| if let Reply::Int(rights) = rights { *rights } else { 0 };
        let rights: i64 = regions.iter().map(|(_, rights)| number(rights)).sum();
        (rights != value - BOUND)
            .then(|| format!("in the end {key} is {value}, and regions may take {rights} of it"))
    }

    /// What of a key to which things are only added is not as it should be.
    fn lost(&self, key: &Key, may_be_lost: impl Fn(&Told) -> bool) -> Vec<String> {
        let question = match Family::find(key) {
            Some(Family::Counter) => Verb::Get,
            Some(Family::Counts) => Verb::HGetAll,
            Some(Family::Scores) => Verb::ZRange,
            Some(Family::Set) => Verb::SMembers,
            Some(Family::List) => Verb::LRange,
            Some(Family::Doc) => Verb::DocRead,
            Some(Family::Stock) => Verb::BCounterGet,
            Some(Family::Stream) => Verb::XRange,
            _ => return Vec::new(),
        };
        let Some(answers) = self.answers.get(&(key.clone(), question.name())) else { return Vec::new() };
        let mut there = counts(&values(&answers[0].1));
        let mut wrong = Vec::new();
        let of_key = self.done.range((key.clone(), String::new())..).take_while(|((of, _), _)| of == key);
        for ((_, element), done) in of_key {
            let found = there.remove(element).unwrap_or(0);
            let (acknowledged, perhaps) = done.split(&may_be_lost);
            if !sums(acknowledged, &perhaps).contains(&found) {
                wrong.push(format!(
                    "in the end {key} {element} counts {found}, but {acknowledged} was acknowledged, and perhaps {perhaps:?}"
                ));
            }
        }
        wrong.extend(
            there.keys().map(|element| format!("in the end {key} has {element}, which nobody added")),
        );
        wrong
    }
}

impl Done {
    /// What is there, and what perhaps is.
    fn split(&self, may_be_lost: impl Fn(&Told) -> bool) -> (i64, Vec<i64>) {
        let mut perhaps = self.perhaps.clone();
        let mut acknowledged = 0;
        for (count, told) in &self.acknowledged {
            if may_be_lost(told) { perhaps.push(*count) } else { acknowledged += count }
        }
        (acknowledged, perhaps)
    }
}

/// What all of this may come to.
fn sums(acknowledged: i64, perhaps: &[i64]) -> BTreeSet<i64> {
    let mut sums = BTreeSet::from([acknowledged]);
    for more in perhaps {
        let with: Vec<i64> = sums.iter().map(|sum| sum + more).collect();
        sums.extend(with);
    }
    sums
}

/// What READ answers but for its token, which is another in each region.
fn without_token(reply: &Reply) -> Reply {
    match reply {
        Reply::Array(parts) if parts.len() == 2 => parts[1].clone(),
        other => other.clone(),
    }
}

/// The last value of each entry of a stream; of what else is answered, all.
fn values(reply: &Reply) -> Reply {
    let last = |entry: &Reply| match entry {
        Reply::Array(parts) => match parts.last()? {
            Reply::Array(fields) => fields.last().cloned(),
            _ => None,
        },
        _ => None,
    };
    match reply {
        Reply::Array(entries) if entries.iter().all(|entry| last(entry).is_some()) => {
            Reply::Array(entries.iter().filter_map(last).collect())
        }
        other => other.clone(),
    }
}

/// What has no order is put in one.
fn sorted(mut reply: Reply) -> Reply {
    match &mut reply {
        Reply::Set(all) => all.sort_by_key(|one| format!("{one:?}")),
        Reply::Map(all) => all.sort_by_key(|one| format!("{one:?}")),
        _ => {}
    }
    reply
}

/// By element how much a reply says of it, or how often it names it.
fn counts(reply: &Reply) -> BTreeMap<String, i64> {
    let text = |reply: &Reply| match reply {
        Reply::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    };
    let number = |reply: &Reply| match reply {
        Reply::Int(number) => *number,
        Reply::Double(number) => *number as i64,
        other => text(other).parse().unwrap_or(i64::MAX),
    };
    let mut counts = BTreeMap::new();
    match reply {
        Reply::Bulk(_) | Reply::Int(_) => {
            counts.insert(String::new(), number(reply));
        }
        Reply::Map(pairs) | Reply::Pairs(pairs) => {
            counts.extend(pairs.iter().map(|(name, count)| (text(name), number(count))));
        }
        Reply::Set(all) | Reply::Array(all) => {
            all.iter().for_each(|one| *counts.entry(text(one)).or_insert(0) += 1);
        }
        Reply::Strings(all) => {
            let text = |one| String::from_utf8_lossy(one).into_owned();
            all.iter().for_each(|one| *counts.entry(text(one)).or_insert(0) += 1);
        }
        _ => {}
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::typed::Family;
    use bytes::Bytes;
    use tidemark_core::{Found, Hlc, Stamp};

    fn key(family: Family) -> Key {
        family.of(&Key::from("a"))
    }

    fn written() -> Outcome {
        Outcome::Written { stamp: Some(Stamp::new(Hlc(1), DcId(0))), previous: None }
    }

    fn said(reply: Reply) -> Outcome {
        let found = Found { reply: Some(Box::new(reply)), ..Found::default() };
        Outcome::Written { stamp: None, previous: Some(found) }
    }

    fn set(members: &[&'static str]) -> Reply {
        Reply::Set(members.iter().map(|member| Reply::Bulk(Bytes::from_static(member.as_bytes()))).collect())
    }

    /// What is found of a counter to which 3 was added, and then perhaps 4, where it counts `count`.
    fn judged(count: &'static str) -> Vec<String> {
        let mut ledger = Ledger::default();
        let add = |by: &str| call(Verb::IncrBy, key(Family::Counter), &[by]);
        ledger.note(&add("3"), &written(), Told::EDGE);
        ledger.note(&add("4"), &Outcome::Failed(Failure::Indefinite(String::new())), Told::EDGE);
        ledger.note(&add("5"), &Outcome::Failed(Failure::Unavailable(String::new())), Told::EDGE);
        let asked = call(Verb::Get, key(Family::Counter), &[]);
        assert!(ledger.answer(DcId(0), &asked, &said(Reply::Bulk(Bytes::from_static(count.as_bytes())))));
        ledger.judge(|_, _| false)
    }

    #[test]
    fn a_counter_is_the_sum_of_what_was_acknowledged_and_perhaps_of_what_was_not() {
        assert_eq!((judged("3"), judged("7")), (vec![], vec![]));
        // One increment is lost, doubled, or counts although it failed.
        for count in ["0", "6", "11", "8"] {
            assert_eq!(judged(count).len(), 1, "{count}");
        }
    }

    #[test]
    fn an_acknowledged_member_is_there_and_no_other() {
        let judged = |reply: Reply| {
            let mut ledger = Ledger::default();
            ledger.note(&call(Verb::SAdd, key(Family::Set), &["x"]), &written(), Told::EDGE);
            assert!(ledger.answer(DcId(0), &call(Verb::SMembers, key(Family::Set), &[]), &said(reply)));
            ledger.judge(|_, _| false).len()
        };
        assert_eq!([judged(set(&["x"])), judged(set(&[])), judged(set(&["x", "y"]))], [0, 1, 1]);
    }

    #[test]
    fn a_bounded_counter_is_what_was_acknowledged_and_its_rights_are_what_is_above_the_bound() {
        let key = || key(Family::Stock);
        let judged = |value: i64, rights: i64| {
            let mut ledger = Ledger::default();
            ledger.note(&call(Verb::BCounterCreate, key(), &["3", "23"]), &written(), Told::EDGE);
            ledger.note(&call(Verb::BCounterDecrBy, key(), &["5"]), &written(), Told::EDGE);
            ledger.note(
                &call(Verb::BCounterDecrBy, key(), &["2"]),
                &Outcome::Failed(Failure::Indefinite(String::new())),
                Told::EDGE,
            );
            let regions = vec![
                (Reply::Bulk("A".into()), Reply::Int(rights - 1)),
                (Reply::Bulk("B".into()), Reply::Int(1)),
            ];
            let answers =
                [(Verb::BCounterGet, Reply::Int(value)), (Verb::BCounterRights, Reply::Map(regions))];
            for (verb, reply) in answers {
                assert!(ledger.answer(DcId(0), &call(verb, key(), &[]), &said(reply)));
            }
            ledger.judge(|_, _| false).len()
        };
        assert_eq!([judged(18, 15), judged(16, 13)], [0, 0]);
        assert_eq!([judged(23, 20), judged(18, 14), judged(18, 16)], [1, 1, 1]);
    }

    #[test]
    fn every_update_of_a_document_is_there_once_whatever_the_token() {
        let judged = |updates: &[&'static str]| {
            let mut ledger = Ledger::default();
            ledger.note(&call(Verb::DocPut, key(Family::Doc), &["x"]), &written(), Told::EDGE);
            for (dc, token) in [(DcId(0), "one"), (DcId(1), "other")] {
                let Reply::Set(all) = set(updates) else { unreachable!("it is a set") };
                let reply = Reply::Array(vec![Reply::Bulk(token.into()), Reply::Array(all)]);
                assert!(ledger.answer(dc, &call(Verb::DocRead, key(Family::Doc), &[]), &said(reply)));
            }
            ledger.judge(|_, _| false).len()
        };
        assert_eq!([judged(&["x"]), judged(&[]), judged(&["x", "x"]), judged(&["x", "y"])], [0, 1, 1, 1]);
    }

    #[test]
    fn regions_agree_in_whatever_order_they_tell() {
        let judged = |here: Reply, there: Reply| {
            let mut ledger = Ledger::default();
            let asked = call(Verb::SMembers, key(Family::Wild), &[]);
            ledger.note(&asked, &said(Reply::Null), Told::EDGE);
            assert!(
                ledger.answer(DcId(0), &asked, &said(here)) && ledger.answer(DcId(1), &asked, &said(there))
            );
            ledger.judge(|_, _| false).len()
        };
        assert_eq!([judged(set(&["x", "y"]), set(&["y", "x"])), judged(set(&["x"]), set(&["y"]))], [0, 1]);
    }
}
