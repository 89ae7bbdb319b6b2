//! Commands of data types, and what they answer. They are evaluated where the key lives (`tidemark-crdt`), under the view of the
//! session that asks; here they are only words.

use crate::{Key, Strings};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A command on keys of data types, all of one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Which.
    pub verb: Verb,
    /// The keys beside the one that the operation names, in the client's order; one may come twice.
    pub keys: Vec<Key>,
    /// The arguments that are no keys, as the client sent them.
    pub args: Vec<Bytes>,
    /// Randomness for commands that draw (`SPOP`): evaluation itself is deterministic.
    pub seed: u64,
}

impl Command {
    /// A command on one key that draws nothing.
    #[inline]
    pub fn new(verb: Verb, args: Vec<Bytes>) -> Self {
        Self { verb, keys: Vec::new(), args, seed: 0 }
    }

    /// About how many bytes it can write.
    #[inline]
    pub fn len(&self) -> usize {
        self.args.iter().map(|argument| argument.len() + 2).sum()
    }

    /// Whether it has no arguments.
    pub fn is_empty(&self) -> bool {
        self.args.is_empty()
    }
}

macro_rules! verbs {
    ($($name:ident $word:literal $kind:ident),* $(,)?) => {
        /// A command of a data type, by its name in Redis. New ones go to the end: nodes of two versions may talk.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum Verb { $($name),* }

        impl Verb {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name, in lower case.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            /// Whether it can change its key.
            #[inline]
            pub const fn writes(self) -> bool {
                match self { $(Self::$name => verbs!(@ $kind)),* }
            }

            /// Whether it may name several keys.
            #[inline]
            pub const fn takes_keys(self) -> bool {
                match self { $(Self::$name => verbs!(# $kind)),* }
            }
        }
    };
    (@ w) => { true };
    (@ r) => { false };
    (@ gw) => { true };
    (@ gr) => { false };
    (# w) => { false };
    (# r) => { false };
    (# gw) => { true };
    (# gr) => { true };
}

verbs! {
    // any type
    Exists "exists" r, Type "type" r, Del "del" w, Encoding "object|encoding" r, Usage "memory|usage" r, Touch "touch" r,
    Expire "expire" w, PExpire "pexpire" w, ExpireAt "expireat" w, PExpireAt "pexpireat" w, Persist "persist" w,
    Ttl "ttl" r, PTtl "pttl" r, ExpireTime "expiretime" r, PExpireTime "pexpiretime" r,
    // strings
    Set "set" w, Get "get" r, GetDel "getdel" w, GetEx "getex" w, GetSet "getset" w, SetNx "setnx" w, SetEx "setex" w, PSetEx "psetex" w,
    StrLen "strlen" r, GetRange "getrange" r, SubStr "substr" r, Append "append" w, SetRange "setrange" w,
    Incr "incr" w, Decr "decr" w, IncrBy "incrby" w, DecrBy "decrby" w, IncrByFloat "incrbyfloat" w,
    SetBit "setbit" w, GetBit "getbit" r, BitCount "bitcount" r, BitPos "bitpos" r, BitField "bitfield" w, BitFieldRo "bitfield_ro" r,
    PfAdd "pfadd" w, PfCount "pfcount" gr,
    // hashes
    HSet "hset" w, HMSet "hmset" w, HSetNx "hsetnx" w, HGet "hget" r, HMGet "hmget" r, HGetAll "hgetall" r, HKeys "hkeys" r, HVals "hvals" r,
    HLen "hlen" r, HExists "hexists" r, HStrLen "hstrlen" r, HDel "hdel" w, HIncrBy "hincrby" w, HIncrByFloat "hincrbyfloat" w,
    HRandField "hrandfield" r, HScan "hscan" r,
    // sets
    SAdd "sadd" w, SRem "srem" w, SCard "scard" r, SIsMember "sismember" r, SMIsMember "smismember" r, SMembers "smembers" r,
    SPop "spop" w, SRandMember "srandmember" r, SScan "sscan" r,
    // sorted sets
    ZAdd "zadd" w, ZIncrBy "zincrby" w, ZRem "zrem" w, ZCard "zcard" r, ZScore "zscore" r, ZMScore "zmscore" r, ZRank "zrank" r,
    ZRevRank "zrevrank" r, ZCount "zcount" r, ZLexCount "zlexcount" r, ZRange "zrange" r, ZRevRange "zrevrange" r,
    ZRangeByScore "zrangebyscore" r, ZRevRangeByScore "zrevrangebyscore" r, ZRangeByLex "zrangebylex" r,
    ZRevRangeByLex "zrevrangebylex" r, ZRemRangeByRank "zremrangebyrank" w, ZRemRangeByScore "zremrangebyscore" w,
    ZRemRangeByLex "zremrangebylex" w, ZPopMin "zpopmin" w, ZPopMax "zpopmax" w, ZRandMember "zrandmember" r, ZScan "zscan" r,
    GeoAdd "geoadd" w, GeoDist "geodist" r, GeoHash "geohash" r, GeoPos "geopos" r, GeoSearch "geosearch" r,
    GeoRadiusRo "georadius_ro" r, GeoRadiusByMemberRo "georadiusbymember_ro" r,
    // lists
    LPush "lpush" w, RPush "rpush" w, LPushX "lpushx" w, RPushX "rpushx" w, LPop "lpop" w, RPop "rpop" w, LLen "llen" r, LIndex "lindex" r,
    LRange "lrange" r, LSet "lset" w, LInsert "linsert" w, LRem "lrem" w, LTrim "ltrim" w, LPos "lpos" r,
    // streams
    XAdd "xadd" w, XLen "xlen" r, XRange "xrange" r, XRevRange "xrevrange" r, XDel "xdel" w, XTrim "xtrim" w, XSetId "xsetid" w,
    // several keys
    Rename "rename" gw, RenameNx "renamenx" gw, Copy "copy" gw, MSetNx "msetnx" gw, Lcs "lcs" gr, BitOp "bitop" gw, PfMerge "pfmerge" gw,
    SMove "smove" gw, SInter "sinter" gr, SUnion "sunion" gr, SDiff "sdiff" gr, SInterCard "sintercard" gr,
    SInterStore "sinterstore" gw, SUnionStore "sunionstore" gw, SDiffStore "sdiffstore" gw,
    ZInter "zinter" gr, ZUnion "zunion" gr, ZDiff "zdiff" gr, ZInterCard "zintercard" gr,
    ZInterStore "zinterstore" gw, ZUnionStore "zunionstore" gw, ZDiffStore "zdiffstore" gw, ZRangeStore "zrangestore" gw,
    ZMPop "zmpop" gw, GeoSearchStore "geosearchstore" gw, GeoRadius "georadius" gw, GeoRadiusByMember "georadiusbymember" gw,
    LMove "lmove" gw, RPopLPush "rpoplpush" gw, LMPop "lmpop" gw, Sort "sort" gw, SortRo "sort_ro" gr,
    // any type
    Dump "dump" r, Restore "restore" w,
    References "object|refcount" r, Idle "object|idletime" r, Frequency "object|freq" r, ReplaceList "sort|store" w,
    // consumer groups of streams
    XRead "xread" r, XStart "xread|start" r, XReadGroup "xreadgroup" w, XAck "xack" w, XPending "xpending" r, XClaim "xclaim" w,
    XAutoClaim "xautoclaim" w, XGroupCreate "xgroup|create" w, XGroupSetId "xgroup|setid" w, XGroupDestroy "xgroup|destroy" w,
    XGroupCreateConsumer "xgroup|createconsumer" w, XGroupDelConsumer "xgroup|delconsumer" w,
    XInfoStream "xinfo|stream" r, XInfoGroups "xinfo|groups" r, XInfoConsumers "xinfo|consumers" r,
    // documents
    DocPut "tide.doc|put" w, DocRead "tide.doc|read" r, DocCompact "tide.doc|compact" w,
    // bounded counters; the last two are the gateways' own
    BCounterCreate "tide.bcounter|create" w, BCounterIncrBy "tide.bcounter|incrby" w, BCounterDecrBy "tide.bcounter|decrby" w,
    BCounterGet "tide.bcounter|get" r, BCounterRights "tide.bcounter|rights" r, BCounterLenders "tide.bcounter|lenders" r,
    BCounterGive "tide.bcounter|give" w,
    // programs
    Eval "eval" gw, EvalRo "eval_ro" gr,
    // transactions
    Watch "watch" r, Exec "exec" gw,
    // the gateways' own: what a key holds, for commands on keys of several partitions; and what has expired, which is purged
    Content "dump|content" r,
    Purge "tidemark|purge" w,
    // more of strings
    PfDebug "pfdebug" w,
    // the gateways' own: all that is known of a key in the snapshot of an interactive transaction
    Look "tidemark|look" r,
    // what clients at the edge do to lists: positions are theirs
    PutAt "tidemark|putat" w, TakeAt "tidemark|takeat" w,
    // the gateways' own: commands of one kind that a client has sent one behind the other, on one key, and on a key each
    Together "tidemark|together" w, Each "tidemark|each" gw,
}

impl Verb {
    /// Whether it is a program, whose commands are computed.
    pub const fn is_program(self) -> bool {
        matches!(self, Self::Eval | Self::EvalRo | Self::Exec)
    }

    /// How many arguments such a command has, if several of them on one key can become one version, and with which verb; or
    /// several of them on a key each.
    #[inline]
    pub const fn joins(self) -> Option<(Self, usize)> {
        match self {
            Self::LPop | Self::RPop | Self::ZPopMin | Self::ZPopMax => Some((Self::Together, 0)),
            Self::LPush | Self::RPush | Self::SAdd => Some((Self::Together, 1)),
            Self::HSet => Some((Self::Together, 2)),
            Self::Incr | Self::Decr => Some((Self::Each, 0)),
            Self::IncrBy | Self::DecrBy => Some((Self::Each, 1)),
            _ => None,
        }
    }

    /// Whether it spends rights of a bounded counter, or gives them away.
    pub const fn changes_rights(self) -> bool {
        use Verb::*;
        matches!(self, BCounterCreate | BCounterIncrBy | BCounterDecrBy | BCounterGive)
    }

    /// Whether its errors name the key: then the key is its first argument, too.
    pub const fn tells_key(self) -> bool {
        matches!(
            self,
            Self::XStart
                | Self::XReadGroup
                | Self::XPending
                | Self::XClaim
                | Self::XAutoClaim
                | Self::XGroupSetId
                | Self::XGroupDestroy
                | Self::XGroupCreateConsumer
                | Self::XGroupDelConsumer
                | Self::XInfoConsumers
        )
    }
}

/// What a command answers, in RESP3's types; the gateway writes them in the protocol that its client speaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Null.
    Null,
    /// Null where an array is expected: RESP2 writes it differently.
    NullArray,
    /// `+OK`.
    Ok,
    /// A simple string.
    Simple(Cow<'static, str>),
    /// An integer.
    Int(i64),
    /// A number: a double in RESP3, a bulk string in RESP2.
    Double(f64),
    /// A byte string.
    Bulk(Bytes),
    /// An error, with its code.
    Error(Cow<'static, str>),
    /// A list.
    Array(Vec<Reply>),
    /// A list of byte strings.
    Strings(Strings),
    /// Pairs: a map in RESP3, a flat list in RESP2.
    Map(Vec<(Reply, Reply)>),
    /// Pairs: a list of lists in RESP3, a flat list in RESP2 (`ZRANGE ... WITHSCORES`).
    Pairs(Vec<(Reply, Reply)>),
    /// A set in RESP3, a list in RESP2.
    Set(Vec<Reply>),
    /// A truth value in RESP3, 1 or 0 in RESP2.
    Bool(bool),
    /// An integer of any size, as its digits: a bulk string in RESP2.
    BigNumber(Bytes),
    /// Text with its three-letter format: a bulk string in RESP2.
    Verbatim([u8; 3], Bytes),
    /// A number as its digits: a double in RESP3, a bulk string in RESP2.
    Decimal(Bytes),
    /// A reply, and that the command has done what it does not do each time: what that is, its verb says. Only the node that began the
    /// command looks; its client gets the reply.
    Noted(Box<Reply>),
}

// A score is never NaN.
impl Eq for Reply {}

impl Reply {
    /// The error of a command on a key of another type.
    pub const WRONG_TYPE: Self =
        Self::Error(Cow::Borrowed("WRONGTYPE Operation against a key holding the wrong kind of value"));

    /// A byte string, copied.
    pub fn bulk(bytes: &[u8]) -> Self {
        Self::Bulk(Bytes::copy_from_slice(bytes))
    }

    /// An error that is always the same.
    pub const fn error(text: &'static str) -> Self {
        Self::Error(Cow::Borrowed(text))
    }

    /// The reply for the client.
    pub fn plain(self) -> Self {
        match self {
            Self::Noted(reply) => *reply,
            reply => reply,
        }
    }

    /// 1 or 0.
    pub fn flag(yes: bool) -> Self {
        Self::Int(i64::from(yes))
    }

    /// A count.
    pub fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }
}
