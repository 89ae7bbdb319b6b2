//! SLOWLOG GET.

use super::{SLOWLOG, TIMES};
use crate::redis::prelude::*;
use tidemark_wire::resp::parse_i64;

/// How many commands are shown unless a number is given.
const COUNT: usize = 10;

pub(super) static SPEC: Spec = Spec {
    name: "slowlog|get",
    arity: -2,
    syntax: "[count]",
    summary: "Returns the latest slow commands.",
    remark: TIMES,
    handler: Handler::Local(answer),
    ..SLOWLOG
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let count = match &call.arguments[..] {
        [] => COUNT,
        [count] => match parse_i64(count).filter(|count| *count >= -1) {
            Some(count) => usize::try_from(count).unwrap_or(usize::MAX),
            None => return Err(ErrorReply::fixed("ERR count should be greater than or equal to -1")),
        },
        _ => return Err(ErrorReply::wrong_call(cx.spec)),
    };
    let commands = cx.shared.slow_log.iter();
    cx.out.array(commands.len().min(count));
    for command in commands.take(count) {
        cx.out.array(6);
        cx.out.integer(command.id as i64);
        cx.out.integer(command.at_s as i64);
        cx.out.integer(command.took_us as i64);
        cx.out.array(command.arguments.len());
        command.arguments.iter().for_each(|argument| cx.out.bulk(argument));
        cx.out.bulk(&command.address);
        cx.out.bulk(&command.name);
    }
    Ok(Next::Continue)
}
