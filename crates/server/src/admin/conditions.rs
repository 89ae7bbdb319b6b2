//! Conditions that the server knows of and the node does not, for the list of findings.

use super::leased::Waiting;
use crate::run::shard::Core;
use tidemark_core::Micros;
use tidemark_node::{Code, Condition, Grade, Order};

impl Core {
    /// Tells the node what holds now, if that has changed.
    pub(crate) fn tell_conditions(&mut self) {
        let conditions: Vec<Condition> =
            self.muteness().into_iter().chain(self.lateness()).chain(self.waiting()).collect();
        if conditions != self.ordered.known {
            self.ordered.known.clone_from(&conditions);
            let id = self.orders.next();
            self.engine.node.order(self.engine.clock.now(), id, Order::Known(conditions));
        }
    }

    fn known(&self, code: Code, place: &str) -> Option<Option<Micros>> {
        let known = self.ordered.known.iter().find(|known| known.code == code && known.place == place);
        known.map(|known| known.since)
    }

    fn muteness(&self) -> Option<Condition> {
        let mute = self.engine.mute.as_ref()?;
        Some(Condition {
            code: Code::Mute,
            place: self.engine.identity.node.clone(),
            grade: Grade::Stuck,
            since: None,
            what: format!("this node answers only reads, and hears of nothing from others: {}", mute.why),
            waits_for: "room for a segment of the log".into(),
            remedy: "Free space; the node then opens its log and goes on by itself.".into(),
        })
    }

    fn lateness(&self) -> Option<Condition> {
        self.ordered.leased.told()?.lapsed_since_us?;
        Some(Condition {
            code: Code::ToldLate,
            place: self.engine.identity.node.clone(),
            grade: Grade::Degraded,
            since: None,
            what: "`tidemark up` no longer renews what it ordered: the faults that it wants here have ended"
                .into(),
            waits_for: "`tidemark up`".into(),
            remedy: "Start `tidemark up` again with the same --dir, or let its process go on.".into(),
        })
    }

    fn waiting(&self) -> impl Iterator<Item = Condition> {
        let waiting = self.ordered.leased.told().map_or(&[][..], |told| &told.wanted.waiting);
        let now = self.engine.clock.now();
        waiting.iter().map(move |Waiting { order, node, since_us, why }| Condition {
            code: Code::OrderWaits,
            place: node.clone(),
            grade: Grade::Degraded,
            // As it was said first: the two clocks do not agree to the microsecond.
            since: self
                .known(Code::OrderWaits, node)
                .unwrap_or_else(|| Some(now.mono.saturating_sub(now.wall.saturating_sub(*since_us)))),
            what: format!("node {node} does not know of an order of `tidemark up` ({order})"),
            waits_for: format!("an answer of {node} ({why})"),
            remedy: format!(
                "Let the process of {node} go on, or kill and start it: it is told once it answers."
            ),
        })
    }
}
