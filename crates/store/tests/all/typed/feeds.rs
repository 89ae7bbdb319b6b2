//! Servers tell each other how far they are, collect, and show their readers something.

use super::server::{KEY, Message, Meta, Snapshot};
use super::spec::Shown;
use super::world::{Checked, Slip, World, fresh, in_snapshot, registers};
use tidemark_core::Stamp;
use tidemark_store::Version;

impl World {
    pub(crate) fn report(&mut self, dc: usize, partition: usize) {
        let server = &mut self.servers[dc][partition];
        server.reported_received = server.received;
        server.reported_safe = server.stable;
        if self.slip != Some(Slip::OpenSnapshots) {
            server.snapshots.iter().for_each(|snapshot| server.reported_safe.meet(&snapshot.at));
        }
    }

    pub(crate) fn adopt(&mut self, dc: usize, partition: usize) {
        let [one, other] = &self.servers[dc];
        let (mut stable, mut safe) = (one.reported_received, one.reported_safe);
        stable.meet(&other.reported_received);
        safe.meet(&other.reported_safe);
        let server = &mut self.servers[dc][partition];
        server.stable.merge(&stable);
        server.safe.merge(&safe);
        let floor = self.floor(dc);
        self.servers[dc][0].raise_floor(floor);
        if self.slip == Some(Slip::OwnFloor) {
            (0..self.regions).filter(|of| *of != dc).for_each(|of| self.servers[dc][0].hear_floor(of, floor));
        }
    }

    pub(crate) fn beat(&mut self, dc: usize, partition: usize) {
        let time = self.clock(dc, partition, 0);
        let floor = self.floor(dc);
        for other in (0..self.regions).filter(|other| *other != dc) {
            self.servers[other][partition].inbox[dc].push_back(Message::Beat { time, floor });
        }
    }

    pub(crate) fn deliver(&mut self, from: usize, to: usize, partition: usize) {
        let server = &mut self.servers[to][partition];
        match server.inbox[from].pop_front() {
            None => {}
            Some(Message::Op(id, time)) => {
                server.received.raise(from, time);
                server.here.push(id);
                if partition == 0 {
                    server.insert(self.ops[id].version());
                    self.tell(|| format!("{to} receives {}", self.ops[id].done.stamp));
                }
            }
            Some(Message::Beat { time, floor }) => {
                server.received.raise(from, time);
                if partition == 0 {
                    server.hear_floor(from, floor);
                }
            }
        }
    }

    pub(crate) fn snapshot(&mut self, dc: usize) {
        let (partition, wall, left) = (self.random.usize(0..2), self.wall(dc), 3 + self.random.u32(0..25));
        let mut at = self.servers[dc][partition].stable;
        at.raise(dc, wall.max(self.servers[dc][partition].clock));
        for server in &mut self.servers[dc] {
            server.stable.raise(dc, at.0[dc]);
            server.clock = server.clock.max(at.0[dc]);
        }
        self.tell(|| format!("{dc} opens {:?}", at.0));
        self.servers[dc][partition].snapshots.push(Snapshot { at, left });
    }

    pub(crate) fn collect(&mut self, dc: usize) {
        let server = &mut self.servers[dc][0];
        let safe = if self.slip == Some(Slip::OwnStable) { server.stable } else { server.safe };
        let is_safe = |v: &Version<Meta>| in_snapshot(dc, &safe, v.stamp, &v.meta);
        let top = server.store.chain(KEY).filter(|v| is_safe(v)).map(|v| v.stamp).max();
        let prefix = self.slip == Some(Slip::Prefix);
        let settled = server.store.settled();
        // The protocol's own floor would do for registers alone (R20).
        let gone = |stamp: Stamp| stamp.ts <= settled;
        server.store.collect(10, |v| is_safe(v) || prefix && Some(v.stamp) <= top, gone);
        let settled = server.store.settled();
        self.tell(|| format!("{dc} collects at {:?}, G {settled}", safe.0));
    }

    pub(crate) fn check(&mut self, dc: usize) -> Checked {
        let time = self.wall(dc).max(self.servers[dc][0].clock);
        let server = &mut self.servers[dc][0];
        let (stable, epoch) = (server.stable, server.epoch());
        let sees = |v: &Version<Meta>| fresh(dc, &stable, v.stamp, &v.meta);
        let register = registers(&server.store, sees);
        let object = server.store.refreshed(KEY, epoch, sees).or(register.as_ref());
        let shown = object.map_or_else(Shown::default, |object| Shown::of(object.head())).at(time);
        let set = self.visible(dc, |stamp, meta| fresh(dc, &stable, stamp, meta));
        let right = self.oracle(&set).at(time);
        if !shown.agrees(&right) {
            return Err(format!("region {dc} shows {shown:?}, and should {right:?}"));
        }
        for snapshot in self.servers[dc].iter().flat_map(|server| &server.snapshots) {
            let sees = |stamp, meta: &Meta| in_snapshot(dc, &snapshot.at, stamp, meta);
            let register = registers(&self.servers[dc][0].store, |v| sees(v.stamp, &v.meta));
            let object = self.servers[dc][0].store.object(KEY).or(register.as_ref());
            let state = object.map(|object| object.view(|v| sees(v.stamp, &v.meta), |_| ()));
            let time = snapshot.at.0[dc];
            let shown = state.map_or_else(Shown::default, |state| Shown::of(&state)).at(time);
            let right = self.oracle(&self.visible(dc, sees)).at(time);
            if !shown.agrees(&right) {
                return Err(format!(
                    "region {dc} shows {shown:?} at {:?}, and should {right:?}",
                    snapshot.at.0
                ));
            }
        }
        Ok(())
    }
}
