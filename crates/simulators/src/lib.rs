//! The simulator, by the name of a protocol or of a variant: a variant is its protocol without some of its rules.

use std::ops::{ControlFlow, Range};
use tidemark_node::Factory;
use tidemark_protocols::{Rule, Variant};
use tidemark_registry::{by_name, variant};
use tidemark_sim::{
    Bound, Bounded, Campaign, Crowd, EDGE_RULES, GROUP_RULES, HOST_RULES, Load, Loaded, Measured,
    Measurement, NODE_RULES, Options, Progress, RunOutcome, SAID_RULES, Simulation, Summary, Watched,
};

/// What can be done with a protocol, or a variant of one, in virtual time.
#[derive(Clone, Copy)]
pub struct Simulator {
    factory: &'static dyn Factory,
    variant: Option<&'static Variant>,
}

/// The simulator of the protocol called `name`, or of the variant; none if there is none.
pub fn simulator(name: &str) -> Option<Simulator> {
    let (protocol, variant) = match variant(name) {
        Some((protocol, variant)) => (protocol, Some(variant)),
        None => (name, None),
    };
    Some(Simulator { factory: by_name(protocol)?, variant })
}

impl Simulator {
    /// The name of the protocol, or of the variant.
    pub fn name(self) -> &'static str {
        self.variant.map_or(self.factory.name(), |variant| variant.name)
    }

    /// Makes nodes of the protocol.
    pub fn factory(self) -> &'static dyn Factory {
        self.factory
    }

    /// The rules of the protocol.
    pub fn rules(self) -> &'static [Rule] {
        self.factory.info().rules
    }

    /// The rule called `name`, of the protocol, of groups, of replication streams, of nodes or of edge clients.
    ///
    /// # Errors
    /// There is none: a sentence for the user, with those that there are.
    pub fn rule(self, name: &str) -> Result<Rule, String> {
        let carriers = [GROUP_RULES, HOST_RULES, SAID_RULES, NODE_RULES, EDGE_RULES].into_iter().flatten();
        let found = self.rules().iter().chain(carriers).find(|rule| rule.name == name);
        found.copied().ok_or_else(|| {
            let names = |rules: &[Rule]| rules.iter().map(|rule| rule.name).collect::<Vec<_>>().join(", ");
            let ours = match self.rules() {
                [] => format!("{} has none", self.factory.name()),
                rules => format!("those of {} are {}", self.factory.name(), names(rules)),
            };
            let (groups, streams, nodes) = (names(GROUP_RULES), names(HOST_RULES), names(NODE_RULES));
            let (said, edge) = (names(SAID_RULES), names(EDGE_RULES));
            format!(
                "no rule is called {name:?}: {ours}; those of groups are {groups}; those of streams are {streams}; \
                 those of what servers say are {said}; those of nodes are {nodes}; those of edge clients are {edge}"
            )
        })
    }

    /// Whether schedules can be drawn from these options.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn validate(self, options: &Options) -> Result<(), String> {
        options.validate(self.factory)
    }

    /// Plays schedules drawn from seeds, with faults, and checks what sessions saw.
    pub fn campaign(self, what: &Campaign, progress: &mut dyn FnMut(Progress)) -> Summary {
        let mut what = what.clone();
        self.leave_out(&mut what.options.without);
        tidemark_sim::campaign(self.factory, &what, progress)
    }

    /// Plays the schedule of each seed and hands on what its edge clients were told and did, until that is enough.
    pub fn transcribe(
        self,
        options: &Options,
        seeds: Range<u64>,
        each: &mut dyn FnMut(RunOutcome) -> ControlFlow<()>,
    ) {
        let mut options = options.clone();
        self.leave_out(&mut options.without);
        let simulation = Simulation::new(self.factory, options);
        let _ = seeds.into_iter().try_for_each(|seed| each(simulation.transcribe(seed)));
    }

    /// Whether a run of the protocol can be measured so.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn validate_measurement(self, what: &Measurement) -> Result<(), String> {
        what.validate(self.factory)
    }

    /// Plays one schedule without faults, and measures what operations cost in messages, bytes and waiting.
    pub fn measure(self, what: &Measurement) -> Measured {
        let mut what = what.clone();
        self.leave_out(&mut what.without);
        tidemark_sim::measure(self.factory, &what)
    }

    /// Runs every set of readers of the lower bound for latency-optimal reads.
    pub fn bound(self, what: &Bound) -> Bounded {
        let mut what = what.clone();
        self.leave_out(&mut what.without);
        tidemark_sim::bound(self.factory, &what)
    }

    /// Runs under load, with work that takes time.
    ///
    /// # Errors
    /// The numbers cannot be: a sentence for the user.
    pub fn load(self, what: &Load) -> Result<Loaded, String> {
        let mut what = what.clone();
        self.leave_out(&mut what.without);
        tidemark_sim::load(self.factory, &what)
    }

    /// Plays a crowd of edge clients.
    ///
    /// # Errors
    /// The numbers cannot be: a sentence for the user.
    pub fn crowd(self, what: &Crowd) -> Result<Watched, String> {
        tidemark_sim::crowd(self.factory, what)
    }

    /// Adds what the variant does not keep.
    fn leave_out(self, without: &mut Vec<Rule>) {
        let more = self.variant.map_or(&[][..], |variant| variant.without);
        without.extend(more.iter().filter(|rule| !without.contains(rule)).copied().collect::<Vec<_>>());
    }
}
