//! What a run is asked for: the options of `tidemark sim`.

mod faults;
mod policies;

use crate::plan::edge;
use crate::{EDGE_RULES, GROUP_RULES, HOST_RULES, NODE_RULES, SAID_RULES};
pub use faults::{FaultKind, Faults};
pub use policies::Policies;
pub(crate) use policies::VARIED;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use tidemark_contract::info::Transactions;
use tidemark_contract::{Info, Rule, Topology, rule};
use tidemark_core::Promise;
use tidemark_node::Factory;

/// What is run, apart from the protocol and the seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Data centres: 1 to 8.
    pub dcs: usize,
    /// Partitions in each: 1 to 64.
    pub partitions: usize,
    /// Processes of each node, which hold the same: 1 to 7.
    pub replicas: usize,
    /// Rules of the protocol, of groups ([`GROUP_RULES`](crate::GROUP_RULES)), of replication streams
    /// ([`HOST_RULES`](crate::HOST_RULES)), of nodes ([`NODE_RULES`](crate::NODE_RULES)) or of edge clients
    /// ([`EDGE_RULES`](crate::EDGE_RULES)), that are not kept.
    pub without: Vec<Rule>,
    /// Which data centres hold which keys.
    pub placement: Placed,
    /// Sessions in all.
    pub sessions: usize,
    /// Operations of a schedule, those of all sessions together.
    pub ops: usize,
    /// What may fail.
    pub faults: Faults,
    /// An operator excludes a data centre and readmits it, in protocols that can do without one; where it stays excluded, the data
    /// centre is lost before.
    pub exclusions: bool,
    /// Some reads are reads at a time, in protocols that have them ([`Info::reads_at_a_time`]).
    pub reads_at_a_time: bool,
    /// The sessions at a node share one past: they are the connections of one client's pool.
    pub pools: bool,
    /// How many of a hundred reads and writes are commands of data types, in protocols that have them.
    pub typed: u32,
    /// Before how many of a hundred operations an interactive transaction begins, in protocols that have them.
    pub interactive: u32,
    /// What a region cannot send to another one comes through a third.
    pub relays: bool,
    /// Logs have tiny segments, which most records do not fit, and values leave in tiny parts.
    pub large: bool,
    /// Edge clients, in protocols that have them: 0 to 64. Half of the reads and writes of sessions then are commands of data types, at
    /// least.
    pub edge: usize,
    /// Edge clients edit lists, too.
    pub lists: bool,
    /// Some edge clients have K = 1 where a data centre is lost: they may see what is lost with it.
    pub edge_k1: bool,
    /// What histories are held to; the protocol's own promise if none.
    pub promise: Option<Promise>,
    /// When logs are synced.
    pub fsync: Policies,
    /// Numbers of the protocol that are not to be its defaults, nor drawn.
    pub params: BTreeMap<String, Value>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dcs: 3,
            partitions: 4,
            replicas: 1,
            without: Vec::new(),
            placement: Placed::Everywhere,
            sessions: 12,
            ops: 200,
            faults: Faults::ALL,
            exclusions: false,
            reads_at_a_time: false,
            pools: false,
            typed: 0,
            interactive: 0,
            relays: false,
            large: false,
            edge: 0,
            lists: false,
            edge_k1: false,
            promise: None,
            fsync: Policies::Drawn,
            params: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Says what is wrong with the numbers for the protocol of `factory`, if something is.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn validate(&self, factory: &dyn Factory) -> Result<(), String> {
        self.validate_shape()?;
        let info = factory.info();
        if self.placement != Placed::Everywhere && !info.partial {
            return Err(format!("{} cannot do without versions that a region never gets", info.name));
        }
        if self.promise == Some(Promise::Sequential) && self.partitions != 1 {
            return Err(
                "the keys of several partitions have no order: --promise sequential needs --partitions 1"
                    .into(),
            );
        }
        if self.reads_at_a_time && !info.reads_at_a_time {
            return Err(format!("{} cannot read at a time", info.name));
        }
        if self.pools && !factory.remembers() {
            return Err(format!("sessions of {} remember nothing that they could share", info.name));
        }
        if self.typed > 0 && !factory.has_types() {
            return Err(format!("{} has no data types", info.name));
        }
        if self.interactive > 0 && info.transactions < Transactions::Interactive {
            return Err(format!("{} has no interactive transactions", info.name));
        }
        if self.interactive > 0 && self.pools {
            return Err("what the others of a pool learn while a transaction is open is not in its snapshot: leave out --pools".into());
        }
        if self.edge > 0 && factory.default_params().get("edge_retain_us").is_none() {
            return Err(format!("{} has no edge clients", info.name));
        }
        if self.lists && self.edge == 0 {
            return Err("it is edge clients that edit lists: say how many with --edge".into());
        }
        if self.edge_k1 && (self.edge == 0 || !self.exclusions) {
            return Err("it is edge clients that see what is lost with a region: --edge-k1 needs --edge and --exclusions".into());
        }
        if self.exclusions && info.excludes_for_good && self.placement != Placed::Everywhere {
            return Err(format!(
                "{} cannot exclude a region of which no other one has all records: leave out --placement",
                info.name
            ));
        }
        if self.exclusions && info.excludes_for_good && self.reads_at_a_time {
            return Err("a read at a time is judged by all that was written, of which a region may be lost: leave out --reads-at-a-time".into());
        }
        rules(info, &self.without)?;
        let params = changed(info.name, factory.default_params().into(), &self.params)?;
        let explained = |error: String| format!("{}: {error}", info.name);
        factory.check_params(&params, Some(&Topology::new(self.dcs, self.partitions))).map_err(explained)
    }

    /// As [`Self::validate`], for any protocol.
    pub(crate) fn validate_shape(&self) -> Result<(), String> {
        let within = |name: &str, value: usize, low: usize, high: usize| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(format!("--{name} is {low} to {high}, not {value}"))
            }
        };
        within("dcs", self.dcs, 1, 8)?;
        within("partitions", self.partitions, 1, 64)?;
        within("replicas", self.replicas, 1, 7)?;
        within("sessions", self.sessions, 1, 10_000)?;
        within("edge", self.edge, 0, 64)?;
        within("ops", self.ops, 1, 1_000_000)
    }

    /// How many of a hundred reads and writes are commands of data types.
    pub(crate) fn commands(&self) -> u32 {
        if self.edge > 0 { self.typed.max(edge::TYPED) } else { self.typed }
    }
}

/// Whether `without` can be switched off in a protocol, or in groups or nodes of it.
///
/// # Errors
/// A sentence for the user.
pub(crate) fn rules(info: &Info, without: &[Rule]) -> Result<(), String> {
    if !rule::SWITCHABLE && !without.is_empty() {
        return Err("this program was built without the feature `variants`: it keeps all rules".into());
    }
    let known = [info.rules, GROUP_RULES, HOST_RULES, SAID_RULES, NODE_RULES, EDGE_RULES];
    match without.iter().find(|rule| !known.iter().any(|known| known.contains(rule))) {
        Some(rule) => {
            Err(format!("{rule} is no rule of {}, nor of groups, streams, nodes or edge clients", info.name))
        }
        None => Ok(()),
    }
}

/// What a protocol is called without some of its rules.
pub(crate) fn name_of(info: &Info, without: &[Rule]) -> &'static str {
    let variant = info.variants.iter().find(|variant| variant.is_without(without));
    variant.map_or(info.name, |variant| variant.name)
}

/// The numbers of a protocol: `defaults`, and over them those that are changed.
///
/// # Errors
/// It has no number of that name: a sentence for the user.
pub(crate) fn changed(
    protocol: &str,
    defaults: Value,
    changed: &BTreeMap<String, Value>,
) -> Result<Value, String> {
    let mut numbers = defaults.clone();
    for (name, value) in changed {
        match numbers.get_mut(name) {
            Some(number) => *number = value.clone(),
            None => return Err(format!("{protocol} has no number called {name}, but {defaults}")),
        }
    }
    Ok(numbers)
}

/// The options as they stand on a command line, defaults left out.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        let numbers = [
            ("dcs", self.dcs, default.dcs),
            ("partitions", self.partitions, default.partitions),
            ("replicas", self.replicas, default.replicas),
            ("sessions", self.sessions, default.sessions),
            ("ops", self.ops, default.ops),
        ];
        for (name, value, default) in numbers {
            if value != default {
                write!(f, " --{name} {value}")?;
            }
        }
        if self.faults != default.faults {
            write!(f, " --faults {}", self.faults)?;
        }
        if self.placement != default.placement {
            write!(f, " --placement {}", self.placement)?;
        }
        if self.exclusions {
            write!(f, " --exclusions")?;
        }
        if self.reads_at_a_time {
            write!(f, " --reads-at-a-time")?;
        }
        if self.pools {
            write!(f, " --pools")?;
        }
        if self.typed > 0 {
            write!(f, " --typed {}", self.typed)?;
        }
        if self.interactive > 0 {
            write!(f, " --interactive {}", self.interactive)?;
        }
        if self.relays {
            write!(f, " --relays")?;
        }
        if self.edge > 0 {
            write!(f, " --edge {}", self.edge)?;
        }
        if self.lists {
            write!(f, " --lists")?;
        }
        if self.edge_k1 {
            write!(f, " --edge-k1")?;
        }
        for rule in &self.without {
            write!(f, " --without {rule}")?;
        }
        if let Some(promise) = self.promise {
            write!(f, " --promise {promise}")?;
        }
        if self.fsync != default.fsync {
            write!(f, " --fsync {}", self.fsync)?;
        }
        for (name, value) in &self.params {
            match value {
                Value::String(word) => write!(f, " --param {name}={word}")?,
                number => write!(f, " --param {name}={number}")?,
            }
        }
        Ok(())
    }
}

/// Which data centres hold which keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// Each holds all.
    Everywhere,
    /// Each holds one partition, the first the first and so on, and over again.
    ByPartition,
    /// Each key is held by some, as each schedule draws it.
    Random,
}

impl Placed {
    /// Their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("everywhere", Self::Everywhere), ("by-partition", Self::ByPartition), ("random", Self::Random)];
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, placed)| placed == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

impl FromStr for Placed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, placed)| *placed).ok_or_else(|| {
            format!("{text:?} is no placement: choose {}", Self::ALL.map(|(name, _)| name).join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_protocols::{Contrarian, Cops, Eventual, Protocol};
    use tidemark_registry::factory_of;

    #[test]
    fn faults_parse_back() {
        for list in ["all", "none", "cuts", "one-way,jumps,disk", "damage,clients"] {
            assert_eq!(list.parse::<Faults>().unwrap().to_string(), list);
        }
        assert!("cuts,meteor".parse::<Faults>().unwrap_err().contains("\"meteor\""));
        let each = FaultKind::ALL.map(FaultKind::name).join(",");
        assert_eq!(each.parse(), Ok(Faults::ALL));
    }

    #[test]
    fn options_print_as_they_are_typed() {
        assert_eq!(Options::default().to_string(), "");
        let options = Options {
            dcs: 2,
            faults: Faults::NONE,
            exclusions: true,
            reads_at_a_time: true,
            pools: true,
            typed: 40,
            interactive: 5,
            relays: true,
            edge: 3,
            lists: true,
            edge_k1: true,
            without: vec![tidemark_group::rule::VOTES],
            promise: Some(Promise::Causal),
            fsync: Policies::Of(tidemark_store::log::Fsync::Always),
            params: BTreeMap::from([("fan_out".into(), 3.into()), ("rounds".into(), "two".into())]),
            ..Options::default()
        };
        let typed = " --dcs 2 --faults none --exclusions --reads-at-a-time --pools --typed 40 --interactive 5 --relays --edge 3 --lists --edge-k1 --without VOTES --promise causal --fsync always --param fan_out=3 --param rounds=two";
        assert_eq!(options.to_string(), typed);
    }

    #[test]
    fn only_rules_of_the_protocol_and_of_groups_can_be_switched_off() {
        let without = |rule: Rule| Options { without: vec![rule], ..Options::default() };
        let (ours, votes) = (Contrarian::INFO.rules[0], tidemark_group::rule::VOTES);
        assert_eq!(without(ours).validate(factory_of::<Contrarian>()), Ok(()));
        assert_eq!(without(votes).validate(factory_of::<Contrarian>()), Ok(()));
        let refused = without(ours).validate(factory_of::<Eventual>()).unwrap_err();
        assert!(refused.contains(ours.name) && refused.contains("eventual"), "{refused}");
    }

    #[test]
    fn what_lacks_the_rules_of_a_variant_has_its_name() {
        let variant = &Cops::INFO.variants[0];
        assert_eq!(name_of(&Cops::INFO, variant.without), "cops-published");
        assert_eq!(name_of(&Cops::INFO, &[]), "cops");
        assert_eq!(name_of(&Cops::INFO, &Cops::INFO.rules[..1]), "cops");
    }

    #[test]
    fn a_number_is_changed_or_those_that_there_are_are_named() {
        let of = |name: &str, value: Value| {
            let params = BTreeMap::from([(name.to_string(), value)]);
            Options { params, ..Options::default() }.validate(factory_of::<Contrarian>())
        };
        assert_eq!(of("rounds", "one-and-a-half".into()), Ok(()));
        assert!(of("rounds", "three".into()).unwrap_err().contains("one-and-a-half"));
        assert!(of("round", "two".into()).unwrap_err().contains("lease_us"));
        let defaults = factory_of::<Contrarian>().default_params().into();
        let over = BTreeMap::from([("lease_us".to_string(), 7.into())]);
        let changed = changed("contrarian", defaults, &over).unwrap();
        assert_eq!((&changed["lease_us"], &changed["theta_us"]), (&7.into(), &5_000.into()));
    }
}
