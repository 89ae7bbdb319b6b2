//! A run as a timeline that people read.

use crate::plan::{Act, Plan, Trouble};
use crate::typed::program;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use tidemark_core::history::SessionId;
use tidemark_core::{
    Condition, DcId, Found, Guarantees, Key, Micros, Op, Outcome, ServerId, Stamp, Update, Write,
};

/// Something worth a line.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// A session's step ended.
    Done { session: SessionId, dc: DcId, began: Micros, act: Act, asks: Guarantees, outcome: Outcome },
    /// A version arrived.
    Received { from: ServerId, to: ServerId, key: Key, write: Write, stamp: Stamp },
    /// Something failed, or was over.
    Trouble(String),
}

/// The lines of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    lines: Vec<(Micros, Happening)>,
}

impl Trace {
    pub(crate) fn add(&mut self, at: Micros, line: Happening) {
        self.lines.push((at, line));
    }

    /// The timeline, in milliseconds since the first step.
    pub(crate) fn render(&self) -> String {
        let used = self.used();
        let begin = self.lines.iter().find_map(|(_, line)| match line {
            Happening::Done { began, .. } => Some(*began),
            _ => None,
        });
        let begin = begin.unwrap_or_default();
        let mut text = String::new();
        for (at, line) in &self.lines {
            let ms = (*at as f64 - begin as f64) / 1000.0;
            let line = match line {
                Happening::Received { key, .. } if !used.contains(key) => continue,
                Happening::Received { from, to, key, write, stamp } => {
                    format!("            {to} receives {key} = {} from {from} ({stamp})", value(write))
                }
                Happening::Trouble(what) => format!("            {what}"),
                Happening::Done { session, dc, act, asks, outcome, .. } => {
                    let less = if *asks == Guarantees::ALL { String::new() } else { format!(" ({asks})") };
                    format!("{:<4} {dc}      {}{less} → {}", session.to_string(), Shown(act), result(outcome))
                }
            };
            let _ = writeln!(text, "{ms:>9.1} ms  {line}");
        }
        text
    }

    /// The keys of which sessions did something.
    fn used(&self) -> BTreeSet<Key> {
        let keys = self.lines.iter().flat_map(|(_, line)| match line {
            Happening::Done { act: Act::Op(op), .. } => match op {
                Op::Get { key } | Op::Put { key, .. } => vec![key.clone()],
                Op::PutAll { writes } => writes.iter().map(|(key, _)| key.clone()).collect(),
                Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. } | Op::Query { keys, .. } => {
                    keys.clone()
                }
                Op::Transact(step) => step.keys().cloned().collect(),
                Op::Scan { .. } | Op::Count { .. } | Op::Conflicts { .. } => Vec::new(),
            },
            _ => Vec::new(),
        });
        keys.collect()
    }
}

fn value(write: &Write) -> String {
    match write {
        Write::Assign(value) => String::from_utf8_lossy(value).into_owned(),
        Write::Remove => "deleted".into(),
        Write::Apply(effect) => format!("an effect of {} bytes", effect.len()),
        Write::Group(writes) => format!("{} keys at once", writes.len()),
    }
}

fn found(found: &Found) -> String {
    if let Some(reply) = &found.reply {
        return format!("{reply:?}");
    }
    let value = found.value.as_deref().map(|value| String::from_utf8_lossy(value).into_owned());
    match (value, found.stamp) {
        (Some(value), Some(stamp)) => format!("{value} ({stamp})"),
        (Some(value), None) => value,
        (None, Some(stamp)) => format!("deleted ({stamp})"),
        (None, None) => "nothing".into(),
    }
}

fn result(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Found(one) => found(one),
        Outcome::FoundAll(all) => all.iter().map(found).collect::<Vec<_>>().join(", "),
        Outcome::Written { stamp, previous } => {
            let before = previous.as_ref().map(|f| format!(", before: {}", found(f))).unwrap_or_default();
            match stamp {
                Some(stamp) => format!("written ({stamp}){before}"),
                None => format!("not written{before}"),
            }
        }
        Outcome::Keys { keys, cursor } => format!("{} keys, cursor {cursor}", keys.len()),
        Outcome::Count(count) => count.to_string(),
        Outcome::Conflicts(keys) => format!("{} keys in conflict", keys.len()),
        Outcome::Begun(snapshot) => format!("in {snapshot}"),
        Outcome::Bases(bases, _) => format!("bases {bases:?}"),
        Outcome::Changed(keys) => format!("{keys:?}"),
        Outcome::Accepted(what) => format!("{what:?}"),
        Outcome::Adopted => "adopted".into(),
        Outcome::Failed(failure) => format!("failed: {failure:?}"),
    }
}

struct Shown<'a>(&'a Act);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |keys: &[Key]| keys.iter().map(Key::to_string).collect::<Vec<_>>().join(" ");
        match self.0 {
            Act::Begin { regions: 0 } => write!(f, "BEGIN"),
            Act::Begin { regions } => write!(f, "BEGIN in what {regions} regions have"),
            Act::Commit { check: false } => write!(f, "COMMIT"),
            Act::Commit { check: true } => write!(f, "COMMIT, if nothing has changed that was read"),
            Act::Op(Op::Transact(step)) => write!(f, "{step:?}"),
            Act::Adopt(from) => write!(f, "ADOPT the past of s{from}"),
            Act::Move(from) => write!(f, "MOVE here from s{from}, untold"),
            Act::Op(Op::Get { key }) => write!(f, "GET {key}"),
            Act::Op(Op::Put { key, update }) => put(f, key, update),
            Act::Op(Op::PutAll { writes }) => {
                let one = |(key, write): &(Key, Write)| format!("{key} {}", value(write));
                write!(f, "PUT ALL {}", writes.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            Act::Op(Op::Rotx { keys }) => write!(f, "ROTX {}", names(keys)),
            Act::Op(Op::Snapshot { keys }) => write!(f, "SNAPSHOT {}", names(keys)),
            Act::Op(Op::At { keys, time }) => write!(f, "READ {} as of {time}", names(keys)),
            Act::Op(Op::Query { keys, command }) => {
                write!(f, "{} of each of {}", command.verb.name().to_uppercase(), names(keys))
            }
            Act::Op(Op::Scan { partition, .. }) => write!(f, "SCAN partition {partition}"),
            Act::Op(Op::Conflicts { partition, .. }) => write!(f, "CONFLICTS partition {partition}"),
            Act::Op(Op::Count { partition }) => write!(f, "COUNT partition {partition}"),
        }
    }
}

fn put(f: &mut fmt::Formatter<'_>, key: &Key, update: &Update) -> fmt::Result {
    if let Some(command) = &update.command {
        write!(f, "{} {key}", command.verb.name().to_uppercase())?;
        if command.verb.is_program() {
            let (ops, void) = program::of(command);
            ops.into_iter().try_for_each(|op| write!(f, "; {}", Shown(&Act::Op(op))))?;
            return f.write_str(if void { "; and nothing of it happens" } else { "" });
        }
        return command.args.iter().try_for_each(|word| write!(f, " {}", String::from_utf8_lossy(word)));
    }
    match &update.write {
        Write::Remove => write!(f, "DEL {key}")?,
        write => write!(f, "PUT {key} {}", value(write))?,
    }
    f.write_str(match update.condition {
        Condition::Always => "",
        Condition::IfAbsent => " if absent",
        Condition::IfPresent => " if present",
    })?;
    f.write_str(if update.returns_previous { ", returning what was before" } else { "" })
}

impl Plan {
    /// What fails, with processes called as everywhere else.
    pub(crate) fn tell(&self, what: &Trouble) -> String {
        let arrow = |both: bool| if both { "↔" } else { "→" };
        match what {
            Trouble::Cut { from, to, partition: None, both_ways } => {
                format!("cut {from} {} {to}", arrow(*both_ways))
            }
            Trouble::Cut { from, to, partition: Some(partition), both_ways } => {
                format!("cut {from}/{partition} {} {to}/{partition}", arrow(*both_ways))
            }
            Trouble::CutSiblings { from, to, both_ways } => format!("cut {from} {} {to}", arrow(*both_ways)),
            Trouble::SlowLink { from, to, extra_us } => format!("link {from} → {to} slow by {extra_us} µs"),
            Trouble::SlowNode { node, extra_us } => {
                format!("node {} slow by {extra_us} µs", self.name_of(*node))
            }
            Trouble::Jump { node, by_us } => {
                format!("the clock of node {} jumps by {by_us} µs", self.name_of(*node))
            }
            Trouble::Crash { node, power: false } => format!("node {} is killed", self.name_of(*node)),
            Trouble::Crash { node, power: true } => format!("node {} loses power", self.name_of(*node)),
            Trouble::DiskFails { node, sync, .. } => {
                let what = if *sync { "sync" } else { "write" };
                format!("a {what} on the disk of node {} fails", self.name_of(*node))
            }
            Trouble::LosesPower { processes, moment, .. } => {
                let names: Vec<String> = processes.iter().map(|process| self.name_of(*process)).collect();
                format!("power fails of {} ({moment:?})", names.join(", "))
            }
            Trouble::SyncStalls { process } => format!("no sync of {} ends", self.name_of(*process)),
            Trouble::Away { dc } => format!("the operator does without {dc}"),
            Trouble::Lost { dc } => format!("{dc} is lost, until the operator excludes it"),
            Trouble::LosesDisk { process } => {
                format!("process {} loses its disk, and is replaced", self.name_of(*process))
            }
            Trouble::Apart { process, mute, deaf } => {
                let how = match (mute, deaf) {
                    (true, true) => "is apart from",
                    (true, false) => "is not heard by",
                    _ => "does not hear",
                };
                format!("process {} {how} the others of its group", self.name_of(*process))
            }
            Trouble::DiskFull { node } => format!("the disk of node {} is full", self.name_of(*node)),
            Trouble::Regroups(change) => change.to_string(),
            Trouble::OperatorCuts { from, to, .. } => format!("the operator cuts {from:?} → {to:?}"),
            Trouble::Handshakes { process, how } => {
                format!("handshakes of {}: {how:?}", self.name_of(*process))
            }
            Trouble::Damage { process, how, .. } => {
                format!("what {} says and hears: {how:?}", self.name_of(*process))
            }
            Trouble::HangsUp { client, dc, .. } => {
                format!("client {client} hangs up, and comes back in {dc}")
            }
        }
    }
}
