//! Strings.

use crate::redis::prelude::*;

commands! { get, getset, mget, mset, set, setnx, strlen }

const STRING: Spec = Spec { group: Group::String, keys: Keys::FIRST, ..Spec::DEFAULT };

const BASE: Spec = STRING;

rows! { BASE;
    "setex" SetEx 4 WRITE "2.0.0" "key seconds value", "Sets a value that expires.";
    "psetex" PSetEx 4 WRITE "2.6.0" "key milliseconds value", "Sets a value that expires.";
    "getdel" GetDel 2 FAST_REMOVE "6.2.0" "key", "Returns the value of a key and deletes it.";
    "getex" GetEx -2 FAST_REMOVE "6.2.0" "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
        PXAT unix-time-milliseconds | PERSIST]", "Returns the value of a key and sets when it expires.";
    "getrange" GetRange 4 READ "2.4.0" "key start end", "Returns a part of a value.";
    "substr" SubStr 4 READ "1.0.0" "key start end", "Returns a part of a value.";
    "append" Append 3 FAST_WRITE "2.0.0" "key value", "Appends to a value.";
    "setrange" SetRange 4 WRITE "2.2.0" "key offset value", "Overwrites a part of a value.";
    "incr" Incr 2 FAST_WRITE "1.0.0" "key", "Adds one to a counter.", "Increments of all regions count.";
    "decr" Decr 2 FAST_WRITE "1.0.0" "key", "Takes one from a counter.", "Decrements of all regions count.";
    "incrby" IncrBy 3 FAST_WRITE "1.0.0" "key increment", "Adds to a counter.", "Increments of all regions count.";
    "decrby" DecrBy 3 FAST_WRITE "1.0.0" "key decrement", "Takes from a counter.", "Decrements of all regions count.";
    "incrbyfloat" IncrByFloat 3 FAST_WRITE "2.6.0" "key increment", "Adds a number to a counter.",
        "Increments of all regions count.";
}

group_rows! { BASE;
    "msetnx" MSetNx -3 WRITE PAIRS by_pairs "1.0.1" "key value [key value ...]",
        "Sets the values of several keys, if none of them exists.", "Keys of several partitions: under `tidemark` alone.";
    "lcs" Lcs -3 READ TWO by_row "7.0.0" "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
        "Returns the longest common subsequence of two strings.", "Keys in several partitions are read in one causally consistent snapshot.";
}
