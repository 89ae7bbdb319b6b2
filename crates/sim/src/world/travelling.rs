//! Clients that leave their data centre for a request now and then, in runs under load.
//!
//! A client has a seat in every data centre: a session there. What it asks elsewhere is as far away as that is, and the session
//! there first adopts what the client has seen and done since. Both are said at once, as `tidemark bench` does.

use super::sessions::Role;
use super::{Event, World};
use crate::plan::{Act, Step};
use std::borrow::Cow;
use tidemark_contract::Protocol;
use tidemark_core::{Micros, Outcome};

impl<P: Protocol> World<'_, P> {
    /// Has a driver take the seat from which it does its next operation, at `at`: the number of that client.
    pub(super) fn sit(&mut self, driver: usize, at: Micros) -> usize {
        let load = self.load.as_ref().expect("somebody drives");
        let first = load.first + driver * load.seats;
        let driver = &load.drivers[driver];
        let seat = driver.request.remote.map_or(0, |other| 1 + other as usize % (load.seats - 1));
        let op = Act::Op(driver.request.ops[driver.at].clone());
        let adopts = (seat != driver.last).then(|| Step::new(at, Act::Adopt(first + driver.last)));
        let op = Step { asks: driver.asks, ..Step::new(at, op) };
        let client = &mut self.clients[first + seat];
        client.begins(Cow::Owned(adopts.into_iter().chain([op]).collect()));
        first + seat
    }

    /// A driver's step has ended. If it was to adopt its past, it has its seat now, and goes on.
    pub(super) fn takes_its_seat(&mut self, number: usize, outcome: &Outcome) -> bool {
        let Some(load) = &mut self.load else { return false };
        let place = number - load.first;
        if matches!(outcome, Outcome::Failed(_)) && self.clients[number].op().is_none() {
            return false;
        }
        load.drivers[place / load.seats].last = place % load.seats;
        let goes_on = *outcome == Outcome::Adopted && self.clients[number].next_step();
        if goes_on {
            self.queue.push(self.now, Event::Wake(number));
        }
        goes_on
    }

    /// How far a client is from its seat.
    pub(super) fn distance(&self, number: usize) -> Micros {
        let Some(load) = self.load.as_ref().filter(|_| self.clients[number].role == Role::Driver) else {
            return 0;
        };
        let seat = (number - load.first) % load.seats;
        if seat == 0 {
            return 0;
        }
        if let Some(rtt_us) = load.what.client_rtt_us {
            return rtt_us / 2;
        }
        let (home, dc) = (self.clients[number - seat].dc.index(), self.clients[number].dc.index());
        self.plan.config.wan_us[home * self.layout.topology.dcs + dc]
    }
}
