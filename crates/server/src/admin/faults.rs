//! Faults that an operator orders while the node runs, or before it starts: links cut, slowed and healed, this node slowed, its
//! clock put wrong.
//!
//! Two parties order them. Single orders hold until they are healed. The supervisor of `tidemark up` says all that it wants at
//! once, and again each second: its faults end when it has not done so for the time of their lease, because nobody would end
//! them otherwise. What holds is both together.

use super::leased::{Leased, Wanted};
use crate::net::Slowed;
use crate::run::shard::{Core, Shard};
use serde::Deserialize;
use std::str::FromStr;
use tidemark_core::Micros;
use tidemark_node::cuts::{CutOrder, Cuts, Place};
use tidemark_node::{ClusterLayout, Condition, Order};

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Cut,
    Slow,
    /// The node's clock is put ahead, or back.
    Skew,
    Heal,
}

/// The body of a request: `{"from": "A", "to": "B"}`, with places as [`Place::parse`] reads them; without places it
/// concerns this node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Where {
    from: Option<String>,
    to: Option<String>,
    /// One way only.
    one_way: bool,
    /// For `slow`: so much more, one way, in milliseconds. For `skew`: so much ahead of the machine's clock.
    ms: Option<f64>,
}

/// The most that anything is slowed, or a clock put wrong.
const MS_MAX: f64 = 3_600_000.0;

impl Where {
    fn slow_us(&self) -> Result<Micros, String> {
        let ms = self.ms.filter(|ms| (0.0..=MS_MAX).contains(ms));
        ms.map(|ms| (ms * 1_000.0) as Micros).ok_or("slow needs \"ms\": a number from 0 to 3600000".into())
    }

    fn ahead_us(&self) -> Result<i64, String> {
        let ms = self.ms.filter(|ms| ms.abs() <= MS_MAX);
        let wrong = "skew needs \"ms\": a number from -3600000 to 3600000";
        ms.map(|ms| (ms * 1_000.0) as i64).ok_or(wrong.into())
    }
}

/// An order.
#[derive(Clone, Debug)]
pub enum FaultOrder {
    /// A single one: the last word of the path and the body of a request to the admin server.
    #[allow(private_interfaces, missing_docs)]
    One { deed: Deed, place: Where },
    /// All that the supervisor wants.
    All(Wanted),
}

/// `cut {"from": "A", "to": "B"}`: the last word of the path and the body of a request to the admin server.
impl FromStr for FaultOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (deed, body) = text.split_once(' ').unwrap_or((text, "{}"));
        let wrong = |error| format!("{text}: {error}");
        let deed = match deed {
            "faults" => return serde_json::from_str(body).map(Self::All).map_err(wrong),
            "cut" => Deed::Cut,
            "slow" => Deed::Slow,
            "skew" => Deed::Skew,
            "heal" => Deed::Heal,
            _ => return Err(format!("there is no fault {deed:?}; say cut, slow, skew, heal or faults")),
        };
        Ok(Self::One { deed, place: serde_json::from_str(body).map_err(wrong)? })
    }
}

/// Faults of links, and of this node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Faults {
    pub(super) cuts: Cuts,
    pub(super) slowed: Slowed,
    pub(super) ahead_us: i64,
}

impl Faults {
    /// Carries out a single order.
    fn change(&mut self, cluster: &ClusterLayout, deed: Deed, order: &Where) -> Result<(), String> {
        match (&order.from, &order.to, deed) {
            (Some(from), Some(to), Deed::Cut | Deed::Slow | Deed::Heal) => {
                let (from, to) = between(cluster, from, to)?;
                let slow_us = if deed == Deed::Slow { order.slow_us()? } else { 0 };
                let both = [(from, to), (to, from)];
                for (from, to) in both.into_iter().take(if order.one_way { 1 } else { 2 }) {
                    match deed {
                        Deed::Cut => self.cuts.change(CutOrder::Cut(from, to)),
                        Deed::Slow => self.slow(from, to, slow_us)?,
                        _ => {
                            self.cuts.change(CutOrder::Heal(from, to));
                            if let (Place::Region(from), Place::Region(to)) = (from, to) {
                                self.slowed.slow(from, to, 0);
                            }
                        }
                    }
                }
            }
            (None, None, Deed::Slow) => self.slowed.late_us = order.slow_us()?,
            (None, None, Deed::Skew) => self.ahead_us = order.ahead_us()?,
            (None, None, Deed::Heal) => *self = Self::default(),
            (_, _, Deed::Skew) => return Err("a clock is that of this node: name no places".into()),
            _ => return Err("say between which places: {\"from\": \"A\", \"to\": \"B\"}".into()),
        }
        Ok(())
    }

    pub(super) fn slow(&mut self, from: Place, to: Place, slow_us: Micros) -> Result<(), String> {
        match (from, to) {
            (Place::Region(from), Place::Region(to)) => {
                self.slowed.slow(from, to, slow_us);
                Ok(())
            }
            _ => Err("only whole regions can be slowed".into()),
        }
    }

    /// Both together: of two delays the longer one, and the clock of `other` if it says something of that.
    fn with(mut self, other: &Self) -> Self {
        other.cuts.iter().for_each(|(from, to)| self.cuts.change(CutOrder::Cut(from, to)));
        self.slowed.raise(&other.slowed);
        if other.ahead_us != 0 {
            self.ahead_us = other.ahead_us;
        }
        self
    }
}

/// Two places of different regions.
pub(super) fn between(cluster: &ClusterLayout, from: &str, to: &str) -> Result<(Place, Place), String> {
    let parse = |text: &str| Place::parse(text, &cluster.regions, cluster.topology.partitions);
    let (from, to) = (parse(from)?, parse(to)?);
    match from.dc() == to.dc() {
        false => Ok((from, to)),
        true => Err("both places are in one region: only links between regions can be changed".into()),
    }
}

/// Faults, by the party that wants them.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    /// By single orders.
    posted: Faults,
    /// By the supervisor.
    pub(super) leased: Leased,
    /// The cuts that the node has for it.
    held: Cuts,
    /// Conditions that the node has been told of.
    pub(super) known: Vec<Condition>,
}

impl Shard {
    /// Carries out an order.
    pub(crate) fn inject(&self, order: &FaultOrder) -> Result<(), String> {
        let mut core = self.core.borrow_mut();
        let core = &mut *core;
        let cluster = core.engine.config.cluster.clone();
        let said = match order {
            FaultOrder::One { deed, place } => {
                let mut posted = core.ordered.posted.clone();
                posted.change(&cluster, *deed, place)?;
                core.ordered.posted = posted;
                Some(format!("{deed:?}"))
            }
            FaultOrder::All(wanted) => core
                .ordered
                .leased
                .renew(&cluster, wanted, core.engine.clock.mono())?
                .then(|| wanted.to_string()),
        };
        if let Some(what) = said {
            tracing::warn!("{what} ordered by the operator");
            core.apply_faults();
            self.want_batch();
        }
        core.tell_conditions();
        Ok(())
    }

    /// Goes on with what was ordered before the node began anew.
    pub(crate) fn take_over(&self, ordered: Box<Ordered>) {
        let mut core = self.core.borrow_mut();
        core.ordered = *ordered;
        core.ordered.held = Cuts::default();
        core.ordered.known.clear();
        core.apply_faults();
    }

    /// Time has passed: the supervisor's faults end if it has not renewed them.
    pub(super) fn look_at_lease(&self) {
        let mut core = self.core.borrow_mut();
        let core = &mut *core;
        if core.ordered.leased.lapse(core.engine.clock.now()) {
            tracing::warn!(
                "`tidemark up` has not renewed its faults in time: they end until it says them again"
            );
            core.apply_faults();
            core.tell_conditions();
            self.want_batch();
        }
    }
}

impl Core {
    /// Makes the node have the faults that are wanted.
    fn apply_faults(&mut self) {
        let faults = self.ordered.posted.clone().with(self.ordered.leased.faults());
        self.engine.clock.skew(faults.ahead_us);
        self.links.slowed = faults.slowed;
        self.set_latencies();
        // Healing a region heals what is inside: what is to stay cut there is cut again before anything passes.
        let (mut held, wanted) = (std::mem::take(&mut self.ordered.held), faults.cuts);
        for (from, to) in held.clone().iter().filter(|ends| !wanted.contains(ends)) {
            held.change(CutOrder::Heal(from, to));
            self.cut(CutOrder::Heal(from, to));
        }
        for (from, to) in wanted.iter().filter(|ends| !held.contains(ends)) {
            self.cut(CutOrder::Cut(from, to));
        }
        self.ordered.held = wanted;
    }

    fn cut(&mut self, order: CutOrder) {
        let id = self.orders.next();
        self.engine.node.order(self.engine.clock.now(), id, Order::Cut(order));
    }
}
