//! Streams.

use crate::redis::prelude::*;

const BASE: Spec = Spec { group: Group::Stream, keys: Keys::FIRST, ..Spec::DEFAULT };

rows! { BASE;
    "xadd" XAdd -5 FAST_WRITE "5.0.0" "key [NOMKSTREAM] [MAXLEN | MINID [= | ~] threshold [LIMIT count]] * | id \
        field value [field value ...]", "Adds an entry to a stream.";
    "xlen" XLen 2 FAST_READ "5.0.0" "key", "Returns how many entries a stream has.";
    "xrange" XRange -4 READ "5.0.0" "key start end [COUNT count]", "Returns entries in a range of ids.";
    "xrevrange" XRevRange -4 READ "5.0.0" "key end start [COUNT count]", "Returns entries in a range of ids, last first.";
    "xdel" XDel -3 FAST_REMOVE "5.0.0" "key id [id ...]", "Deletes entries.";
    "xtrim" XTrim -4 REMOVE "5.0.0" "key MAXLEN | MINID [= | ~] threshold [LIMIT count]", "Deletes old entries.";
    "xsetid" XSetId -3 FAST_WRITE "5.0.0" "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
        "Sets the last id of a stream.";
}
