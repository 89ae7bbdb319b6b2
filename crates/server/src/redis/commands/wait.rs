//! WAIT and WAITAOF.

use crate::redis::blocking::{Confirmed, Queue, Wanted};
use crate::redis::prelude::*;

const BASE: Spec = Spec {
    flags: &["noscript"],
    group: Group::Generic,
    categories: &["@connection"],
    remark: "Counts other regions, not replicas. It waits for everything that its region had written when it was sent.",
    ..Spec::DEFAULT
};

pub(super) static COMMANDS: &[&Spec] = &[
    &Spec {
        name: "wait",
        arity: 3,
        since: "3.0.0",
        syntax: "numreplicas timeout",
        summary: "Waits until other regions have durably received what the connection has written; returns how many have.",
        handler: Handler::Blocking(wait),
        ..BASE
    },
    &Spec {
        name: "waitaof",
        arity: 4,
        since: "7.2.0",
        syntax: "numlocal numreplicas timeout",
        summary: "Waits until what the connection has written is synced here and received by other regions; returns both counts.",
        remark: "Counts other regions; durable means there what their setting of fsync says. It waits for everything that its \
                 region had written when it was sent.",
        handler: Handler::Blocking(waitaof),
        ..BASE
    },
];

fn milliseconds(text: &[u8]) -> Result<Option<u64>, ErrorReply> {
    let number =
        integer(text).map_err(|_| ErrorReply::fixed("ERR timeout is not an integer or out of range"))?;
    let number = u64::try_from(number).map_err(|_| ErrorReply::fixed("ERR timeout is negative"))?;
    Ok((number > 0).then(|| number.saturating_mul(1_000)))
}

fn task(confirmed: Confirmed, timeout_us: Option<u64>) -> Task {
    let wanted = Wanted { keys: Vec::new(), queue: Queue::List, timeout_us, confirmed: Some(confirmed) };
    Task::several(Waits { wanted, local: confirmed.local.is_some() })
}

fn wait(request: &mut Request<'_>) -> Parsed {
    let timeout_us = milliseconds(&request[2])?;
    let regions = integer(&request[1])?;
    Ok(task(Confirmed { local: None, regions: usize::try_from(regions).unwrap_or(0) }, timeout_us))
}

fn waitaof(request: &mut Request<'_>) -> Parsed {
    let local = match integer(&request[1])? {
        local @ 0..=1 => local == 1,
        _ => return Err(ErrorReply::fixed("ERR value is out of range, value must between 0 and 1")),
    };
    let regions = usize::try_from(integer(&request[2])?)
        .map_err(|_| ErrorReply::fixed("ERR value is out of range, must be positive"))?;
    let timeout_us = milliseconds(&request[3])?;
    Ok(task(Confirmed { local: Some(local), regions }, timeout_us))
}

/// It has no operation: it waits at once.
struct Waits {
    wanted: Wanted,
    /// Whether it answers about this region, too.
    local: bool,
}

impl Steps for Waits {
    fn begin(&mut self, _: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(Step::Block)
    }

    fn step(&mut self, _: Outcome, _: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Err(ErrorReply::UNEXPECTED)
    }

    fn wanted(&self) -> Option<&Wanted> {
        Some(&self.wanted)
    }

    fn confirmed(&self, synced: bool, regions: usize, out: &mut Encoder<'_>) {
        if self.local {
            out.array(2);
            out.integer(i64::from(synced));
        }
        out.integer(i64::try_from(regions).unwrap_or(i64::MAX));
    }
}
