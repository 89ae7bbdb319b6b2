//! Rules 16 and 17: which region a client is at.

use super::Client;
use super::connection::{Connecting, Connection, Phase};
use crate::frames::{Secret, ToGateway};

/// The time after which a client looks for a better endpoint is doubled so often, at most.
const LOOKS_MAX: u32 = 6;

impl Connecting {
    /// A tick has come: delays are short again, and for bases that `regions` have the endpoint is a good one, if its region is not isolated.
    pub(super) fn succeeded(&mut self, regions: u64) {
        self.failures = 0;
        if self.connection().is_some_and(|open| !open.is_isolated(regions)) {
            (self.in_vain, self.looking) = (0, false);
            if self.endpoint == 0 {
                self.looks = 0;
            }
        }
    }

    /// Rule 17: when it looks for a better endpoint; not all clients do at the same time. One that has lowered K has a base that others may not
    /// have.
    pub(super) fn looks_at_us(&self, open: &Connection, (regions, secret): (u64, &Secret)) -> Option<u64> {
        let (best, others) = (self.endpoint == 0 && !open.is_isolated(regions), self.config.endpoints > 1);
        let after_ms = self.config.timing.look_ms.filter(|_| !best && others && open.wants == regions)?;
        let after_us = (after_ms * 1000) << self.looks.min(LOOKS_MAX);
        Some(open.since_us + after_us + after_us * u64::from(secret.0[0]) / 256)
    }
}

impl Connection {
    /// Whether fewer than `regions` share what is new.
    pub(super) fn is_isolated(&self, regions: u64) -> bool {
        self.shared.is_some_and(|shared| shared < regions)
    }
}

impl Client {
    /// Rule 16: how many regions share what is new in the region.
    pub(super) fn on_shared(&mut self, regions: u64) {
        let others = self.connecting.config.endpoints - 1;
        let Some(open) = self.connecting.opened_mut() else { return };
        open.shared = Some(regions);
        if open.is_isolated(self.regions) && self.connecting.in_vain < others {
            return self.fail();
        }
        self.choose_regions();
    }

    /// Asks for the K that is wanted, or that there is.
    pub(super) fn choose_regions(&mut self) {
        let (regions, lowers) = (self.regions, self.connecting.config.lowers);
        let Some(open) = self.connecting.opened_mut() else { return };
        let wants = open.shared.filter(|_| lowers).map_or(regions, |shared| shared.min(regions));
        if std::mem::replace(&mut open.wants, wants) != wants {
            self.send_if_open(&ToGateway::SetK { regions: wants });
        }
    }

    /// Whether it is time to look for a better endpoint.
    pub(super) fn looks_now(&self) -> bool {
        let open = self.connecting.connection().filter(|open| open.welcome.is_some());
        let at_us = open.and_then(|open| self.connecting.looks_at_us(open, (self.regions, &self.secret)));
        at_us.is_some_and(|at_us| at_us <= self.now_us)
    }

    /// Rule 17. From the first endpoint, whose region is isolated, it goes to the next one.
    pub(super) fn look_elsewhere(&mut self) {
        self.close();
        let connecting = &mut self.connecting;
        let at_first = connecting.endpoint == 0;
        (connecting.in_vain, connecting.endpoint) = (usize::from(at_first), usize::from(at_first));
        (connecting.looks, connecting.looking) = (connecting.looks + 1, true);
        connecting.failures = 0;
        connecting.phase = Phase::Waiting(self.now_us);
    }
}
