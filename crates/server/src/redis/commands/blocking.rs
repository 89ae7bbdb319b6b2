//! Commands on lists and sorted sets that wait until there is something.

use crate::redis::blocking::{Form, Queue, Wanted, task, timeout};
use crate::redis::prelude::*;

const POP: &[&str] = &["write", "noscript", "blocking"];
const FAST_POP: &[&str] = &["write", "noscript", "blocking", "fast"];
const MOVE: &[&str] = &["write", "denyoom", "noscript", "blocking"];
const COUNTED: &[&str] = &["write", "blocking", "movablekeys"];
/// Every argument but the timeout behind them.
const BUT_LAST: Keys = Keys { first: 1, last: -2, step: 1 };

/// Lists the rows.
macro_rules! blocking {
    ($($name:literal $group:ident $arity:literal $flags:ident $keys:expr, $since:literal $syntax:literal
        $summary:literal $remark:literal $parse:expr;)*) => {
        pub(super) static COMMANDS: &[&Spec] = &[$(&Spec {
            name: $name,
            group: Group::$group,
            arity: $arity,
            flags: $flags,
            keys: $keys,
            since: $since,
            syntax: $syntax,
            summary: $summary,
            remark: $remark,
            handler: Handler::Blocking($parse),
            ..Spec::DEFAULT
        }),*];
    };
}

blocking! {
    "blpop" List -3 POP BUT_LAST, "2.0.0" "key [key ...] timeout"
        "Removes and returns the first element of the first list that has any; waits for one."
        "Two regions may pop the same element at once."
        |request| pop(request, Queue::List, Form::Element(Verb::LPop));
    "brpop" List -3 POP BUT_LAST, "2.0.0" "key [key ...] timeout"
        "Removes and returns the last element of the first list that has any; waits for one."
        "Two regions may pop the same element at once."
        |request| pop(request, Queue::List, Form::Element(Verb::RPop));
    "blmove" List 6 MOVE Keys::TWO, "6.2.0" "source destination LEFT | RIGHT LEFT | RIGHT timeout"
        "Moves an element from one list to another; waits for one."
        "Keys of several partitions: under `tidemark` alone. Two regions may move the same element at once."
        blmove;
    "brpoplpush" List 4 MOVE Keys::TWO, "2.2.0" "source destination timeout"
        "Moves the last element of a list to the front of another; waits for one."
        "Keys of several partitions: under `tidemark` alone. Two regions may move the same element at once."
        |request| move_one(request, Verb::RPopLPush);
    "blmpop" List -5 COUNTED Keys::NONE, "7.0.0" "timeout numkeys key [key ...] LEFT | RIGHT [COUNT count]"
        "Removes and returns elements of the first list that has any; waits for some."
        "Two regions may pop the same element at once."
        |request| pop_several(request, Queue::List, Verb::LMPop);
    "bzpopmin" SortedSet -3 FAST_POP BUT_LAST, "5.0.0" "key [key ...] timeout"
        "Removes and returns the member with the lowest score of the first sorted set that has any; waits for one."
        "Two regions may pop the same member at once."
        |request| pop(request, Queue::SortedSet, Form::Scored(Verb::ZPopMin));
    "bzpopmax" SortedSet -3 FAST_POP BUT_LAST, "5.0.0" "key [key ...] timeout"
        "Removes and returns the member with the highest score of the first sorted set that has any; waits for one."
        "Two regions may pop the same member at once."
        |request| pop(request, Queue::SortedSet, Form::Scored(Verb::ZPopMax));
    "bzmpop" SortedSet -5 COUNTED Keys::NONE, "7.0.0" "timeout numkeys key [key ...] MIN | MAX [COUNT count]"
        "Removes and returns members of the first sorted set that has any; waits for some."
        "Two regions may pop the same member at once."
        |request| pop_several(request, Queue::SortedSet, Verb::ZMPop);
}

/// Keys, then a timeout.
fn pop(request: &mut Request<'_>, queue: Queue, form: Form) -> Parsed {
    let last = request.len() - 1;
    let timeout_us = timeout(&request[last])?;
    let keys = (1..last).map(|at| request.key(at)).collect();
    Ok(task(Wanted { keys, queue, timeout_us, confirmed: None }, form))
}

fn blmove(request: &mut Request<'_>) -> Parsed {
    let is_end = |at: usize| request.is(at, "left") || request.is(at, "right");
    if is_end(3) && is_end(4) { move_one(request, Verb::LMove) } else { Err(ErrorReply::SYNTAX) }
}

/// A source, a destination, arguments, then a timeout.
fn move_one(request: &mut Request<'_>, verb: Verb) -> Parsed {
    let last = request.len() - 1;
    let timeout_us = timeout(&request[last])?;
    let (from, to) = (request.key(1), request.key(2));
    let args = (3..last).map(|at| request.take(at)).collect();
    Ok(task(
        Wanted { keys: vec![from], queue: Queue::List, timeout_us, confirmed: None },
        Form::Move(verb, to, args),
    ))
}

/// A timeout, a count of keys, as many keys, an end, and perhaps a count of elements.
fn pop_several(request: &mut Request<'_>, queue: Queue, verb: Verb) -> Parsed {
    let count = integer(&request[2]).ok().and_then(|count| usize::try_from(count).ok());
    let count =
        count.filter(|count| *count > 0).ok_or(ErrorReply::fixed("ERR numkeys should be greater than 0"))?;
    let behind = count.checked_add(3).filter(|behind| *behind < request.len()).ok_or(ErrorReply::SYNTAX)?;
    let ends = if verb == Verb::LMPop { ["left", "right"] } else { ["min", "max"] };
    if !ends.iter().any(|end| request.is(behind, end)) {
        return Err(ErrorReply::SYNTAX);
    }
    match request.len() - behind {
        1 => {}
        3.. if request.is(behind + 1, "count") => {
            let count = integer(&request[behind + 2]).ok().filter(|count| *count > 0);
            count.ok_or(ErrorReply::fixed("ERR count should be greater than 0"))?;
        }
        _ => return Err(ErrorReply::SYNTAX),
    }
    if request.len() - behind > 3 {
        return Err(ErrorReply::SYNTAX);
    }
    // Redis looks at the timeout last.
    let timeout_us = timeout(&request[1])?;
    let keys = (3..behind).map(|at| request.key(at)).collect();
    let args = (behind..request.len()).map(|at| request.take(at)).collect();
    Ok(task(Wanted { keys, queue, timeout_us, confirmed: None }, Form::Several(verb, args)))
}
