//! Faults that an operator orders: links cut, slowed and healed while the node runs.

use crate::link::faults::Place;
use crate::shard::Shard;
use serde::Deserialize;
use tidemark_contract::Protocol;

/// What to do to the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Cut,
    Slow,
    Heal,
}

/// The body of a request: `{"from": "A", "to": "B"}`, with places as [`Place::parse`] reads them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Where {
    from: Option<String>,
    to: Option<String>,
    /// One way only.
    one_way: bool,
    /// For `slow`: so much more, one way, in milliseconds.
    ms: Option<f64>,
}

/// An order.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) deed: Deed,
    pub(crate) place: Where,
}

impl<P: Protocol> Shard<P> {
    /// Carries out an order.
    pub(crate) fn obey(&self, order: Order) -> Result<(), String> {
        let mut core = self.core.borrow_mut();
        let engine = &mut core.engine;
        let cluster = engine.config.cluster.clone();
        let Where { from, to, one_way, ms } = order.place;
        let parse = |text: &str| Place::parse(text, &cluster.regions, cluster.topology.partitions);
        match (from, to) {
            (Some(from), Some(to)) => {
                let (from, to) = (parse(&from)?, parse(&to)?);
                if from.dc() == to.dc() {
                    return Err(
                        "both places are in one region: only links between regions can be changed".into()
                    );
                }
                let slow_us = match (order.deed, ms) {
                    (Deed::Slow, Some(ms)) if (0.0..=3_600_000.0).contains(&ms) => (ms * 1000.0) as u64,
                    (Deed::Slow, _) => return Err("slow needs \"ms\": a number from 0 to 3600000".into()),
                    _ => 0,
                };
                if order.deed == Deed::Slow && !matches!((from, to), (Place::Region(_), Place::Region(_))) {
                    return Err("only whole regions can be slowed".into());
                }
                let both = [(from, to), (to, from)];
                for (from, to) in &both[..if one_way { 1 } else { 2 }] {
                    match order.deed {
                        Deed::Cut => engine.faults.change(*from, *to, |fault| fault.cut = true),
                        Deed::Slow => engine.faults.change(*from, *to, |fault| fault.slow_us = slow_us),
                        Deed::Heal => engine.faults.heal(*from, *to),
                    }
                }
            }
            (None, None) if order.deed == Deed::Heal => engine.faults.clear(),
            _ => return Err("say between which places: {\"from\": \"A\", \"to\": \"B\"}".into()),
        }
        drop(core);
        tracing::warn!("links: {:?} ordered by the operator", order.deed);
        self.faults.send_modify(|version| *version += 1);
        self.pump.notify_one();
        Ok(())
    }
}
