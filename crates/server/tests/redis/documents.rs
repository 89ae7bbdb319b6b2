//! The table as clients read it, and as people do.

use crate::harness::Server;
use tidemark_server::redis::{Handler, Keys, Table, command_document};
use tidemark_wire::resp::Reply;

#[test]
fn document_lists_exactly_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
    let expected = command_document();
    if std::env::var_os("TIDEMARK_WRITE_DOCS").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        found, expected,
        "write it anew: TIDEMARK_WRITE_DOCS=1 cargo test -p tidemark-server document"
    );
    for spec in Table::get().iter() {
        let name = spec.name.to_ascii_uppercase();
        assert!(expected.lines().any(|line| line.starts_with(&format!("| `{name}"))), "{name}");
    }
}

#[test]
fn rows_are_complete() {
    for spec in Table::get().every() {
        assert_eq!(spec.name, spec.name.to_ascii_lowercase());
        assert!(spec.summary.ends_with('.') && spec.arity != 0, "{}", spec.name);
        assert!(spec.remark.is_empty() || spec.remark.ends_with('.'), "{}", spec.name);
        if matches!(spec.handler, Handler::Subcommands) {
            assert!(!spec.subcommands.is_empty(), "{}", spec.name);
        }
        // Redis has neither flag for WATCH.
        if spec.keys != Keys::NONE && spec.name != "watch" {
            assert!(spec.has("readonly") != spec.has("write"), "{}", spec.name);
        }
        let container = spec.name.split_once('|').map(|(container, _)| container);
        for subcommand in spec.subcommands {
            assert_eq!(subcommand.name.split_once('|').map(|(container, _)| container), Some(spec.name));
            assert_eq!(container, None);
        }
    }
}

#[test]
fn command_describes_each_row_in_both_versions() {
    for hello in ["hello 2", "hello 3"] {
        let mut server = Server::new();
        let mut client = server.connect();
        server.send(&mut client, hello);
        let table = server.ask(&mut client, "COMMAND");
        let rows = table.items().unwrap();
        assert_eq!(server.ask(&mut client, "COMMAND COUNT"), Reply::Integer(rows.len() as i64));
        assert_eq!(server.ask(&mut client, "COMMAND INFO"), table);
        let docs = server.ask(&mut client, "COMMAND DOCS");
        for row in rows {
            let row = row.items().unwrap();
            assert_eq!(row.len(), 10);
            let name = std::str::from_utf8(row[0].bytes().unwrap()).unwrap();
            let same = server.ask(&mut client, &format!("command info {name}"));
            assert_eq!(same.items().unwrap()[0].items().unwrap(), row);
            assert!(docs.lookup(name).unwrap().lookup("summary").is_some());
        }
        let list = server.ask(&mut client, "COMMAND LIST");
        assert!(list.items().unwrap().len() > rows.len());
    }
}

/// Byte by byte what redis-server 7.0 says of GET and MSET.
#[test]
fn key_positions_are_described_as_redis_does() {
    let mut server = Server::new();
    let mut client = server.connect();
    server.send(&mut client, "hello 3");
    assert_eq!(
        server.send(&mut client, "command info get"),
        "*1\r\n*10\r\n$3\r\nget\r\n:2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~3\r\n+@read\r\n+@string\r\n+@fast\r\n\
         ~0\r\n~1\r\n%3\r\n$5\r\nflags\r\n~2\r\n+RO\r\n+access\r\n$12\r\nbegin_search\r\n%2\r\n$4\r\ntype\r\n$5\r\nindex\r\n\
         $4\r\nspec\r\n%1\r\n$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n%3\r\n\
         $7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n~0\r\n"
    );
}

const DEADLINES: &str =
    "EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL";

#[test]
fn arguments_are_documented_as_they_are_written() {
    let mut server = Server::new();
    let mut client = server.connect();
    let docs = server.ask(&mut client, "command docs set dbsize");
    let names = |reply: &Reply| -> Vec<String> {
        let name = |argument: &Reply| argument.lookup("name").unwrap().bytes().unwrap().to_vec();
        reply.items().unwrap().iter().map(|argument| String::from_utf8(name(argument)).unwrap()).collect()
    };
    let arguments = docs.lookup("set").unwrap().lookup("arguments").unwrap();
    assert_eq!(names(arguments), ["key", "value", "NX | XX", "GET", DEADLINES]);
    assert!(arguments.items().unwrap()[3].lookup("flags").is_some());
    assert!(docs.lookup("dbsize").unwrap().lookup("arguments").is_none());
}

#[test]
fn containers_have_help() {
    let mut server = Server::new();
    let mut client = server.connect();
    // CLUSTER HELP is refused, as by a redis-server that is not part of a cluster.
    let containers =
        Table::get().iter().filter(|spec| !spec.subcommands.is_empty() && spec.name != "cluster");
    for spec in containers {
        let help = server.ask(&mut client, &format!("{} help", spec.name));
        assert_eq!(help.items().unwrap().len(), 1 + 2 * spec.subcommands.len(), "{}", spec.name);
    }
}
