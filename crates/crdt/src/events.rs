//! Keyspace notifications of what a version has done: for a version of another region nobody here knows the command.

use crate::effect::{Change, Datum, Effect, Kind, Name};
use tidemark_core::Write;

/// The class of `notify-keyspace-events`, and the name.
pub type Event = (char, &'static str);

/// The events that a version causes, in order, each once. They are named like the plainest command that has this effect.
pub fn events(write: &Write) -> Vec<Event> {
    let bytes = match write {
        Write::Assign(_) => return vec![('$', "set")],
        Write::Remove => return vec![('g', "del")],
        // Stores take groups apart.
        Write::Group(_) => return Vec::new(),
        Write::Apply(bytes) => bytes,
    };
    let changes = Effect::decode(bytes).unwrap_or_default().changes;
    // Who creates a key clears what may be left of it, and lifts its deadline: that is no event beside others.
    let creates =
        changes.iter().any(|change| !matches!(change, Change::Clear { .. } | Change::Expire { .. }));
    let mut events: Vec<Event> = Vec::new();
    for change in &changes {
        let event = match change {
            Change::Clear { .. } if creates => continue,
            // A stream counts its entries.
            Change::Count { kind: Kind::Stream, .. } => continue,
            Change::Expire { deadline: None, .. } if changes.len() > 1 => continue,
            Change::Clear { .. } => ('g', "del"),
            Change::Expire { deadline, .. } => ('g', if deadline.is_some() { "expire" } else { "persist" }),
            Change::Assign { kind, name, datum, .. } => assigned(*kind, name, datum),
            Change::Kill { kind, .. } => killed(*kind),
            Change::Count { kind, .. } => counted(*kind),
            Change::Modify { .. } => ('$', "setrange"),
            Change::Raise { .. } => ('d', "tide.bcounter.incrby"),
        };
        if !events.contains(&event) {
            events.push(event);
        }
    }
    // As commands tell it.
    events.sort_by_key(|(_, name)| *name == "expire");
    events
}

/// Whether a key that was not there is there once this was written to it.
pub fn creates(write: &Write) -> bool {
    match write {
        Write::Assign(_) => true,
        Write::Remove | Write::Group(_) => false,
        Write::Apply(bytes) => Effect::decode(bytes).is_ok_and(|effect| {
            effect.changes.iter().any(|change| match change {
                Change::Assign { datum, .. } => *datum != Datum::Gone,
                Change::Count { .. } | Change::Modify { .. } | Change::Raise { .. } => true,
                Change::Clear { .. } | Change::Expire { .. } | Change::Kill { .. } => false,
            })
        }),
    }
}

fn assigned(kind: Kind, name: &Name, datum: &Datum) -> Event {
    match (kind, name) {
        (Kind::String, _) if *datum == Datum::Gone => ('g', "del"),
        (Kind::String, _) => ('$', "set"),
        (Kind::Hash, _) => ('h', "hset"),
        (Kind::Set, _) => ('s', "sadd"),
        (Kind::Zset, _) => ('z', "zadd"),
        (Kind::List, Name::Is(_)) => ('l', "lset"),
        (Kind::List, Name::Next(_, nth)) if *nth < 0 => ('l', "lpush"),
        (Kind::List, _) => ('l', "rpush"),
        (Kind::Stream, _) => ('t', "xadd"),
        (Kind::Doc, _) => ('d', "tide.doc.put"),
        (Kind::BCounter, _) => ('d', "tide.bcounter.create"),
    }
}

fn killed(kind: Kind) -> Event {
    match kind {
        Kind::String | Kind::BCounter => ('g', "del"),
        Kind::Hash => ('h', "hdel"),
        Kind::Set => ('s', "srem"),
        Kind::Zset => ('z', "zrem"),
        Kind::List => ('l', "lrem"),
        Kind::Stream => ('t', "xdel"),
        Kind::Doc => ('d', "tide.doc.compact"),
    }
}

fn counted(kind: Kind) -> Event {
    match kind {
        Kind::Hash => ('h', "hincrby"),
        Kind::Zset => ('z', "zincr"),
        _ => ('$', "incrby"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::{Bound, Kill};
    use bytes::Bytes;
    use tidemark_core::Hlc;

    fn of(changes: Vec<Change>) -> Vec<&'static str> {
        let write = Write::Apply(Effect { floor: Hlc::ZERO, changes }.encode());
        events(&write).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn a_version_of_a_data_type_is_told_once_for_each_thing_it_does() {
        let field = |name: &'static str| Change::Assign {
            kind: Kind::Hash,
            name: Name::Is(Bytes::from_static(name.as_bytes())),
            datum: Datum::bytes(b"v"),
            bound: Bound::None,
            kill: Kill::default(),
        };
        let clear = || Change::Clear { kind: None, dots: Vec::new(), cuts: Vec::new() };
        let expire = |deadline| Change::Expire { deadline, kill: Vec::new() };
        assert_eq!(of(vec![clear(), expire(None), field("f"), field("g")]), ["hset"]);
        assert_eq!(of(vec![clear()]), ["del"]);
        assert_eq!(of(vec![expire(None)]), ["persist"]);
        assert_eq!(of(vec![field("f"), expire(Some(7))]), ["hset", "expire"]);
    }

    #[test]
    fn a_key_is_created_by_what_puts_something_there() {
        let apply = |changes| Write::Apply(Effect { floor: Hlc::ZERO, changes }.encode());
        let field = |datum| Change::Assign {
            kind: Kind::Hash,
            name: Name::Is(Bytes::from_static(b"f")),
            datum,
            bound: Bound::None,
            kill: Kill::default(),
        };
        let clear = || Change::Clear { kind: None, dots: Vec::new(), cuts: Vec::new() };
        assert!(creates(&Write::Assign(b"v"[..].into())));
        assert!(creates(&apply(vec![clear(), field(Datum::bytes(b"v"))])));
        assert!(!creates(&Write::Remove));
        assert!(!creates(&apply(vec![clear()])));
        assert!(!creates(&apply(vec![field(Datum::Gone)])));
        assert!(!creates(&apply(vec![Change::Expire { deadline: Some(7), kill: Vec::new() }])));
    }

    #[test]
    fn registers_are_set_or_deleted() {
        assert_eq!(events(&Write::Assign(b"v"[..].into())), [('$', "set")]);
        assert_eq!(events(&Write::Remove), [('g', "del")]);
    }
}
