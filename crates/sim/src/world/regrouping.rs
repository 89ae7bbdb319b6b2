//! Groups that change while a schedule runs, in protocols that have some: orders to servers that know nothing of each other's.

use super::{Event, World};
use crate::plan::asking;
use crate::rng::{Rng, Stream, mix, stream};
use tidemark_contract::Protocol;
use tidemark_contract::grouping::{Grouping, Servers};
use tidemark_contract::order::Order;
use tidemark_contract::regrouping::Regrouping;
use tidemark_contract::session::Checking;
use tidemark_core::{CheckingGroup, Micros, ServerId};

/// Names of checking groups that come and go.
const NAMES: [&str; 4] = ["g0", "g1", "east", "west"];

/// The checking groups of a protocol.
#[derive(Default)]
pub(super) struct CheckingGroups {
    /// Those that it is founded with.
    founded: Vec<CheckingGroup>,
    /// Others come and go.
    change: bool,
}

impl<P: Protocol> World<'_, P> {
    /// What operations can ask for; in most schedules it changes while they run.
    pub(crate) fn have_checking_groups(&mut self) {
        let topology = &self.layout.topology;
        let founded = P::EXTENSIONS.checking_groups(&self.params[0], topology, &P::Hard::default());
        if founded.is_empty() {
            return;
        }
        let mut rng = stream(self.plan.seed, Stream::Regrouping);
        let orders = rng.usize(0..6);
        let founded = founded.into_iter().map(|(id, _)| id).collect();
        self.checking_groups = CheckingGroups { founded, change: orders > 0 };
        let end = self.plan.scripts.iter().flatten().map(|step| step.at).max().unwrap_or_default();
        for _ in 0..orders {
            let all: Vec<ServerId> = topology.servers().collect();
            let (to, order) =
                (all[rng.usize(0..all.len())], Order::Regrouping(any(&all, topology, &mut rng)));
            self.queue.push(rng.u64(0..=end), Event::Order { to, number: 0, order });
        }
    }

    /// Whether groups are not what they were at first, or are about to change.
    pub(super) fn groups_change(&self) -> bool {
        self.checking_groups.change
    }

    /// Which checking groups the step of a session that begins at `at` asks for, of those that its gateway knows.
    pub(super) fn checking(&self, number: usize, at: Micros) -> Checking {
        let CheckingGroups { founded, change } = &self.checking_groups;
        if !change {
            return asking::checking(self.plan.seed, number, at, founded);
        }
        let host = self.nodes[self.gateway(number)].host();
        let known = host.map(|host| host.checking_groups().into_iter().map(|(id, _)| id).collect::<Vec<_>>());
        asking::checking(self.plan.seed, number, at, known.as_ref().unwrap_or(founded))
    }
}

/// What an operator may want.
fn any(all: &[ServerId], topology: &tidemark_contract::Topology, rng: &mut Rng) -> Regrouping {
    let name = NAMES[rng.usize(0..NAMES.len())].to_string();
    match rng.u32(0..6) {
        0..3 => {
            let which = rng.u64(..);
            let some = |place: usize| mix(which, place as u64).is_multiple_of(2);
            let mut servers: Vec<Servers> =
                (0..all.len()).filter(|place| some(*place)).map(|place| all[place].into()).collect();
            if servers.is_empty() {
                servers.push(all[0].into());
            }
            Regrouping::Add { name, servers }
        }
        3 => Regrouping::Remove { name },
        _ => Regrouping::Track { tracking: Grouping::any(topology, false, &mut |below| rng.usize(0..below)) },
    }
}
