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
