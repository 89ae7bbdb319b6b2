//! Whether the region is isolated: whether others share what is new here.

use super::{ConnectionId, Gateway};
use crate::frames::{Base, ToClient};

impl Gateway {
    /// Bases were told: looks how many regions share what is new. Returns the clients that wait for a first tick.
    pub(super) fn see_isolation(&mut self) -> Vec<ConnectionId> {
        let before = self.shared;
        self.look_at_bases();
        if self.shared != before {
            let all: Vec<ConnectionId> = self.connections.keys().copied().collect();
            all.into_iter().for_each(|id| self.tell_shared(id));
        }
        // Who has a base that this region lacks has to hear that none comes.
        let opening: Vec<ConnectionId> =
            self.channels.values().flat_map(|channel| channel.opening.iter().copied()).collect();
        for id in &opening {
            self.connections.get_mut(id).into_iter().for_each(|connection| connection.fresh = true);
            self.tell_shared(*id);
        }
        opening
    }

    /// Looks how many regions have a base that is not far behind this one's, in what it is of this region. A gateway that has just begun waits: its
    /// node may have.
    fn look_at_bases(&mut self) {
        let limit_us = self.settings.isolated_ms * 1000;
        let since_us = *self.since_us.get_or_insert(self.now_us);
        if self.now_us < since_us + limit_us {
            return;
        }
        let own_us = |base: &Base| base.entry(usize::from(self.settings.region)).micros();
        let newest_us = self.bases.first().map_or(0, own_us);
        // Who was far behind is not taken for near at once.
        let near = |(regions, base): &(u64, &Base)| {
            let limit_us = if *regions <= self.shared { limit_us } else { limit_us / 2 };
            newest_us.saturating_sub(own_us(base)) <= limit_us
        };
        self.shared = (1..).zip(&self.bases).take_while(near).count().max(1) as u64;
    }

    /// Tells a client, if that is below its K, as far as that is kept here, or was. If it is not, all that it wants is there.
    pub(super) fn tell_shared(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id).filter(|connection| connection.head.is_some())
        else {
            return;
        };
        let most = connection.most.max(1);
        let regions = if self.shared >= most.min(self.bases.len() as u64) { most } else { self.shared };
        if regions != connection.shared.unwrap_or(most) {
            connection.shared = Some(regions);
            self.send(id, &ToClient::Shared { regions });
        }
    }
}
