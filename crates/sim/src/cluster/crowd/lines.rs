//! Connections between clients and gateways.

use super::super::Cluster;
use super::Happening;
use tidemark_core::Micros;
use tidemark_edge::client::Event as Heard;
use tidemark_edge::gateway::ConnectionId;

/// A connection of a client to a gateway.
pub(super) struct Line {
    pub(super) number: ConnectionId,
    pub(super) user: usize,
    /// What the client calls it.
    pub(super) connection: u64,
    pub(super) process: usize,
    boots: u64,
    /// When the last frame arrives at the gateway, and at the client: nothing overtakes it.
    arrival: [Micros; 2],
    /// The client has it; the gateway.
    pub(super) open: [bool; 2],
}

impl Cluster<'_> {
    /// How long it takes from a client to a data centre, one way.
    pub(super) fn user_delay(&self, number: usize, process: usize) -> Micros {
        let Some(world) = &self.crowd else { return 0 };
        let user = &world.users[number];
        let dc = self.processes[process].dc.index();
        user.rtt_us / 2 + world.what.rtt_us[user.dc][dc] / 2
    }

    pub(super) fn line_delay(&self, line: ConnectionId) -> Micros {
        let Some(world) = &self.crowd else { return 0 };
        let line = &world.lines[line as usize];
        self.user_delay(line.user, line.process)
    }

    /// An attempt to connect has an end: it took a round trip.
    pub(super) fn user_connects(&mut self, number: usize, connection: u64) {
        let now = self.now;
        let Some(world) = &mut self.crowd else { return };
        let user = &mut world.users[number];
        let Some((_, endpoint)) = user.asked.filter(|(asked, _)| *asked == connection) else { return };
        user.asked = None;
        let process = user.endpoints[endpoint];
        if world.places[process].is_none() || user.core.is_none() {
            return self.user_hears(number, Heard::Disconnected { connection });
        }
        let (line, boots) = (world.lines.len() as ConnectionId, self.processes[process].boots);
        let (arrival, open) = ([now; 2], [true; 2]);
        world.lines.push(Line { number: line, user: number, connection, process, boots, arrival, open });
        user.line = Some(line);
        user.begins_to_weigh();
        self.gateway_opens(process, line);
        self.user_hears(number, Heard::Connected { connection });
    }

    /// A frame leaves one end of a connection: 0 is the client's.
    pub(super) fn line_sends(&mut self, line: ConnectionId, from: usize, frame: Vec<u8>) {
        let (delay, now) = (self.line_delay(line), self.now);
        let Some(world) = &mut self.crowd else { return };
        let at = &mut world.lines[line as usize];
        if !at.open[from] {
            return;
        }
        world.meter.passes(&frame, now);
        at.arrival[from] = at.arrival[from].max(now + delay);
        let after = at.arrival[from] - now;
        let what = if from == 0 { Happening::Up(line, frame) } else { Happening::Down(line, frame) };
        self.crowd_later(after, what);
    }

    /// One end closes a connection; the other one hears of it.
    pub(super) fn line_ends(&mut self, line: ConnectionId, end: usize) {
        let delay = self.line_delay(line);
        let Some(world) = &mut self.crowd else { return };
        if std::mem::take(&mut world.lines[line as usize].open[end]) {
            self.crowd_later(delay, Happening::Gone(line, 1 - end));
        }
    }

    /// An end hears that the other one is gone.
    pub(super) fn line_is_gone(&mut self, line: ConnectionId, end: usize) {
        let Some(world) = &mut self.crowd else { return };
        let at = &mut world.lines[line as usize];
        if !std::mem::take(&mut at.open[end]) {
            return;
        }
        let (user, connection, process, boots) = (at.user, at.connection, at.process, at.boots);
        if end == 1 {
            return self.gateway_closes(process, boots, line);
        }
        world.users[user].line = None;
        self.user_hears(user, Heard::Disconnected { connection });
    }

    pub(super) fn frame_at_gateway(&mut self, line: ConnectionId, frame: &[u8]) {
        let Some(world) = &self.crowd else { return };
        let Line { process, boots, open, .. } = world.lines[line as usize];
        if open[1] {
            self.gateway_takes(process, boots, line, frame);
        }
    }

    pub(super) fn frame_at_user(&mut self, line: ConnectionId, frame: Vec<u8>) {
        let now = self.now;
        let Some(world) = &mut self.crowd else { return };
        let at = &world.lines[line as usize];
        if !at.open[0] {
            return;
        }
        let (user, connection) = (at.user, at.connection);
        let weight = world.users[user].weigher.as_mut().and_then(|weigher| weigher.down(&frame));
        if let Some(weight) = weight {
            world.meter.notification(weight, now);
        }
        self.user_hears(user, Heard::Frame { connection, bytes: frame });
    }
}
