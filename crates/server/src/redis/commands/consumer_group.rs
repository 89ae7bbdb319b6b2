//! Consumer groups of streams.

use crate::redis::prelude::*;

const BASE: Spec = Spec { group: Group::Stream, keys: Keys::FIRST, ..Spec::DEFAULT };
const CONTAINER: Spec = Spec { group: Group::Stream, ..Spec::DEFAULT };
const CONTAINED: Spec = Spec { keys: Keys::SECOND, ..BASE };

rows! { BASE;
    "xack" XAck -4 FAST_REMOVE "5.0.0" "key group id [id ...]", "Acknowledges entries: they are not pending any more.",
        "A delivery that another region makes at once stays pending.";
    "xpending" XPending -3 READ "5.0.0" "key group [[IDLE min-idle-time] start end count [consumer]]",
        "Returns the pending entries of a consumer group.";
    "xclaim" XClaim -6 FAST_REMOVE "5.0.0" "key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] \
        [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]", "Gives pending entries to another consumer.",
        "Two regions may claim the same entry at once: the later one keeps it.";
    "xautoclaim" XAutoClaim -6 FAST_REMOVE "6.2.0" "key group consumer min-idle-time start [COUNT count] [JUSTID]",
        "Gives entries that are pending for long to another consumer.",
        "Two regions may claim the same entry at once: the later one keeps it.";
}

mod groups {
    use super::*;
    rows! { CONTAINED with "xgroup|help";
        "xgroup|create" XGroupCreate -5 WRITE "5.0.0" "key group id | $ [MKSTREAM] [ENTRIESREAD entries-read]",
            "Creates a consumer group.", "Groups that regions create at once are one, which begins at the lower id.";
        "xgroup|createconsumer" XGroupCreateConsumer 5 WRITE "6.2.0" "key group consumer", "Creates a consumer.";
        "xgroup|delconsumer" XGroupDelConsumer 5 REMOVE "5.0.0" "key group consumer",
            "Deletes a consumer and what is pending for it.";
        "xgroup|destroy" XGroupDestroy 4 REMOVE "5.0.0" "key group", "Deletes a consumer group.";
        "xgroup|setid" XGroupSetId -5 REMOVE "5.0.0" "key group id | $ [ENTRIESREAD entries-read]",
            "Sets the last id that was delivered to a consumer group.";
    }
}

mod information {
    use super::*;
    rows! { CONTAINED with "xinfo|help";
        "xinfo|consumers" XInfoConsumers 4 READ "5.0.0" "key group", "Describes the consumers of a group.",
            "`idle` is the time since something was last delivered to a consumer, as in Redis 7.0.";
        "xinfo|groups" XInfoGroups 3 READ "5.0.0" "key", "Describes the consumer groups of a stream.";
        "xinfo|stream" XInfoStream -3 READ "5.0.0" "key [FULL [COUNT count]]", "Describes a stream.",
            "There is no radix tree: its sizes are those that full nodes would have.";
    }
}

/// The containers.
pub(super) static COMMANDS: &[&Spec] = &[
    &Spec {
        name: "xgroup",
        arity: -2,
        since: "5.0.0",
        summary: "Manages consumer groups of streams.",
        subcommands: groups::ROWS,
        ..CONTAINER
    },
    &Spec {
        name: "xinfo",
        arity: -2,
        since: "5.0.0",
        summary: "Describes streams and their consumer groups.",
        subcommands: information::ROWS,
        ..CONTAINER
    },
];
