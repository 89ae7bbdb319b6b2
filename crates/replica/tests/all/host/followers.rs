//! A host that follows another of its group: what it holds in memory and on disk stays in bounds, as its leader's does.

use super::*;
use bytes::Bytes;
use tidemark_replica::{Entry, EntryKind, GroupState, PartitionStatus};

/// Who leads, and who follows; every turn is agreed on at once.
struct Pair {
    leads: Host<Recorder>,
    follows: Host<Recorder>,
    entries: u64,
    written: u64,
}

fn member(disk: &SimDisk) -> Host<Recorder> {
    let config = HostConfig { snapshot_every_bytes: 8 << 10, ..config(0, 2, Fsync::EverySec) };
    Host::join(config, Arc::new(disk.process())).unwrap().0
}

impl Pair {
    fn new() -> Self {
        let (leads, follows) = (member(&SimDisk::new()), member(&SimDisk::new()));
        let mut pair = Self { leads, follows, entries: 0, written: 0 };
        pair.leads.lead(NOW);
        pair.end_turn();
        pair
    }

    fn end_turn(&mut self) {
        self.leads.tell_dropped();
        if let Some(data) = self.leads.take_turn() {
            self.entries += 1;
            let entry = Entry { index: self.entries, term: 1, kind: EntryKind::Records, data };
            for (host, own) in [(&mut self.leads, true), (&mut self.follows, false)] {
                host.log_entry(&entry, own).unwrap();
                host.commit().unwrap();
                host.agreed(&entry, !own).unwrap();
                let state = GroupState { term: 1, applied: entry.index, ..GroupState::default() };
                host.keep(state);
            }
        }
        tidy(&mut self.leads);
        tidy(&mut self.follows);
    }

    /// A write to the key that all share, and collection behind it; every tenth is a deletion.
    fn overwrite(&mut self) {
        self.written += 1;
        ask(&mut self.leads, self.written, Request::Share(self.written, !self.written.is_multiple_of(10)));
        ask(&mut self.leads, self.written, Request::Collect(self.written - self.written % 3));
        self.end_turn();
    }

    fn chains(&self) -> [Vec<u64>; 2] {
        [&self.leads, &self.follows].map(numbers)
    }
}

#[test]
fn who_follows_drops_what_its_leader_drops_also_after_a_restart() {
    let mut pair = Pair::new();
    for turn in 1..=600 {
        pair.overwrite();
        let [there, here] = pair.chains();
        assert_eq!(there, here, "after {turn} turns");
        assert!(here.len() <= 3, "{here:?}");
    }
    assert!(pair.follows.status().replay_from > 0, "snapshots were taken");
    pair.follows = pair.follows.rejoin().unwrap().0;
    let [there, here] = pair.chains();
    assert_eq!(there, here, "as if it had been there all the time");
    (0..20).for_each(|_| pair.overwrite());
    let [there, here] = pair.chains();
    assert_eq!(there, here);
}

/// Who is elected may collect what its predecessor had not told of: it knows where to look.
#[test]
fn who_is_elected_goes_on_collecting() {
    let mut pair = Pair::new();
    (0..21).for_each(|_| pair.overwrite());
    for number in 22..=24 {
        ask(&mut pair.leads, number, Request::Share(number, true));
    }
    pair.end_turn();
    assert!(numbers(&pair.follows).len() > 3);
    pair.follows.lead(NOW);
    ask(&mut pair.follows, 25, Request::Collect(24));
    assert_eq!(numbers(&pair.follows), [24]);
}

/// How many bytes of log the two keep after many writes, when the other data centre has confirmed all but the last.
fn kept(pair: &mut Pair) -> [u64; 2] {
    pair.leads.open_stream(P0, DcId(1), Resume::default()).unwrap();
    for number in 1..=4_000 {
        put(&mut pair.leads, number);
        pair.leads.confirm(P0, DcId(1), number - 1);
        pair.end_turn();
    }
    [&pair.leads, &pair.follows].map(|host| host.status().log_bytes)
}

#[test]
fn who_follows_drops_the_log_that_other_data_centres_have_confirmed() {
    let mut pair = Pair::new();
    let [there, here] = kept(&mut pair);
    assert!(there < 64 << 10 && here < 64 << 10, "the leader keeps {there} bytes, who follows {here}");
    // It still knows when it has started again, so who needs a copy from it gets little of the log.
    pair.follows = pair.follows.rejoin().unwrap().0;
    pair.follows.lead(NOW);
    let confirmed = pair.follows.status().partitions[0].peers[0].confirmed;
    assert!(confirmed > 3_000, "{confirmed} of 4000 are confirmed, as far as it knows");
}

/// A part of a copy that was given up stands in the log a second time, behind what it is a copy of; streams find what comes after it all
/// the same.
#[test]
fn what_an_interrupted_copy_left_hides_nothing_from_feeds() {
    let mut pair = Pair::new();
    (0..600).for_each(|_| pair.overwrite());
    while pair.leads.is_taking_snapshot() {
        tidy(&mut pair.leads);
    }
    let mut copy = pair.leads.copy_source().unwrap().reader();
    pair.follows.stage(GroupState { term: 1, applied: 10_000, ..GroupState::default() });
    for _ in 0..20 {
        let piece = copy.next_piece(1_000).unwrap().expect("there is more");
        pair.follows.stage_records(&piece).unwrap();
        pair.follows.commit().unwrap();
    }
    pair.follows = pair.follows.rejoin().unwrap().0;
    pair.follows.lead(NOW);
    for received in [100, 300, 500, 590] {
        let resume = Resume { incarnation: pair.follows.incarnation(), received };
        pair.follows.open_stream(P0, DcId(1), resume).unwrap();
        let mut items = Vec::new();
        pair.follows.poll_stream(P0, DcId(1), 1, &mut items).unwrap();
        assert!(
            matches!(&items[..], [StreamItem::Record { seq, .. }, ..] if *seq == received + 1),
            "{items:?}"
        );
    }
}

/// A snapshot is written while records go on: what it says of others is of its beginning, as what it says of itself, so that who has
/// just loaded a copy does not believe that they have confirmed what it lacks.
#[test]
fn a_copy_says_that_nothing_was_confirmed_beyond_it() {
    let mut pair = Pair::new();
    pair.leads.open_stream(P0, DcId(1), Resume::default()).unwrap();
    let (mut copied, mut known) = (0, 0);
    for number in 1..=2_000 {
        put(&mut pair.leads, number);
        pair.leads.confirm(P0, DcId(1), number);
        pair.end_turn();
        let snapshot = pair.leads.status().replay_from;
        if pair.leads.is_taking_snapshot() || snapshot == copied {
            continue;
        }
        copied = snapshot;
        let newcomer = load(&pair.leads).status();
        let PartitionStatus { written, peers, .. } = &newcomer.partitions[0];
        assert!(peers[0].confirmed <= *written && *written <= number, "{peers:?} of {written}");
        known = peers[0].confirmed;
    }
    assert!(known > 1_000, "{known} of 2000 are confirmed, as far as the last copy knows");
}

/// Somebody new who has loaded a copy of what `host` holds, and nothing after it.
fn load(host: &Host<Recorder>) -> Host<Recorder> {
    let mut copy = host.copy_source().unwrap().reader();
    let mut newcomer = member(&SimDisk::new());
    newcomer.stage(GroupState { term: 1, applied: 1, ..GroupState::default() });
    while let Some(piece) = copy.next_piece(1 << 20).unwrap() {
        newcomer.stage_records(&piece).unwrap();
    }
    let done = newcomer.seal_staged().unwrap().run();
    newcomer.sealed(done).unwrap();
    newcomer.install().unwrap();
    newcomer.rejoin().unwrap().0
}

/// A leader that writes and changes the members in one turn closes the change first, after the records of the write. When it started again, or
/// ceased to lead, the entry of the write was empty: the write was gone from this member, and from the group if it led again.
#[test]
fn a_write_beside_a_change_of_members_survives_a_restart() {
    let mut host = member(&SimDisk::new());
    host.lead(NOW);
    let begins = host.take_turn().expect("it says that it leads");
    let entry = |index, kind, data: &Bytes| Entry { index, term: 1, kind, data: data.clone() };
    host.log_entry(&entry(1, EntryKind::Records, &begins), true).unwrap();
    host.commit().unwrap();
    ask(&mut host, 1, Request::Share(1, true));
    let write = host.take_turn().expect("it was written");
    let change = Bytes::from_static(b"who votes");
    host.log_entry(&entry(2, EntryKind::Members, &change), true).unwrap();
    host.log_entry(&entry(3, EntryKind::Records, &write), true).unwrap();
    host.commit().unwrap();
    let (_, entries) = host.rejoin().unwrap();
    let list: Vec<_> = entries.list.iter().map(|entry| (entry.index, &entry.data)).collect();
    assert_eq!(list, [(1, &begins), (2, &change), (3, &write)]);
}
