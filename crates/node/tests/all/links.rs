//! Handshakes and frames, as they should be and as they should not.

use crate::harness::{Cluster, layout};
use bytes::BytesMut;
use std::cell::RefCell;
use std::rc::Rc;
use tidemark_core::{DcId, PartitionId, ServerId};
use tidemark_node::cuts::{CutOrder, Place};
use tidemark_node::link::frame::HEADER;
use tidemark_node::{LinkId, Order, OrderId};
use tidemark_protocols::Tidemark;
use tidemark_registry::factory_of;

fn cluster() -> Cluster {
    Cluster::start(factory_of::<Tidemark>(), layout(2, 2, 1))
}

fn cut(from: u8, to: u8) -> Order {
    Order::Cut(CutOrder::Cut(Place::Region(DcId(from)), Place::Region(DcId(to))))
}

#[test]
fn a_cut_link_passes_nothing_and_a_healed_one_everything() {
    let mut cluster = cluster();
    let (writer, reader) = (cluster.open(0), cluster.open(1));
    for at in 0..2 {
        cluster.order(at, 1, cut(0, 1));
    }
    assert_eq!(cluster.processes[0].orders.remove(&OrderId(1)), Some(Ok(Vec::new())));
    cluster.set(0, writer, "k", "v");
    cluster.run_for(2_000_000);
    assert_eq!(cluster.get(1, reader, "k"), None);
    for at in 0..2 {
        cluster.order(at, 2, Order::Cut(CutOrder::HealAll));
    }
    cluster.run_for(2_000_000);
    assert_eq!(cluster.get(1, reader, "k").as_deref(), Some("v"));
    assert!(cluster.up(0) && cluster.up(1));
}

/// Chunks that arrived at node 1, in their order, and at which of its links.
type Held = Rc<RefCell<Vec<((usize, LinkId), Vec<u8>)>>>;

/// A stream was asked for twice, and the link cut again before the second answer came: with that the stream stood as open at its
/// receiver, which never asked for it again, while its sender had closed it.
#[test]
fn a_stream_that_is_cut_while_an_answer_is_under_way_is_asked_for_once_it_is_healed() {
    let mut cluster = Cluster::start(factory_of::<Tidemark>(), layout(2, 1, 1));
    let (writer, reader) = (cluster.open(0), cluster.open(1));
    let server = |dc| Place::Server(ServerId::new(DcId(dc), PartitionId(0)));
    let cut = || Order::Cut(CutOrder::Cut(server(0), server(1)));
    let heal = || Order::Cut(CutOrder::HealAll);
    cluster.order(1, 1, cut());
    cluster.run_for(1_000);
    let held = Held::default();
    let seen = held.clone();
    cluster.tap = Box::new(move |end, bytes| {
        if end.0 == 1 {
            seen.borrow_mut().push((end, std::mem::take(bytes)));
        }
        end.0 != 1
    });
    cluster.order(1, 2, heal());
    cluster.order(1, 3, heal());
    cluster.run_for(1_000);
    cluster.tap = Box::new(|_, _| true);
    let mut was_cut = false;
    for (end, mut bytes) in held.take() {
        let first = HEADER + u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        if !was_cut && first < bytes.len() {
            let rest = bytes.split_off(first);
            cluster.arrive(end, bytes);
            cluster.order(1, 4, cut());
            (bytes, was_cut) = (rest, true);
        }
        cluster.arrive(end, bytes);
    }
    assert!(was_cut, "the two answers came together");
    cluster.run_for(1_000);
    cluster.order(1, 5, heal());
    cluster.set(0, writer, "k", "v");
    cluster.run_for(2_000_000);
    assert_eq!(cluster.get(1, reader, "k").as_deref(), Some("v"));
}

#[test]
fn a_restarted_node_is_met_again_and_nothing_is_lost() {
    let mut cluster = cluster();
    let (writer, reader) = (cluster.open(0), cluster.open(1));
    cluster.set(0, writer, "k", "v");
    cluster.kill(1);
    cluster.set(0, writer, "k", "w");
    cluster.boot(1);
    cluster.run_for(3_000_000);
    let again = cluster.open(1);
    assert_ne!(again, reader, "names of sessions do not come back");
    assert_eq!(cluster.get(1, again, "k").as_deref(), Some("w"));
    assert!(cluster.processes[0].notices.iter().any(|notice| notice.what == "node B-0 has restarted"));
}

/// Each bit of a frame matters: a frame that was changed on the way ends the link, nothing of it is applied, and the link is
/// made again.
#[test]
fn damaged_frames_end_the_link_and_it_is_made_again() {
    let mut cluster = cluster();
    let (writer, reader) = (cluster.open(0), cluster.open(1));
    let damaged = Rc::new(RefCell::new(0));
    let count = damaged.clone();
    let mut rng = fastrand::Rng::with_seed(7);
    cluster.tap = Box::new(move |_, bytes| {
        if bytes.len() > 12 && rng.u8(..) < 20 {
            let at = rng.usize(..bytes.len());
            bytes[at] ^= 1 << rng.u8(..8);
            *count.borrow_mut() += 1;
        }
        true
    });
    for value in 0..200 {
        cluster.set(0, writer, "k", &value.to_string());
        cluster.run_for(50_000);
    }
    assert!(*damaged.borrow() > 20, "{}", damaged.borrow());
    cluster.tap = Box::new(|_, _| true);
    cluster.run_for(10_000_000);
    assert_eq!(cluster.get(1, reader, "k").as_deref(), Some("199"));
}

#[test]
fn frames_may_be_split_anywhere() {
    let mut cluster = cluster();
    // The first frame of a stranger comes byte by byte.
    let hello: Rc<RefCell<Vec<u8>>> = Rc::default();
    let seen = hello.clone();
    cluster.tap = Box::new(move |(at, _), bytes| {
        if at == 1 && seen.borrow().is_empty() {
            seen.borrow_mut().clone_from(bytes);
        }
        true
    });
    cluster.kill(0);
    cluster.boot(0);
    cluster.run_for(2_000_000);
    let hello = hello.borrow().clone();
    let link = cluster.stranger(1);
    let mut unread = BytesMut::new();
    for byte in &hello {
        unread.extend_from_slice(&[*byte]);
        assert!(cluster.receive(1, link, &mut unread).is_ok());
    }
    assert!(!cluster.said(1, link).is_empty(), "it is welcomed");
}

/// A `Hello` of an earlier start that arrives late, on a link of its own, told that the node had restarted, and requests to it
/// were taken for lost.
#[test]
fn a_late_handshake_of_an_older_epoch_is_not_a_restart() {
    let mut cluster = cluster();
    let hello: Rc<RefCell<Vec<u8>>> = Rc::default();
    let seen = hello.clone();
    cluster.tap = Box::new(move |(at, _), bytes| {
        if at == 1 && seen.borrow().is_empty() {
            seen.borrow_mut().clone_from(bytes);
        }
        true
    });
    cluster.kill(0);
    cluster.boot(0);
    cluster.run_for(2_000_000);
    cluster.tap = Box::new(|_, _| true);
    let old = hello.borrow().clone();
    cluster.kill(0);
    cluster.boot(0);
    cluster.run_for(2_000_000);
    cluster.processes[1].notices.clear();
    let link = cluster.stranger(1);
    let _ = cluster.receive(1, link, &mut BytesMut::from(&old[..]));
    cluster.run_for(1_000);
    let restarts =
        cluster.processes[1].notices.iter().filter(|notice| notice.what.contains("restarted")).count();
    assert_eq!(restarts, 0, "{:?}", cluster.processes[1].notices);
}

#[test]
fn a_stranger_that_says_nothing_is_dropped() {
    let mut cluster = cluster();
    let link = cluster.stranger(0);
    cluster.run_for(6_000_000);
    assert!(cluster.processes[0].closed.contains(&link));
    let mut bytes = BytesMut::from(&b"anything"[..]);
    let now = tidemark_replica::Now { wall: 1_700_000_010_000_000, mono: cluster.now_us };
    assert!(cluster.node(0).receive(now, link, &mut bytes).is_ok());
    assert!(bytes.is_empty(), "a forgotten link takes all bytes");
}

#[test]
fn nodes_without_the_secret_are_refused_and_say_so() {
    let mut cluster = Cluster::stopped(factory_of::<Tidemark>(), layout(2, 1, 1));
    cluster.secrets = vec![Some("a".to_string()), Some("b".to_string())];
    cluster.boot(0);
    cluster.boot(1);
    cluster.run_for(3_000_000);
    assert!(!cluster.up(0) && !cluster.up(1));
    let told = &cluster.processes[0].notices;
    assert!(told.iter().any(|notice| notice.what.contains("shared secret")), "{told:?}");
}

/// Bytes that are no frames, of every kind: the link ends, and nothing panics.
#[test]
fn garbage_is_refused() {
    let mut cluster = cluster();
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..2_000 {
        let link = cluster.stranger(0);
        let bytes: Vec<u8> = (0..rng.usize(1..200)).map(|_| rng.u8(..)).collect();
        let _ = cluster.receive(0, link, &mut BytesMut::from(&bytes[..]));
        let now = tidemark_replica::Now { wall: 1_700_000_010_000_000, mono: cluster.now_us };
        cluster.node(0).disconnected(now, link, "closed");
    }
    cluster.run_for(10_000);
    assert!(cluster.up(0));
}
