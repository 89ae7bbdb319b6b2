//! Keyspace notifications: which events the commands of this node's clients cause, and their messages.
//!
//! An event is told by the node that has carried out its command, to its own subscribers, when the write has happened.

use super::arguments::is;
use super::mail::Publication;
use super::shared::Shared;
use bytes::Bytes;
use tidemark_core::{Command, Found, Key, Op, Outcome, Reply, Verb, Write};

/// Which events are told: `notify-keyspace-events`.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    by_key: bool,
    by_event: bool,
    classes: String,
}

/// An event: its class as in `notify-keyspace-events`, its name, and its key. The key is absent where the reply names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    class: char,
    name: &'static str,
    key: Option<Key>,
}

impl Chosen {
    /// As the parameter says.
    pub(super) fn parse(text: &str) -> Self {
        let classes = text.replace('A', "g$lshzxetd");
        Self { by_key: text.contains('K'), by_event: text.contains('E'), classes }
    }

    /// Whether any are told.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.by_key || self.by_event
    }
}

impl Shared {
    /// The events that an operation will cause if it writes; none if nobody wants to know.
    #[inline]
    pub fn events(&self, op: &Op) -> Vec<Event> {
        if self.events.is_any() { events(op) } else { Vec::new() }
    }

    /// Whether somebody may want to know of events.
    #[inline]
    pub fn tells_events(&self) -> bool {
        self.events.is_any()
    }

    /// These have happened: their messages are left for the gateway.
    pub fn tell(&mut self, events: Vec<Event>, outcome: &Outcome) {
        for Happened { class, name, key } in happened(events, outcome) {
            self.announce(class, name, &key);
        }
    }

    /// A key was evicted.
    pub fn evicted(&mut self, key: &Key) {
        self.announce('e', "evicted", key);
    }

    /// Leaves the messages of one event.
    pub(super) fn announce(&mut self, class: char, name: &str, key: &[u8]) {
        let messages = self.messages(class, name, key);
        self.published.extend(messages);
    }

    /// Another region has changed a key, or time has: whoever reads it sees that already, so subscribers need not take over what
    /// anybody knew.
    pub fn tell_elsewhere(&mut self, key: &[u8], class: char, name: &str) {
        let first = self.mail.len();
        for message in self.messages(class, name, key) {
            self.subscriptions.hand_out(&message, 0, &mut self.mail);
        }
        self.mail[first..].iter_mut().for_each(|mail| mail.source = None);
    }

    /// The messages of one event that somebody here has subscribed to.
    fn messages(&self, class: char, name: &str, key: &[u8]) -> Vec<Publication> {
        if !self.events.classes.contains(class) {
            return Vec::new();
        }
        let messages = [
            (self.events.by_key, [b"__keyspace@0__:", key].concat(), name.as_bytes()),
            (self.events.by_event, [b"__keyevent@0__:", name.as_bytes()].concat(), key),
        ];
        let wanted = messages.into_iter().filter(|(wanted, ..)| *wanted);
        let publications = wanted.map(|(_, channel, payload)| Publication {
            shard: false,
            channel: Bytes::from(channel),
            payload: Bytes::copy_from_slice(payload),
            has_receivers: true,
            local: true,
        });
        publications.filter(|one| self.subscriptions.receivers(false, &one.channel) > 0).collect()
    }
}

/// An event that has happened.
pub(super) struct Happened {
    pub(super) class: char,
    pub(super) name: &'static str,
    pub(super) key: Key,
}

impl From<Happened> for Event {
    fn from(Happened { class, name, key }: Happened) -> Self {
        Self { class, name, key: Some(key) }
    }
}

/// Which events of an operation have happened, after it has written.
pub(super) fn happened(events: Vec<Event>, outcome: &Outcome) -> impl Iterator<Item = Happened> {
    let (reply, noted) = match replied(outcome) {
        Some(Reply::Noted(reply)) => (Some(&**reply), true),
        reply => (reply, false),
    };
    let nothing = matches!(reply, Some(Reply::Int(0)));
    events.into_iter().filter_map(move |event| {
        let Event { class, name, key } = match event.name {
            name if !noted && IF_NOTED.contains(&name) => return None,
            name if nothing && NONE_FOR_ZERO.contains(&name) => return None,
            // Nothing was stored: the destination is gone.
            name if nothing && name.ends_with("store") => Event { class: 'g', name: "del", ..event },
            _ => event,
        };
        Some(Happened { class, name, key: key.or_else(|| named(outcome))? })
    })
}

/// Events that a command causes only if its reply is [noted](Reply::Noted): it has created a consumer, or deleted one.
const IF_NOTED: &[&str] = &[CREATE_CONSUMER, "xgroup-delconsumer"];

const CREATE_CONSUMER: &str = "xgroup-createconsumer";

/// Events that a command does not cause if it answers 0. Where regions have to agree it may have written all the same.
const NONE_FOR_ZERO: &[&str] = &[
    "copy_to",
    "del",
    "expire",
    "hdel",
    "linsert",
    "lrem",
    "persist",
    "pfadd",
    "rename_from",
    "rename_to",
    "sadd",
    "srem",
    "xdel",
    "xtrim",
    "zrem",
    "zremrangebylex",
    "zremrangebyrank",
    "zremrangebyscore",
];

/// The answer of a command of a data type.
fn replied(outcome: &Outcome) -> Option<&Reply> {
    match outcome {
        Outcome::Written { previous: Some(Found { reply, .. }), .. } => reply.as_deref(),
        _ => None,
    }
}

/// The key that a reply begins with: that of LMPOP and ZMPOP.
fn named(outcome: &Outcome) -> Option<Key> {
    match replied(outcome)? {
        Reply::Array(items) => match items.first() {
            Some(Reply::Bulk(name)) => Some(Key(name.clone())),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn events(op: &Op) -> Vec<Event> {
    match op {
        Op::Put { key, update } => match &update.command {
            Some(command) => events_of(key, command),
            None => vec![plain(key, &update.write)],
        },
        Op::PutAll { writes } => writes.iter().map(|(key, write)| plain(key, write)).collect(),
        _ => Vec::new(),
    }
}

fn event(class: char, name: &'static str, key: &Key) -> Event {
    Event { class, name, key: Some(key.clone()) }
}

fn plain(key: &Key, write: &Write) -> Event {
    match write {
        Write::Remove => event('g', "del", key),
        _ => event('$', "set", key),
    }
}

/// Of a command on one key, or on several.
fn events_of(key: &Key, command: &Command) -> Vec<Event> {
    let Command { verb, keys, args, .. } = command;
    let first_is = |word: &str| args.first().is_some_and(|argument| is(argument, word));
    let has =
        |words: &[&str]| args.iter().skip(1).any(|argument| words.iter().any(|word| is(argument, word)));
    let second = keys.first().unwrap_or(key);
    match verb {
        Verb::Set if has(&["ex", "px", "exat", "pxat"]) => {
            vec![event('$', "set", key), event('g', "expire", key)]
        }
        Verb::SetEx | Verb::PSetEx => vec![event('$', "set", key), event('g', "expire", key)],
        Verb::MSetNx => std::iter::once(key).chain(keys).map(|key| event('$', "set", key)).collect(),
        Verb::GetEx if first_is("persist") => vec![event('g', "persist", key)],
        Verb::ZAdd if has(&["incr"]) || first_is("incr") => vec![event('z', "zincr", key)],
        Verb::Rename | Verb::RenameNx => {
            vec![event('g', "rename_from", key), event('g', "rename_to", second)]
        }
        Verb::Copy => vec![event('g', "copy_to", second)],
        Verb::SMove => vec![event('s', "srem", key), event('s', "sadd", second)],
        Verb::LMove => {
            let pop = if first_is("left") { "lpop" } else { "rpop" };
            let push = if args.get(1).is_some_and(|end| is(end, "left")) { "lpush" } else { "rpush" };
            vec![event('l', pop, key), event('l', push, second)]
        }
        Verb::RPopLPush => vec![event('l', "rpop", key), event('l', "lpush", second)],
        Verb::LMPop => {
            let name = if first_is("left") { "lpop" } else { "rpop" };
            vec![Event { class: 'l', name, key: None }]
        }
        Verb::ZMPop => {
            let name = if first_is("min") { "zpopmin" } else { "zpopmax" };
            vec![Event { class: 'z', name, key: None }]
        }
        Verb::GeoRadius | Verb::GeoRadiusByMember => vec![event('z', "georadiusstore", second)],
        verb => usual(*verb).map(|(class, name)| event(class, name, key)).into_iter().collect(),
    }
}

/// The event of a command that causes one, always the same, on its first key.
fn usual(verb: Verb) -> Option<(char, &'static str)> {
    Some(match verb {
        Verb::Del | Verb::GetDel => ('g', "del"),
        Verb::Expire | Verb::PExpire | Verb::ExpireAt | Verb::PExpireAt | Verb::GetEx => ('g', "expire"),
        Verb::Persist => ('g', "persist"),
        Verb::Set | Verb::SetNx | Verb::GetSet | Verb::BitOp => ('$', "set"),
        Verb::Incr | Verb::Decr | Verb::IncrBy | Verb::DecrBy => ('$', "incrby"),
        Verb::SetBit | Verb::BitField => ('$', "setbit"),
        Verb::PfAdd | Verb::PfMerge => ('$', "pfadd"),
        Verb::Append | Verb::SetRange | Verb::IncrByFloat => ('$', verb.name()),
        Verb::HSet | Verb::HMSet | Verb::HSetNx => ('h', "hset"),
        Verb::HDel | Verb::HIncrBy | Verb::HIncrByFloat => ('h', verb.name()),
        Verb::SAdd | Verb::SRem | Verb::SPop | Verb::SInterStore | Verb::SUnionStore | Verb::SDiffStore => {
            ('s', verb.name())
        }
        Verb::ZIncrBy => ('z', "zincr"),
        Verb::GeoAdd => ('z', "zadd"),
        Verb::ZAdd
        | Verb::ZRem
        | Verb::ZRemRangeByRank
        | Verb::ZRemRangeByScore
        | Verb::ZRemRangeByLex
        | Verb::ZPopMin
        | Verb::ZPopMax
        | Verb::ZInterStore
        | Verb::ZUnionStore
        | Verb::ZDiffStore
        | Verb::ZRangeStore
        | Verb::GeoSearchStore => ('z', verb.name()),
        Verb::LPush | Verb::LPushX => ('l', "lpush"),
        Verb::RPush | Verb::RPushX => ('l', "rpush"),
        Verb::LPop | Verb::RPop | Verb::LSet | Verb::LInsert | Verb::LRem | Verb::LTrim => ('l', verb.name()),
        Verb::XAdd | Verb::XDel | Verb::XTrim | Verb::XSetId => ('t', verb.name()),
        // The class of types that Redis has from modules.
        Verb::DocPut => ('d', "tide.doc.put"),
        Verb::DocCompact => ('d', "tide.doc.compact"),
        Verb::BCounterCreate => ('d', "tide.bcounter.create"),
        Verb::BCounterIncrBy => ('d', "tide.bcounter.incrby"),
        Verb::BCounterDecrBy => ('d', "tide.bcounter.decrby"),
        Verb::XGroupCreate => ('t', "xgroup-create"),
        Verb::XGroupSetId => ('t', "xgroup-setid"),
        Verb::XGroupDestroy => ('t', "xgroup-destroy"),
        Verb::XGroupCreateConsumer | Verb::XReadGroup | Verb::XClaim | Verb::XAutoClaim => {
            ('t', CREATE_CONSUMER)
        }
        Verb::XGroupDelConsumer => ('t', "xgroup-delconsumer"),
        _ => return None,
    })
}
