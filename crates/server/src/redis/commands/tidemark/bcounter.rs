//! TIDE.BCOUNTER.

use super::TIDEMARK;
use crate::redis::prelude::*;

const BASE: Spec = Spec { keys: Keys::SECOND, ..TIDEMARK };

pub(super) static SPEC: Spec = Spec {
    name: "tide.bcounter",
    arity: -2,
    summary: "Counters that never fall below a bound, in any region.",
    subcommands: ROWS,
    ..TIDEMARK
};

rows! { BASE with "tide.bcounter|help";
    "tide.bcounter|create" BCounterCreate -4 FAST_WRITE "0.1.0" "key min [initial]",
        "Creates a counter that never falls below `min`. It begins there, or at `initial`.",
        "BUSYKEY if the key exists. The region that creates it may take all of it at first. If two regions create one at \
         once, the later one counts, and what was done to the other is gone: create a counter before it is used.";
    "tide.bcounter|incrby" BCounterIncrBy 4 FAST_WRITE "0.1.0" "key increment",
        "Adds to a bounded counter, and returns what it stands at. This region may take as much more.",
        "The increment is at least 1.";
    "tide.bcounter|decrby" BCounterDecrBy 4 FAST_WRITE "0.1.0" "key decrement",
        "Takes from a bounded counter, and returns what it stands at, if this region has rights to so much.",
        "The decrement is at least 1. Otherwise the error is NORIGHTS, and nothing was taken. If other regions have rights that \
         would be enough, the richest is asked for half of its own; they are here after about a round trip, so try again \
         then. Several tries may be needed. Rights of a region that cannot be reached stay there.";
    "tide.bcounter|get" BCounterGet 3 FAST_READ "0.1.0" "key",
        "Returns what a bounded counter stands at, as far as this region knows; null if the key does not exist.",
        "What other regions have taken meanwhile is not in it; it is never below the bound.";
    "tide.bcounter|rights" BCounterRights 3 FAST_READ "0.1.0" "key",
        "Returns how much each region may take from a bounded counter: a map in RESP3, a flat list in RESP2.",
        "Exact for this region; for others it is what this region knows. A region that never had any is left out.";
}
