//! Clients that come in pairs: who waits for whom, and who reads what.

use std::collections::HashMap;
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

/// Two clients, of whom each is asked for more at any time: they write in turn, and look again while it is not theirs.
#[test]
fn two_clients_write_in_turn_and_wait_for_each_other() {
    let settings = [("partition", "1"), ("poll-us", "300"), ("value-bytes", "4")];
    let ((workload, keys), mut store) = (workload("turns", &settings), HashMap::new());
    for run in 0..2 {
        let both = [0, 1].map(|number| Client::new(&workload, &keys, number, 2, 1).unwrap());
        let mut both = both.map(|client| (client, Request::default(), 0));
        let (mut wrote, mut looked_again) = (Vec::new(), 0);
        for step in 0..200 {
            // The second is asked twice as often, and makes no turn more.
            let number = usize::from(step % 3 > 0);
            let (client, request, at) = &mut both[number];
            if *at == request.ops.len() {
                client.next_into(request);
                *at = 0;
            }
            let op = &request.ops[*at];
            assert!(keys.concerns(op, 1) && !keys.concerns(op, 0));
            let found = done(&mut store, op);
            if matches!(op, Op::Put { .. }) {
                assert_eq!(request.kind, Kind::Turn);
                wrote.push(number);
            }
            match client.answered(*at, found.as_deref()) {
                Some(pause_us) => {
                    assert_eq!(pause_us, 300);
                    looked_again += 1;
                }
                None => *at += 1,
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
        let requests = (0..4).map(|_| client.next()).collect::<Vec<_>>();
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
