//! Commands that the connection answers itself. Raw replies are what redis-server 7.0 sent, apart from the version
//! and what 7.2 added.

use crate::harness::{Server, answer};
use tidemark_wire::resp::Reply;

const NOAUTH_HELLO: &str = "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time\r\n";
const WRONGPASS: &str = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
const BAD_NAME: &str = "-ERR Client names cannot contain spaces, newlines or special characters.\r\n";

#[test]
fn one_request_one_answer() {
    for (request, reply) in [
        ("ping", "+PONG\r\n"),
        ("ping a", "$1\r\na\r\n"),
        ("echo hello", "$5\r\nhello\r\n"),
        ("quit", "+OK\r\n"),
        ("quit x", "+OK\r\n"),
        ("reset", "+RESET\r\n"),
        ("select 0", "+OK\r\n"),
        ("select 1", "-ERR DB index is out of range\r\n"),
        ("select -1", "-ERR DB index is out of range\r\n"),
        ("select x", "-ERR value is not an integer or out of range\r\n"),
        ("hello 1", "-NOPROTO unsupported protocol version\r\n"),
        ("hello 4", "-NOPROTO unsupported protocol version\r\n"),
        ("hello x", "-ERR Protocol version is not an integer or out of range\r\n"),
        ("hello 3 foo", "-ERR Syntax error in HELLO option 'foo'\r\n"),
        ("hello 2 auth a", "-ERR Syntax error in HELLO option 'auth'\r\n"),
        ("hello 2 setname", "-ERR Syntax error in HELLO option 'setname'\r\n"),
        ("hello 2 setname a\u{1}", BAD_NAME),
        ("hello 2 auth a b", WRONGPASS),
        (
            "auth a",
            "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?\r\n",
        ),
        ("auth a b", WRONGPASS),
        ("auth default b", "+OK\r\n"),
        ("auth a b c", "-ERR syntax error\r\n"),
        ("config get foo", "*0\r\n"),
        ("config get save maxmemory", "*4\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n$4\r\nsave\r\n$0\r\n\r\n"),
        ("config get MAXMEMORY-P*", "*2\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n"),
        ("config set foo bar", "-ERR Unknown option or number of arguments for CONFIG SET - 'foo'\r\n"),
        (
            "config set maxmemory foo",
            "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value\r\n",
        ),
        (
            "config set appendonly foo",
            "-ERR CONFIG SET failed (possibly related to argument 'appendonly') - argument must be 'yes' or 'no'\r\n",
        ),
        (
            "config set maxmemory-policy foo",
            "-ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - argument(s) must be one of the following: volatile-ttl, noeviction\r\n",
        ),
        (
            "config set hash-max-listpack-entries x",
            "-ERR CONFIG SET failed (possibly related to argument 'hash-max-listpack-entries') - argument couldn't be parsed into an integer\r\n",
        ),
        (
            "config set maxmemory 0 maxmemory 0",
            "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - duplicate parameter\r\n",
        ),
        (
            "config set databases 5",
            "-ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config\r\n",
        ),
        ("config resetstat", "+OK\r\n"),
        ("config rewrite", "-ERR The server is running without a config file\r\n"),
        ("time", "*2\r\n$2\r\n61\r\n$1\r\n0\r\n"),
        ("slowlog get", "*0\r\n"),
        ("slowlog get -1", "*0\r\n"),
        ("slowlog get x", "-ERR count should be greater than or equal to -1\r\n"),
        ("slowlog get -2", "-ERR count should be greater than or equal to -1\r\n"),
        ("slowlog len", ":0\r\n"),
        ("slowlog reset", "+OK\r\n"),
        ("latency latest", "*0\r\n"),
        ("latency history x", "*0\r\n"),
        ("latency reset x y", ":0\r\n"),
        ("latency histogram", "*0\r\n"),
        ("module list", "*0\r\n"),
        ("function flush foo", "-ERR FUNCTION FLUSH only supports SYNC|ASYNC option\r\n"),
        ("function kill", "-NOTBUSY No scripts in execution right now.\r\n"),
        ("cluster info", "-ERR This instance has cluster support disabled\r\n"),
        ("cluster slots", "-ERR This instance has cluster support disabled\r\n"),
        ("debug sleep 0", "-ERR DEBUG command not allowed.\r\n"),
        ("info foo", "$0\r\n\r\n"),
        ("command docs foo", "*0\r\n"),
        ("command info foo", "*1\r\n$-1\r\n"),
        ("command list filterby foo bar", "-ERR syntax error\r\n"),
        ("command list filterby module bar", "*0\r\n"),
        ("command list filterby pattern g?ts*t", "*1\r\n$6\r\ngetset\r\n"),
        ("command list foo", "-ERR syntax error\r\n"),
        ("command getkeys mset a 1 b 2", "*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
        ("command getkeys get a", "*1\r\n$1\r\na\r\n"),
        ("command getkeys memory usage a", "*1\r\n$1\r\na\r\n"),
        ("command getkeys ping a", "-ERR The command has no key arguments\r\n"),
        ("command getkeys foo a", "-ERR Invalid command specified\r\n"),
        ("command getkeys get a b", "-ERR Invalid number of arguments specified for command\r\n"),
    ] {
        assert_eq!(answer(request), reply, "{request}");
    }
}

#[test]
fn hello_tells_seven_things_in_either_version() {
    let mut server = Server::new();
    let mut client = server.connect();
    let pairs = |proto| {
        format!(
            "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.2.0\r\n$5\r\nproto\r\n:{proto}\r\n$2\r\nid\r\n:1\r\n\
             $4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
        )
    };
    assert_eq!(server.send(&mut client, "HELLO"), format!("*14\r\n{}", pairs(2)));
    assert_eq!(server.send(&mut client, "hello 3 setname joe"), format!("%7\r\n{}", pairs(3)));
    assert_eq!(server.send(&mut client, "client getname"), "$3\r\njoe\r\n");
    assert_eq!(server.send(&mut client, "HELLO"), format!("%7\r\n{}", pairs(3)));
    assert_eq!(server.send(&mut client, "config get save"), "%1\r\n$4\r\nsave\r\n$0\r\n\r\n");
    assert_eq!(server.send(&mut client, "reset"), "+RESET\r\n");
    assert_eq!(server.send(&mut client, "client getname"), "$-1\r\n");
    assert_eq!(server.send(&mut client, "HELLO"), format!("*14\r\n{}", pairs(2)));
}

#[test]
fn before_authentication_little_is_allowed() {
    let mut server = Server::new();
    server.config.preset("requirepass", "pw");
    let noauth = "-NOAUTH Authentication required.\r\n";
    for (request, reply) in [
        ("get a", noauth),
        ("set k v ex", noauth),
        ("ping", noauth),
        ("ping a b", noauth),
        ("select 0", noauth),
        ("command", noauth),
        ("client id", noauth),
        ("tide.session export", noauth),
        ("get", "-ERR wrong number of arguments for 'get' command\r\n"),
        ("foo", "-ERR unknown command 'foo', with args beginning with: \r\n"),
        ("client foo", "-ERR unknown subcommand 'foo'. Try CLIENT HELP.\r\n"),
        ("quit", "+OK\r\n"),
        ("reset", "+RESET\r\n"),
        ("hello", NOAUTH_HELLO),
        ("hello 3 setname joe", NOAUTH_HELLO),
        ("hello 9", "-NOPROTO unsupported protocol version\r\n"),
        ("hello 2 auth default bad", WRONGPASS),
        ("hello 3 foo", "-ERR Syntax error in HELLO option 'foo'\r\n"),
        ("auth bad", WRONGPASS),
        ("auth pw2", WRONGPASS),
        ("auth p", WRONGPASS),
        ("auth x pw", WRONGPASS),
        ("auth a b c", "-ERR syntax error\r\n"),
        ("mget 1 2 3 4 5 6 7 8 9 10", "-ERR Protocol error: unauthenticated multibulk length\r\n"),
    ] {
        let mut client = server.connect();
        assert_eq!(server.send(&mut client, request), reply, "{request}");
    }
    for login in
        ["auth pw", "auth default pw", "hello 2 auth default pw", "HELLO 3 AUTH default pw SETNAME x"]
    {
        let mut client = server.connect();
        server.send(&mut client, login);
        assert_eq!(server.send(&mut client, "auth bad"), WRONGPASS);
        assert_eq!(server.send(&mut client, "exists a"), ":0\r\n", "{login}");
        server.send(&mut client, "reset");
        assert_eq!(server.send(&mut client, "get a"), noauth);
    }
}

#[test]
fn a_password_that_is_set_later_concerns_new_connections() {
    let mut server = Server::new();
    let mut old = server.connect();
    assert_eq!(server.send(&mut old, "config set requirepass x"), "+OK\r\n");
    let mut new = server.connect();
    assert_eq!(server.send(&mut old, "ping"), "+PONG\r\n");
    assert!(server.send(&mut new, "ping").starts_with("-NOAUTH"));
    assert_eq!(server.send_words(&mut old, &["config", "set", "requirepass", ""]), "+OK\r\n");
    assert!(server.send(&mut new, "hello").starts_with("*14"));
    assert_eq!(server.send(&mut new, "ping"), "+PONG\r\n");
}

#[test]
fn settings_are_kept_under_old_and_new_names() {
    let mut server = Server::new();
    let mut client = server.connect();
    for pair in [
        "maxmemory 100mb",
        "hash-max-ziplist-entries 5",
        "appendonly NO",
        "lazyfree-lazy-user-del yes",
        "proto-max-bulk-len 1k",
        "list-compress-depth 2",
    ] {
        assert_eq!(server.send(&mut client, &format!("config set {pair}")), "+OK\r\n", "{pair}");
    }
    assert_eq!(server.config.get("maxmemory"), Some("104857600"));
    assert_eq!(server.config.get("hash-max-listpack-entries"), Some("5"));
    assert_eq!(server.config.get("hash-max-ziplist-entries"), Some("5"));
    assert_eq!(server.config.get("appendonly"), Some("no"));
    assert_eq!(server.config.request_limits().bulk_bytes_max, 1000);
    // All or nothing.
    assert!(
        server.send(&mut client, "config set maxmemory 1 appendonly x").starts_with("-ERR CONFIG SET failed")
    );
    assert_eq!(server.config.get("maxmemory"), Some("104857600"));
}

#[test]
fn info_has_what_clients_look_for() {
    let mut server = Server::new();
    let mut client = server.connect();
    let reply = server.ask(&mut client, "info");
    let text = String::from_utf8(reply.bytes().unwrap().to_vec()).unwrap();
    for line in [
        "# Server",
        "redis_version:7.2.0",
        "redis_mode:standalone",
        "uptime_in_seconds:60",
        "connected_clients:1",
        "loading:0",
        "role:master",
        "cluster_enabled:0",
        "db0:keys=7,expires=0,avg_ttl=0",
        "region:A",
    ] {
        assert!(text.split("\r\n").any(|found| found == line), "{line} in {text}");
    }
    let some = server.send(&mut client, "info keyspace CLUSTER foo");
    assert_eq!(
        some,
        "$76\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\ndb0:keys=7,expires=0,avg_ttl=0\r\n\r\n"
    );
    server.send(&mut client, "hello 3");
    assert!(
        matches!(server.ask(&mut client, "info everything"), Reply::Verbatim(format, _) if &format == b"txt")
    );
}

#[test]
fn what_a_browser_sends_closes_the_connection() {
    for request in ["POST / HTTP/1.1", "host: localhost"] {
        let mut server = Server::new();
        let mut client = server.connect();
        assert_eq!(server.send(&mut client, request), "");
        assert!(client.closed);
    }
}
