//! DUMP and RESTORE exchange values with Redis 7.0.15: recorded payloads are restored here, and with `TIDEMARK_REDIS=address` a
//! real server restores what is dumped here.

use crate::typed::{self, Region, words};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A value: the commands that make it, its encoding in Redis, and its payload there.
struct Case {
    encoding: &'static str,
    commands: Vec<&'static str>,
    payload: Vec<u8>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in include_str!("../transcripts/rdb.txt").lines() {
        let (kind, rest) = line.split_once(' ').expect("a line has two parts");
        match kind {
            "case" => cases.push(Case { encoding: rest, commands: Vec::new(), payload: Vec::new() }),
            ">" => cases.last_mut().expect("a case").commands.push(rest),
            "=" => cases.last_mut().expect("a case").payload = unhex(rest),
            _ => {}
        }
    }
    assert!(cases.len() > 35, "cases are missing");
    cases
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(digit).collect()
}

/// Bytes as a word of a line.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from('"');
    bytes.iter().for_each(|byte| write!(text, "\\x{byte:02x}").expect("text can be written"));
    text + "\""
}

/// The checksum of payloads, bit by bit.
fn sum(bytes: &[u8]) -> u64 {
    let step = |sum: u64| if sum & 1 == 1 { sum >> 1 ^ 0x95ac_9329_ac4b_c9b5 } else { sum >> 1 };
    bytes.iter().fold(0, |sum, byte| (0..8).fold(sum ^ u64::from(*byte), |sum, _| step(sum)))
}

/// A payload of this value.
fn sealed(value: &[u8], version: u16) -> Vec<u8> {
    let mut payload = [value, &version.to_le_bytes()].concat();
    payload.extend(sum(&payload).to_le_bytes());
    payload
}

/// Everything that commands tell of a key, by its type. Members that Redis does not order are put in order.
fn told(ask: &mut dyn FnMut(&str) -> String, key: &str) -> Vec<String> {
    let kind = ask(&format!("TYPE {key}"));
    let lines: &[&str] = match &kind[..] {
        "string" => &["GET {}"],
        "list" => &["LRANGE {} 0 -1"],
        "set" => &["SCARD {}", "SMEMBERS {}"],
        "hash" => &["HLEN {}", "HGETALL {}"],
        "zset" => &["ZRANGE {} 0 -1 WITHSCORES"],
        "stream" => &["XRANGE {} - +", "XLEN {}", "XDEL {} 0-1", "XADD {} 0-1 a b"],
        _ => &[],
    };
    let mut all: Vec<String> = lines.iter().map(|line| ask(&line.replace("{}", key))).collect();
    if matches!(&kind[..], "set" | "hash") {
        let mut members: Vec<&str> = all[1].trim_matches(['[', ']']).split(' ').collect();
        members.sort_unstable();
        all[1] = members.join(" ");
    }
    if kind == "zset" {
        // Redis 7.0 shows 17 digits of a score.
        let number =
            |word: &str| word.trim_matches(['[', ']', '"']).parse().map(|number: f64| number.to_string());
        all[0] = all[0].split(' ').map(|word| number(word).unwrap_or(word.into())).collect();
    }
    all.push(kind);
    all
}

#[test]
fn payloads_of_redis_are_restored() {
    for Case { encoding, commands, payload } in cases() {
        let mut region = Region::default();
        for command in &commands {
            let reply = region.run(command);
            assert!(!reply.starts_with('!'), "{command}: {reply}");
        }
        assert_eq!(region.run(&format!("RESTORE r 0 {}", quoted(&payload))), "OK", "{encoding}");
        let dumped = region.run("DUMP k");
        assert_eq!(region.run(&format!("RESTORE own 0 {dumped}")), "OK", "{encoding}");
        let there = told(&mut |line| region.run(line), "k");
        assert_eq!(told(&mut |line| region.run(line), "r"), there, "{encoding}: {commands:?}");
        assert_eq!(told(&mut |line| region.run(line), "own"), there, "{encoding}: {commands:?}");
        assert_ne!(there.last().map(String::as_str), Some("none"));
    }
}

#[test]
fn strings_are_dumped_byte_by_byte_as_redis_does() {
    let mut same = 0;
    for Case { encoding, commands, payload } in cases() {
        let mut region = Region::default();
        commands.iter().for_each(|command| drop(region.run(command)));
        if region.run("TYPE k") == "string" && !commands[0].starts_with("PFADD") {
            assert_eq!(words(&region.run("DUMP k"))[0], payload, "{encoding}: {commands:?}");
            same += 1;
        }
    }
    assert!(same > 20);
}

/// Strings in which much, little or nothing comes twice are restored as they were.
#[test]
fn compressed_strings_come_back() {
    let mut random = fastrand::Rng::with_seed(3);
    for round in 0..400 {
        let letters = [1, 2, 4, 30, 255][round % 5];
        let len = if round % 50 == 0 { 40_000 } else { random.usize(..700) };
        let mut value: Vec<u8> = Vec::new();
        while value.len() < len {
            let part: Vec<u8> =
                (0..random.usize(1..40)).map(|_| b'!'.wrapping_add(random.u8(..letters))).collect();
            (0..random.usize(1..4)).for_each(|_| value.extend_from_slice(&part));
        }
        let mut region = Region::default();
        region.run(&format!("SET k {}", quoted(&value)));
        let dump = region.run("DUMP k");
        assert_eq!(region.run(&format!("RESTORE r 0 {dump}")), "OK");
        assert_eq!(region.run("GET r"), region.run("GET k"), "{value:?}");
    }
}

#[test]
fn options_and_errors_of_restore_are_those_of_redis() {
    let mut region = Region::default();
    let good = quoted(&sealed(b"\0\x01v", 10));
    let payload = |value: &[u8], version| quoted(&sealed(value, version));
    let wrong = "!ERR DUMP payload version or checksum are wrong";
    let bad = "!ERR Bad data format";
    let busy = "!BUSYKEY Target key name already exists.";
    let table = [
        ("DUMP none".to_string(), "nil"),
        (format!("RESTORE k 0 {good}"), "OK"),
        (format!("RESTORE k -1 {good}"), busy),
        ("RESTORE k x junk".into(), busy),
        ("RESTORE k 0 junk REPLACE".into(), wrong),
        (format!("RESTORE k 0 {} REPLACE", payload(b"\0\x01v", 99)), wrong),
        (format!("RESTORE k 0 {} REPLACE", payload(b"\0\x01v", 11)), "OK"),
        (format!("RESTORE k -1 {good} REPLACE"), "!ERR Invalid TTL value, must be >= 0"),
        (format!("RESTORE k x {good} REPLACE"), "!ERR value is not an integer or out of range"),
        (format!("RESTORE k 0 {good} replace idletime -1"), "!ERR Invalid IDLETIME value, must be >= 0"),
        (format!("RESTORE k 0 {good} FREQ 256"), "!ERR Invalid FREQ value, must be >= 0 and <= 255"),
        (format!("RESTORE k 0 {good} FREQ 1 IDLETIME 1"), "!ERR syntax error"),
        (format!("RESTORE k 0 {good} IDLETIME"), "!ERR syntax error"),
        (format!("RESTORE k 0 {good} HARD"), "!ERR syntax error"),
        (format!("RESTORE k 0 {good} REPLACE IDLETIME 10"), "OK"),
        (format!("RESTORE k 0 {} REPLACE", payload(b"\x02\0", 10)), bad),
        (format!("RESTORE k 0 {} REPLACE", payload(b"\x63\0", 10)), bad),
        (format!("RESTORE k 0 {} REPLACE", payload(b"", 10)), bad),
        (format!("RESTORE k 5000 {good} REPLACE"), "OK"),
        ("PTTL k".into(), "4999"),
        (format!("RESTORE k 0 {good} REPLACE"), "OK"),
        ("PTTL k".into(), "-1"),
        (format!("RESTORE k 4000000000000 {good} REPLACE ABSTTL"), "OK"),
        ("PEXPIRETIME k".into(), "4000000000000"),
        (format!("RESTORE k 1000 {good} REPLACE ABSTTL"), "OK"),
        ("EXISTS k".into(), "0"),
    ];
    for (line, reply) in table {
        let is = region.run(&line);
        // A microsecond or two have passed.
        let is = if is == "5000" { "4999".to_string() } else { is };
        assert_eq!(is, reply, "{line}");
    }
}

/// A stream with two consumer groups, as Redis 7.0.15 dumps it: entries 1-1 and 3-1 of three, one pending for each of two
/// consumers, and a third consumer.
const GROUPS: &str = "13011000000000000000010000000000000001c32f35073500000016000201400007816102000102010020010401010401032005400f00\
     04600540130781620203010601ff020301010102010302016703010302000000000000000100000000000000017b68e5cf8b0100000200\
     0000000000000200000000000000014d32b810a2010000010305616c6963654d32b810a201000001000000000000000200000000000000\
     0103626f62b132b810a201000001000000000000000100000000000000010469646c657532b810a2010000000b6c6f6e6765722d6e616d\
     6502010200000a00599969aa470fd3dd";

#[test]
fn consumer_groups_are_restored_and_dumped() {
    let mut region = Region::default();
    assert_eq!(region.run(&format!("RESTORE k 0 {}", quoted(&unhex(GROUPS)))), "OK");
    let full = region.run("XINFO STREAM k FULL");
    let group = "[\"name\" \"g\" \"last-delivered-id\" \"3-1\" \"entries-read\" 3 \"lag\" 0 \"pel-count\" 2 \"pending\" \
                 [[\"1-1\" \"bob\" 1700000000123 2] [\"2-1\" \"alice\" 1795576836685 1]] \"consumers\" \
                 [[\"name\" \"alice\" \"seen-time\" 1795576836685 \"pel-count\" 1 \"pending\" [[\"2-1\" 1795576836685 1]]] \
                 [\"name\" \"bob\" \"seen-time\" 1795576836785 \"pel-count\" 1 \"pending\" [[\"1-1\" 1700000000123 2]]] \
                 [\"name\" \"idle\" \"seen-time\" 1795576836725 \"pel-count\" 0 \"pending\" []]]]";
    assert!(full.contains(group), "{full}");
    let second = "[\"name\" \"longer-name\" \"last-delivered-id\" \"2-1\" \"entries-read\" 2 \"lag\" nil";
    assert!(full.contains(second), "{full}");
    let dumped = region.run("DUMP k");
    assert_eq!(region.run(&format!("RESTORE other 0 {dumped}")), "OK");
    assert_eq!(region.run("XINFO STREAM other FULL"), full);
    assert_eq!(region.run("XACK other g 1-1 2-1"), "2");
    assert_eq!(region.run("XGROUP DESTROY other longer-name"), "1");
    assert_eq!(region.run("XGROUP CREATE other longer-name 0"), "OK");
}

/// Values that only other versions of Redis write: the type, and the reply to a command.
#[test]
fn encodings_of_other_versions_are_read() {
    let pack = |tag: u8, body: &[u8]| [&[tag, body.len() as u8], body].concat();
    let listpack = b"\x0f\0\0\0\x02\0\x81a\x02\x81b\x02\xff";
    let listpack = [&[listpack.len() as u8], &listpack[1..]].concat();
    let ziplist = b"\0\0\0\0\x0d\0\0\0\x03\0\0\x01a\x03\xf3\x02\xfe\xff\xff";
    let ziplist = [&[ziplist.len() as u8], &ziplist[1..]].concat();
    let pair = b"\0\0\0\0\x0d\0\0\0\x02\0\0\x01a\x03\xf3\xff";
    let pair = [&[pair.len() as u8], &pair[1..]].concat();
    for (value, line, reply) in [
        (pack(20, &listpack), "SMISMEMBER k a b c", "[1 1 0]"),
        (pack(10, &ziplist), "LRANGE k 0 -1", "[\"a\" \"2\" \"-1\"]"),
        ([&[14, 1][..], &pack(0, &ziplist)[1..]].concat(), "LRANGE k 0 -1", "[\"a\" \"2\" \"-1\"]"),
        (pack(13, &pair), "HGETALL k", "[\"a\" \"2\"]"),
        (pack(12, &pair), "ZRANGE k 0 -1 WITHSCORES", "[\"a\" \"2\"]"),
        (b"\x01\x02\x01a\xc0\x05".to_vec(), "LRANGE k 0 -1", "[\"a\" \"5\"]"),
        (
            b"\x03\x02\x01a\x032.5\x01b\xfe".to_vec(),
            "ZRANGE k 0 -1 WITHSCORES",
            "[\"a\" \"2.5\" \"b\" \"inf\"]",
        ),
    ] {
        let mut region = Region::default();
        let restored = region.run(&format!("RESTORE k 0 {}", quoted(&sealed(&value, 11))));
        assert_eq!(restored, "OK", "{line}");
        assert_eq!(region.run(line), reply);
    }
}

/// Every payload, cut and with bits turned over, each with a checksum that is right: an answer comes, and is OK or an error.
#[test]
fn malformed_payloads_are_refused() {
    let mut refused = 0;
    let payloads = cases().into_iter().map(|case| case.payload).chain([unhex(GROUPS)]);
    for payload in payloads {
        let value = &payload[..payload.len() - 10];
        let every = if value.len() > 300 { 37 } else { 1 };
        let cut = (0..value.len()).step_by(every).map(|len| value[..len].to_vec());
        let turned = (0..value.len() * 8).step_by(every).map(|bit| {
            let mut value = value.to_vec();
            value[bit / 8] ^= 1 << (bit % 8);
            value
        });
        for value in cut.chain(turned) {
            let mut region = Region::default();
            let reply = region.run(&format!("RESTORE k 0 {}", quoted(&sealed(&value, 10))));
            assert!(["OK", "!ERR Bad data format"].contains(&&reply[..]), "{value:02x?}: {reply}");
            refused += usize::from(reply != "OK");
        }
    }
    assert!(refused > 5000, "{refused}");
}

/// Lengths and compression that would take far more memory than there is.
#[test]
fn claims_of_payloads_are_not_believed() {
    let huge = b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff";
    let mut values: Vec<Vec<u8>> = (0..=21).map(|tag| [&[tag][..], huge, b"\x01a"].concat()).collect();
    values.push([&[0, 0xc3, 4][..], huge, b"\0aaa"].concat());
    values.push([&[0, 0xc3, 4][..], b"\x80\x20\0\0\0\0aaa"].concat());
    for value in values {
        let reply = Region::default().run(&format!("RESTORE k 0 {}", quoted(&sealed(&value, 10))));
        assert_eq!(reply, "!ERR Bad data format", "{value:02x?}");
    }
}

/// A connection to a real server, in RESP2.
struct Real(BufReader<TcpStream>);

impl Real {
    fn ask(&mut self, line: &str) -> String {
        let words = words(line);
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in &words {
            bytes.extend(format!("${}\r\n", word.len()).into_bytes());
            bytes.extend_from_slice(word);
            bytes.extend(b"\r\n");
        }
        self.0.get_mut().write_all(&bytes).expect("the server reads");
        self.reply()
    }

    /// A reply, as [`typed::render`] shows it.
    fn reply(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("the server answers");
        let (kind, rest) = line.trim_end().split_at(1);
        match kind {
            "$" | "*" if rest == "-1" => "nil".into(),
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>().expect("a length") + 2];
                self.0.read_exact(&mut bytes).expect("the server answers");
                bytes.truncate(bytes.len() - 2);
                typed::render(&tidemark_core::Reply::Bulk(bytes.into()))
            }
            "*" => {
                let count: usize = rest.parse().expect("a count");
                format!("[{}]", (0..count).map(|_| self.reply()).collect::<Vec<_>>().join(" "))
            }
            "-" => format!("!{rest}"),
            _ => rest.into(),
        }
    }
}

#[test]
fn redis_restores_what_is_dumped_here() {
    let Ok(address) = std::env::var("TIDEMARK_REDIS") else { return };
    let mut real = Real(BufReader::new(TcpStream::connect(address).expect("the server listens")));
    let key = format!("tidemark:{}:rdb", std::process::id());
    for Case { encoding, commands, .. } in cases() {
        let mut region = Region::default();
        commands.iter().for_each(|command| drop(region.run(command)));
        let dumped = region.run("DUMP k");
        assert_eq!(real.ask(&format!("RESTORE {key} 0 {dumped} REPLACE")), "OK", "{encoding}: {commands:?}");
        let payload = real.ask(&format!("DUMP {key}"));
        let (here, there) = (told(&mut |line| region.run(line), "k"), told(&mut |line| real.ask(line), &key));
        assert_eq!(there, here, "{encoding}: {commands:?}");
        let mut region = Region::default();
        assert_eq!(region.run(&format!("RESTORE k 0 {payload}")), "OK");
        assert_eq!(told(&mut |line| region.run(line), "k"), here, "{encoding}: {commands:?}");
    }
    real.ask(&format!("DEL {key}"));
}
