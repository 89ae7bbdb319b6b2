//! Hashes.

use crate::redis::prelude::*;

const BASE: Spec = Spec { group: Group::Hash, keys: Keys::FIRST, ..Spec::DEFAULT };

rows! { BASE;
    "hset" HSet -4 FAST_WRITE "2.0.0" "key field value [field value ...]", "Sets fields of a hash.",
        "A field that is set in one region and deleted in another at once stays.";
    "hmset" HMSet -4 FAST_WRITE "2.0.0" "key field value [field value ...]", "Sets fields of a hash.";
    "hsetnx" HSetNx 4 FAST_WRITE "2.0.0" "key field value", "Sets a field that does not exist.",
        "Decided by what this region sees.";
    "hget" HGet 3 FAST_READ "2.0.0" "key field", "Returns the value of a field.";
    "hmget" HMGet -3 FAST_READ "2.0.0" "key field [field ...]", "Returns the values of fields.";
    "hgetall" HGetAll 2 READ "2.0.0" "key", "Returns all fields and values of a hash.";
    "hkeys" HKeys 2 READ "2.0.0" "key", "Returns all fields of a hash.";
    "hvals" HVals 2 READ "2.0.0" "key", "Returns all values of a hash.";
    "hlen" HLen 2 FAST_READ "2.0.0" "key", "Returns how many fields a hash has.";
    "hexists" HExists 3 FAST_READ "2.0.0" "key field", "Returns whether a field exists.";
    "hstrlen" HStrLen 3 FAST_READ "3.2.0" "key field", "Returns the length of a field's value.";
    "hdel" HDel -3 FAST_REMOVE "2.0.0" "key field [field ...]", "Deletes fields of a hash.",
        "It deletes what this region sees of them.";
    "hincrby" HIncrBy 4 FAST_WRITE "2.0.0" "key field increment", "Adds an integer to a field.",
        "Increments of all regions count.";
    "hincrbyfloat" HIncrByFloat 4 FAST_WRITE "2.6.0" "key field increment", "Adds a number to a field.",
        "Increments of all regions count.";
    "hrandfield" HRandField -2 READ "6.2.0" "key [count [WITHVALUES]]", "Returns random fields of a hash.";
    "hscan" HScan -3 READ "2.8.0" "key cursor [MATCH pattern] [COUNT count]", "Iterates over the fields of a hash.";
}
