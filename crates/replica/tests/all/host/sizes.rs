//! Room in the log, and records that are too large: for a segment, for this host, for a peer.

use super::*;
use tidemark_contract::core::Limit;

#[test]
fn a_full_disk_refuses_writes_keeps_reads_and_recovers() {
    let disk = SimDisk::new();
    let mut host = open(&disk, config(0, 1, Fsync::EverySec)).unwrap();
    disk.set_capacity(Some(disk.used()));
    let mut written = 0;
    let refused = loop {
        put(&mut host, written + 1);
        host.commit().unwrap();
        match host.take_outputs().pop() {
            Some(Output::Reply { reply: Ok(_), .. }) => written += 1,
            Some(Output::Reply { reply: Err(failure), .. }) => break failure,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(&refused, Failure::Unavailable(why) if why.contains("disk is full")), "{refused:?}");
    assert!(written > 0 && host.can_write().is_err());
    host.request(NOW, P0, Ticket { node: 0, session: 0, ask: AskId(0) }, Request::Read, None);
    host.commit().unwrap();
    assert_eq!(answered(&mut host), [0]);
    disk.set_capacity(None);
    put(&mut host, written + 1);
    host.commit().unwrap();
    assert_eq!(answered(&mut host), [written + 1]);
    disk.kill();
    assert_eq!(numbers(&open(&disk, config(0, 1, Fsync::EverySec)).unwrap()).len() as u64, written + 1);
}

/// The answer of a host to a request that brings so many bytes.
fn large(host: &mut Host<Recorder>, number: u64, bytes: usize) -> Result<(), Failure> {
    let ticket = Ticket { node: 0, session: 0, ask: AskId(number) };
    host.request(NOW, P0, ticket, Request::Large(number, bytes), Some(bytes));
    host.commit().unwrap();
    match host.take_outputs().pop() {
        Some(Output::Reply { reply, .. }) => reply,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_larger_than_a_segment_is_logged_sent_and_recovered() {
    let (disk, other) = (SimDisk::new(), SimDisk::new());
    let mut from = open(&disk, config(0, 2, Fsync::EverySec)).unwrap();
    let mut to = open(&other, config(1, 2, Fsync::EverySec)).unwrap();
    for (number, bytes) in (1..).zip([10, 4_000, 100_000, 10, 300_000]) {
        assert_eq!(large(&mut from, number, bytes), Ok(()));
    }
    assert_eq!(pump(&mut from, &mut to, (0, 1), usize::MAX), 5);
    to.commit().unwrap();
    disk.kill();
    other.kill();
    for (disk, dc) in [(disk, 0), (other, 1)] {
        let host = open(&disk, config(dc, 2, Fsync::EverySec)).unwrap();
        assert_eq!(numbers(&host), [1, 2, 3, 4, 5]);
    }
}

#[test]
fn a_request_above_the_limit_is_refused_for_good_and_changes_nothing() {
    let config = config(0, 1, Fsync::EverySec);
    let limit = config.limit.clone();
    limit.set(Limit::of_values(1_000));
    let written = limit.get().written();
    let mut host = open(&SimDisk::new(), config).unwrap();
    assert_eq!(large(&mut host, 1, written), Ok(()));
    assert!(matches!(large(&mut host, 2, written + 1), Err(Failure::Refused(_))));
    assert_eq!((numbers(&host), host.written(P0)), (vec![1], 1));
    limit.set(Limit::of_values(1_001));
    assert_eq!(large(&mut host, 2, written + 1), Ok(()));
}

/// A record that cannot be sent stays: the stream says why it ends, and goes on when the receiver takes more.
#[test]
fn a_record_that_the_receiver_does_not_take_ends_the_stream_until_it_does() {
    let mut from = open(&SimDisk::new(), config(0, 2, Fsync::EverySec)).unwrap();
    let mut to = open(&SimDisk::new(), config(1, 2, Fsync::EverySec)).unwrap();
    for (number, bytes) in (1..).zip([10, 5_000, 10]) {
        assert_eq!(large(&mut from, number, bytes), Ok(()));
    }
    sync(&mut from);
    let mut begin = |takes: usize, to: &mut Host<Recorder>| {
        let resume = to.resume_point(server(0), P0);
        let incarnation = from.open_feed(server(0), DcId(1), resume).unwrap();
        from.limit_feed(server(0), DcId(1), takes);
        to.accept_stream(server(0), P0, incarnation).unwrap();
        let mut items = Vec::new();
        let polled = from.poll_feed(server(0), DcId(1), usize::MAX, &mut items);
        items.into_iter().for_each(|item| to.take_item(NOW, server(0), P0, item).unwrap());
        polled
    };
    for _ in 0..2 {
        match begin(5_000, &mut to) {
            Err(StreamRefusal::TooLarge { seq: 2, bytes, takes: 5_000 }) => assert!(bytes > 5_000),
            other => panic!("{other:?}"),
        }
        assert_eq!(numbers(&to), [1], "what comes before it has arrived");
    }
    begin(6_000, &mut to).unwrap();
    assert_eq!(numbers(&to), [1, 2, 3]);
    assert!(from.disowned().is_none(), "the log is the one that the receiver knows");
}
