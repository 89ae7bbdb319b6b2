//! Three regions execute random commands, which are delivered behind their causes in any order.

use super::differential::{any_command, reference};
use super::region::Region;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tidemark_core::{Hlc, Stamp};
use tidemark_crdt::Effect;

const REGIONS: usize = 3;

/// Elements as they should be: by number, with the values that live in them.
type Elements = BTreeMap<usize, BTreeMap<Stamp, String>>;

/// The values that elements should take from a command, and those that they should lose.
#[derive(Default)]
struct Expected {
    added: Vec<(usize, String)>,
    lost: Vec<(usize, Stamp)>,
}

/// A command that was executed.
struct Step {
    causes: Vec<usize>,
    stamp: Stamp,
    effect: Effect,
    expected: Expected,
}

struct World {
    regions: Vec<Region>,
    elements: Vec<Elements>,
    seen: Vec<Vec<usize>>,
    logs: Vec<Vec<Step>>,
    /// Which element a value was given to.
    of_value: HashMap<String, usize>,
    /// Which command made an element: its region and number.
    made_by: Vec<(usize, usize)>,
    random: fastrand::Rng,
    values: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            regions: (0..REGIONS as u8).map(Region::new).collect(),
            elements: vec![Elements::new(); REGIONS],
            seen: vec![vec![0; REGIONS]; REGIONS],
            logs: (0..REGIONS).map(|_| Vec::new()).collect(),
            of_value: HashMap::new(),
            made_by: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
            values: 0,
        }
    }

    /// Executes a random command in a region; every value is new.
    fn execute(&mut self, at: usize) {
        let before = self.regions[at].list();
        let mut after: Vec<String> = before.iter().map(|value| value.replace('\'', "")).collect();
        let before = after.clone();
        let values = &mut self.values;
        let command = any_command(&mut self.random, &before, |_| {
            *values += 1;
            format!("v{values}")
        });
        let reply = reference(&mut after, &command);
        let (answer, stamp, effect) = self.regions[at].prepare(&command);
        assert_eq!(answer, reply, "{command} on {before:?}");
        let number = self.logs[at].len();
        let expected = self.expect(at, number, &before, &after, command.starts_with("LSET"));
        self.logs[at].push(Step { causes: self.seen[at].clone(), stamp, effect, expected });
        self.deliver(at, at);
        let shown: Vec<String> =
            self.regions[at].list().iter().map(|value| value.replace('\'', "")).collect();
        assert_eq!(shown, after, "{command} on {before:?}");
    }

    fn expect(
        &mut self,
        at: usize,
        number: usize,
        before: &[String],
        after: &[String],
        sets: bool,
    ) -> Expected {
        let mut expected = Expected::default();
        let mut lost = Vec::new();
        let (old, new): (BTreeSet<&String>, BTreeSet<&String>) =
            (before.iter().collect(), after.iter().collect());
        for value in before.iter().filter(|value| !new.contains(value)) {
            let element = self.of_value[value];
            lost.push(element);
            expected.lost.extend(self.elements[at][&element].keys().map(|dot| (element, *dot)));
        }
        for value in after.iter().filter(|value| !old.contains(value)) {
            let element = if sets { lost[0] } else { self.made_by.len() };
            if !sets {
                self.made_by.push((at, number));
            }
            self.of_value.insert(value.clone(), element);
            expected.added.push((element, value.clone()));
        }
        expected
    }

    /// Delivers the next command of region `from`, if its causes are here.
    fn deliver(&mut self, from: usize, to: usize) -> bool {
        let Some(step) = self.logs[from].get(self.seen[to][from]) else { return false };
        if !step.causes.iter().zip(&self.seen[to]).all(|(cause, seen)| cause <= seen) {
            return false;
        }
        self.seen[to][from] += 1;
        let region = &mut self.regions[to];
        region.clock = region.clock.max(step.stamp.ts.micros());
        region.state.apply(step.stamp, &step.effect, None);
        let elements = &mut self.elements[to];
        for (element, dot) in &step.expected.lost {
            elements.get_mut(element).map(|dots| dots.remove(dot));
        }
        for (element, value) in &step.expected.added {
            elements.entry(*element).or_default().insert(step.stamp, value.clone());
        }
        true
    }

    /// Everything arrives, and everybody knows it.
    fn settle(&mut self) {
        while (0..REGIONS * REGIONS).any(|link| self.deliver(link / REGIONS, link % REGIONS)) {}
        self.assert_agreement();
        let clock = self.regions.iter().map(|region| region.clock).max().unwrap_or(0);
        for region in &mut self.regions {
            (region.clock, region.floor) = (clock, Hlc::at(clock));
            region.state.settle(region.floor, usize::MAX);
            assert!(region.state.is_settled());
        }
        self.assert_agreement();
    }

    fn assert_agreement(&mut self) {
        let shown: Vec<String> = self.regions[0].list().iter().map(|value| value.replace('\'', "")).collect();
        for region in &self.regions[1..] {
            assert_eq!(region.state.elements(), self.regions[0].state.elements());
        }
        let values = self.elements[0].values().filter_map(|dots| dots.last_key_value());
        let expected: BTreeSet<&String> = values.map(|(_, value)| value).collect();
        assert_eq!(shown.iter().collect::<BTreeSet<_>>(), expected);
        assert_eq!(shown.len(), expected.len());
        self.assert_together(&shown);
    }

    /// Between two elements of one command stand only those that somebody put there who saw them.
    fn assert_together(&self, shown: &[String]) {
        let makers: Vec<(usize, usize)> =
            shown.iter().map(|value| self.made_by[self.of_value[value]]).collect();
        for (start, maker) in makers.iter().enumerate() {
            let end = makers.iter().rposition(|one| one == maker).expect("it is there");
            for other in makers[start..end].iter().filter(|other| *other != maker) {
                let causes = &self.logs[other.0][other.1].causes;
                assert!(causes[maker.0] > maker.1, "{other:?} stands in the run of {maker:?}");
            }
        }
    }
}

#[test]
fn three_regions_agree_and_lose_nothing() {
    for seed in 0..4000 {
        let mut world = World::new(seed);
        for _ in 0..world.random.usize(20..90) {
            let (from, to) = (world.random.usize(..REGIONS), world.random.usize(..REGIONS));
            match from == to {
                true => world.execute(to),
                false => drop(world.deliver(from, to)),
            }
            if world.random.u8(..30) == 0 {
                world.settle();
            }
        }
        world.settle();
    }
}
