//! What requests mean to the store, and the errors of those that mean nothing. The errors are what redis-server
//! 7.0 answered, except where expiry is concerned.

use crate::harness::answer;

#[test]
fn requests_for_the_store() {
    for (request, command) in [
        ("GET k", "Get { key: k }"),
        ("gEt k", "Get { key: k }"),
        ("SET k v", "Set { key: k, value: [118], condition: Always, get: false }"),
        ("set k v nx", "Set { key: k, value: [118], condition: IfAbsent, get: false }"),
        ("SET k v NX NX", "Set { key: k, value: [118], condition: IfAbsent, get: false }"),
        ("SET k v GET XX", "Set { key: k, value: [118], condition: IfPresent, get: true }"),
        ("SET k v GET NX GET", "Set { key: k, value: [118], condition: IfAbsent, get: true }"),
        ("SETNX k v", "SetNx { key: k, value: [118] }"),
        ("GETSET k v", "GetSet { key: k, value: [118] }"),
        ("MGET a b a", "MGet { keys: [a, b, a] }"),
        ("MSET a 1 b 2", "MSet { pairs: [(a, [49]), (b, [50])] }"),
        ("DEL a b", "Del { keys: [a, b] }"),
        ("UNLINK a", "Del { keys: [a] }"),
        ("EXISTS a a", "Exists { keys: [a, a] }"),
        ("STRLEN a", "StrLen { key: a }"),
        ("TYPE a", "Type { key: a }"),
        ("DBSIZE", "DbSize"),
        ("KEYS a*", "Keys { pattern: b\"a*\" }"),
        ("SCAN 0", "Scan { cursor: 0, pattern: None, count: 10, kind: None }"),
        (
            "SCAN 18446744073709551615 TYPE string match a* COUNT 5",
            "Scan { cursor: 18446744073709551615, pattern: Some(b\"a*\"), count: 5, kind: Some(b\"string\") }",
        ),
        ("FLUSHALL", "Flush"),
        ("FLUSHALL async", "Flush"),
        ("FLUSHDB SYNC", "Flush"),
        ("MEMORY USAGE k", "MemoryUsage { key: k }"),
        ("MEMORY USAGE k SAMPLES 5", "MemoryUsage { key: k }"),
        ("OBJECT ENCODING k", "ObjectEncoding { key: k }"),
        ("TIDE.SESSION EXPORT", "SessionExport"),
        ("TIDE.GUARANTEE", "Guarantee { levels: Levels { reads: None, writes: None }, command: None }"),
        (
            "tide.guarantee READ=Eventual",
            "Guarantee { levels: Levels { reads: Some(\"eventual\"), writes: None }, command: None }",
        ),
        (
            "TIDE.GUARANTEE read=both write=monotonic-writes read=monotonic-read",
            "Guarantee { levels: Levels { reads: Some(\"monotonic-read\"), writes: Some(\"monotonic-writes\") }, command: None }",
        ),
        (
            "TIDE.GUARANTEE write=writes-follow-reads SET k read=x NX",
            "Guarantee { levels: Levels { reads: None, writes: Some(\"writes-follow-reads\") }, \
             command: Some(Set { key: k, value: [114, 101, 97, 100, 61, 120], condition: IfAbsent, get: false }) }",
        ),
        (
            "TIDE.GUARANTEE read=read-your-writes MGET a b",
            "Guarantee { levels: Levels { reads: Some(\"read-your-writes\"), writes: None }, \
             command: Some(MGet { keys: [a, b] }) }",
        ),
        ("tide.session import t", "SessionImport { token: b\"t\" }"),
        ("TIDE.CHECKING", "Checking { groups: None, command: None }"),
        ("tide.checking A,*/0", "Checking { groups: Some(\"A,*/0\"), command: None }"),
        ("TIDE.CHECKING * GET k", "Checking { groups: Some(\"*\"), command: Some(Get { key: k }) }"),
    ] {
        assert_eq!(answer(request), format!("+{command}\r\n"), "{request}");
    }
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
        ("TIDE.CHECKING A GET", "ERR wrong number of arguments for 'get' command"),
        (
            "TIDE.CHECKING A tide.checking B GET k",
            "ERR TIDE.CHECKING takes any command but itself and TIDE.GUARANTEE",
        ),
        ("TIDE.GUARANTEE reads=both", "ERR 'reads=both' is neither read=LEVEL nor write=LEVEL"),
        ("TIDE.GUARANTEE read=both GET", "ERR wrong number of arguments for 'get' command"),
        ("TIDE.GUARANTEE read=both foo a", "ERR unknown command 'foo', with args beginning with: 'a' "),
        (
            "TIDE.GUARANTEE read=both tide.guarantee write=both GET k",
            "ERR TIDE.GUARANTEE takes any command but itself and TIDE.CHECKING",
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
        (&["config set", "config set a", "config set a b c"], "config|set"),
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
    let expiry = "ERR expiry is not supported yet";
    for (request, error) in [
        ("set k v nx xx", syntax),
        ("set k v xx nx", syntax),
        ("set k v foo", syntax),
        ("set k v ex", syntax),
        ("set k v ex 10 px 10", syntax),
        ("set k v keepttl ex 10", syntax),
        ("set k v ex 10", expiry),
        ("set k v nx PX 10 get", expiry),
        ("set k v exat 10", expiry),
        ("set k v pxat 10", expiry),
        ("set k v keepttl", expiry),
        ("scan x", cursor),
        ("scan 18446744073709551616", cursor),
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
    use tidemark_server::redis::{Handler, Table};
    let rows = Table::get().iter().flat_map(|spec| std::iter::once(spec).chain(spec.subcommands));
    for spec in rows.filter(|spec| !matches!(spec.handler, Handler::Subcommands)) {
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
