//! Lists.

use crate::redis::prelude::*;

const BASE: Spec = Spec { group: Group::List, keys: Keys::FIRST, ..Spec::DEFAULT };

rows! { BASE;
    "lpush" LPush -3 FAST_WRITE "1.0.0" "key element [element ...]", "Adds elements at the front of a list.",
        "The elements that one command adds stay together.";
    "rpush" RPush -3 FAST_WRITE "1.0.0" "key element [element ...]", "Adds elements at the end of a list.",
        "The elements that one command adds stay together.";
    "lpushx" LPushX -3 FAST_WRITE "2.2.0" "key element [element ...]", "Adds elements at the front of a list that exists.";
    "rpushx" RPushX -3 FAST_WRITE "2.2.0" "key element [element ...]", "Adds elements at the end of a list that exists.";
    "lpop" LPop -2 FAST_REMOVE "1.0.0" "key [count]", "Removes and returns elements at the front.",
        "Two regions may pop the same element at once.";
    "rpop" RPop -2 FAST_REMOVE "1.0.0" "key [count]", "Removes and returns elements at the end.",
        "Two regions may pop the same element at once.";
    "llen" LLen 2 FAST_READ "1.0.0" "key", "Returns how many elements a list has.";
    "lindex" LIndex 3 READ "1.0.0" "key index", "Returns an element by its index.";
    "lrange" LRange 4 READ "1.0.0" "key start stop", "Returns elements in a range of indices.";
    "lset" LSet 4 WRITE "1.0.0" "key index element", "Replaces an element.";
    "linsert" LInsert 5 WRITE "2.2.0" "key BEFORE | AFTER pivot element", "Inserts an element beside another.";
    "lrem" LRem 4 REMOVE "1.0.0" "key count element", "Removes elements that are equal.";
    "ltrim" LTrim 4 REMOVE "1.0.0" "key start stop", "Removes all but a range.",
        "Elements that another region adds at once stay.";
    "lpos" LPos -3 READ "6.0.6" "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
        "Returns the indices of elements that are equal.";
}

group_rows! { BASE;
    "lmove" LMove 5 WRITE TWO by_row "6.2.0" "source destination LEFT | RIGHT LEFT | RIGHT",
        "Moves an element from one list to another.", "Keys of several partitions: under `tidemark` alone.";
    "rpoplpush" RPopLPush 3 WRITE TWO by_row "1.2.0" "source destination",
        "Moves the last element of a list to the front of another.", "Keys of several partitions: under `tidemark` alone.";
    "lmpop" LMPop -4 REMOVE NONE counted_first "7.0.0" "numkeys key [key ...] LEFT | RIGHT [COUNT count]",
        "Removes and returns elements of the first list that has any.", "Keys of several partitions: under `tidemark` alone.";
}
