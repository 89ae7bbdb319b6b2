//! Clients in drawn schedules: against a small world of three regions and a gateway written after the specification, with cuts,
//! crashes, lost regions, full disks and restored ones. First safety under faults; then everything heals, and all has to be
//! everywhere. Each rule that the client keeps is switched off once, and then the same schedules have to find a violation.

mod expected;
mod gateway;
mod host;
mod world;

use bytes::Bytes;
use fastrand::Rng;
use host::{Host, KEYS, unique_of};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tidemark_core::{Rule, rule::without};
use tidemark_edge::client::Event;
use tidemark_edge::rule::*;
use world::{REGIONS, World};

const SCHEDULES: u64 = 1000;
const CLIENTS: usize = 3;
const STEPS: usize = 400;

/// The last steps are without commits, so that a client may have nothing new to send when it connects.
const COMMITS_UNTIL: usize = 300;

struct Schedule {
    world: World,
    hosts: Vec<Host>,
    rng: Rng,
    /// K.
    regions: u64,
    restores: bool,
}

#[derive(Default, Debug)]
struct Counts {
    accepted: usize,
    with_two_stamps: usize,
    lost_regions: usize,
    restored: usize,
    retimed: usize,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let regions = rng.u64(1..=3);
        let behind = std::array::from_fn(|_| rng.u64(..200));
        let world = World::new(behind);
        let hosts = (0..CLIENTS).map(|number| Host::new(number, regions, &mut rng)).collect();
        let restores = rng.bool();
        let mut new = Self { world, hosts, rng, regions, restores };
        for host in &mut new.hosts {
            for key in KEYS {
                host.event(
                    &new.world,
                    &mut new.rng,
                    Event::Watch { key: Bytes::from_static(key.as_bytes()) },
                );
            }
            host.event(&new.world, &mut new.rng, Event::Start);
        }
        new
    }

    fn step(&mut self, number_of_step: usize) {
        let Self { world, hosts, rng, .. } = self;
        let number = rng.usize(..hosts.len());
        let host = &mut hosts[number];
        match rng.u8(..100) {
            0..=6 if number_of_step < COMMITS_UNTIL => host.commit(world, rng),
            0..=27 => {
                let can = rng.u8(..30) > 0;
                host.step_disk(world, rng, can);
            }
            28..=44 => host.step_up(world, rng),
            45..=62 => host.step_down(world, rng),
            63..=67 => host.step_tick(world, rng),
            68..=74 => {
                let can = rng.u8(..4) > 0;
                host.connect(world, rng, can);
            }
            75..=86 => {
                let (origin, from, to) = (rng.usize(..REGIONS), rng.usize(..REGIONS), rng.usize(..REGIONS));
                world.replicate(origin, from, to, rng.u64(1..=100));
                world.tell(from, to);
            }
            87..=93 => {
                world.now_us += if rng.u8(..3) == 0 { rng.u64(..400_000) } else { rng.u64(1..2000) };
                hosts.iter_mut().for_each(|host| host.step_time(world, rng));
            }
            94..=95 => host.cut(world, rng),
            96 => host.crash(world, rng),
            // Between two writes, too.
            98 if host.writes.len() > 1 => host.crash(world, rng),
            97 => self.rare(number),
            _ => {
                let key = Bytes::from_static(KEYS[rng.usize(..KEYS.len() - 1)].as_bytes());
                host.event(world, rng, Event::Unwatch { key: key.clone() });
                host.event(world, rng, Event::Watch { key });
            }
        }
    }

    fn rare(&mut self, number: usize) {
        let Self { world, hosts, rng, .. } = self;
        match rng.u8(..3) {
            0 => self.lose(),
            1 if self.restores => hosts[number].save(),
            2 if self.restores => {
                let saved = hosts.iter_mut().find(|host| host.copy.is_some());
                saved.into_iter().for_each(|host| host.restore(world, rng));
            }
            _ => {}
        }
    }

    /// A region is lost, with all that it alone had; but fewer than K are.
    fn lose(&mut self) {
        let Self { world, hosts, rng, .. } = self;
        // One that a client talks to, most of the time.
        let of = hosts[rng.usize(..hosts.len())].session.as_ref().filter(|_| rng.u8(..4) > 0);
        let lost = of.map_or(rng.usize(..REGIONS), |(_, session)| session.region);
        let already = world.lost.iter().filter(|lost| **lost).count() as u64;
        if world.lost[lost] || already + 1 >= self.regions {
            return;
        }
        world.lost[lost] = true;
        for host in hosts {
            if host.session.as_ref().is_some_and(|(_, session)| session.region == lost) {
                host.cut(world, rng);
            }
        }
    }

    /// Everything works again, but for lost regions.
    fn heal(&mut self) {
        let Self { world, hosts, rng, .. } = self;
        // A base that all regions have is not to be had when one is lost.
        let regions = world.lost.iter().filter(|lost| !**lost).count() as u64;
        if regions < self.regions {
            hosts.iter_mut().for_each(|host| host.event(world, rng, Event::SetRegions { regions }));
        }
        // A Welcome that took longer than half of what regions remember makes times that are too old, as long as the connection lasts.
        hosts.iter_mut().for_each(|host| host.cut(world, rng));
        for _ in 0..80 {
            world.now_us += 300_000;
            for host in hosts.iter_mut() {
                host.step_time(world, rng);
                host.connect(world, rng, true);
                // Nothing is under way when time goes on: a time that is given now is not old when it arrives.
                for _ in 0..1000 {
                    while !host.writes.is_empty() {
                        host.step_disk(world, rng, true);
                    }
                    host.step_up(world, rng);
                    host.step_down(world, rng);
                }
                host.step_tick(world, rng);
            }
            for origin in 0..REGIONS {
                for from in 0..REGIONS {
                    (0..REGIONS).for_each(|to| world.replicate(origin, from, to, 100));
                }
            }
            for from in 0..REGIONS {
                (0..REGIONS).for_each(|to| world.tell(from, to));
            }
        }
    }

    fn converged(&mut self) {
        let mut uniques = BTreeMap::new();
        for (index, one) in self.world.accepted.iter().enumerate() {
            let seen = uniques.insert(unique_of(&one.body), index);
            let told = |index: usize| (self.world.name(index), &self.world.accepted[index]);
            let copied = self.hosts.iter().any(|host| host.copied.contains(&unique_of(&one.body)));
            assert!(seen.is_none() || copied, "applied twice: {:?} and {:?}", seen.map(told), told(index));
        }
        let live = (0..REGIONS).find(|region| !self.world.lost[*region]).expect("fewer than K are lost");
        let all = self.world.set(&self.world.vectors[live]);
        for (number, host) in self.hosts.iter().enumerate() {
            assert_eq!(
                host.client.pending(),
                0,
                "client {number}: its log does not empty: {:?}",
                host.client
            );
            for unique in host.committed.difference(&host.excused) {
                let index = uniques.get(unique);
                assert!(
                    index.is_some_and(|index| all.contains(index)),
                    "client {number}: {unique:?} is lost"
                );
            }
            for key in KEYS {
                let key = Bytes::from_static(key.as_bytes());
                let shown = host.client.read(&key).map(|shown| shown.hash());
                assert_eq!(shown, Some(self.world.value(&all, &key).hash()), "client {number}: {key:?}");
            }
        }
    }

    fn count(&self, counts: &mut Counts) {
        counts.accepted += self.world.accepted.len();
        counts.with_two_stamps += self.world.accepted.iter().filter(|one| one.stamps.len() > 1).count();
        counts.lost_regions += self.world.lost.iter().filter(|lost| **lost).count();
        counts.retimed += self.world.retimed;
        counts.restored += self.hosts.iter().filter(|host| host.restored).count();
    }
}

fn play(seed: u64, counts: &mut Counts) {
    let mut schedule = Schedule::new(seed);
    for number in 0..STEPS {
        schedule.step(number);
    }
    if schedule.rng.bool() {
        schedule.lose();
    }
    schedule.heal();
    schedule.converged();
    schedule.count(counts);
}

#[test]
fn clients_show_their_base_and_their_log_and_lose_nothing() {
    let mut counts = Counts::default();
    for seed in tidemark_patience::drawn(0..SCHEDULES) {
        let played = catch_unwind(AssertUnwindSafe(|| play(seed, &mut counts)));
        assert!(played.is_ok(), "seed {seed}");
    }
    println!("{counts:?}");
    assert!(
        counts.retimed > 0 && counts.with_two_stamps > 0 && counts.lost_regions > 0 && counts.restored > 0,
        "{counts:?}"
    );
}

thread_local! {
    /// Whether violations are what this thread looks for.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// The first schedules that find a violation without a rule.
const FIRST: [(Rule, u64); 9] = [
    (COMMITS_ARE_DURABLE, 1),
    (TIMES_RISE, 162),
    (TIMES_ARE_DURABLE, 127),
    (ALL_IS_SENT_AGAIN, 885),
    (ACKS_PRUNE_NOTHING, 0),
    (BASE_BEFORE_PRUNING, 525),
    (TICKS_ARE_WHOLE, 0),
    (BASES_SAY_WHAT_IS_IN_THEM, 5),
    (FORKS_RENEW, 2_538),
];

/// A schedule that finds a violation without a rule.
fn found(rule: Rule) -> Option<(u64, String)> {
    let violation = |seed: u64| {
        let play = || catch_unwind(AssertUnwindSafe(|| play(seed, &mut Counts::default())));
        let payload = without(&[rule], play).err()?;
        let text = payload.downcast_ref::<String>().cloned().unwrap_or_default();
        Some((seed, text.chars().take(80).collect()))
    };
    let first = FIRST.iter().find(|(of, _)| *of == rule).unwrap_or_else(|| panic!("{rule} is in no list"));
    tidemark_patience::known(first.1, 4_000).find_map(violation)
}

#[test]
fn each_rule_is_missed() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !EXPECTED.get() {
            usual(info)
        }
    }));
    EXPECTED.set(true); // of this thread alone
    // That a hidden write comes back is against causality, of which this model knows nothing; no disk is put back here, and the model puts what
    // comes to one position there, too: simulators have all of that. Gateways are modelled themselves.
    let elsewhere = [
        HIDDEN_STAYS_HIDDEN,
        COPIES_MAY_HAVE_SENT,
        AUTHORS_DIFFER,
        TIES_ARE_TOLD,
        K_IS_KEPT,
        BASES_DOMINATE,
        VALUES_ARE_OF_THE_BASE,
        READINGS_ARE_WHOLE,
        READINGS_END_WITH_CHANNELS,
        LOSSES_ARE_CERTAIN,
        LOSSES_ARE_TOLD,
        CHAINS_ARE_COMPARED,
        TICKS_SAY_K,
        VALUES_WAIT_THEIR_TURN,
    ];
    let rules = RULES.iter().filter(|rule| !elsewhere.contains(rule));
    let found: Vec<_> = rules.map(|rule| (rule.name, found(*rule))).collect();
    EXPECTED.set(false);
    println!("{found:#?}");
    assert!(found.iter().all(|(_, seed)| seed.is_some()), "{found:?}");
}
