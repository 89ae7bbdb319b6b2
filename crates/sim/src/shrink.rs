//! Shrinking: taking things out of a schedule for as long as it still shows the same.
//!
//! What is taken out is data (steps, faults, holds, irregularities of the configuration), so what is left happens as
//! before wherever it does not depend on what is gone. The result is a schedule of its own; it is found again from
//! the seed, since shrinking leaves nothing to chance either.

use crate::outcome::{RunOutcome, Verdict};
use crate::plan::{Act, ClockPlan, Config, Plan, Step};
use crate::run::Simulation;
use tidemark_core::Op;

/// A schedule from which nothing more could be taken.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The schedule.
    pub plan: Plan,
    /// Its run.
    pub outcome: RunOutcome,
    /// Its timeline.
    pub timeline: String,
    /// How many schedules were tried.
    pub runs: u32,
}

/// Enough to take almost every schedule apart to its last step.
const MAX_RUNS: u32 = 4_000;

struct Shrinker<'a> {
    simulation: &'a Simulation,
    verdict: Verdict,
    plan: Plan,
    runs: u32,
}

impl Simulation {
    /// Shrinks the schedule of a run that violates something.
    pub fn shrink(&self, outcome: &RunOutcome) -> Shrunk {
        let plan = self.plan(outcome.seed);
        let mut shrinker = Shrinker { simulation: self, verdict: outcome.verdict(), plan, runs: 0 };
        shrinker.shrink();
        let (outcome, trace) = self.play_traced(&shrinker.plan);
        Shrunk { timeline: trace.render(), plan: shrinker.plan, outcome, runs: shrinker.runs }
    }
}

impl Shrinker<'_> {
    fn shrink(&mut self) {
        loop {
            let before = self.runs;
            let changed =
                self.faults() | self.holds() | self.edge_steps() | self.steps() | self.config() | self.keys();
            if !changed || self.runs >= MAX_RUNS || self.runs == before {
                return;
            }
        }
    }

    /// Takes the smaller plan if it shows the same.
    fn take(&mut self, smaller: Plan) -> bool {
        if self.runs >= MAX_RUNS {
            return false;
        }
        self.runs += 1;
        let same = self.simulation.play(&smaller).verdict() == self.verdict;
        if same {
            self.plan = smaller;
        }
        same
    }

    /// Takes out pieces of a list of `len`, all of it first, then ever smaller ones.
    fn pieces(&mut self, len: fn(&Plan) -> usize, without: fn(&Plan, usize, usize) -> Plan) -> bool {
        let mut changed = false;
        let mut piece = len(&self.plan);
        while piece > 0 {
            let mut at = 0;
            while at < len(&self.plan) {
                let end = (at + piece).min(len(&self.plan));
                let smaller = without(&self.plan, at, end);
                if self.take(smaller) { changed = true } else { at = end }
            }
            piece /= 2;
        }
        changed
    }

    fn faults(&mut self) -> bool {
        self.pieces(
            |plan| plan.faults.len(),
            |plan, at, end| {
                let mut smaller = plan.clone();
                smaller.faults.drain(at..end);
                smaller
            },
        )
    }

    fn holds(&mut self) -> bool {
        self.pieces(
            |plan| plan.holds.len(),
            |plan, at, end| {
                let mut smaller = plan.clone();
                smaller.holds.drain(at..end);
                smaller
            },
        )
    }

    /// What edge clients do, one client after the other.
    fn edge_steps(&mut self) -> bool {
        self.pieces(Plan::edge_steps, |plan, at, end| {
            let mut smaller = plan.clone();
            let mut number = 0;
            for client in &mut smaller.edge {
                client.steps.retain(|_| {
                    number += 1;
                    !(at + 1..=end).contains(&number)
                });
            }
            smaller
        })
    }

    /// Steps by time, so that a piece is a span of the schedule.
    fn steps(&mut self) -> bool {
        self.pieces(Plan::steps, |plan, at, end| {
            let mut order: Vec<(u64, usize, usize)> = Vec::with_capacity(plan.steps());
            for (session, script) in plan.scripts.iter().enumerate() {
                order.extend(script.iter().enumerate().map(|(n, step)| (step.at, session, n)));
            }
            order.sort_unstable();
            let gone: std::collections::BTreeSet<(usize, usize)> =
                order[at..end].iter().map(|(_, session, n)| (*session, *n)).collect();
            let mut smaller = plan.clone();
            for (session, script) in smaller.scripts.iter_mut().enumerate() {
                let mut n = 0;
                script.retain(|_| {
                    n += 1;
                    !gone.contains(&(session, n - 1))
                });
            }
            smaller
        })
    }

    /// Makes the configuration regular where that changes nothing.
    fn config(&mut self) -> bool {
        let simpler: [fn(&mut Config); 9] = [
            |config| config.clocks.fill(ClockPlan { grain_us: 1, ..ClockPlan::default() }),
            |config| config.clocks.iter_mut().for_each(|clock| clock.grain_us = 1),
            |config| config.clocks.iter_mut().for_each(|clock| clock.drift_ppm = 0),
            |config| config.late_percent = 0,
            |config| config.wan_jitter_percent = 0,
            |config| config.lan_jitter_us = 0,
            |config| config.sync_us = 0,
            |config| config.deep = false,
            |config| config.wan_us = vec![config.farthest_us(); config.wan_us.len()],
        ];
        let mut changed = false;
        for simplify in simpler {
            let mut smaller = self.plan.clone();
            simplify(&mut smaller.config);
            if smaller.config != self.plan.config {
                changed |= self.take(smaller);
            }
        }
        changed
    }

    /// Fewer keys in reads of several.
    fn keys(&mut self) -> bool {
        let mut changed = false;
        for session in 0..self.plan.scripts.len() {
            for n in 0..self.plan.scripts[session].len() {
                while let Some(smaller) = fewer_keys(&self.plan, session, n) {
                    if !self.take(smaller) {
                        break;
                    }
                    changed = true;
                }
            }
        }
        changed
    }
}

fn fewer_keys(plan: &Plan, session: usize, n: usize) -> Option<Plan> {
    let mut smaller = plan.clone();
    let Step { act: Act::Op(Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. }), .. } =
        &mut smaller.scripts[session][n]
    else {
        return None;
    };
    if keys.len() < 2 {
        return None;
    }
    keys.pop();
    Some(smaller)
}
