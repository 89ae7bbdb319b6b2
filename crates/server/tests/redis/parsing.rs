//! What requests mean to the store, and the errors of those that mean nothing. The errors are what redis-server
//! 7.0 answered.

use crate::harness::{Server, answer};
use tidemark_server::redis::{Handler, Table};

/// What a request asks of the session, and its reply where the store is empty.
fn asked(request: &str) -> (Vec<String>, String) {
    let mut server = Server::new();
    let mut client = server.connect();
    let reply = server.send(&mut client, request);
    (server.asked, reply)
}

fn get(key: &str) -> String {
    format!("Get {{ key: {key} }}")
}

/// `update` is an assignment as SET's, followed by what else it asks for.
fn put(key: &str, update: &str) -> String {
    let (write, rest) = update.split_once(' ').unwrap_or((update, ""));
    let condition =
        ["IfAbsent", "IfPresent"].into_iter().find(|word| rest.contains(word)).unwrap_or("Always");
    let previous = rest.contains("previous");
    format!(
        "Put {{ key: {key}, update: Update {{ write: {write}, condition: {condition}, returns_previous: {previous}, command: None }} }}"
    )
}

/// A command of a data type without arguments.
fn call(key: &str, verb: &str) -> String {
    let command = format!("Command {{ verb: {verb}, keys: [], args: [], seed: 0 }}");
    put(key, "removed").replace("command: None", &format!("command: Some({command})"))
}

fn scan(partition: u16, cursor: u64, limit: u32) -> String {
    format!("Scan {{ partition: {partition}, cursor: {cursor}, limit: {limit} }}")
}

#[test]
fn commands_of_one_operation() {
    for (request, op, reply) in [
        ("GET k", get("k"), "$-1"),
        ("gEt k", get("k"), "$-1"),
        ("SET k v", put("k", "\"v\""), "+OK"),
        ("set k v nx", put("k", "\"v\" IfAbsent"), "+OK"),
        ("SET k v NX NX", put("k", "\"v\" IfAbsent"), "+OK"),
        ("SET k v GET XX", put("k", "\"v\" IfPresent previous"), "$-1"),
        ("SET k v GET NX GET", put("k", "\"v\" IfAbsent previous"), "$-1"),
        ("SETNX k v", put("k", "\"v\" IfAbsent"), ":1"),
        ("GETSET k v", put("k", "\"v\" previous"), "$-1"),
        ("MGET a b a", "Rotx { keys: [a, b, a] }".into(), "*3\r\n$-1\r\n$-1\r\n$-1"),
        ("MSET a 1", put("a", "\"1\""), "+OK"),
        ("DEL a", put("a", "removed IfPresent"), ":1"),
        ("UNLINK a", put("a", "removed IfPresent"), ":1"),
        ("EXISTS a", call("a", "Exists"), ":0"),
        ("STRLEN a", call("a", "StrLen"), ":0"),
        ("TYPE a", call("a", "Type"), "+none"),
        (
            "SCAN 35184372088833 TYPE string match a* COUNT 5",
            scan(1, 35184372088833, 5),
            "*2\r\n$1\r\n0\r\n*0",
        ),
        ("MEMORY USAGE k", call("k", "Usage"), "$-1"),
        ("MEMORY USAGE k SAMPLES 5", call("k", "Usage"), "$-1"),
        ("OBJECT ENCODING k", call("k", "Encoding"), "$-1"),
        ("TIDE.SNAPSHOT a b", "Snapshot { keys: [a, b] }".into(), "*2\r\n$-1\r\n$-1"),
        ("TIDE.AT 12.5 GET k", "At { keys: [k], time: 12500000 }".into(), "$-1"),
        ("tide.at 7 mget a b", "At { keys: [a, b], time: 7000000 }".into(), "*2\r\n$-1\r\n$-1"),
        ("TIDE.AT -1.5 MGET k", "At { keys: [k], time: 59500000 }".into(), "*1\r\n$-1"),
        ("TIDE.AT -90 GET k", "At { keys: [k], time: 0 }".into(), "$-1"),
        ("TIDE.GUARANTEE read=both TIDE.AT 1 GET k", "At { keys: [k], time: 1000000 }".into(), "$-1"),
        ("tide.session import t", "Import b\"t\"".into(), "+OK"),
    ] {
        assert_eq!(asked(request), (vec![op], format!("{reply}\r\n")), "{request}");
    }
}

fn conflicts(limits: &[u32]) -> Vec<String> {
    let ask = |(partition, limit)| format!("Conflicts {{ partition: {partition}, limit: {limit} }}");
    (0..).zip(limits).map(ask).collect()
}

/// A key with two versions.
const CONFLICT: &str = "*1\r\n*2\r\n$2\r\nk0\r\n*2\r\n*3\r\n$-1\r\n$1\r\nB\r\n$8\r\n1.500001\r\n*3\r\n$-1\r\n$1\r\nA\r\n$8\r\n1.500000";

#[test]
fn conflicts_are_looked_for_in_all_partitions() {
    let (asked, reply) = asked("tide.conflicts");
    assert_eq!(asked, conflicts(&[100, 99]));
    assert!(reply.starts_with("*2\r\n*2\r\n$2\r\nk0\r\n*2\r\n"), "{reply}");
}

#[test]
fn commands_of_several_operations() {
    let removed = |key| put(key, "removed IfPresent");
    let everything = |limit| vec![scan(0, 0, limit), scan(1, 8192 << 32, limit)];
    let reserved = call("\\0tidemark:functions", "Exists");
    let dbsize = vec!["Count { partition: 0 }".into(), "Count { partition: 1 }".into(), reserved];
    for (request, operations, reply) in [
        ("MSET a 1 b 2", vec![put("a", "\"1\""), put("b", "\"2\"")], "+OK"),
        ("DEL a b", vec![removed("a"), removed("b")], ":2"),
        ("UNLINK a a", vec![removed("a"), removed("a")], ":2"),
        ("EXISTS a a", vec![call("a", "Exists"), call("a", "Exists")], ":0"),
        ("TIDE.CONFLICTS COUNT 1", conflicts(&[1]), CONFLICT),
        ("DBSIZE", dbsize, ":6"),
        ("KEYS a*", everything(512), "*0"),
        ("SCAN 0", everything(10), "*2\r\n$1\r\n0\r\n*0"),
        (
            "SCAN 1 COUNT 100001",
            vec![scan(0, 1, 100_000), scan(1, 8192 << 32, 100_000)],
            "*2\r\n$1\r\n0\r\n*0",
        ),
        ("FLUSHALL", everything(512), "+OK"),
        ("FLUSHALL async", everything(512), "+OK"),
        ("FLUSHDB SYNC", everything(512), "+OK"),
    ] {
        assert_eq!(asked(request), (operations, format!("{reply}\r\n")), "{request}");
    }
}

#[test]
fn replies_to_values() {
    for (request, reply) in [
        ("GET k", "$4\r\nfour"),
        ("SET k v GET", "$4\r\nfour"),
        ("GETSET k v", "$4\r\nfour"),
        ("MGET a b", "*2\r\n$4\r\nfour\r\n$4\r\nfour"),
        ("EXISTS a a b", ":3"),
        ("STRLEN k", ":4"),
        ("TYPE k", "+string"),
        ("OBJECT ENCODING k", "$6\r\nembstr"),
        // The key, the value and what the remark names.
        ("MEMORY USAGE key", ":127"),
    ] {
        let mut server = Server { value: Some("four"), ..Server::new() };
        let mut client = server.connect();
        assert_eq!(server.send(&mut client, request), format!("{reply}\r\n"), "{request}");
    }
    let usage = Table::get().any(b"memory|usage").unwrap();
    assert!(usage.remark.contains("the key, the value that the session sees and 120 bytes"));
}

#[test]
fn several_keys_are_set_in_one_transaction_if_there_are_some() {
    let mut server = Server { write_transactions: true, ..Server::new() };
    let mut client = server.connect();
    assert_eq!(server.send(&mut client, "MSET a 1 b 2"), "+OK\r\n");
    assert_eq!(server.asked, ["PutAll { writes: [(a, \"1\"), (b, \"2\")] }"]);
}

#[test]
fn guarantees_are_those_of_the_connection_or_of_one_command() {
    let mut server = Server::new();
    let mut client = server.connect();
    let shown = "*6\r\n$4\r\nread\r\n$4\r\nboth\r\n$5\r\nwrite\r\n$4\r\nboth\r\n$6\r\nheeded\r\n$44\r\n\
                 no: accf always provides its full guarantees\r\n";
    assert_eq!(server.send(&mut client, "TIDE.GUARANTEE"), shown);
    for (request, reads, writes, reply) in [
        ("TIDE.GUARANTEE read=eventual GET k", "eventual", "both", "$-1"),
        ("GET k", "both", "both", "$-1"),
        ("tide.guarantee READ=Eventual", "eventual", "both", "+OK"),
        ("GET k", "eventual", "both", "$-1"),
        (
            "TIDE.GUARANTEE write=writes-follow-reads SET k read=x NX",
            "eventual",
            "writes-follow-reads",
            "+OK",
        ),
        (
            "TIDE.GUARANTEE read=both write=monotonic-writes read=monotonic-read",
            "monotonic-read",
            "monotonic-writes",
            "+OK",
        ),
        ("TIDE.GUARANTEE read=read-your-writes PING", "read-your-writes", "monotonic-writes", "+PONG"),
        ("TIDE.GUARANTEE read=read-your-writes MGET a", "read-your-writes", "monotonic-writes", "*1\r\n$-1"),
        ("PING", "monotonic-read", "monotonic-writes", "+PONG"),
        ("RESET", "both", "both", "+RESET"),
    ] {
        assert_eq!(server.send(&mut client, request), format!("{reply}\r\n"), "{request}");
        let guarantees = client.connection.options().guarantees;
        assert_eq!((guarantees.reads(), guarantees.writes()), (reads, writes), "{request}");
    }
    assert!(server.asked.contains(&put("k", "\"read=x\" IfAbsent")));
}

#[test]
fn checking_groups_are_those_of_the_connection_or_of_one_command() {
    let mut server = Server::new();
    let mut client = server.connect();
    let groups = "$6\r\ngroups\r\n*2\r\n$4\r\nnear\r\n$3\r\nfar\r\n";
    let shown = |chosen: &str| format!("*4\r\n$8\r\nchecking\r\n{chosen}{groups}");
    assert_eq!(server.send(&mut client, "TIDE.CHECKING"), shown("*1\r\n$1\r\n*\r\n"));
    for (request, chosen, reply) in [
        ("TIDE.CHECKING far GET k", &[2][..], "$-1"),
        ("GET k", &[], "$-1"),
        ("tide.checking FAR,near,far", &[2, 1], "+OK"),
        ("TIDE.CHECKING * GET k", &[], "$-1"),
        ("GET k", &[2, 1], "$-1"),
        ("TIDE.CHECKING *", &[], "+OK"),
        (
            "TIDE.CHECKING near,wide GET k",
            &[],
            "-ERR no checking group is called 'wide'; there are near, far",
        ),
    ] {
        assert_eq!(server.send(&mut client, request), format!("{reply}\r\n"), "{request}");
        let options = client.connection.options();
        let ids: Vec<u64> = options.checking.named().iter().map(|group| group.0).collect();
        assert_eq!(ids, chosen, "{request}");
    }
    assert_eq!(server.asked.len(), 4, "what is refused asks for nothing");
    server.send(&mut client, "TIDE.CHECKING far");
    assert_eq!(server.send(&mut client, "TIDE.CHECKING"), shown("*1\r\n$3\r\nfar\r\n"));
}

#[test]
fn a_guarantee_that_there_is_not_is_refused_in_words() {
    for (request, error) in [
        (
            "TIDE.GUARANTEE read=causal GET k",
            "ERR no read level is called 'causal'; choose one of eventual, monotonic-read, read-your-writes, both",
        ),
        (
            "TIDE.GUARANTEE write=monotonic-read",
            "ERR no write level is called 'monotonic-read'; choose one of eventual, writes-follow-reads, \
             monotonic-writes, both",
        ),
        ("TIDE.GUARANTEE GET k", "ERR 'GET' is neither read=LEVEL nor write=LEVEL"),
        (
            "TIDE.GUARANTEE read=both tide.checking A GET k",
            "ERR TIDE.CHECKING cannot stand behind TIDE.GUARANTEE",
        ),
        ("TIDE.CHECKING A GET", "ERR wrong number of arguments for 'get' command"),
        ("TIDE.CHECKING A tide.checking B GET k", "ERR TIDE.CHECKING cannot stand behind TIDE.CHECKING"),
        ("TIDE.GUARANTEE reads=both", "ERR 'reads=both' is neither read=LEVEL nor write=LEVEL"),
        ("TIDE.GUARANTEE read=both GET", "ERR wrong number of arguments for 'get' command"),
        ("TIDE.GUARANTEE read=both foo a", "ERR unknown command 'foo', with args beginning with: 'a' "),
        (
            "TIDE.GUARANTEE read=both tide.guarantee write=both GET k",
            "ERR TIDE.GUARANTEE cannot stand behind TIDE.GUARANTEE",
        ),
    ] {
        assert_eq!(answer(request), format!("-{error}\r\n"), "{request}");
    }
}

#[test]
fn unknown_commands_are_repeated_in_part() {
    let long = |letter: &str, count| letter.repeat(count);
    for (request, error) in [
        ("foo".into(), "ERR unknown command 'foo', with args beginning with: ".into()),
        ("FoO a b".into(), "ERR unknown command 'FoO', with args beginning with: 'a' 'b' ".into()),
        ("".into(), "ERR unknown command '', with args beginning with: ".into()),
        ("foo a\r\nb".into(), "ERR unknown command 'foo', with args beginning with: 'a  b' ".into()),
        ("ge t".into(), "ERR unknown command 'ge', with args beginning with: 't' ".into()),
        ("getx k".into(), "ERR unknown command 'getx', with args beginning with: 'k' ".into()),
        (long("f", 200), format!("ERR unknown command '{}', with args beginning with: ", long("f", 128))),
        (
            format!("foo {} {} c", long("a", 100), long("b", 100)),
            format!(
                "ERR unknown command 'foo', with args beginning with: '{}' '{}' ",
                long("a", 100),
                long("b", 25)
            ),
        ),
        ("CLIENT FoO".into(), "ERR unknown subcommand 'FoO'. Try CLIENT HELP.".into()),
        (
            "client maint_notifications on".into(),
            "ERR unknown subcommand 'maint_notifications'. Try CLIENT HELP.".into(),
        ),
        ("config foo".into(), "ERR unknown subcommand 'foo'. Try CONFIG HELP.".into()),
        ("slowlog foo".into(), "ERR unknown subcommand 'foo'. Try SLOWLOG HELP.".into()),
        (
            format!("client {}", long("f", 200)),
            format!("ERR unknown subcommand '{}'. Try CLIENT HELP.", long("f", 128)),
        ),
    ] {
        let request: String = request;
        let error: String = error;
        assert_eq!(answer(&request), format!("-{error}\r\n"), "{request}");
    }
}

#[test]
fn requests_of_the_wrong_length() {
    for (requests, name) in [
        (&["GET", "GET a b", "get"][..], "get"),
        (&["set k", "SET"], "set"),
        (&["mset a", "mset a 1 b"], "mset"),
        (&["del"], "del"),
        (&["scan"], "scan"),
        (&["dbsize x"], "dbsize"),
        (&["keys", "keys a b"], "keys"),
        (&["type"], "type"),
        (&["strlen"], "strlen"),
        (&["getset k"], "getset"),
        (&["ping a b"], "ping"),
        (&["echo"], "echo"),
        (&["select"], "select"),
        (&["auth"], "auth"),
        (&["client"], "client"),
        (&["client id x", "CLIENT ID X"], "client|id"),
        (&["client setname"], "client|setname"),
        (&["client kill"], "client|kill"),
        (&["client info x"], "client|info"),
        (&["client no-evict"], "client|no-evict"),
        (&["client reply"], "client|reply"),
        (&["command count x"], "command|count"),
        (&["command getkeys", "command getkeys get"], "command|getkeys"),
        (&["config"], "config"),
        (&["config get"], "config|get"),
        (&["config set", "config set a"], "config|set"),
        (&["config resetstat x"], "config|resetstat"),
        (&["time x"], "time"),
        (&["slowlog"], "slowlog"),
        (&["latency history"], "latency|history"),
        (&["module list x"], "module|list"),
        (&["cluster"], "cluster"),
        (&["debug"], "debug"),
        (&["memory"], "memory"),
        (&["memory usage"], "memory|usage"),
        (&["object encoding"], "object|encoding"),
        (&["reset x"], "reset"),
    ] {
        for request in requests {
            let error = format!("-ERR wrong number of arguments for '{name}' command\r\n");
            assert_eq!(answer(request), error, "{request}");
        }
    }
}

#[test]
fn malformed_arguments() {
    let syntax = "ERR syntax error";
    let integer = "ERR value is not an integer or out of range";
    let cursor = "ERR invalid cursor";
    for (request, error) in [
        ("set k v nx xx", syntax),
        ("set k v xx nx", syntax),
        ("set k v foo", syntax),
        ("set k v ex", syntax),
        ("set k v ex 10 px 10", syntax),
        ("set k v keepttl ex 10", syntax),
        ("set k v ex 0", "ERR invalid expire time in 'set' command"),
        ("set k v px x", integer),
        ("tide.conflicts 5", syntax),
        ("tide.conflicts count 0", syntax),
        ("tide.conflicts count 100001", syntax),
        ("tide.conflicts count x", integer),
        ("tide.conflicts limit 5", syntax),
        ("tide.at 1 get", "ERR wrong number of arguments for 'tide.at' command"),
        ("tide.at 1 get a b", "ERR behind the time stands GET key or MGET key [key ...]"),
        ("scan x", cursor),
        ("scan 18446744073709551616", cursor),
        ("scan 18446744073709551615", cursor),
        ("scan \"", cursor),
        ("scan 0 match", syntax),
        ("scan 0 match a foo", syntax),
        ("scan 0 foo bar", syntax),
        ("scan 0 count 0", syntax),
        ("scan 0 count -1", syntax),
        ("scan 0 count x", integer),
        ("scan 0 count 99999999999999999999", integer),
        ("flushall foo", syntax),
        ("flushall sync x", syntax),
        ("flushdb foo", syntax),
        ("memory usage k samples x", integer),
        ("memory usage k foo", syntax),
    ] {
        assert_eq!(answer(request), format!("-{error}\r\n"), "{request}");
    }
}

/// Keys are slices of the read buffer, in every position of every command that takes some.
#[test]
fn every_command_of_the_table_can_be_parsed() {
    for spec in Table::get().every().filter(|spec| !matches!(spec.handler, Handler::Subcommands)) {
        let mut words: Vec<&str> = spec.name.split('|').collect();
        words.resize(spec.arity.unsigned_abs() as usize, "0");
        let reply = answer(&words.join(" "));
        assert!(!reply.contains("unknown") && !reply.contains("wrong number"), "{words:?}: {reply}");
        let subcommand = spec.name.contains('|');
        assert!(spec.takes(words.len()), "{}", spec.name);
        assert_eq!(Table::get().any(spec.name.as_bytes()).unwrap().name, spec.name);
        assert_eq!(Table::get().command(spec.name.as_bytes()).is_some(), !subcommand);
    }
}
