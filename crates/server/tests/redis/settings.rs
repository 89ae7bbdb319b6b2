//! CONFIG: what its parameters may be, and how they are kept. Errors are what redis-server 7.0 sent.

use crate::harness::{Server, answer};

#[test]
fn values_are_checked_as_in_redis() {
    for (request, reply) in [
        (
            "config get slave-priority *-tracking",
            "*4\r\n$16\r\nlatency-tracking\r\n$3\r\nyes\r\n$14\r\nslave-priority\r\n$3\r\n100\r\n",
        ),
        ("config set maxmemory 1 appendonly", "-ERR syntax error\r\n"),
        (
            "config set save 10",
            "-ERR CONFIG SET failed (possibly related to argument 'save') - Invalid save parameters\r\n",
        ),
        (
            "config set maxmemory-clients 200%",
            "-ERR CONFIG SET failed (possibly related to argument 'maxmemory-clients') - percentage argument must be less or equal to 100\r\n",
        ),
        (
            "config set client-output-buffer-limit pubsub",
            "-ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Wrong number of arguments in buffer limit configuration.\r\n",
        ),
        (
            "config set maxmemory x foo 1",
            "-ERR Unknown option or number of arguments for CONFIG SET - 'foo'\r\n",
        ),
    ] {
        assert_eq!(answer(request), reply, "{request}");
    }
}

#[test]
fn values_are_kept_in_the_form_of_redis() {
    let mut server = Server::new();
    let mut client = server.connect();
    for (name, value, kept) in [
        ("save", "3600 1 300 100", "3600 1 300 100"),
        ("notify-keyspace-events", "KA", "AK"),
        ("notify-keyspace-events", "gKE", "gKE"),
        ("latency-tracking-info-percentiles", "0.0 50.0 100.0", "0 50 100"),
        (
            "client-output-buffer-limit",
            "pubsub 1mb 2k 3 replica 5 6 7",
            "normal 0 0 0 slave 5 6 7 pubsub 1048576 2000 3",
        ),
        ("slave-priority", "7", "7"),
    ] {
        assert_eq!(server.send_words(&mut client, &["config", "set", name, value]), "+OK\r\n", "{name}");
        assert_eq!(server.config.get(name), Some(kept));
    }
}
