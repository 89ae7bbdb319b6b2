//! Sets.

use crate::redis::prelude::*;

const BASE: Spec = Spec { group: Group::Set, keys: Keys::FIRST, ..Spec::DEFAULT };

rows! { BASE;
    "sadd" SAdd -3 FAST_WRITE "1.0.0" "key member [member ...]", "Adds members to a set.",
        "A member that is added in one region and removed in another at once stays.";
    "srem" SRem -3 FAST_REMOVE "1.0.0" "key member [member ...]", "Removes members of a set.",
        "It removes what this region sees of them.";
    "scard" SCard 2 FAST_READ "1.0.0" "key", "Returns how many members a set has.";
    "sismember" SIsMember 3 FAST_READ "1.0.0" "key member", "Returns whether something is a member of a set.";
    "smismember" SMIsMember -3 FAST_READ "6.2.0" "key member [member ...]", "Returns which of these are members of a set.";
    "smembers" SMembers 2 READ "1.0.0" "key", "Returns all members of a set.";
    "spop" SPop -2 FAST_REMOVE "1.0.0" "key [count]", "Removes and returns random members of a set.",
        "Two regions may pop the same member at once.";
    "srandmember" SRandMember -2 READ "1.0.0" "key [count]", "Returns random members of a set.";
    "sscan" SScan -3 READ "2.8.0" "key cursor [MATCH pattern] [COUNT count]", "Iterates over the members of a set.";
}

group_rows! { BASE;
    "smove" SMove 4 FAST_REMOVE TWO by_row "1.0.0" "source destination member", "Moves a member from one set to another.",
        "Keys of several partitions: under `tidemark` alone.";
    "sinter" SInter -2 READ ALL by_row "1.0.0" "key [key ...]", "Returns the members that all sets have.", "Keys in several partitions are read in one causally consistent snapshot.";
    "sunion" SUnion -2 READ ALL by_row "1.0.0" "key [key ...]", "Returns the members that any set has.", "Keys in several partitions are read in one causally consistent snapshot.";
    "sdiff" SDiff -2 READ ALL by_row "1.0.0" "key [key ...]", "Returns the members that only the first set has.", "Keys in several partitions are read in one causally consistent snapshot.";
    "sintercard" SInterCard -3 READ NONE counted_first "7.0.0" "numkeys key [key ...] [LIMIT limit]",
        "Counts the members that all sets have.", "Keys in several partitions are read in one causally consistent snapshot.";
    "sinterstore" SInterStore -3 WRITE ALL by_row "1.0.0" "destination key [key ...]",
        "Stores the members that all sets have.", "Keys of several partitions: under `tidemark` alone.";
    "sunionstore" SUnionStore -3 WRITE ALL by_row "1.0.0" "destination key [key ...]",
        "Stores the members that any set has.", "Keys of several partitions: under `tidemark` alone.";
    "sdiffstore" SDiffStore -3 WRITE ALL by_row "1.0.0" "destination key [key ...]",
        "Stores the members that only the first set has.", "Keys of several partitions: under `tidemark` alone.";
}
