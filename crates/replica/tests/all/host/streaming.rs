//! Where streams begin.

use super::*;

/// The first record that a peer lacked was of this turn, and in the index already: the peer was refused, as if the log had lost its end.
#[test]
fn a_feed_can_begin_with_a_record_of_this_turn() {
    let mut host = open(&SimDisk::new(), config(0, 2, Fsync::EverySec)).unwrap();
    put(&mut host, 1);
    host.open_stream(P0, DcId(1), Resume::default()).unwrap();
    tidy(&mut host);
    let mut items = Vec::new();
    host.poll_stream(P0, DcId(1), 100, &mut items).unwrap();
    assert!(matches!(&items[..], [StreamItem::Record { seq: 1, .. }]), "{items:?}");
}

/// Records are numbered the same at either end of a stream, and each is told at its start how far they go.
#[test]
fn a_protocol_starts_from_the_numbers_of_the_last_records() {
    let (here, there) = (SimDisk::new(), SimDisk::new());
    let mut from = open(&here, config(0, 2, Fsync::EverySec)).unwrap();
    let mut to = open(&there, config(1, 2, Fsync::EverySec)).unwrap();
    assert_eq!(from.partition(P0).records, [0, 0]);
    (1..=4).for_each(|number| put(&mut from, number));
    put(&mut to, 1);
    from.commit().unwrap();
    pump(&mut from, &mut to, (0, 1), 3);
    to.commit().unwrap();
    here.kill();
    there.kill();
    let (from, to) =
        (open(&here, config(0, 2, Fsync::EverySec)), open(&there, config(1, 2, Fsync::EverySec)));
    assert_eq!(
        (&from.unwrap().partition(P0).records[..], &to.unwrap().partition(P0).records[..]),
        (&[4, 0][..], &[3, 1][..])
    );
}
