//! CONFIG SET.

use super::{CONFIG, FLAGS};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "config|set",
    arity: -4,
    flags: FLAGS,
    syntax: "parameter value [parameter value ...]",
    summary: "Changes settings until the server stops.",
    remark: "maxmemory-policy is noeviction or volatile-ttl, proto-max-bulk-len at most 512 MiB. Settings that Tidemark does not use are checked and stored without effect. The events of notify-keyspace-events are \
             those of commands of this node's clients, and of writes of other regions when they become visible, and of expiry. \
             New keys are told by every node of the region, under the protocols that carry data types. None \
             tells of other commands of other nodes' clients, of misses, or of a key that is gone with its last element.",
    handler: Handler::Local(answer),
    ..CONFIG
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    if call.arguments.len() % 2 == 1 {
        return Err(ErrorReply::SYNTAX);
    }
    let pairs: Vec<(&[u8], &[u8])> =
        call.arguments.chunks_exact(2).map(|pair| (&pair[0][..], &pair[1][..])).collect();
    cx.config.set(&pairs).map_err(ErrorReply::new)?;
    cx.shared.configure(cx.config);
    cx.out.ok();
    Ok(Next::Continue)
}
