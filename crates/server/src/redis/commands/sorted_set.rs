//! Sorted sets.

use crate::redis::prelude::*;

const BASE: Spec = Spec { group: Group::SortedSet, keys: Keys::FIRST, ..Spec::DEFAULT };

rows! { BASE;
    "zadd" ZAdd -4 FAST_WRITE "1.2.0" "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
        "Adds members with scores to a sorted set, or changes scores.",
        "Of scores that regions set at once the later one counts; with GT the largest, with LT the smallest.";
    "zincrby" ZIncrBy 4 FAST_WRITE "1.2.0" "key increment member", "Adds to the score of a member.",
        "Increments of all regions count.";
    "zrem" ZRem -3 FAST_REMOVE "1.2.0" "key member [member ...]", "Removes members of a sorted set.",
        "It removes what this region sees of them.";
    "zcard" ZCard 2 FAST_READ "1.2.0" "key", "Returns how many members a sorted set has.";
    "zscore" ZScore 3 FAST_READ "1.2.0" "key member", "Returns the score of a member.";
    "zmscore" ZMScore -3 FAST_READ "6.2.0" "key member [member ...]", "Returns the scores of members.";
    "zrank" ZRank -3 FAST_READ "2.0.0" "key member [WITHSCORE]", "Returns the rank of a member, from the lowest score.";
    "zrevrank" ZRevRank -3 FAST_READ "2.0.0" "key member [WITHSCORE]",
        "Returns the rank of a member, from the highest score.";
    "zcount" ZCount 4 FAST_READ "2.0.0" "key min max", "Counts the members with scores in a range.";
    "zlexcount" ZLexCount 4 FAST_READ "2.8.9" "key min max", "Counts the members in a range of names.";
    "zrange" ZRange -4 READ "1.2.0" "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
        "Returns members in a range.";
    "zrevrange" ZRevRange -4 READ "1.2.0" "key start stop [WITHSCORES]", "Returns members in a range, highest score first.";
    "zrangebyscore" ZRangeByScore -4 READ "1.0.5" "key min max [WITHSCORES] [LIMIT offset count]",
        "Returns members in a range of scores.";
    "zrevrangebyscore" ZRevRangeByScore -4 READ "2.2.0" "key max min [WITHSCORES] [LIMIT offset count]",
        "Returns members in a range of scores, highest first.";
    "zrangebylex" ZRangeByLex -4 READ "2.8.9" "key min max [LIMIT offset count]", "Returns members in a range of names.";
    "zrevrangebylex" ZRevRangeByLex -4 READ "2.8.9" "key max min [LIMIT offset count]",
        "Returns members in a range of names, last first.";
    "zremrangebyrank" ZRemRangeByRank 4 REMOVE "2.0.0" "key start stop", "Removes members in a range of ranks.";
    "zremrangebyscore" ZRemRangeByScore 4 REMOVE "1.2.0" "key min max", "Removes members in a range of scores.";
    "zremrangebylex" ZRemRangeByLex 4 REMOVE "2.8.9" "key min max", "Removes members in a range of names.";
    "zpopmin" ZPopMin -2 FAST_REMOVE "5.0.0" "key [count]", "Removes and returns members with the lowest scores.",
        "Two regions may pop the same member at once.";
    "zpopmax" ZPopMax -2 FAST_REMOVE "5.0.0" "key [count]", "Removes and returns members with the highest scores.",
        "Two regions may pop the same member at once.";
    "zrandmember" ZRandMember -2 READ "6.2.0" "key [count [WITHSCORES]]", "Returns random members of a sorted set.";
    "zscan" ZScan -3 READ "2.8.0" "key cursor [MATCH pattern] [COUNT count]", "Iterates over the members of a sorted set.";
}

group_rows! { BASE;
    "zunion" ZUnion -3 READ NONE counted_first "6.2.0" "numkeys key [key ...] [WEIGHTS weight [weight ...]] \
        [AGGREGATE SUM | MIN | MAX] [WITHSCORES]", "Returns the members that any sorted set has.", "Keys in several partitions are read in one causally consistent snapshot.";
    "zinter" ZInter -3 READ NONE counted_first "6.2.0" "numkeys key [key ...] [WEIGHTS weight [weight ...]] \
        [AGGREGATE SUM | MIN | MAX] [WITHSCORES]", "Returns the members that all sorted sets have.", "Keys in several partitions are read in one causally consistent snapshot.";
    "zdiff" ZDiff -3 READ NONE counted_first "6.2.0" "numkeys key [key ...] [WITHSCORES]",
        "Returns the members that only the first sorted set has.", "Keys in several partitions are read in one causally consistent snapshot.";
    "zintercard" ZInterCard -3 READ NONE counted_first "7.0.0" "numkeys key [key ...] [LIMIT limit]",
        "Counts the members that all sorted sets have.", "Keys in several partitions are read in one causally consistent snapshot.";
    "zunionstore" ZUnionStore -4 WRITE NONE counted_second "2.0.0" "destination numkeys key [key ...] \
        [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX]", "Stores the members that any sorted set has.", "Keys of several partitions: under `tidemark` alone.";
    "zinterstore" ZInterStore -4 WRITE NONE counted_second "2.0.0" "destination numkeys key [key ...] \
        [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX]", "Stores the members that all sorted sets have.", "Keys of several partitions: under `tidemark` alone.";
    "zdiffstore" ZDiffStore -4 WRITE NONE counted_second "6.2.0" "destination numkeys key [key ...]",
        "Stores the members that only the first sorted set has.", "Keys of several partitions: under `tidemark` alone.";
    "zrangestore" ZRangeStore -5 WRITE TWO by_row "6.2.0" "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
        "Stores members in a range.", "Keys of several partitions: under `tidemark` alone.";
    "zmpop" ZMPop -4 REMOVE NONE counted_first "7.0.0" "numkeys key [key ...] MIN | MAX [COUNT count]",
        "Removes and returns members of the first sorted set that has any.", "Keys of several partitions: under `tidemark` alone.";
}
