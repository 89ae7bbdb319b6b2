//! One schedule from its seed to its verdict.

use crate::cluster::{Cluster, Subject};
use crate::grouping;
use crate::options::{Options, Placed, changed, name_of};
use crate::outcome::{Problem, ProblemKind, RunOutcome};
use crate::plan::{Layout, Plan, dated, edge, interactive};
use crate::rng::{Stream, stream};
use crate::trace::Trace;
use crate::typed::program;
use crate::updates::lost_update;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tidemark_contract::rule::Without;
use tidemark_contract::{Topology, programs};
use tidemark_core::Promise;
use tidemark_node::Factory;

/// A protocol under some options: what all seeds share.
pub struct Simulation {
    /// Makes the nodes.
    pub factory: &'static dyn Factory,
    /// The options.
    pub options: Options,
    /// Who and where.
    pub layout: Layout,
}

/// Runs the schedule of one seed, checker included.
pub fn run(factory: &'static dyn Factory, seed: u64, options: &Options) -> RunOutcome {
    Simulation::new(factory, options.clone()).run(seed)
}

impl Simulation {
    /// Prepares what all seeds share.
    pub fn new(factory: &'static dyn Factory, options: Options) -> Self {
        let info = factory.info();
        let topology = Topology::new(options.dcs, options.partitions);
        let checking = !grouping::at_first(factory, &Value::Null, &topology).is_empty();
        let layout = Layout::new(&options, info.transactions, info.guarantees, checking);
        let layout = Layout { excludes_for_good: info.excludes_for_good, ..layout };
        Self { factory, options, layout }
    }

    /// The protocol's name, or that of a variant, if that is what it is without some of its rules.
    pub fn name(&self) -> &'static str {
        name_of(self.factory.info(), &self.options.without)
    }

    /// What histories are held to.
    pub fn promise(&self) -> Promise {
        self.options.promise.unwrap_or(self.factory.info().promise)
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
        self.play_with(plan, None, false).0
    }

    /// Runs the schedule of a seed, and writes down what its edge clients are told and do.
    pub fn transcribe(&self, seed: u64) -> RunOutcome {
        self.play_with(&self.plan(seed), None, true).0
    }

    /// As [`Self::play`], writing a timeline.
    pub(crate) fn play_traced(&self, plan: &Plan) -> (RunOutcome, Trace) {
        let (outcome, trace) = self.play_with(plan, Some(Trace::default()), false);
        (outcome, trace.unwrap_or_default())
    }

    fn play_with(&self, plan: &Plan, trace: Option<Trace>, transcribes: bool) -> (RunOutcome, Option<Trace>) {
        let _without = Without::new(&self.options.without);
        programs::install(program::interpret);
        let layout = match self.options.placement {
            Placed::Random => Cow::Owned(self.layout.drawn(plan.seed)),
            _ => Cow::Borrowed(&self.layout),
        };
        let params = self.params(plan, &layout.topology).expect("the options are valid");
        let promise = self.promise();
        let subject = Subject { factory: self.factory, promise, params, seats: None, adapts: false };
        let mut cluster = Cluster::new(plan, &layout, &subject);
        cluster.trace = trace;
        if transcribes {
            cluster.transcribe();
        }
        let (mut outcome, trace) = cluster.run();
        outcome.history.header.protocol = Some(self.name().into());
        outcome.history.header.promise = Some(promise);
        outcome.report = Some(tidemark_check::check(&outcome.history, promise));
        // Only where commands of data types rely on it; of their keys the history has values, and no versions.
        if promise.is_immediate()
            && self.factory.has_types()
            && self.options.commands() == 0
            && let Some(text) = lost_update(&tidemark_check::without_lost(&outcome.history))
        {
            let (kind, at_us) = (ProblemKind::Updates, outcome.stats.virtual_us);
            outcome.problems.push(Problem { kind, at_us, text });
        }
        (outcome, trace)
    }

    /// The protocol's numbers for each node: its defaults, over them what schedules vary and the intervals of the plan, and over
    /// those what the user has chosen.
    fn params(&self, plan: &Plan, topology: &Topology) -> Result<Vec<Value>, String> {
        let mut rng = stream(plan.seed, Stream::Params);
        let varied = Value::from(self.factory.vary(topology, &mut |below| rng.usize(0..below)));
        let mut chosen = self.options.params.clone();
        if self.options.reads_at_a_time {
            chosen.entry("keep_us".to_string()).or_insert_with(|| dated::keep_us(plan.seed).into());
        }
        if self.options.interactive > 0 {
            chosen
                .entry("transaction_limit_us".to_string())
                .or_insert_with(|| interactive::limit_us(plan.seed).into());
        }
        if self.options.edge > 0 {
            chosen.entry("base_regions".to_string()).or_insert_with(|| topology.dcs.into());
            chosen.entry("edge_retain_us".to_string()).or_insert_with(|| edge::retain_us(plan).into());
        }
        if chosen.contains_key("base_regions") {
            chosen.entry("tell_us".to_string()).or_insert(TELL_US.into());
        }
        params_of(self.factory, plan, varied, &chosen)
    }
}

/// How often regions of schedules tell each other what they have: often, for schedules are short.
const TELL_US: u64 = 10_000;

/// A protocol's numbers for each node: over `numbers` the intervals of the plan, and over those what was `chosen`.
pub(crate) fn params_of(
    factory: &dyn Factory,
    plan: &Plan,
    numbers: Value,
    chosen: &BTreeMap<String, Value>,
) -> Result<Vec<Value>, String> {
    let config = &plan.config;
    let one = |node: usize| -> Result<Value, String> {
        let drawn = [("theta_us", config.theta_us[node]), ("delta_us", config.delta_us[node])];
        let drawn = drawn.into_iter().filter(|(name, _)| numbers.get(name).is_some());
        let mut over: BTreeMap<String, Value> =
            drawn.map(|(name, us)| (name.to_string(), us.into())).collect();
        over.extend(chosen.clone());
        changed(factory.name(), numbers.clone(), &over)
    };
    let nodes = config.theta_us.len();
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
