//! Timers of a partition: what is armed, and what fires.

use super::*;

fn arm(host: &mut Host<Recorder>, timer: char, delay: u64) {
    let ticket = Ticket { node: 0, session: 0, ask: AskId(0) };
    host.request(NOW, P0, ticket, Request::Arm(timer, delay), None);
}

/// The timers that fire `after` microseconds.
fn fired(host: &mut Host<Recorder>, after: u64) -> Vec<char> {
    let before = host.partition(P0).fired.len();
    host.fire_timers(Now { wall: NOW.wall + after, mono: NOW.mono + after });
    host.partition(P0).fired[before..].to_vec()
}

/// After how many microseconds the next one is due.
fn next(host: &Host<Recorder>) -> Option<u64> {
    host.next_timer().map(|at| at - NOW.mono)
}

#[test]
fn a_timer_is_armed_once_and_fires_once() {
    let mut host = open(&SimDisk::new(), config(0, 1, Fsync::EverySec)).unwrap();
    [('b', 5), ('a', 9), ('c', 4), ('b', 7)].into_iter().for_each(|(timer, at)| arm(&mut host, timer, at));
    assert_eq!(next(&host), Some(4));
    assert_eq!(fired(&mut host, 3), []);
    assert_eq!(fired(&mut host, 8), ['b', 'c'], "in their own order");
    assert_eq!((next(&host), fired(&mut host, 9), next(&host)), (Some(9), vec!['a'], None));
}
