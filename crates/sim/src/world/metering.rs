//! What the meter is told, in runs that have one.

use super::World;
use super::sessions::Role;
use crate::meter::{Cause, weigh};
use crate::plan::{Act, Step};
use std::borrow::Cow;
use tidemark_contract::{AskId, Protocol, Ticket};
use tidemark_core::{DcId, Micros, Op, Outcome, ServerId};
use tidemark_replica::FeedItem;

/// How long a client that looks for a version waits before it looks again.
const LOOK_EVERY_US: Micros = 1_000;

/// How long it looks at all.
const LOOK_FOR_US: Micros = 10_000_000;

impl<P: Protocol> World<'_, P> {
    /// A client begins an operation.
    pub(super) fn meter_begin(&mut self, number: usize, op: &Op) {
        let (dc, role) = (self.clients[number].dc, self.clients[number].role);
        if let (Some(meter), Role::Worker | Role::Looker) = (&mut self.meter, role) {
            meter.begin(number, dc, op, self.now);
        }
    }

    /// Its session asks something.
    pub(super) fn meter_ask(&mut self, number: usize, ask: AskId, request: &P::Request) {
        if let Some(meter) = &mut self.meter {
            meter.ask(number, ask, weigh(request));
        }
    }

    /// A turn begins that handles a session's question.
    pub(super) fn meter_question(&mut self, ticket: Ticket) {
        if let Some(meter) = &mut self.meter {
            self.cause = meter.question(Self::number_of(ticket), ticket.ask, self.now);
        }
    }

    /// A server answers a session.
    pub(super) fn meter_answer(&mut self, ticket: Ticket) {
        if let Some(meter) = &mut self.meter {
            meter.answer(Self::number_of(ticket), ticket.ask, self.cause, self.now);
        }
    }

    /// The answer arrives.
    pub(super) fn meter_reply(&mut self, number: usize, ask: AskId, reply: &P::Reply) {
        if let Some(meter) = &mut self.meter {
            meter.reply(number, ask, weigh(reply));
        }
    }

    /// One server says something to another: on whose behalf.
    pub(super) fn meter_message(&mut self, from: ServerId, to: ServerId, message: &P::Peer) -> Cause {
        match &mut self.meter {
            Some(meter) => meter.message((from, to), message, self.cause, self.now),
            None => Cause::Nobody,
        }
    }

    /// A turn begins that handles such a message, or a version from elsewhere.
    pub(super) fn meter_cause(&mut self, cause: Cause) {
        if let Some(meter) = &mut self.meter {
            meter.arrives(cause, self.now);
            self.cause = cause;
        }
    }

    /// That turn is over.
    pub(super) fn meter_turn_ends(&mut self) {
        if let Some(meter) = &mut self.meter {
            let _ = meter;
            self.cause = Cause::Nobody;
        }
    }

    /// Items leave on a feed.
    pub(super) fn meter_fed(&mut self, from: ServerId, to: DcId, items: &[FeedItem<P>]) {
        let Some(meter) = &mut self.meter else { return };
        let mut watches = Vec::new();
        for item in items {
            match item {
                FeedItem::Record { key, version, .. } => {
                    let stamp = version.stamp;
                    watches.extend(meter.record((from, to), (key, stamp), &weigh(item), self.now));
                }
                FeedItem::Heartbeat { .. } => meter.heartbeat(&weigh(item), self.now),
                FeedItem::Skipped { .. } => {}
            }
        }
        let least = self.plan.config.wan_us[from.dc.index() * self.layout.topology.dcs + to.index()];
        watches.into_iter().for_each(|watch| self.look(watch, self.now + least));
    }

    /// Items of a feed are about to be taken.
    pub(super) fn meter_received(&mut self, at: ServerId, items: &[FeedItem<P>]) {
        let Some(meter) = &mut self.meter else { return };
        for item in items {
            if let FeedItem::Record { key, version, .. } = item {
                meter.received(at, key, version.stamp);
                self.cause = Cause::Update;
            }
        }
    }

    /// An operation ends.
    pub(super) fn meter_end(&mut self, number: usize, outcome: &Outcome) {
        if let Some(meter) = &mut self.meter {
            let token = weigh(&self.clients[number].session.token());
            meter.end(number, outcome, token, self.now);
        }
    }

    /// A new session that looks for a version from `at` on.
    fn look(&mut self, watch: usize, at: Micros) {
        let client = self.clients.len();
        let Some(meter) = &mut self.meter else { return };
        let (key, dc) = meter.watch(watch, client);
        let step = Step::new(at, Act::Op(Op::Get { key }));
        self.add_client(dc.index(), Cow::Owned(vec![step]), Role::Looker);
    }

    /// A session that looks has looked, beginning at `began`.
    pub(super) fn looked(&mut self, number: usize, outcome: &Outcome, began: Micros) {
        let meter = self.meter.as_mut();
        let again = meter.and_then(|meter| meter.looked(number, outcome, began));
        if let Some(watch) = again
            && self.now < self.plan.end_us + LOOK_FOR_US
        {
            self.look(watch, self.now.max(began + LOOK_EVERY_US));
        }
        self.advance(number);
    }
}
