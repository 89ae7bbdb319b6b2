//! What waits until `VV_i` has risen: Algorithm 7.2 lines 2 and 3, and slices (D7).

use super::rules::{GET_WAITS, SLICE_LIFTS_CLOCK, SLICE_WAITS};
use super::transactions::slice;
use super::{Accf, Request};
use tidemark_contract::core::{Failure, Hlc, Micros, Op, ServerId, Vector};
use tidemark_contract::grouping::tracked::{Reached, everywhere};
use tidemark_contract::{Cx, SliceReq, Ticket};

/// What waits until `vv` has risen.
pub(super) enum Work {
    /// Since when.
    Asked(Ticket, Request, Micros),
    Slice(ServerId, SliceReq<Reached>),
}

impl Accf {
    /// Takes what was asked at `since` of the monotonic clock.
    pub(super) fn take(&mut self, ticket: Ticket, request: Request, since: Micros, cx: &mut Cx<'_, Self>) {
        let looks = match &request.0 {
            Op::Put { update, .. } => update.observes(), // D9
            Op::Rotx { .. } | Op::Snapshot { .. } => false,
            _ => true,
        };
        let mut needs = self.by(everywhere(Hlc::ZERO, self.tracks.count));
        if looks && GET_WAITS.kept() {
            needs.raise(&request.1);
        }
        self.when(needs.upto, Work::Asked(ticket, request, since), cx); // 2, 3
    }

    pub(super) fn take_slice(&mut self, from: ServerId, request: SliceReq<Reached>, cx: &mut Cx<'_, Self>) {
        let needs = match SLICE_WAITS.kept() {
            true => request.at.at_most(self.tracks.by, self.tracks.count),
            false => Vector::default(),
        };
        self.when(needs, Work::Slice(from, request), cx);
    }

    /// Does `work` once what it `needs` is here.
    fn when(&mut self, needs: Vector, work: Work, cx: &mut Cx<'_, Self>) {
        let clock = self.clock.max(needs[self.tracks.own]);
        if SLICE_LIFTS_CLOCK.kept() {
            self.advance(clock, cx); // D4
        }
        if needs.le(&self.vv(clock)) {
            return self.work(work, cx);
        }
        self.waiting.park(needs, cx.mono + cx.params.wait_limit_us, work);
    }

    pub(super) fn work(&mut self, work: Work, cx: &mut Cx<'_, Self>) {
        match work {
            Work::Asked(ticket, request, since) => self.answer(ticket, request, cx.mono - since, cx),
            Work::Slice(from, request) => {
                let kept = self.by(self.collection.gone());
                slice(from, request, &kept, cx);
            }
        }
    }

    /// Ends what has waited too long. Whoever waits for a slice gives up by itself.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_, Self>) {
        for work in self.waiting.expire(cx.mono) {
            if let Work::Asked(ticket, ..) = work {
                let why = "what this session depends on has not arrived at this server yet";
                cx.fail(ticket, Failure::Unavailable(why.to_string()));
            }
        }
        self.transactions.expire(cx);
    }
}
