//! What operations ask for, where protocols let them choose: session guarantees, and the checking groups that answer.

use super::execute::{Progress, answer, fail, start};
use crate::redis::{Command, ErrorReply, Levels};
use crate::shard::client::Client;
use crate::shard::engine::Engine;
use crate::stats::{family, outcome};
use tidemark_contract::core::CheckingGroup;
use tidemark_contract::{Checking, Members, Protocol};

/// A command begins: it asks for what its connection does.
#[inline]
pub(super) fn begin<P: Protocol>(engine: &Engine<P>, client: &mut Client<P>) {
    if P::INFO.guarantees {
        client.asks = client.redis.asks();
    }
    if engine.dialect.checks_in_groups {
        client.checking.clone_from(client.redis.checking());
        client.follows = engine.watch.is_some() && client.checking.is_empty();
    }
}

/// Chooses what the connection asks for, or one command does; or tells what it is.
pub(super) fn guarantee<P: Protocol>(
    engine: &mut Engine<P>,
    client: &mut Client<P>,
    levels: Levels,
    command: Option<Box<Command>>,
) -> Progress {
    let asks = levels.over(client.redis.asks());
    if let Some(command) = command {
        client.asks = asks;
        return start(engine, client, *command);
    }
    engine.stats.command(family::SESSION, outcome::OK);
    if levels.is_empty() {
        let all = format!("no: {} gives all that it promises", P::INFO.name);
        let heeded = if P::INFO.guarantees { "yes" } else { &all };
        answer(client, |out| {
            out.map(3);
            ["read", asks.reads(), "write", asks.writes(), "heeded", heeded].iter().for_each(|s| out.bulk(s));
        });
    } else {
        client.redis.set_asks(asks);
        answer(client, |out| out.ok());
    }
    Progress::Done
}

/// Chooses the checking groups of the connection, or of one command; or tells which they are, and which there are.
pub(super) fn checking<P: Protocol>(
    engine: &mut Engine<P>,
    client: &mut Client<P>,
    names: Option<String>,
    command: Option<Box<Command>>,
) -> Progress {
    let known = engine.known_groups();
    let Some(names) = names else {
        let known = known.groups();
        let called =
            |id: &CheckingGroup| known.iter().find(|(known, _)| known == id).map(|(_, group)| &group.name);
        // One that has gone is answered for as if none had been chosen.
        let mut chosen: Vec<&str> =
            client.redis.checking().iter().filter_map(called).map(String::as_str).collect();
        if chosen.is_empty() {
            chosen.push("*");
        }
        let known: Vec<&str> = known.iter().map(|(_, group)| group.name.as_str()).collect();
        answer(client, |out| {
            out.map(2);
            for (what, names) in [("checking", chosen), ("groups", known)] {
                out.bulk(what);
                out.array(names.len());
                names.iter().for_each(|name| out.bulk(name));
            }
        });
        engine.stats.command(family::SESSION, outcome::OK);
        return Progress::Done;
    };
    let groups = match find::<P>(known.groups(), &names) {
        Ok(groups) => groups,
        Err(why) => {
            engine.stats.command(family::SESSION, outcome::ERROR);
            return fail(client, &ErrorReply::new(why));
        }
    };
    if let Some(command) = command {
        (client.checking, client.follows) = (groups, false);
        return start(engine, client, *command);
    }
    engine.stats.command(family::SESSION, outcome::OK);
    client.redis.set_checking(groups);
    answer(client, |out| out.ok());
    Progress::Done
}

/// The groups that `names` lists; none for `*`.
fn find<P: Protocol>(known: &[(CheckingGroup, Members)], names: &str) -> Result<Checking, String> {
    if known.is_empty() {
        return Err(format!("ERR {} has no checking groups", P::INFO.name));
    }
    if names == "*" {
        return Ok(Checking::default());
    }
    let mut found = Checking::default();
    for name in names.split(',') {
        let group = known.iter().find(|(_, known)| known.name.eq_ignore_ascii_case(name));
        let (group, _) = group.ok_or_else(|| {
            let known: Vec<&str> = known.iter().map(|(_, group)| group.name.as_str()).collect();
            format!("ERR no checking group is called '{name}'; there are {}", known.join(", "))
        })?;
        if !found.contains(group) {
            found.push(*group);
        }
    }
    Ok(found)
}
