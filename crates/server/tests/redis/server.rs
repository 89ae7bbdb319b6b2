//! Commands about the server. Raw replies are what redis-server 7.0 sent, apart from refusals that say what to do
//! instead.

use crate::harness::{Server, answer};
use tidemark_wire::resp::Reply;

const NO_CLUSTER: &str = "-ERR This instance has cluster support disabled\r\n";

#[test]
fn one_request_one_answer() {
    for (request, reply) in [
        ("role", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"),
        ("bgsave foo", "-ERR syntax error\r\n"),
        ("shutdown foo", "-ERR syntax error\r\n"),
        ("shutdown save nosave", "-ERR syntax error\r\n"),
        ("shutdown abort now", "-ERR syntax error\r\n"),
        ("shutdown abort", "-ERR No shutdown in progress.\r\n"),
        ("lolwut version x", "-ERR value is not an integer or out of range\r\n"),
        ("memory purge", "+OK\r\n"),
        ("memory malloc-stats", "$45\r\nStats not supported for the current allocator\r\n"),
        ("module load", "-ERR wrong number of arguments for 'module|load' command\r\n"),
        ("module load /x", "-ERR MODULE LOAD is not supported: the server cannot run modules\r\n"),
        ("module loadex /x", "-ERR MODULE LOADEX is not supported: the server cannot run modules\r\n"),
        ("module unload x", "-ERR MODULE UNLOAD is not supported: the server cannot run modules\r\n"),
        ("replicaof no one", "+OK\r\n"),
        ("slaveof NO ONE", "+OK\r\n"),
        (
            "slaveof a 1",
            "-ERR SLAVEOF is not supported: the cluster file says which nodes and regions replicate each other\r\n",
        ),
        ("readonly", NO_CLUSTER),
        ("readwrite", NO_CLUSTER),
        ("asking", NO_CLUSTER),
        ("cluster nodes", NO_CLUSTER),
        ("cluster help", NO_CLUSTER),
        ("cluster nodes x", "-ERR wrong number of arguments for 'cluster|nodes' command\r\n"),
        ("cluster foo", "-ERR unknown subcommand 'foo'. Try CLUSTER HELP.\r\n"),
        ("sentinel masters", "-ERR unknown command 'sentinel', with args beginning with: 'masters' \r\n"),
        (
            "slowlog get a b",
            "-ERR unknown subcommand or wrong number of arguments for 'get'. Try SLOWLOG HELP.\r\n",
        ),
        ("latency graph x", "-ERR No samples available for event 'x'\r\n"),
        ("command getkeys eval a 2 b c d", "*2\r\n$1\r\nb\r\n$1\r\nc\r\n"),
        ("command getkeys eval a 0", "*0\r\n"),
        ("command getkeys eval a 3 b", "-ERR Invalid arguments specified for command\r\n"),
        ("command getkeys lmpop 1 a left", "*1\r\n$1\r\na\r\n"),
        ("command getkeys xread count 1 streams a b 1 2", "*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
        ("command getkeys sort a by x store d", "*2\r\n$1\r\na\r\n$1\r\nd\r\n"),
        ("command getkeysandflags get a", "*1\r\n*2\r\n$1\r\na\r\n*2\r\n+RO\r\n+access\r\n"),
        ("command getkeysandflags set a b", "*1\r\n*2\r\n$1\r\na\r\n*2\r\n+OW\r\n+update\r\n"),
        (
            "command getkeysandflags mset a 1 b 2",
            "*2\r\n*2\r\n$1\r\na\r\n*2\r\n+OW\r\n+update\r\n*2\r\n$1\r\nb\r\n*2\r\n+OW\r\n+update\r\n",
        ),
        (
            "command getkeysandflags ping",
            "-ERR wrong number of arguments for 'command|getkeysandflags' command\r\n",
        ),
        ("command list filterby aclcat foo", "*0\r\n"),
        ("command list filterby aclcat string filterby aclcat read", "-ERR syntax error\r\n"),
    ] {
        assert_eq!(answer(request), reply, "{request}");
    }
}

#[test]
fn refusals_say_why() {
    for request in [
        "save",
        "failover",
        "failover abort",
        "swapdb 0 1",
        "sync",
        "psync a 1",
        "replconf a b",
        "restore-asking a 0 b",
        "migrate 127.0.0.1 1 k 0 10",
        "move a 1",
    ] {
        let name = request.split(' ').next().unwrap().to_uppercase();
        let reply = answer(request);
        assert!(reply.starts_with(&format!("-ERR {name} is not supported: ")), "{reply}");
    }
}

#[test]
fn info_shows_the_sections_that_are_asked_for() {
    let mut server = Server::new();
    let mut client = server.connect();
    let mut titles = |request: &str| -> Vec<String> {
        let reply = server.ask(&mut client, request);
        let text = String::from_utf8(reply.bytes().unwrap().to_vec()).unwrap();
        text.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_string).collect()
    };
    let default = titles("info");
    assert_eq!(
        default,
        [
            "Server",
            "Clients",
            "Memory",
            "Persistence",
            "Stats",
            "Replication",
            "CPU",
            "Modules",
            "Errorstats",
            "Cluster",
            "Keyspace",
            "Tidemark"
        ]
    );
    assert_eq!(titles("info default"), default);
    assert_eq!(titles("info all").len(), default.len() + 2);
    assert_eq!(titles("info everything"), titles("info all"));
    assert_eq!(titles("info cpu SERVER cpu nonsense"), ["Server", "CPU"]);
    assert_eq!(titles("info commandstats default").len(), default.len() + 1);
}

#[test]
fn categories_and_tips_are_those_of_redis() {
    let mut server = Server::new();
    let mut client = server.connect();
    let mut row = |name: &str| {
        let rows = server.ask(&mut client, &format!("command info {name}"));
        rows.items().unwrap()[0].items().unwrap().to_vec()
    };
    let words = |reply: &Reply| -> Vec<String> {
        let word = |word: &Reply| String::from_utf8(word.bytes().unwrap().to_vec()).unwrap();
        reply.items().unwrap().iter().map(word).collect()
    };
    assert_eq!(words(&row("subscribe")[2]), ["pubsub", "noscript", "loading", "stale"]);
    assert_eq!(words(&row("subscribe")[6]), ["@pubsub", "@slow"]);
    assert_eq!(words(&row("publish")[6]), ["@pubsub", "@fast"]);
    assert_eq!(words(&row("time")[7]), ["nondeterministic_output"]);
    assert_eq!(words(&row("keys")[7]), ["nondeterministic_output_order"]);
    assert_eq!(words(row("exists")[8].items().unwrap()[0].lookup("flags").unwrap()), ["RO"]);
    assert_eq!(words(row("del")[8].items().unwrap()[0].lookup("flags").unwrap()), ["RM", "delete"]);
    assert_eq!(words(row("mset")[8].items().unwrap()[0].lookup("flags").unwrap()), ["OW", "update"]);
}

#[test]
fn shutdown_says_nothing() {
    let mut server = Server::new();
    let mut client = server.connect();
    assert_eq!(server.send(&mut client, "shutdown nosave now force"), "");
    assert!(server.shared.shutdown);
}
