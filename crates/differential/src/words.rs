//! What random commands are made of.

/// What can be drawn.
pub const KINDS: [&str; 40] = [
    "key",
    "even",
    "value",
    "int",
    "float",
    "index",
    "offset",
    "small",
    "many",
    "bit",
    "bits",
    "field",
    "member",
    "score",
    "bound",
    "lex",
    "count",
    "seconds",
    "ms",
    "at",
    "atms",
    "pattern",
    "numkeys",
    "longitude",
    "latitude",
    "distance",
    "id",
    "idbound",
    "newid",
    "group",
    "consumer",
    "typename",
    "text",
    "garbage",
    "by",
    "get",
    "script",
    "payload",
    "channel",
    "hex",
];

/// Far in the future, in seconds since 1970: the year 2100.
pub const FAR: &str = "4102444800";

/// Integers, at the limits, and what is none.
pub const INTS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "2",
    "10",
    "-7",
    "100",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1.5",
    "01",
];
/// Numbers to add.
pub const FLOATS: [&str; 14] =
    ["0", "1", "-1", "0.1", "1.5", "-2.25", "3.0e3", "1e-7", "1e17", "inf", "-inf", "nan", "1e300", "0x10"];
/// Values.
pub const VALUES: [&[u8]; 16] = [
    b"",
    b"a",
    b"abc",
    b"hello world",
    b"10",
    b"-3",
    b"0",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"3.5",
    b" 5",
    b"\x00\x01\xff\xfe",
    b"line\r\nend",
    b"+7",
    b"1e2",
];
/// What makes a command malformed.
pub const GARBAGE: [&[u8]; 12] = [
    b"",
    b"x",
    b"-",
    b"NX",
    b"XX",
    b"GET",
    b"COUNT",
    b"LIMIT",
    b"notanumber",
    b"99999999999999999999",
    b"-1",
    b"\xff",
];

/// Of the keys that hold weights for SORT.
pub const BY: [&str; 7] = ["w_*", "w_*->m1", "nosort", "*", "h*->m1", "w_m1", ""];
/// Of what SORT answers in place of an element.
pub const GET: [&str; 6] = ["#", "w_*", "s*", "h*->m1", "w_m1", "*->m2"];
/// Channels that nobody listens to.
pub const CHANNELS: [&str; 3] = ["news", "", "c*"];
/// The digests of three of the scripts, and of none.
pub const DIGESTS: [&str; 4] = [
    "55b22c0d0cedf3866879ce7c854970626dcef0c3",
    "4e6d8fc8bb01276962cce5371fa795a7763657ae",
    "4cf2342858f27cba86b2b790280b0ba54885a7d0",
    "0000000000000000000000000000000000000000",
];
/// Scripts: what they call, and how their values become replies.
pub const SCRIPTS: [&str; 41] = [
    "return redis.call('set', KEYS[1], ARGV[1])",
    "return redis.call('get', KEYS[1])",
    "return {redis.call('type', KEYS[1])['ok'], #ARGV, #KEYS, KEYS[1]}",
    "redis.call('rpush', KEYS[1], unpack(ARGV)); return redis.call('lrange', KEYS[1], 0, -1)",
    "return redis.pcall('incr', KEYS[1])",
    "local sum = redis.call('incrby', KEYS[1], ARGV[1]); return sum * 2",
    "return redis.call('incrbyfloat', KEYS[1], ARGV[1])",
    "return tonumber(ARGV[1])",
    "return ARGV",
    "return {1, 2.7, 'x', false, true, {}, {1, {2}}, nil, 3}",
    "return {err='MY error', 1}",
    "return {ok='fine'}",
    "return redis.error_reply('X y')",
    "return redis.status_reply('z')",
    "return redis.sha1hex(ARGV[1])",
    "return cjson.encode(ARGV)",
    r#"return cjson.encode(cjson.decode('{"a":[1,2.5,null,"x"]}'))"#,
    "return cmsgpack.unpack(cmsgpack.pack({1, 'a', {2}}))",
    "return struct.pack('>I2', #ARGV)",
    "return bit.band(255, #ARGV[1])",
    "return string.format('%d %s %5.2f', #KEYS, ARGV[1], 1.5)",
    "return redis.call('hset', KEYS[1], ARGV[1], ARGV[2] or 'v')",
    "return redis.call('zadd', KEYS[1], 1.5, ARGV[1])",
    "redis.setresp(3); return redis.call('zscore', KEYS[1], 'm1')",
    "redis.setresp(3); return redis.call('hget', KEYS[1], 'm1')",
    "for i = 1, 3 do redis.call('lpush', KEYS[1], i) end return redis.call('llen', KEYS[1])",
    "redis.call('set', KEYS[1], 'x'); return redis.call('lpush', KEYS[1], 'y')",
    "local reply = redis.pcall('lpush', KEYS[1], 'y'); return type(reply) == 'table' and reply.err or reply",
    "return redis.call('get')",
    "return redis.call('nosuch', KEYS[1])",
    "return redis.call('getset', KEYS[1], ARGV[1])",
    "return redis.call('restore', KEYS[2] or KEYS[1], 0, redis.call('dump', KEYS[1]), 'REPLACE')",
    "return redis.call('mget', unpack(KEYS))",
    "return redis.call('sort', KEYS[1], 'ALPHA')",
    "return math.floor(7 / 2) + 2^53",
    "return 1 + nil",
    "error('oops')",
    "return no_such_variable",
    "no_such_variable = 1",
    "return {redis.call('exists', KEYS[1]), redis.call('del', KEYS[1])}",
    "syntax error here",
];
/// What DUMP of redis-server 7.0 has returned.
pub const PAYLOADS: [&[u8]; 10] = [
    // A string.
    b"\x00\x03\x61\x62\x63\x0a\x00\xd9\xac\x30\x3d\x41\x72\xa2\xe2",
    // A number.
    b"\x00\xc0\x2a\x0a\x00\x81\xfb\x5c\xfa\x86\x63\x4f\x50",
    // A compressed string.
    b"\x00\xc3\x09\x3c\x01\x76\x76\xe0\x2f\x00\x01\x76\x76\x0a\x00\xdf\x1d\x24\x83\x30\x15\x94\xf3",
    // A list.
    b"\x12\x01\x02\x0f\x0f\x00\x00\x00\x03\x00\x81\x61\x02\x81\x62\x02\x0a\x01\xff\x0a\x00\x59\x07\xe1\x63\xd4\xea\x2a\xfe",
    // A hash.
    b"\x10\x14\x14\x00\x00\x00\x04\x00\x82\x6d\x31\x03\x01\x01\x82\x6d\x32\x03\x81\x78\x02\xff\x0a\x00\x28\x20\x57\xd5\x3c\x20\xdb\x49",
    // A set of integers.
    b"\x0b\x0e\x02\x00\x00\x00\x03\x00\x00\x00\x01\x00\x02\x00\x03\x00\x0a\x00\xa5\x02\x5c\xe2\x6d\x6e\x4d\x1b",
    // A set.
    b"\x02\x02\x02\x6d\x31\x02\x6d\x32\x0a\x00\x39\xb7\x23\x44\x0e\x17\x97\x9b",
    // A sorted set.
    b"\x11\x16\x16\x00\x00\x00\x04\x00\x82\x6d\x31\x03\x83\x31\x2e\x35\x04\x82\x6d\x32\x03\x02\x01\xff\x0a\x00\x02\x97\x84\x3f\xbc\xd1\xd5\xde",
    // A HyperLogLog.
    b"\x00\x18\x48\x59\x4c\x4c\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x71\xa6\x84\x4b\xfb\x80\x42\x5a\x0a\x00\x59\xf4\xb9\x19\x25\xeb\x16\xea",
    // One whose checksum is wrong.
    b"\x00\x03\x61\x62\x63\x0a\x00\xd9\xac\x30\x3d\x41\x72\xa2\x00",
];
