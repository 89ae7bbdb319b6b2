//! Whether what a client reads is stale: is there, at its data centre, a version that it does not return?
//!
//! Reference: SwiftCloud, section 5.7: "We consider a read stale if there exists, at the client's current DC, a non-K-stable version that is
//! more recent than the one returned." So the data centre is asked for the object at the newest base of one, which is all that it shows,
//! and at the newest base of K. The client's own base may be older than the latter by a period; it is asked for, too.

use super::super::Cluster;
use super::Happening;
use super::gateway::Purpose;
use bytes::Bytes;
use tidemark_contract::cx::edge::shown;
use tidemark_core::{Hlc, Key, Outcome, Shown};
use tidemark_edge::frames::Base;
use tidemark_edge::gateway::Ask;

/// A comparison under way.
pub(in super::super) struct Comparison {
    keys: Vec<Bytes>,
    /// The client's base.
    at: Base,
    /// The bases that are still to be asked for, that of now last.
    bases: Vec<Base>,
    /// What the objects were at those before.
    found: Vec<Vec<Option<Shown>>>,
    asked: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Bases,
    Values,
}

impl Cluster<'_> {
    /// A client's transaction reads: now and then that is compared.
    pub(super) fn compare(&mut self, number: usize) {
        let (now, every) = (self.now, self.crowd.as_ref().map_or(0, |world| world.what.compare));
        if every == 0 || self.crowd_draw(every as u64) > 0 {
            return;
        }
        let Some(world) = &mut self.crowd else { return };
        let user = &world.users[number];
        let (Some(running), Some(core), Some(line)) = (&user.running, &user.core, user.line) else { return };
        if !world.meter.counts(now) {
            return;
        }
        let reads = running.transaction.reads.iter().map(|object| &object.key);
        let (own, others): (Vec<&Key>, Vec<&Key>) = reads.partition(|key| user.has_written(key));
        world.meter.fresh.own += own.len() as u64;
        let keys: Vec<Bytes> = others.into_iter().map(|key| key.0.clone()).collect();
        let process = world.lines[line as usize].process;
        let at = core.base().clone();
        if keys.is_empty() {
            return;
        }
        let asked = Step::Bases;
        let comparison = Comparison { keys, at, bases: Vec::new(), found: Vec::new(), asked };
        self.ask(process, Ask::Bases.operation(), Purpose::Compare(Box::new(comparison)));
    }

    /// What was asked for a comparison has an outcome.
    pub(super) fn compared(&mut self, process: usize, mut comparison: Comparison, outcome: Outcome) {
        let wall = Hlc::at(self.processes[process].clocks.read(self.now).wall);
        let Some(world) = &mut self.crowd else { return };
        let regions = world.what.regions as usize;
        match (comparison.asked, outcome) {
            (Step::Bases, Outcome::Bases(bases, _)) if bases.len() >= regions => {
                let base = |k: usize| Base(bases[k - 1].entries().to_vec());
                comparison.bases = vec![comparison.at.clone(), base(regions), base(1)];
                comparison.asked = Step::Values;
            }
            (Step::Values, Outcome::FoundAll(found)) => {
                comparison.found.push(found.iter().map(|found| shown(found, wall)).collect());
                comparison.bases.pop();
            }
            _ => {
                world.meter.fresh.failed += 1;
                return;
            }
        }
        match comparison.bases.is_empty() {
            true => self.judge_comparison(&comparison),
            // The batch of the node ends first.
            false => self.crowd_later(0, Happening::Compares(process, Box::new(comparison))),
        }
    }

    pub(super) fn asks_for_comparison(&mut self, process: usize, comparison: Box<Comparison>) {
        let Some(base) = comparison.bases.last() else { return };
        let op = Ask::Read(base.clone(), comparison.keys.clone()).operation();
        self.ask(process, op, Purpose::Compare(comparison));
    }

    fn judge_comparison(&mut self, comparison: &Comparison) {
        let Some(world) = &mut self.crowd else { return };
        let [newest, stable, returned] = &comparison.found[..] else { return };
        let differ = |one: &[Option<Shown>]| newest.iter().zip(one).filter(|(a, b)| a != b).count() as u64;
        let (stale, behind) = (differ(stable), differ(returned));
        let fresh = &mut world.meter.fresh;
        fresh.transactions += 1;
        fresh.reads += comparison.keys.len() as u64;
        fresh.stale_reads += stale;
        fresh.stale_transactions += u64::from(stale > 0);
        fresh.behind_reads += behind;
    }
}
