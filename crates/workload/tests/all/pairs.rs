//! Clients that come in pairs: who waits for whom, and who reads what.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use tidemark_core::{Key, Op};
use tidemark_workload::{Client, KeySpace, Kind, Request, Workload};

fn workload(name: &str, settings: &[(&str, &str)]) -> (Workload, Arc<KeySpace>) {
    let mut workload = Workload::named(name).unwrap();
    settings.iter().for_each(|(setting, value)| workload.set(setting, value).unwrap());
    let keys = Arc::new(KeySpace::new(&workload, 2).unwrap());
    (workload, keys)
}

/// A store that does what it is asked, and what a GET finds there.
fn done(store: &mut HashMap<Key, Vec<u8>>, op: &Op) -> Option<Vec<u8>> {
    match op {
        Op::Get { key } => store.get(key).cloned(),
        Op::Put { key, update } => {
            store.insert(key.clone(), update.write.value().unwrap().to_vec());
            None
        }
        other => panic!("{other:?}"),
    }
}

/// A client at play: what it asks for, and how far that is.
struct Player {
    client: Client,
    request: Request,
    at: usize,
}

impl Player {
    fn new(workload: &Workload, keys: &Arc<KeySpace>, number: usize, clients: usize) -> Self {
        let client = Client::new(workload, keys, number, clients, 1).unwrap();
        Self { client, request: Request::default(), at: 0 }
    }

    /// Does what is next, so long after the clients began: of what kind of request, which operation, and the pause after which it
    /// is to be done again.
    fn step(&mut self, store: &mut HashMap<Key, Vec<u8>>, at_us: u64) -> (Kind, Op, Option<u64>) {
        if self.at == self.request.ops.len() {
            self.client.next_into(&mut self.request, at_us);
            self.at = 0;
        }
        let op = self.request.ops[self.at].clone();
        let found = done(store, &op);
        let pause_us = self.client.answered(self.at, found.as_deref(), at_us);
        self.at += usize::from(pause_us.is_none());
        (self.request.kind, op, pause_us)
    }
}

/// Two clients, of whom each is asked for more at any time: they write in turn, and look again while it is not theirs.
#[test]
fn two_clients_write_in_turn_and_wait_for_each_other() {
    let settings = [("partition", "1"), ("poll-us", "300"), ("value-bytes", "4")];
    let ((workload, keys), mut store) = (workload("turns", &settings), HashMap::new());
    for run in 0..2 {
        let mut both = [0, 1].map(|number| Player::new(&workload, &keys, number, 2));
        let (mut wrote, mut looked_again) = (Vec::new(), 0);
        for step in 0..200 {
            // The second is asked twice as often, and makes no turn more.
            let number = usize::from(step % 3 > 0);
            let (kind, op, pause_us) = both[number].step(&mut store, step);
            assert!(keys.concerns(&op, 1) && !keys.concerns(&op, 0));
            if matches!(op, Op::Put { .. }) {
                assert_eq!(kind, Kind::Turn);
                wrote.push(number);
            }
            if let Some(pause_us) = pause_us {
                assert_eq!(pause_us, 300);
                looked_again += 1;
            }
        }
        // In the second run they go on where the first left off.
        let first = if run == 0 { 0 } else { wrote[0] };
        let in_turn: Vec<usize> = (0..wrote.len()).map(|turn| (first + turn) % 2).collect();
        assert_eq!(wrote, in_turn);
        assert!(wrote.len() > 50 && looked_again > 20, "{} turns, {looked_again} looks", wrote.len());
    }
    assert!(store.values().all(|value| value.len() == 4), "as long as values are to be");
}

fn key_of(op: &Op) -> Key {
    match op {
        Op::Get { key } | Op::Put { key, .. } => key.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_two_that_alternate_one_reads_what_the_other_writes() {
    let (workload, keys) = workload("alternate", &[("pause-us", "700"), ("think-us", "5")]);
    let stream = |number| {
        let mut client = Client::new(&workload, &keys, number, 4, 1).unwrap();
        let requests = (0..4).map(|_| client.next(0)).collect::<Vec<_>>();
        let kinds: Vec<Kind> = requests.iter().map(|request| request.kind).collect();
        let pauses: Vec<u64> = requests.iter().map(|request| request.think_us).collect();
        let keys: Vec<Key> = requests.iter().map(|request| key_of(&request.ops[0])).collect();
        (kinds, keys, pauses)
    };
    let ((reads, read, thinks), (writes, written, pauses)) = (stream(0), stream(1));
    assert_eq!((reads, writes), (vec![Kind::Read; 4], vec![Kind::Update; 4]));
    assert_eq!(read, [&written[1], &written[0], &written[3], &written[2]].map(Key::clone));
    assert_eq!((thinks, pauses), (vec![5; 4], vec![5, 700, 5, 700]), "it pauses when all is written");
    let partitions: Vec<usize> = read.iter().map(|key| keys.partition_of(key).index()).collect();
    assert_eq!(partitions, [0, 1, 0, 1]);
    assert!(read.iter().all(|key| !stream(2).1.contains(key)), "the next pair has keys of its own");
}

/// Eight clients, with all that they have done: kind of request, operation, and when.
fn both_applications(settings: &[(&str, &str)], steps: u64) -> [Vec<(Kind, Op, u64)>; 8] {
    let ((workload, keys), mut store) = (workload("apps", settings), HashMap::new());
    let mut all: [Player; 8] = std::array::from_fn(|number| Player::new(&workload, &keys, number, 8));
    let mut did = [const { Vec::new() }; 8];
    for at_us in 0..steps {
        for (player, did) in all.iter_mut().zip(&mut did) {
            let (kind, op, _) = player.step(&mut store, at_us);
            did.push((kind, op, at_us));
        }
    }
    did
}

/// How many turns a client wrote, and how many requests it made of kinds that alternating consists of.
fn counts<'a>(did: impl Iterator<Item = &'a (Kind, Op, u64)> + Clone, number: usize) -> (usize, usize) {
    let turns = did.clone().filter(|(kind, op, _)| *kind == Kind::Turn && matches!(op, Op::Put { .. }));
    let alternates = [Kind::Read, Kind::Update][number % 2];
    (turns.count(), did.filter(|(kind, ..)| *kind == alternates).count())
}

#[test]
fn of_both_applications_every_other_pair_plays_one_and_they_swap() {
    for swap_after_us in [0, 100] {
        let all = both_applications(&[("swap-after-us", &swap_after_us.to_string())], 200);
        for (number, did) in all.iter().enumerate() {
            // Who was about to make a turn at 100 has made it at 102.
            let counts = |times: Range<u64>| counts(did.iter().filter(|(.., at)| times.contains(at)), number);
            let (first, second) = (counts(0..100), counts(102..200));
            let [takes_turns, will] = [0, swap_after_us].map(|swap| (number / 2 % 2 == 0) != (swap > 0));
            for (takes_turns, (turns, alternated)) in [(takes_turns, first), (will, second)] {
                match takes_turns {
                    // The look at where it left off is a read.
                    true => assert!(turns > 20 && alternated <= 1, "{number}: {turns}, {alternated}"),
                    false => assert!(turns == 0 && alternated >= 98, "{number}: {turns}, {alternated}"),
                }
            }
        }
    }
}

#[test]
fn of_both_applications_nobody_writes_what_is_anothers() {
    let settings = [("swap-after-us", "100"), ("keys", "24"), ("partition", "1")];
    let (mut writers, mut readers) = (HashMap::new(), HashMap::<Key, Vec<usize>>::new());
    for (number, did) in both_applications(&settings, 200).iter().enumerate() {
        for (kind, op, _) in did {
            if matches!(op, Op::Get { .. }) {
                readers.entry(key_of(op)).or_default().push(number);
                continue;
            }
            let writer = writers.insert(key_of(op), (number, *kind));
            assert!(writer.is_none_or(|writer| writer == (number, *kind)), "{number} and {writer:?}");
        }
    }
    // Of each pair two keys where turns are counted, and one in each of two partitions.
    assert_eq!(writers.len(), 4 * (2 + 2));
    for (key, (writer, _)) in &writers {
        assert!(readers[key].iter().all(|reader| reader / 2 == writer / 2), "a pair keeps to itself");
        assert!(readers[key].iter().any(|reader| reader != writer), "what one writes, the other reads");
    }
    let keys = KeySpace::new(&workload("apps", &settings).0, 2).unwrap();
    let filled: Vec<Key> = (0..keys.loaded()).map(|number| keys.key(number)).collect();
    assert!(writers.keys().all(|key| filled.contains(key)), "as many keys suffice as are asked for");
}

#[test]
fn who_waits_when_they_swap_ends_its_turn_and_goes_on() {
    let settings = [("swap-after-us", "100"), ("poll-us", "7"), ("value-bytes", "4"), ("pause-us", "9")];
    let ((workload, keys), mut store) = (workload("apps", &settings), HashMap::new());
    let [mut first, mut third] = [0, 2].map(|number| Player::new(&workload, &keys, number, 4));
    let get = |op: &Op| matches!(op, Op::Get { .. });
    // The first looks, makes a turn, and waits for the second, which does nothing.
    let did: Vec<_> = (0..100).map(|at_us| first.step(&mut store, at_us)).collect();
    assert_eq!((did[0].0, did[1].2, did[2].0, did[3].2), (Kind::Read, None, Kind::Turn, Some(7)));
    assert!(
        did[3..]
            .iter()
            .all(|(kind, op, pause_us)| { (*kind, get(op), *pause_us) == (Kind::Turn, true, Some(7)) })
    );
    assert_eq!(first.request.think_us, 0, "who takes turns does not pause");
    let (kind, op, pause_us) = first.step(&mut store, 100);
    assert_eq!((kind, get(&op), pause_us), (Kind::Turn, true, None), "it waits no longer");
    let (kind, op, _) = first.step(&mut store, 101);
    assert_eq!((kind, get(&op)), (Kind::Turn, false));
    assert!((102..110).all(|at_us| first.step(&mut store, at_us).0 == Kind::Read), "now it reads");
    // The third read until then, which was no look at its turns: there an earlier run has left off.
    let mut own = Player::new(&workload, &keys, 2, 4);
    let (_, look, _) = own.step(&mut store, 100);
    store.insert(key_of(&look), b"0041".to_vec());
    third.client.next_into(&mut third.request, 99);
    let (kind, op, _) = third.step(&mut store, 100);
    assert_eq!((kind, key_of(&op) == key_of(&look)), (Kind::Read, false));
    let (kind, op, _) = third.step(&mut store, 101);
    assert_eq!((kind, &op), (Kind::Read, &look), "only now it looks");
    assert_eq!(third.step(&mut store, 102).2, Some(7), "and waits for the fourth, which has made none");
    let Op::Put { update, .. } = &third.request.ops[1] else { panic!("{:?}", third.request) };
    assert_eq!(update.write.value().unwrap()[..], *b"0042");
}

#[test]
fn of_both_applications_only_the_one_that_writes_all_partitions_pauses() {
    let settings = [("swap-after-us", "100"), ("pause-us", "700"), ("think-us", "5")];
    let (workload, keys) = workload("apps", &settings);
    let pauses = |number, at_us| {
        let mut client = Client::new(&workload, &keys, number, 4, 1).unwrap();
        [(); 4].map(|()| client.next(at_us).think_us)
    };
    for (writer, at_us) in [(3, 99), (1, 100)] {
        assert_eq!(pauses(writer, at_us), [5, 700, 5, 700]);
        (0..4).filter(|other| *other != writer).for_each(|other| assert_eq!(pauses(other, at_us), [5; 4]));
    }
}
