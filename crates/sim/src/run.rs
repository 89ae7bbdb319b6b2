//! One schedule from its seed to its verdict.

use crate::cluster::{Cluster, Subject};
use crate::options::{Options, Placed, World, name_of};
use crate::outcome::RunOutcome;
use crate::plan::{Layout, Plan};
use crate::rng::{Stream, stream};
use crate::trace::Trace;
use crate::world::World as ServerWorld;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use tidemark_contract::rule::Without;
use tidemark_contract::{Params as _, Protocol, Topology};
use tidemark_core::Promise;

/// A protocol under some options: what all seeds share.
pub struct Simulation<P> {
    /// The options.
    pub options: Options,
    /// Who and where.
    pub layout: Layout,
    protocol: PhantomData<fn() -> P>,
}

/// Runs the schedule of one seed, checker included.
pub fn run<P: Protocol>(seed: u64, options: &Options) -> RunOutcome {
    Simulation::<P>::new(options.clone()).run(seed)
}

impl<P: Protocol> Simulation<P> {
    /// Prepares what all seeds share.
    pub fn new(options: Options) -> Self {
        let checking = P::EXTENSIONS.checking.is_some();
        let layout = Layout::new(&options, P::INFO.atomic_writes, P::INFO.guarantees, checking);
        Self { options, layout, protocol: PhantomData }
    }

    /// The protocol's name, or that of a variant, if that is what it is without some of its rules.
    pub fn name(&self) -> &'static str {
        name_of::<P>(&self.options.without)
    }

    /// What histories are held to.
    pub fn promise(&self) -> Promise {
        self.options.promise.unwrap_or(P::INFO.promise)
    }

    /// The schedule of a seed.
    pub fn plan(&self, seed: u64) -> Plan {
        Plan::draw(seed, &self.options, &self.layout)
    }

    /// Runs the schedule of a seed.
    pub fn run(&self, seed: u64) -> RunOutcome {
        self.play(&self.plan(seed))
    }

    /// Runs a schedule and checks its history.
    pub fn play(&self, plan: &Plan) -> RunOutcome {
        self.play_with(plan, None).0
    }

    /// As [`Self::play`], writing a timeline.
    pub(crate) fn play_traced(&self, plan: &Plan) -> (RunOutcome, Trace) {
        let (outcome, trace) = self.play_with(plan, Some(Trace::default()));
        (outcome, trace.unwrap_or_default())
    }

    fn play_with(&self, plan: &Plan, trace: Option<Trace>) -> (RunOutcome, Option<Trace>) {
        let _without = Without::new(&self.options.without);
        let layout = match self.options.placement {
            Placed::Random => Cow::Owned(self.layout.drawn(plan.seed)),
            _ => Cow::Borrowed(&self.layout),
        };
        let params = params::<P>(plan, &layout.topology, &self.options.params, true);
        let params = params.expect("the options are valid");
        let promise = self.promise();
        let (mut outcome, trace) = if self.options.world == World::Node {
            let factory = tidemark_node::factory_of::<P>();
            let subject = Subject { factory, promise, params, seats: None, adapts: false };
            let mut cluster = Cluster::new(plan, &layout, &subject);
            cluster.trace = trace;
            cluster.run()
        } else {
            let params = params.into_iter().map(crate::options::parsed::<P>);
            let params = params.collect::<Result<_, _>>().expect("they were made of parameters");
            let mut world = ServerWorld::<P>::new(plan, &layout, params);
            world.have_checking_groups();
            world.trace = trace;
            world.run()
        };
        outcome.history.header.protocol = Some(self.name().into());
        outcome.history.header.promise = Some(promise);
        outcome.report = Some(tidemark_check::check(&outcome.history, promise));
        (outcome, trace)
    }
}

/// The protocol's numbers for each node: its defaults, over them what schedules vary and the intervals of the plan, and over
/// those what the user has `chosen`.
pub(crate) fn params<P: Protocol>(
    plan: &Plan,
    topology: &Topology,
    chosen: &BTreeMap<String, Value>,
    vary: bool,
) -> Result<Vec<Value>, String> {
    let mut varied = P::Params::default();
    if vary {
        let mut rng = stream(plan.seed, Stream::Params);
        varied.vary(topology, &mut |below| rng.usize(0..below));
    }
    let defaults = serde_json::to_value(varied).map_err(|error| error.to_string())?;
    let nodes = plan.nodes(topology);
    let config = &plan.config;
    let one = |node: usize| -> Result<Value, String> {
        let drawn = [("theta_us", config.theta_us[node]), ("delta_us", config.delta_us[node])].into_iter();
        let drawn = drawn.filter(|(name, _)| defaults.get(name).is_some());
        let mut changed: BTreeMap<String, Value> =
            drawn.map(|(name, us)| (name.to_string(), us.into())).collect();
        changed.extend(chosen.clone());
        crate::options::changed_in::<P>(defaults.clone(), &changed)
    };
    let mut all: Vec<Value> = Vec::with_capacity(nodes);
    for node in 0..nodes {
        let same = |n: usize| {
            config.theta_us[n] == config.theta_us[node] && config.delta_us[n] == config.delta_us[node]
        };
        let params = match (0..node).find(|n| same(*n)) {
            Some(before) => all[before].clone(),
            None => one(node)?,
        };
        all.push(params);
    }
    Ok(all)
}
