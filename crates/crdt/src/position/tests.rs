use super::*;
use std::collections::BTreeMap;

fn stamp(time: u64, origin: u8) -> Stamp {
    Stamp::new(Hlc(time << 9), DcId(origin))
}

#[test]
fn numbers_are_ordered_as_their_bytes() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut any = |bits: u64| random.u64(..) >> (64 - bits) >> random.u64(..bits);
    let mut all: Vec<(bool, Number)> = Vec::new();
    for _ in 0..600 {
        let (time, nth) = (any(52), any(20));
        let (counter, seq) = ((any(13) as u16).saturating_sub(4096), (any(6) as u32).saturating_sub(32));
        all.push((any(2) > 1, Number { time, counter, seq, nth }));
    }
    all.sort_by_key(|&(negative, number)| match negative {
        true => (false, Some(std::cmp::Reverse(number)), None),
        false => (true, None, Some(number)),
    });
    all.dedup();
    let bytes = |(negative, number): &(bool, Number)| {
        let mut bytes = Vec::new();
        number.write(*negative, &mut bytes);
        assert_eq!(Number::read(&[&bytes[..], &[1, 2, 3]].concat()), Some((*number, bytes.len())));
        bytes
    };
    for pair in all.windows(2) {
        let (before, behind) = (bytes(&pair[0]), bytes(&pair[1]));
        assert!(before < behind, "{pair:?}");
        assert!(!behind.starts_with(&before), "{pair:?}");
    }
}

#[test]
fn paths_are_read_as_they_were_written() {
    let (first, second) = (Stamp { seq: 300, ..stamp(7, 1) }, stamp(900_000, 2));
    let root = Run::between(None, None, DcId(1)).name(0, false).resolve(first).into_owned();
    let below = Run::between(Some(&root), None, DcId(2)).name(3, true).resolve(second).into_owned();
    let bunches: Vec<Bunch> = Bunches { path: &below, at: 0 }.collect();
    let begun: Vec<_> = bunches.iter().map(|bunch| (below[bunch.start], bunch.begun(&below))).collect();
    assert_eq!(begun, [(1, (first.ts, 300)), (2, (second.ts, 0))]);
    assert_eq!(birth(&below), (second.ts, 0));
    let third = Stamp { ts: second.ts.next(), seq: 7, ..second };
    let behind = Run::between(Some(&below), None, DcId(2)).name(0, false).resolve(third).into_owned();
    assert_eq!((birth(&behind), behind > below), ((third.ts, 7), true));
    for cut in 0..below.len() {
        // Bytes that are no path are harmless.
        assert!(Bunches { path: &below[..cut], at: 0 }.count() <= 2);
        Run::between(Some(&below[..cut]), Some(&below[cut..]), DcId(2)).name(0, false).resolve(second);
    }
}

/// A region, or a client, with the elements that it sees, and the command that made each: its region and number.
#[derive(Clone, Default)]
struct Region {
    elements: BTreeMap<Vec<u8>, (u8, usize)>,
    seen: Vec<usize>,
    clock: u64,
    /// Of a client.
    author: Option<u32>,
}

impl Region {
    fn position(&self, index: usize) -> Option<&[u8]> {
        self.elements.keys().nth(index).map(Vec::as_slice)
    }

    /// The positions of `count` new elements between those numbered `index - 1` and `index`.
    fn place(&self, origin: u8, index: usize, count: usize, backward: bool) -> Vec<Vec<u8>> {
        let left = index.checked_sub(1).and_then(|left| self.position(left));
        let right = self.position(index);
        let mut new: Vec<Vec<u8>> = match self.author {
            Some(author) => self.given(author, (left, right), count, backward),
            None => {
                let run = Run::between(left, right, DcId(origin));
                let name = |nth| run.name(nth, backward).resolve(stamp(self.clock, origin)).into_owned();
                (0..count).map(name).collect()
            }
        };
        if backward {
            new.reverse();
        }
        let all: Vec<&[u8]> = left.into_iter().chain(new.iter().map(Vec::as_slice)).chain(right).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?} are not in order");
        new
    }

    /// Positions that a client gives, one after the other.
    fn given(
        &self,
        author: u32,
        (left, right): (Option<&[u8]>, Option<&[u8]>),
        count: usize,
        backward: bool,
    ) -> Vec<Vec<u8>> {
        let mut new: Vec<Vec<u8>> = Vec::new();
        for nth in 0..count as u64 {
            let hand = Hand { author, time_us: stamp(self.clock, 0).ts.micros(), nth };
            let (left, right) = match (new.last().map(Vec::as_slice), backward) {
                (None, _) => (left, right),
                (last, false) => (last, right),
                (last, true) => (left, last),
            };
            let position = hand.between(left, right);
            assert!(is_possible(&position, hand.time_us), "{hand:?} gives {position:?}");
            assert!(!is_possible(&position, hand.time_us - 1) && born_us(&position) == hand.time_us);
            new.push(position);
        }
        new
    }

    /// Time goes on. That of clients is in whole microseconds.
    fn tick(&mut self, by: u64) {
        self.clock += by;
        if self.author.is_some() {
            self.clock = (self.clock | 7) + 1;
        }
    }

    fn push(&mut self, origin: u8, index: usize) {
        self.tick(1 + self.clock % 3);
        let new = self.place(origin, index, 1, false).remove(0);
        self.elements.insert(new, (origin, 0));
    }

    fn longest(&self) -> usize {
        self.elements.keys().map(Vec::len).max().unwrap_or(0)
    }
}

/// A command that was executed: at which time, behind which others, and what it changed.
struct Step {
    time: u64,
    causes: Vec<usize>,
    added: Vec<Vec<u8>>,
    removed: Option<Vec<u8>>,
}

struct World {
    regions: Vec<Region>,
    logs: Vec<Vec<Step>>,
    random: fastrand::Rng,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.usize(2..=4);
        let mut region = |number| Region {
            seen: vec![0; count],
            author: (seed % 2 == 1 && random.bool()).then_some(1_000 + number),
            ..Region::default()
        };
        let regions = (0..count as u32).map(&mut region).collect();
        Self { regions, logs: (0..count).map(|_| Vec::new()).collect(), random }
    }

    fn execute(&mut self, at: usize) {
        let region = &mut self.regions[at];
        let len = region.elements.len();
        region.tick(self.random.u64(1..50));
        let mut step =
            Step { time: region.clock, causes: region.seen.clone(), added: Vec::new(), removed: None };
        if len > 0 && self.random.u8(..10) < if len > 12 { 6 } else { 3 } {
            let index = [0, len - 1, self.random.usize(..len)][self.random.usize(..3)];
            step.removed = region.position(index).map(<[u8]>::to_vec);
        } else {
            let index = [0, len, self.random.usize(..=len)][self.random.usize(..3)];
            let count = if index == 0 || index == len { self.random.usize(1..4) } else { 1 };
            step.added = region.place(at as u8, index, count, index == 0);
        }
        self.logs[at].push(step);
        self.deliver(at, at);
    }

    /// Delivers the next command of region `from`, if its causes are here.
    fn deliver(&mut self, from: usize, to: usize) -> bool {
        let region = &mut self.regions[to];
        let number = region.seen[from];
        let Some(step) = self.logs[from].get(number) else { return false };
        if !step.causes.iter().zip(&region.seen).all(|(cause, seen)| cause <= seen) {
            return false;
        }
        region.seen[from] += 1;
        region.clock = region.clock.max(step.time);
        for position in &step.added {
            let there = region.elements.insert(position.clone(), (from as u8, number));
            assert!(there.is_none(), "a position was given twice");
        }
        if let Some(position) = &step.removed {
            region.elements.remove(position);
        }
        true
    }

    /// Between two elements of one command stand only those that somebody put there who saw them.
    fn assert_together(&self) {
        let all: Vec<(u8, usize)> = self.regions[0].elements.values().copied().collect();
        for (start, &(origin, number)) in all.iter().enumerate() {
            let end = all.iter().rposition(|one| *one == (origin, number)).expect("it is there");
            for other in all[start..end].iter().filter(|other| **other != (origin, number)) {
                let causes = &self.logs[other.0 as usize][other.1].causes;
                assert!(causes[origin as usize] > number, "{other:?} stands in the run of {origin}");
            }
        }
    }
}

#[test]
fn regions_and_clients_agree_and_runs_stand_together() {
    for seed in 0..3000 {
        let mut world = World::new(seed);
        let count = world.regions.len();
        for _ in 0..60 {
            let (from, to) = (world.random.usize(..count), world.random.usize(..count));
            if from == to {
                world.execute(to);
            } else {
                world.deliver(from, to);
            }
        }
        while (0..count * count).any(|link| world.deliver(link / count, link % count)) {}
        for region in &world.regions {
            assert_eq!(region.elements, world.regions[0].elements, "seed {seed}");
        }
        world.assert_together();
    }
}

/// Regions, or clients, push at once, each several times; their runs must not be interleaved.
fn assert_not_interleaved(base: &Region, backward: bool, index: usize, clients: bool) {
    let mut all = base.clone();
    for origin in 0..3 {
        let author = clients.then_some(1_000 + u32::from(origin));
        let mut region = Region { author, ..base.clone() };
        for nth in 0..5 {
            region.tick(1 + 50 * u64::from(origin));
            let index = if backward { index } else { index + nth };
            region.push(origin, index);
        }
        all.elements.extend(region.elements);
    }
    let new: Vec<u8> = all
        .elements
        .iter()
        .filter(|(key, _)| !base.elements.contains_key(*key))
        .map(|(_, by)| by.0)
        .collect();
    let mut runs = new.clone();
    runs.dedup();
    assert_eq!((new.len(), runs.len()), (15, 3), "{new:?}");
}

#[test]
fn runs_of_pushes_are_not_interleaved() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut base = Region { clock: 5, ..Region::default() };
        for _ in 0..16 {
            let len = base.elements.len();
            let index = if random.bool() { random.usize(..=len) } else { len };
            base.push(random.u8(..3), index);
        }
        // Elements that made the bunches of several regions nest go.
        base.elements.retain(|_, _| random.u8(..3) == 0);
        for index in 0..=base.elements.len() {
            for (backward, clients) in [(false, false), (true, false), (false, true), (true, true)] {
                assert_not_interleaved(&base, backward, index, clients);
            }
        }
    }
}

/// Of clients that have put something there before, too: some of it beside the place.
#[test]
fn runs_of_clients_are_not_interleaved_beside_elements_of_theirs() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut base = Region { clock: 5, ..Region::default() };
        for _ in 0..16 {
            let (len, origin) = (base.elements.len(), random.u8(..3));
            base.author = (random.u8(..4) > 0).then_some(1_000 + u32::from(origin));
            base.push(origin, random.usize(..=len));
        }
        base.elements.retain(|_, _| random.u8(..3) > 0);
        for index in 0..=base.elements.len() {
            assert_not_interleaved(&base, false, index, true);
            assert_not_interleaved(&base, true, index, true);
        }
    }
}

#[test]
fn positions_stay_short() {
    let mut random = fastrand::Rng::with_seed(3);
    let longest = |count: usize, place: &mut dyn FnMut(usize, usize) -> (u8, usize)| {
        let mut region = Region { clock: 1, ..Region::default() };
        for nth in 0..count {
            let (origin, index) = place(nth, region.elements.len());
            region.push(origin, index);
        }
        region.longest()
    };
    let back = longest(2000, &mut |_, len| (0, len));
    let front = longest(2000, &mut |_, _| (0, 0));
    assert!(back <= 20 && front <= 20, "{back}, {front}");
    let in_turn = longest(2000, &mut |nth, len| ((nth % 2) as u8, len));
    let in_turn_before = longest(2000, &mut |nth, _| ((nth % 2) as u8, 0));
    assert!(in_turn <= 40 && in_turn_before <= 40, "{in_turn}, {in_turn_before}");
    let anywhere = longest(2000, &mut |_, len| (0, random.usize(..=len)));
    assert!(anywhere <= 250, "{anywhere}");
}

#[test]
fn positions_of_many_clients_stay_short() {
    let longest = |place: &mut dyn FnMut(usize) -> usize| {
        let mut all = Region { clock: 1, ..Region::default() };
        for nth in 0..1000 {
            all.author = Some(1_000 + nth);
            let index = place(all.elements.len());
            all.push(255, index);
        }
        all.longest()
    };
    let mut random = fastrand::Rng::with_seed(4);
    let (back, anywhere) = (longest(&mut |len| len), longest(&mut |len| random.usize(..=len)));
    assert!(back <= 18 && anywhere <= 250, "{back}, {anywhere}");
}

#[test]
fn what_is_no_position_of_a_client_is_told() {
    let first = Hand { author: 300, time_us: 1_000, nth: 0 }.between(None, None);
    let below = Hand { author: 400, time_us: 2_000, nth: 70 }.between(None, Some(&first));
    for (position, time_us) in [(&first, 1_000), (&below, 2_000)] {
        assert!(is_possible(position, time_us) && !is_possible(position, time_us - 1));
        for end in 0..position.len() {
            assert!(!is_possible(&position[..end], u64::MAX), "{:?}", &position[..end]);
        }
        assert!(!is_possible(&[position, &[END][..]].concat(), u64::MAX));
    }
    let mut other_side = first.clone();
    *other_side.last_mut().expect("it has steps") = 9;
    assert!(!is_possible(&other_side, u64::MAX));
    assert!(!is_possible(&below.repeat(2), u64::MAX), "an element ends its path");
    let mut step = first.clone();
    *step.last_mut().expect("it has steps") = RIGHT;
    let deep = |steps: usize| [step.repeat(steps), first.clone()].concat();
    let most = GIVEN_MAX / first.len() - 1;
    assert!(is_possible(&deep(most), 1_000) && !is_possible(&deep(most + 1), 1_000));
}
