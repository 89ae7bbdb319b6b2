//! XREAD and XREADGROUP: over partitions, and waiting.

use crate::blocking::{blocked, flat, one, send, waiting};
use crate::support::{Client, Cluster, eventually, text};
use tidemark_wire::resp::Reply;

fn call(client: &mut Client, line: &str) -> Reply {
    client.call(&line.split(' ').collect::<Vec<_>>())
}

fn waiter(cluster: &Cluster, admin: &mut Client, line: &str) -> Client {
    waiting(cluster, admin, &line.split(' ').collect::<Vec<_>>())
}

/// The keys lie in two partitions: "a" in one, "b" in the other.
#[test]
fn several_streams_are_read_together() {
    let cluster = one();
    let mut client = cluster.client(0);
    for line in ["XADD a 1-1 f 1", "XADD b 2-1 f 2", "XGROUP CREATE a g 0", "XADD a 3-1 f 3"] {
        call(&mut client, line);
    }
    for (line, expected) in [
        ("XREAD STREAMS a b 0 0", "a 1-1 f 1 3-1 f 3 b 2-1 f 2"),
        ("XREAD COUNT 1 STREAMS b a 0 1-1", "b 2-1 f 2 a 3-1 f 3"),
        ("XREAD STREAMS a b c 3-1 $ 0", "-"),
        ("XREAD STREAMS a a 1-1 0", "a 3-1 f 3 a 1-1 f 1 3-1 f 3"),
        (
            "XREAD STREAMS a b 0",
            "!ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
        ),
        (
            "XREAD STREAMS a >",
            "!ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
        ),
        ("XREAD BLOCK -1 STREAMS a 0", "!ERR timeout is negative"),
        (
            "XREAD GROUP g c STREAMS a 0",
            "!ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.",
        ),
        (
            "XREADGROUP GROUP g c STREAMS a b > >",
            "!NOGROUP No such key 'b' or consumer group 'g' in XREADGROUP with GROUP option",
        ),
        // What failed has delivered nothing.
        ("XPENDING a g", "0 - - -"),
        ("XREADGROUP GROUP g c COUNT 1 STREAMS a a > 0", "a 1-1 f 1 a 1-1 f 1"),
        ("XREADGROUP GROUP g c BLOCK 0 STREAMS a 0", "a 1-1 f 1"),
        ("XREADGROUP GROUP g d BLOCK 0 STREAMS a 0", "a "),
        ("XREADGROUP GROUP g d NOACK STREAMS a >", "a 3-1 f 3"),
        ("XREADGROUP GROUP g d STREAMS a >", "-"),
        ("XREADGROUP GROUP g d BLOCK 10 STREAMS a >", "-"),
        ("XPENDING a g", "1 1-1 1-1 c 1"),
        (
            "XREADGROUP COUNT 1 NOACK STREAMS a 0 0",
            "!ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
        ),
        ("XREADGROUP COUNT 1 NOACK STREAMS a 0", "!ERR Missing GROUP option for XREADGROUP"),
    ] {
        assert_eq!(flat(&call(&mut client, line)), expected, "{line}");
    }
    client.call(&["HELLO", "3"]);
    let map = call(&mut client, "XREAD COUNT 1 STREAMS a b 0 0");
    let entries = |id: &str, value: &str| format!("{id} f {value}");
    let Reply::Map(pairs) = &map else { panic!("{map:?}") };
    let shown: Vec<String> =
        pairs.iter().map(|(key, value)| format!("{} {}", text(key), flat(value))).collect();
    assert_eq!(shown, [format!("a {}", entries("1-1", "1")), format!("b {}", entries("2-1", "2"))]);
}

#[test]
fn every_reader_and_one_consumer_of_each_group_gets_an_entry() {
    let cluster = one();
    let mut admin = cluster.client(0);
    for group in ["g", "h"] {
        call(&mut admin, &format!("XGROUP CREATE b {group} $ MKSTREAM"));
    }
    let mut readers =
        ["XREAD BLOCK 0 STREAMS a b $ $", "XREAD BLOCK 0 STREAMS b 0", "XREAD BLOCK 0 STREAMS b 1-1"]
            .map(|line| waiter(&cluster, &mut admin, line));
    let mut consumers = ["g c1", "g c2", "h d"].map(|reader| {
        waiter(&cluster, &mut admin, &format!("XREADGROUP GROUP {reader} BLOCK 0 STREAMS b >"))
    });
    assert_eq!(blocked(&mut admin), 6);
    call(&mut admin, "XADD b 1-1 f 1");
    assert_eq!(flat(&readers[0].reply().unwrap()), "b 1-1 f 1");
    assert_eq!(flat(&readers[1].reply().unwrap()), "b 1-1 f 1");
    assert_eq!(flat(&consumers[0].reply().unwrap()), "b 1-1 f 1");
    assert_eq!(flat(&consumers[2].reply().unwrap()), "b 1-1 f 1");
    eventually("the others wait", || blocked(&mut admin) == 2);
    call(&mut admin, "XADD b 2-1 f 2");
    assert_eq!(flat(&readers[2].reply().unwrap()), "b 2-1 f 2");
    assert_eq!(flat(&consumers[1].reply().unwrap()), "b 2-1 f 2");
    assert_eq!(flat(&call(&mut admin, "XPENDING b g")), "2 1-1 2-1 c1 1 c2 1");
    assert_eq!(flat(&call(&mut admin, "XPENDING b h")), "1 1-1 1-1 d 1");
}

#[test]
fn a_consumer_whose_group_goes_is_told() {
    let cluster = one();
    let mut admin = cluster.client(0);
    for (end, told) in [
        ("XGROUP DESTROY k g", "!NOGROUP the consumer group this client was blocked on no longer exists"),
        ("DEL k", "!UNBLOCKED the stream key no longer exists"),
        ("SET k v", "!UNBLOCKED the stream key no longer exists"),
    ] {
        call(&mut admin, "DEL k");
        call(&mut admin, "XGROUP CREATE k g $ MKSTREAM");
        let mut consumer = waiter(&cluster, &mut admin, "XREADGROUP GROUP g c BLOCK 0 STREAMS k >");
        call(&mut admin, end);
        assert_eq!(text(&consumer.reply().unwrap()), told, "{end}");
    }
    // Readers go on waiting.
    call(&mut admin, "DEL k");
    let mut reader = waiter(&cluster, &mut admin, "XREAD BLOCK 0 STREAMS k $");
    for line in ["SET k v", "DEL k", "LPUSH k v", "DEL k", "XADD k 1-1 f 1"] {
        call(&mut admin, line);
    }
    assert_eq!(flat(&reader.reply().unwrap()), "k 1-1 f 1");
}

#[test]
fn an_entry_of_another_region_is_read_here() {
    let cluster = Cluster::regions("tidemark", 2, 2);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    assert_eq!(text(&call(&mut a, "XGROUP CREATE k g 0 MKSTREAM")), "OK");
    eventually("the group is everywhere", || flat(&call(&mut b, "XPENDING k g")) == "0 - - -");
    let mut consumer = cluster.client(1);
    send(&mut consumer, &["XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "k", ">"]);
    eventually("it waits", || blocked(&mut b) == 1);
    call(&mut a, "XADD k 1-1 f 1");
    assert_eq!(flat(&consumer.reply().unwrap()), "k 1-1 f 1");
    // The consumer's region is lost, say: another one claims what was pending.
    eventually("the delivery is known", || flat(&call(&mut a, "XPENDING k g")) == "1 1-1 1-1 c 1");
    assert_eq!(flat(&call(&mut a, "XAUTOCLAIM k g d 0 0")), "0-0 1-1 f 1 ");
    assert_eq!(text(&call(&mut a, "XACK k g 1-1")), "1");
    eventually("nothing is pending", || flat(&call(&mut b, "XPENDING k g")) == "0 - - -");
}
