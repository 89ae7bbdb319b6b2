//! What there is at first is written, in one data centre or another.

use super::super::{Cluster, Stage};
use super::Happening;
use super::gateway::Purpose;
use crate::crowd::Crowd;
use crate::outcome::ProblemKind;
use std::sync::Arc;
use tidemark_core::{Op, Outcome, Update};
use tidemark_workload::KeySpace;

/// So many writes are under way in each data centre.
const WINDOW: usize = 64;

/// What is left to be written.
pub(super) struct Loading {
    ops: Box<dyn Iterator<Item = Op> + Send>,
    under_way: usize,
    next: usize,
}

impl Loading {
    pub(super) fn new(what: &Crowd, keys: &Arc<KeySpace>) -> Self {
        Self { ops: what.workload.objects_at_first(keys, what.seed), under_way: 0, next: 0 }
    }
}

impl Cluster<'_> {
    pub(super) fn crowd_loads(&mut self) {
        for _ in 0..WINDOW * self.layout.topology.dcs {
            self.crowd_loads_next();
        }
    }

    fn crowd_loads_next(&mut self) {
        let servers = self.servers;
        let Some(world) = &mut self.crowd else { return };
        let Some(op) = world.loading.ops.next() else { return };
        // What a node tells of its size has no elements of data types that are folded.
        if let Op::Put { update: Update { command: Some(command), .. }, .. } = &op {
            world.meter.filled += command.args.iter().map(|word| word.len() as u64).sum::<u64>();
        }
        world.loading.under_way += 1;
        world.loading.next = (world.loading.next + 1) % servers;
        let process = world.loading.next;
        self.ask(process, op, Purpose::Load);
    }

    /// One is done, or not. It happens within the batch of the node, which ends first.
    pub(super) fn crowd_loaded(&mut self, outcome: &Outcome) {
        if let Outcome::Failed(why) = outcome {
            self.problem(ProblemKind::Recovery, format!("the store cannot be filled: {why:?}"));
            self.stage = Stage::Over;
        }
        self.crowd_later(0, Happening::Loaded);
    }

    pub(super) fn crowd_loads_on(&mut self) {
        let Some(world) = &mut self.crowd else { return };
        world.loading.under_way -= 1;
        self.crowd_loads_next();
        if self.crowd.as_ref().is_some_and(|world| world.loading.under_way == 0) {
            self.crowd_filled();
        }
    }
}
