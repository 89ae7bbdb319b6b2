//! §4.4 and D9: which updates are concurrent, who notices, and who wins.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_contract::core::DcId;
use tidemark_contract::core::{Failure, PartitionId};
use tidemark_contract::{Params as _, Store};
use tidemark_protocols::gentlerain::LOSERS_STAY;

fn detected(lab: &Lab<GentleRain>, dc: u8) -> u64 {
    lab.protocol(server(dc, 0)).status().conflicts.expect("GentleRain looks for conflicts")
}

/// What precedes `stamp` in the chain of `key`, read or not: what §4.4 sends along, and compares.
fn predecessor(store: &Store<Hlc>, key: &Key, stamp: Stamp) -> Option<Stamp> {
    store.chain(key).map(|d| d.stamp).find(|other| *other < stamp)
}

fn newest(lab: &Lab<GentleRain>, dc: u8, key: &Key) -> Stamp {
    lab.store(server(dc, 0)).chain(key).next().expect("something was written").stamp
}

/// Reference: 001 §4.4: "the causally previous update must have arrived at all replicas".
#[test]
fn sec_4_4_what_was_overwritten_by_who_could_see_it_is_no_conflict() {
    let mut lab = rain(3, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "1");
    lab.put(a, &x, "2");
    stabilise(&mut lab, 9_000);
    lab.put(b, &x, "3");
    lab.put(b, &x, "4");
    stabilise(&mut lab, 19_000);
    lab.put(a, &x, "5");
    lab.deliver_all();
    assert_eq!([0, 1, 2].map(|dc| detected(&lab, dc)), [0, 0, 0]);
}

/// Reference: 001 §4.4.
#[test]
fn sec_4_4_updates_of_two_regions_that_did_not_see_each_other_are_a_conflict_everywhere() {
    let mut lab = rain(3, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "1");
    lab.put(b, &x, "2");
    lab.deliver_all();
    assert_eq!([0, 1, 2].map(|dc| detected(&lab, dc)), [1, 1, 1]);
    lab.put(a, &x, "3");
    assert_eq!(detected(&lab, 0), 2, "what has arrived and is not stable was not seen either");
}

/// D9: the predecessor in the chain may be one that nobody could read yet.
#[test]
fn d9_a_predecessor_that_nobody_could_see_is_in_conflict_though_all_agree_on_it() {
    let mut lab = rain(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "unseen");
    let unseen = newest(&lab, 0, &x);
    lab.deliver(server(0, 0), server(1, 0));
    lab.set_clocks(2_000);
    assert_eq!(lab.get(b, &x), "-");
    lab.put(b, &x, "blind");
    let blind = newest(&lab, 1, &x);
    lab.deliver(server(1, 0), server(0, 0));
    let sides = [0, 1].map(|dc| predecessor(lab.store(server(dc, 0)), &x, blind));
    assert_eq!(sides, [Some(unseen); 2], "so §4.4 says nothing");
    assert_eq!([0, 1].map(|dc| detected(&lab, dc)), [1, 1]);
}

/// D9: where the older one comes later, it stands on the same predecessor here and there.
#[test]
fn d9_an_update_that_comes_below_one_that_did_not_see_it_is_in_conflict_with_that() {
    let mut lab = rain(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(b, &x, "older");
    let older = newest(&lab, 1, &x);
    lab.set_clocks(2_000);
    lab.put(a, &x, "newer");
    let newer = newest(&lab, 0, &x);
    lab.deliver_all();
    let stores = [0, 1].map(|dc| lab.store(server(dc, 0)));
    assert_eq!(stores.map(|store| predecessor(store, &x, older)), [None; 2], "A is not told by §4.4");
    assert_eq!(predecessor(stores[1], &x, newer), Some(older), "B is: A had sent none");
    assert_eq!([0, 1].map(|dc| detected(&lab, dc)), [1, 1]);
}

/// D9: deciding at arrival, as §4.4 does, A would drop 3 for 5 and end at 1; B would end at 3.
#[test]
fn d9_a_resolver_comes_to_the_same_whatever_arrives_first() {
    for order in [[0, 1], [1, 0]] {
        let mut lab = resolving(3, 1, Resolver::LargestValue);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        lab.put(a, &x, "5");
        lab.set_clocks(2_000);
        lab.put(b, &x, "3");
        lab.set_clocks(3_000);
        lab.put(a, &x, "1"); // A saw its own 5, and not 3
        order.into_iter().for_each(|dc| lab.deliver_between(dc, 2));
        stabilise(&mut lab, 9_000);
        for dc in 0..3 {
            let reader = lab.client(dc);
            assert_eq!(lab.get(reader, &x), "3", "in {dc}");
            assert_eq!(lab.snapshot(reader, &[&x]), "3");
            assert_eq!(lab.scan(reader, 0), format!("{x} 1"));
        }
    }
}

/// D9: what a resolver did not choose is kept until a later write has seen it, across collection and restarts.
#[test]
fn d9_what_lost_goes_when_it_is_overwritten() {
    let mut lab = resolving(2, 1, Resolver::LargestValue);
    let (a, b, x, p) = (lab.client(0), lab.client(1), lab.key("x", 0), server(0, 0));
    lab.put(a, &x, "5");
    lab.set_clocks(2_000);
    lab.put(b, &x, "3");
    let settle = |lab: &mut Lab<GentleRain>, from: u64| {
        (0..6).for_each(|n| stabilise(lab, from + n * 500_000));
    };
    settle(&mut lab, 500_000);
    assert_eq!((lab.store(p).chain(&x).count(), lab.get(b, &x)), (2, "5".to_string()));
    lab.restart(p);
    settle(&mut lab, 4_000_000);
    assert_eq!((lab.store(p).chain(&x).count(), lab.get(a, &x)), (2, "5".to_string()));
    lab.put(b, &x, "0");
    settle(&mut lab, 8_000_000);
    assert_eq!([0, 1].map(|dc| lab.store(server(dc, 0)).chain(&x).count()), [1, 1]);
    assert_eq!([a, b].map(|s| lab.get(s, &x)), ["0", "0"]);
}

/// D9: without the rule, a collection makes the last writer win.
#[test]
fn d9_what_lost_stays_although_every_snapshot_has_what_won() {
    let found = || {
        let mut lab = resolving(2, 1, Resolver::LargestValue);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        lab.put(a, &x, "5");
        lab.set_clocks(2_000);
        lab.put(b, &x, "3");
        (0..6).for_each(|n| stabilise(&mut lab, 500_000 + n * 500_000));
        lab.get(a, &x)
    };
    assert_eq!([found(), without(&[LOSERS_STAY], found)], ["5", "3"]);
}

/// Reference: 001 §4.4.
#[test]
fn d9_each_resolver_chooses_by_what_it_is_called_after() {
    for (resolver, wins, over_nothing) in [
        (Resolver::LastWriter, "3", "-"),
        (Resolver::LargestValue, "5", "4"),
        (Resolver::SmallestValue, "3", "4"),
        (Resolver::Application, "3", "-"),
    ] {
        let mut lab = resolving(2, 1, resolver);
        let (a, b, x, y) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 0));
        lab.put(a, &x, "5");
        lab.put(a, &y, "4");
        lab.set_clocks(2_000);
        lab.put(b, &x, "3");
        lab.remove(b, &y);
        stabilise(&mut lab, 9_000);
        stabilise(&mut lab, 19_000);
        for session in [a, b] {
            assert_eq!(lab.rotx(session, &[&x, &y]), format!("{wins} {over_nothing}"), "{resolver:?}");
        }
    }
}

fn conflicts(lab: &mut Lab<GentleRain>, client: usize) -> String {
    text(&lab.run(client, Op::Conflicts { partition: PartitionId(0), limit: 10 }))
}

/// Reference: 001 §4.4: "calling up to the application that must then tell GentleRain … how to order the conflicting updates".
#[test]
fn d9_an_application_is_shown_what_is_in_conflict_and_settles_it_by_a_write() {
    let mut lab = resolving(3, 1, Resolver::Application);
    let (a, b, c, x, y) = (lab.client(0), lab.client(1), lab.client(2), lab.key("x", 0), lab.key("y", 0));
    lab.put(a, &x, "of A");
    lab.put(a, &y, "no conflict");
    lab.set_clocks(2_000);
    lab.put(b, &x, "of B");
    assert_eq!(conflicts(&mut lab, a), "", "that of B has not arrived");
    (0..6).for_each(|n| stabilise(&mut lab, 500_000 + n * 500_000));
    lab.restart(server(2, 0));
    stabilise(&mut lab, 4_000_000);
    let c2 = lab.client(2);
    for session in [a, b, c2] {
        assert_eq!(conflicts(&mut lab, session), format!("{x}: of B of A"));
        assert_eq!(lab.get(session, &x), "of B", "the last writer's, until it is decided");
    }
    // What a session was shown in one region it has seen in another, too, although that one knows less.
    let token = lab.token(c2);
    lab.put(c, &y, "more");
    lab.adopt(a, token);
    assert_eq!(lab.outcome(a), Some(Outcome::Adopted));
    lab.put(a, &x, "of both");
    (0..6).for_each(|n| stabilise(&mut lab, 5_000_000 + n * 500_000));
    for session in [a, b, c2] {
        assert_eq!((conflicts(&mut lab, session), lab.get(session, &x)), (String::new(), "of both".into()));
    }
    assert_eq!([0, 1, 2].map(|dc| lab.store(server(dc, 0)).chain(&x).count()), [1, 1, 1]);
}

/// Two applications that decide at once are in conflict again.
#[test]
fn d9_decisions_of_two_regions_are_in_conflict() {
    let mut lab = resolving(2, 1, Resolver::Application);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "1");
    lab.put(b, &x, "2");
    stabilise(&mut lab, 9_000);
    stabilise(&mut lab, 19_000);
    lab.put(a, &x, "3");
    lab.set_clocks(20_000);
    lab.put(b, &x, "4");
    stabilise(&mut lab, 29_000);
    stabilise(&mut lab, 39_000);
    assert_eq!([a, b].map(|s| conflicts(&mut lab, s)), [(); 2].map(|()| format!("{x}: 4 3")));
    assert_eq!(text(&lab.run(a, Op::Conflicts { partition: PartitionId(0), limit: 0 })), "");
}

#[test]
fn d9_where_the_last_writer_wins_there_is_nothing_to_list_and_its_data_is_not_taken_for_more() {
    let mut lab = rain(2, 1);
    let a = lab.client(0);
    let refused = lab.run(a, Op::Conflicts { partition: PartitionId(0), limit: 10 });
    assert!(
        matches!(&refused, Outcome::Failed(Failure::Refused(why)) if why.contains("set resolver")),
        "{refused:?}"
    );
    let format = |resolver| Params { resolver, ..Params::default() }.format();
    let kept = [Resolver::LargestValue, Resolver::SmallestValue, Resolver::Application].map(format);
    assert_eq!(format(Resolver::LastWriter), "");
    assert!(kept.iter().all(|format| *format == kept[0] && !format.is_empty()), "one may follow the other");
}

/// Versions of keys, by their numbers.
type Seen = BTreeSet<(usize, Stamp)>;

/// A schedule of random steps, with what every version depends on.
struct Schedule {
    lab: Lab<GentleRain>,
    state: u64,
    keys: Vec<Key>,
    clients: Vec<(usize, u8, Seen)>,
    /// For each version what its writer had seen, and which versions of its key were visible there.
    written: BTreeMap<(usize, Stamp), (Seen, BTreeSet<Stamp>)>,
    flagged: BTreeSet<(usize, Stamp)>,
}

const DCS: u8 = 3;
const PARTITIONS: u16 = 2;

impl Schedule {
    fn new(seed: u64) -> Self {
        let params = Params { clock: Stamps::Hlc, ..Params::default() };
        let mut lab = Lab::new(DCS.into(), PARTITIONS.into(), params);
        let keys = ["a", "b", "c"].iter().zip([0, 0, 1]).map(|(name, p)| lab.key(name, p)).collect();
        let clients = (0..6).map(|n| (lab.client(n % DCS), n % DCS, BTreeSet::new())).collect();
        let (written, flagged) = (BTreeMap::new(), BTreeSet::new());
        Self { lab, state: seed, keys, clients, written, flagged }
    }

    /// Numbers below `n` (splitmix64).
    fn any(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) % n
    }

    fn step(&mut self, now: u64) {
        let (from, to) = (self.any(DCS.into()) as u8, self.any(DCS.into()) as u8);
        let p = self.any(PARTITIONS.into()) as u16;
        let clock = now + self.any(3_000);
        self.lab.set_clock(server(from, p), clock);
        let (client, key) = (self.any(6) as usize, self.any(3) as usize);
        match self.any(8) {
            0 | 1 => self.get(client, key),
            2 => self.put(client, key),
            3 | 4 => self.observe(to, p, |lab| _ = lab.deliver(server(from, p), server(to, p))),
            5 => self.lab.fire(server(from, p), Timer::Delta),
            6 => self.lab.fire(server(from, p), Timer::Theta),
            _ => self.lab.deliver_within(DcId(from)),
        }
    }

    fn get(&mut self, client: usize, key: usize) {
        let outcome = self.lab.run(self.clients[client].0, Op::Get { key: self.keys[key].clone() });
        let Outcome::Found(found) = outcome else { panic!("{outcome:?}") };
        if let Some(stamp) = found.stamp {
            let past = self.written[&(key, stamp)].0.clone();
            self.clients[client].2.extend(past);
            self.clients[client].2.insert((key, stamp));
        }
    }

    fn put(&mut self, client: usize, key: usize) {
        let (session, dc, past) = self.clients[client].clone();
        let name = self.keys[key].clone();
        let p = if key < 2 { 0 } else { 1 };
        self.observe(dc, p, |lab| _ = lab.put(session, &name, "v"));
        let gst = gst(&self.lab, dc, p);
        let chain = self.lab.store(server(dc, p)).chain(&name).map(|d| d.stamp);
        let visible: BTreeSet<Stamp> = chain.filter(|d| d.origin == DcId(dc) || d.ts <= gst).collect();
        let new = *visible.iter().rfind(|d| d.origin == DcId(dc)).expect("just written");
        self.written.insert((key, new), (past, visible));
        self.clients[client].2.insert((key, new));
    }

    /// Runs what may insert a version at a server. If it was counted as a conflict, there is something at that server
    /// that is concurrent in the sense of happens-before.
    fn observe(&mut self, dc: u8, p: u16, event: impl FnOnce(&mut Lab<GentleRain>)) {
        let count = |lab: &Lab<GentleRain>| lab.protocol(server(dc, p)).status().conflicts;
        let all = |schedule: &Self| -> BTreeSet<(usize, Stamp)> {
            let store = schedule.lab.store(server(dc, p));
            let chain = |key: usize| store.chain(&schedule.keys[key]).map(move |d| (key, d.stamp));
            (0..schedule.keys.len()).flat_map(chain).collect()
        };
        let (counted, before) = (count(&self.lab), all(self));
        event(&mut self.lab);
        if count(&self.lab) == counted {
            return;
        }
        let new = *all(self).difference(&before).next().expect("only what is new is counted");
        self.flagged.insert(new);
        let none = BTreeSet::new();
        let past = |d: &(usize, Stamp)| self.written.get(d).map_or(&none, |(past, _)| past);
        let rivals = before.iter().filter(|other| other.0 == new.0);
        let real = rivals.filter(|other| !past(other).contains(&new) && !past(&new).contains(other));
        assert!(real.count() > 0, "{new:?} was counted, and overwrote what its writer had seen");
    }

    /// Of two versions, neither visible where the other was written, the older one was counted somewhere, or else the
    /// newer one or a version before it that its server wrote as blindly.
    fn nothing_was_missed(&self) -> usize {
        let mut conflicts = 0;
        for ((key, x), (_, seen_by_x)) in &self.written {
            for ((_, y), (_, seen_by_y)) in self.written.range((*key, *x)..).filter(|((k, _), _)| k == key) {
                if x != y && !seen_by_x.contains(y) && !seen_by_y.contains(x) {
                    let mut told = self.flagged.range((*key, *x)..=(*key, *y)).map(|(_, stamp)| stamp);
                    let told = told.any(|stamp| stamp == x || stamp.origin == y.origin);
                    assert!(told, "nobody noticed {x} and {y}");
                    conflicts += 1;
                }
            }
        }
        conflicts
    }
}

/// §4.4: no causal overwrite is counted, and no conflict missed; the truth is happens-before as sessions made it.
#[test]
fn sec_4_4_random_schedules_count_conflicts_and_nothing_else() {
    let mut conflicts = 0;
    for seed in 0..300 {
        let mut schedule = Schedule::new(seed);
        (1..150).for_each(|n| schedule.step(1_000 + n * 700));
        for p in 0..PARTITIONS {
            for (from, to) in (0..DCS).flat_map(|from| (0..DCS).map(move |to| (from, to))) {
                for _ in 0..150 {
                    schedule.observe(to, p, |lab| _ = lab.deliver(server(from, p), server(to, p)));
                }
            }
        }
        conflicts += schedule.nothing_was_missed();
    }
    assert!(conflicts > 1_000, "{conflicts} conflicts");
}
