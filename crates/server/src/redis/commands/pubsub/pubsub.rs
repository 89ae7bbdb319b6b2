//! PUBSUB.

use super::PUBSUB as GROUP;
use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;
use tidemark_core::glob::glob_matches;

subcommands! { "pubsub|help", channels, numpat, numsub, shardchannels, shardnumsub }

const PUBSUB: Spec = Spec { flags: &["pubsub", "loading", "stale"], since: "2.8.0", ..GROUP };
/// What is said of all subcommands.
const OF_THIS_NODE: &str = "Tells of the subscribers of this node.";

pub(super) static SPEC: Spec = Spec {
    name: "pubsub",
    arity: -2,
    flags: &[],
    summary: "Shows subscriptions.",
    subcommands: COMMANDS,
    ..PUBSUB
};

/// The names of a space that have subscribers and match the pattern, if one is given.
fn names(call: &Call, cx: &mut Context<'_>, space: Space) -> Answer {
    let pattern = match &call.arguments[..] {
        [] => None,
        [pattern] => Some(pattern),
        _ => return Err(ErrorReply::wrong_call(cx.spec)),
    };
    let matches = |name: &&Bytes| pattern.is_none_or(|pattern| glob_matches(pattern, name, false));
    let found: Vec<&Bytes> = cx.shared.subscriptions.names(space).filter(matches).collect();
    cx.out.array(found.len());
    found.into_iter().for_each(|name| cx.out.bulk(name));
    Ok(Next::Continue)
}

/// For each of the given names, how many connections have subscribed to it.
fn numbers(call: &Call, cx: &mut Context<'_>, space: Space) -> Answer {
    cx.out.array(2 * call.arguments.len());
    for name in &call.arguments {
        cx.out.bulk(name);
        cx.out.integer(cx.shared.subscriptions.subscribers(space, name) as i64);
    }
    Ok(Next::Continue)
}
