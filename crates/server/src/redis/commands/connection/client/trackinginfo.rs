//! CLIENT TRACKINGINFO.

use super::{CLIENT, FLAGS};
use crate::redis::prelude::*;
use crate::redis::tracking::Mode;

pub(super) static SPEC: Spec = Spec {
    name: "client|trackinginfo",
    arity: 2,
    flags: FLAGS,
    since: "6.2.0",
    summary: "Returns how the connection uses client-side caching.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let tracker = cx.shared.tracking.tracker(connection.id);
    let caching = connection.reads.caching;
    let mode = tracker.map(|tracker| tracker.mode);
    let flags: Vec<&str> = [
        ("off", tracker.is_none()),
        ("on", tracker.is_some()),
        ("bcast", mode == Some(Mode::Broadcast)),
        ("optin", mode == Some(Mode::OptIn)),
        ("caching-yes", caching == Some(true)),
        ("optout", mode == Some(Mode::OptOut)),
        ("caching-no", caching == Some(false)),
        ("noloop", tracker.is_some_and(|tracker| tracker.no_loop)),
        ("broken_redirect", tracker.is_some_and(|tracker| tracker.broken)),
    ]
    .into_iter()
    .filter_map(|(flag, set)| set.then_some(flag))
    .collect();
    cx.out.map(3);
    cx.out.bulk("flags");
    cx.out.set(flags.len());
    flags.iter().for_each(|flag| cx.out.bulk(flag));
    cx.out.bulk("redirect");
    cx.out.integer(tracker.map_or(-1, |tracker| tracker.redirect as i64));
    cx.out.bulk("prefixes");
    cx.out.array(tracker.map_or(0, |tracker| tracker.prefixes.len()));
    tracker.iter().flat_map(|tracker| &tracker.prefixes).for_each(|prefix| cx.out.bulk(prefix));
    Ok(Next::Continue)
}
