//! MEMORY DOCTOR.

use super::MEMORY;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "memory|doctor",
    arity: 2,
    summary: "Says in words how much memory is used.",
    remark: "In other words than Redis. It looks at the memory of the process and of the machine.",
    handler: Handler::Local(answer),
    ..MEMORY
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let facts = cx.info.facts();
    let (used, system) = (facts.used_memory_bytes, facts.system_memory_bytes);
    let judgement = if system > 0 && used > system / 10 * 9 {
        "That is more than 90% of the machine's memory: give it more, or delete keys."
    } else {
        "No problem was found."
    };
    let text = format!(
        "The process uses {used} bytes, {} of them for keys and values; the machine has {system} bytes. {judgement}\n",
        facts.dataset_bytes
    );
    cx.out.verbatim(*b"txt", text);
    Ok(Next::Continue)
}
