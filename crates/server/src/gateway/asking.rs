//! What operations ask for, where protocols let them choose: session guarantees, and the checking groups that answer.

use super::client::Client;
use super::execute::{Progress, answer, fail, start};
use crate::redis::{Command, ErrorReply, Levels};
use crate::run::shard::Engine;
use crate::stats::{family, outcome};
use tidemark_contract::grouping::Members;
use tidemark_contract::session::Checking;
use tidemark_core::CheckingGroup;
use tidemark_node::Options;

/// Begins a command that asks for something else than its connection does.
fn apart(engine: &mut Engine, client: &mut Client, options: Options, command: Command) -> Progress {
    client.asks_apart = true;
    engine.node.configure(client.session, options);
    start(engine, client, command)
}

/// Chooses what the connection asks for, or one command does; or tells what it is.
pub(super) fn guarantee(
    engine: &mut Engine,
    client: &mut Client,
    levels: Levels,
    command: Option<Box<Command>>,
) -> Progress {
    let asks = levels.over(client.redis.asks());
    if let Some(command) = command {
        let options = Options { guarantees: asks, checking: client.redis.checking().clone() };
        return apart(engine, client, options, *command);
    }
    engine.stats.command(family::SESSION, outcome::OK);
    if levels.is_empty() {
        let about = &engine.about;
        let all = format!("no: {} gives all that it promises", about.protocol);
        let heeded = if about.guarantees { "yes" } else { &all };
        answer(client, |out| {
            out.map(3);
            ["read", asks.reads(), "write", asks.writes(), "heeded", heeded].iter().for_each(|s| out.bulk(s));
        });
    } else {
        client.redis.set_asks(asks);
        client.configure(&mut *engine.node);
        answer(client, |out| out.ok());
    }
    Progress::Done
}

/// Chooses the checking groups of the connection, or of one command; or tells which they are, and which there are.
pub(super) fn checking(
    engine: &mut Engine,
    client: &mut Client,
    names: Option<String>,
    command: Option<Box<Command>>,
) -> Progress {
    let known = engine.node.checking_groups(engine.now);
    let Some(names) = names else {
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
    let groups = match find(engine.about.protocol, known, &names) {
        Ok(groups) => groups,
        Err(why) => {
            engine.stats.command(family::SESSION, outcome::ERROR);
            return fail(client, &ErrorReply::new(why));
        }
    };
    if let Some(command) = command {
        let options = Options { guarantees: client.redis.asks(), checking: groups };
        return apart(engine, client, options, *command);
    }
    engine.stats.command(family::SESSION, outcome::OK);
    client.redis.set_checking(groups);
    client.configure(&mut *engine.node);
    answer(client, |out| out.ok());
    Progress::Done
}

/// The groups that `names` lists; none for `*`.
fn find(protocol: &str, known: &[(CheckingGroup, Members)], names: &str) -> Result<Checking, String> {
    if known.is_empty() {
        return Err(format!("ERR {protocol} has no checking groups"));
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
