//! XREAD and XREADGROUP.

use crate::redis::blocking::{Queue, Wanted};
use crate::redis::prelude::*;
use crate::redis::reading::{Consumer, Reading, task};

const BASE: Spec = Spec { group: Group::Stream, since: "5.0.0", ..Spec::DEFAULT };

pub(super) static COMMANDS: &[&Spec] = &[
    &Spec {
        name: "xread",
        arity: -4,
        flags: &["readonly", "blocking", "movablekeys"],
        syntax: "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
        summary: "Returns entries behind an id of each of several streams; may wait for one.",
        remark: "An entry of another region may arrive behind one that was read, and is then missed.",
        handler: Handler::Blocking(|request| read(request, false)),
        ..BASE
    },
    &Spec {
        name: "xreadgroup",
        arity: -7,
        flags: &["write", "blocking", "movablekeys"],
        syntax: "GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key [key ...] id [id ...]",
        summary: "Returns entries that no consumer of a group was given, or those that are pending for the consumer; may wait \
                  for one.",
        remark: "Two regions may deliver the same entry at once.",
        handler: Handler::Blocking(|request| read(request, true)),
        ..BASE
    },
];

const UNBALANCED: ErrorReply = ErrorReply::fixed(
    "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
);

/// The options, by where they stand.
#[derive(Default)]
struct Options {
    group: Option<usize>,
    no_ack: bool,
    count: i64,
    block: Option<Option<u64>>,
    /// The first key.
    streams: usize,
}

fn timeout(text: &[u8]) -> Result<Option<u64>, ErrorReply> {
    let number =
        integer(text).map_err(|_| ErrorReply::fixed("ERR timeout is not an integer or out of range"))?;
    let number = u64::try_from(number).map_err(|_| ErrorReply::fixed("ERR timeout is negative"))?;
    Ok((number > 0).then(|| number.saturating_mul(1_000)))
}

fn options(request: &Request<'_>, in_group: bool) -> Result<Options, ErrorReply> {
    let only = |option: &str| {
        ErrorReply::new(format!(
            "ERR The {option} option is only supported by XREADGROUP. You called XREAD instead."
        ))
    };
    let (mut options, mut at) = (Options::default(), 1);
    while at < request.len() {
        let more = request.len() - at - 1;
        match () {
            () if request.is(at, "block") && more > 0 => {
                at += 1;
                options.block = Some(timeout(&request[at])?);
            }
            () if request.is(at, "count") && more > 0 => {
                at += 1;
                options.count = integer(&request[at])?.max(0);
            }
            () if request.is(at, "streams") && more > 0 => {
                options.streams = at + 1;
                return if more.is_multiple_of(2) { Ok(options) } else { Err(UNBALANCED) };
            }
            () if request.is(at, "group") && more >= 2 && in_group => {
                options.group = Some(at + 1);
                at += 2;
            }
            () if request.is(at, "group") && more >= 2 => return Err(only("GROUP")),
            () if request.is(at, "noack") && in_group => options.no_ack = true,
            () if request.is(at, "noack") => return Err(only("NOACK")),
            () => return Err(ErrorReply::SYNTAX),
        }
        at += 1;
    }
    Err(ErrorReply::SYNTAX)
}

fn read(request: &mut Request<'_>, in_group: bool) -> Parsed {
    let options = options(request, in_group)?;
    if in_group && options.group.is_none() {
        return Err(ErrorReply::fixed("ERR Missing GROUP option for XREADGROUP"));
    }
    let consumer = options.group.map(|at| Consumer {
        group: request.take(at),
        name: request.take(at + 1),
        no_ack: options.no_ack,
    });
    let behind = options.streams + (request.len() - options.streams) / 2;
    let keys = (options.streams..behind).map(|at| request.key(at)).collect();
    let ids = (behind..request.len()).map(|at| request.take(at)).collect();
    let queue = consumer.as_ref().map_or(Queue::Stream, |reader| Queue::ConsumerGroup(reader.group.clone()));
    let timeout_us = options.block.flatten();
    Ok(task(Reading {
        wanted: Wanted { keys, queue, timeout_us, confirmed: None },
        waits: options.block.is_some(),
        consumer,
        ids,
        count: options.count,
    }))
}
