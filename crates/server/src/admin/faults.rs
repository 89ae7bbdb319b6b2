//! Faults that an operator orders while the node runs, or before it starts: links cut, slowed and healed, this node slowed, its
//! clock put wrong.

use crate::net::Slowed;
use crate::run::shard::{Core, Shard};
use serde::Deserialize;
use std::str::FromStr;
use tidemark_core::Micros;
use tidemark_node::Order;
use tidemark_node::cuts::{CutOrder, Place};

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
pub struct FaultOrder {
    pub(crate) deed: Deed,
    pub(crate) place: Where,
}

/// `cut {"from": "A", "to": "B"}`: the last word of the path and the body of a request to the admin server.
impl FromStr for FaultOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (deed, place) = text.split_once(' ').unwrap_or((text, "{}"));
        let deed = match deed {
            "cut" => Deed::Cut,
            "slow" => Deed::Slow,
            "skew" => Deed::Skew,
            "heal" => Deed::Heal,
            _ => return Err(format!("there is no fault {deed:?}; say cut, slow, skew or heal")),
        };
        Ok(Self { deed, place: serde_json::from_str(place).map_err(|error| format!("{text}: {error}"))? })
    }
}

impl Shard {
    /// Carries out an order.
    pub(crate) fn inject(&self, order: &FaultOrder) -> Result<(), String> {
        let mut core = self.core.borrow_mut();
        let core = &mut *core;
        let engine = &mut core.engine;
        let FaultOrder { deed, place } = order;
        match (&place.from, &place.to, deed) {
            (Some(from), Some(to), Deed::Cut | Deed::Slow | Deed::Heal) => {
                let cluster = engine.config.cluster.clone();
                let parse = |text: &str| Place::parse(text, &cluster.regions, cluster.topology.partitions);
                let (from, to) = (parse(from)?, parse(to)?);
                if from.dc() == to.dc() {
                    return Err(
                        "both places are in one region: only links between regions can be changed".into()
                    );
                }
                if *deed == Deed::Slow && !matches!((from, to), (Place::Region(_), Place::Region(_))) {
                    return Err("only whole regions can be slowed".into());
                }
                let slow_us = if *deed == Deed::Slow { place.slow_us()? } else { 0 };
                let both = [(from, to), (to, from)];
                for (from, to) in both.into_iter().take(if place.one_way { 1 } else { 2 }) {
                    match deed {
                        Deed::Cut => core.cut(CutOrder::Cut(from, to)),
                        Deed::Slow => core.links.slowed.slow(from.dc(), to.dc(), slow_us),
                        _ => {
                            core.cut(CutOrder::Heal(from, to));
                            if let (Place::Region(from), Place::Region(to)) = (from, to) {
                                core.links.slowed.slow(from, to, 0);
                            }
                        }
                    }
                }
            }
            (None, None, Deed::Slow) => core.links.slowed.late_us = place.slow_us()?,
            (None, None, Deed::Skew) => engine.clock.skew(place.ahead_us()?),
            (None, None, Deed::Heal) => {
                engine.clock.skew(0);
                core.links.slowed = Slowed::default();
                core.cut(CutOrder::HealAll);
            }
            (_, _, Deed::Skew) => return Err("a clock is that of this node: name no places".into()),
            _ => return Err("say between which places: {\"from\": \"A\", \"to\": \"B\"}".into()),
        }
        core.set_latencies();
        tracing::warn!("{deed:?} ordered by the operator");
        self.want_batch();
        Ok(())
    }
}

impl Core {
    fn cut(&mut self, order: CutOrder) {
        let id = self.orders.next();
        self.engine.node.order(self.engine.clock.now(), id, Order::Cut(order));
    }
}
