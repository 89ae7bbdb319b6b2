//! The same, where a data centre is lost for good, with records that half arrived, and the others exclude it (D21).

use super::super::super::each_is_missed;
use super::super::super::exclusion::{C, order_one};
use super::*;
use tidemark_contract::removal::{Standing, Step};
use tidemark_protocols::tidemark::{LOST_IS_HIDDEN, RECORDS_ARE_EQUAL, RECORDS_END};

/// How far it is.
#[derive(Default)]
pub(super) struct Loss {
    lost: bool,
    round: u64,
    /// What is ordered now, and who has yet to carry it out.
    step: Option<Step>,
    left: Vec<ServerId>,
    told: BTreeMap<ServerId, Standing>,
    /// Where there is nothing left to order.
    excluded: bool,
}

impl World {
    /// How many data centres are left.
    pub(super) fn left(&self) -> u8 {
        if self.loss.as_ref().is_some_and(|loss| loss.lost) { self.dcs - 1 } else { self.dcs }
    }

    /// Everybody who is left says what there is to say.
    pub(super) fn round(&mut self) {
        if self.left() == self.dcs {
            return self.lab.round(self.now, &[Timer::Delta, Timer::Theta]);
        }
        self.lab.set_clocks(self.now);
        for timer in [Timer::Delta, Timer::Theta] {
            for at in [server(0, 1), server(0, 0), server(1, 1), server(1, 0)] {
                self.lab.fire(at, timer);
            }
            [(0, 1), (1, 0)].into_iter().for_each(|(from, to)| self.lab.deliver_between(from, to));
            (0..2).for_each(|dc| self.lab.deliver_within(DcId(dc)));
        }
        while self.exclusion() {}
    }

    /// One more server carries out what the operator orders, or what somebody has of the lost one comes to the other. Whether there is more.
    fn exclusion(&mut self) -> bool {
        let (at, comes) = (self.rng.usize(..4), self.rng.bool());
        let Some(loss) = self.loss.as_mut().filter(|loss| loss.lost && !loss.excluded) else { return false };
        if loss.left.is_empty() {
            let next = match loss.step.take() {
                Some(Step::Hold) => Standing::cut(&loss.told).expect("nothing was forgotten"),
                Some(Step::Cut { .. }) => Step::Exclude,
                Some(Step::Exclude) => {
                    loss.excluded = true;
                    return false;
                }
                _ => {
                    loss.round += 1;
                    Step::Hold
                }
            };
            loss.left = vec![server(0, 0), server(1, 1), server(0, 1), server(1, 0)];
            loss.step = Some(next);
        }
        let step = loss.step.clone().expect("it was just made");
        let (one, round) = (loss.left[at % loss.left.len()], loss.round);
        if matches!(step, Step::Exclude) && comes {
            while self.lab.deliver(ServerId { dc: C, ..one }, one) {}
        }
        let answer = order_one(&mut self.lab, one, round, &step);
        let loss = self.loss.as_mut().expect("there is one");
        match (answer, step) {
            (Ok(told), _) => {
                loss.told.insert(one, told);
                loss.left.retain(|other| *other != one);
            }
            (Err(_), Step::Cut { .. }) => {
                loss.left = vec![server(0, 0), server(1, 1), server(0, 1), server(1, 0)];
                loss.step = Some(Step::Release);
            }
            (Err(_), Step::Exclude) => {} // something is missing there yet
            (Err(why), step) => self.wrong(format!("{one} refuses {step:?}: {why}")),
        }
        true
    }

    /// What still comes of the lost one, before the others hold.
    fn remnants(&mut self) {
        let (p, dc) = (self.rng.u16(..2), self.rng.u8(..2));
        for _ in 0..self.rng.u8(..3) {
            self.lab.deliver(server(2, p), server(dc, p));
        }
    }
}

/// As [`super::search`], with a loss.
fn search(seeds: std::ops::Range<u64>) -> Option<(u64, String)> {
    seeds.into_iter().find_map(|seed| {
        let mut world = World::new(seed, 3);
        world.loss = Some(Loss::default());
        let (dies, excluded) = (world.rng.u32(20..160), world.rng.u32(1..60));
        for n in 0..240 {
            if n == dies {
                world.loss.as_mut().expect("there is one").lost = true;
            }
            if n >= dies + excluded && world.rng.u8(..4) == 0 {
                world.exclusion();
            } else if n >= dies && world.rng.u8(..6) == 0 {
                world.remnants();
            }
            world.step();
            if let Some(what) = world.what {
                return Some((seed, what));
            }
        }
        world.end();
        world.what.map(|what| (seed, what))
    })
}

#[test]
fn who_is_lost_leaves_no_effect_without_its_cause_and_nothing_that_waits() {
    assert_eq!(search(drawn(0..150)), None);
}

#[test]
fn d21_is_why_each_rule() {
    each_is_missed(&[(LOST_IS_HIDDEN, 60), (RECORDS_ARE_EQUAL, 8), (RECORDS_END, 412)], search);
}
