//! Publish and subscribe.

use crate::redis::prelude::*;
use crate::redis::subscriptions::Space;

commands! { psubscribe, publish, pubsub, punsubscribe, spublish, ssubscribe, subscribe, sunsubscribe, unsubscribe }

const PUBSUB: Spec = Spec { group: Group::Pubsub, since: "2.0.0", ..Spec::DEFAULT };
const SUBSCRIBE: Spec = Spec { arity: -2, flags: &["pubsub", "noscript", "loading", "stale"], ..PUBSUB };
const UNSUBSCRIBE: Spec = Spec { arity: -1, ..SUBSCRIBE };
const PUBLISH: Spec =
    Spec { arity: 3, flags: &["pubsub", "loading", "stale", "fast"], syntax: "channel message", ..PUBSUB };
/// What is said of messages.
const REACH: &str = "A message reaches the subscribers of all nodes and regions, at most once. A region delivers it when it \
                     has what its publisher has seen, and a subscriber's next command sees that, too. The reply counts \
                     the subscribers of this node.";

/// Adds subscriptions; confirms each.
fn subscribe(connection: &mut Connection, call: &Call, cx: &mut Context<'_>, space: Space) -> Answer {
    for name in &call.arguments {
        cx.shared.subscriptions.add(connection.id, space, name);
        confirm(connection, cx, cx.spec.name, space, Some(name));
    }
    Ok(Next::Continue)
}

/// Removes subscriptions, all of the space if none is named; confirms each.
fn unsubscribe(connection: &mut Connection, call: &Call, cx: &mut Context<'_>, space: Space) -> Answer {
    let all =
        if call.arguments.is_empty() { cx.shared.subscriptions.of(connection.id, space) } else { Vec::new() };
    for name in call.arguments.iter().chain(&all) {
        cx.shared.subscriptions.remove(connection.id, space, name);
        confirm(connection, cx, cx.spec.name, space, Some(name));
    }
    if call.arguments.is_empty() && all.is_empty() {
        confirm(connection, cx, cx.spec.name, space, None);
    }
    Ok(Next::Continue)
}

/// Says that `word` was done, and how many subscriptions are left: those to channels and patterns together.
fn confirm(
    connection: &mut Connection,
    cx: &mut Context<'_>,
    word: &str,
    space: Space,
    name: Option<&Bytes>,
) {
    let counts = cx.shared.subscriptions.counts(connection.id);
    connection.has_subscribed(counts, cx.registry);
    cx.out.push(3);
    cx.out.bulk(word);
    match name {
        Some(name) => cx.out.bulk(name),
        None => cx.out.null(),
    }
    let [channels, patterns, shards] = counts;
    cx.out.integer(if space == Space::Shards { shards } else { channels + patterns } as i64);
}

/// Sends a message; the reply is the number of those that get it.
fn publish(call: &Call, cx: &mut Context<'_>, shard: bool) -> Answer {
    let [channel, payload] = &call.arguments[..] else { return Err(ErrorReply::arity(cx.spec.name)) };
    let receivers = cx.shared.publish(shard, channel, payload);
    cx.out.integer(receivers as i64);
    Ok(Next::Continue)
}
