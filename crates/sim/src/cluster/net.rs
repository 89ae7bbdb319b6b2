//! Connections between processes: streams of bytes, in order, that break.
//!
//! What is sent over a link that is cut arrives late, once the link is healed, or the connection breaks before that: at once, or
//! when one end has waited for long enough, each end at a time of its own.

use super::damage::{Torn, Wrong};
use super::process::Process;
use super::{Cluster, Event};
use crate::rng::mix;
use bytes::BytesMut;
use std::collections::VecDeque;
use tidemark_core::Micros;
use tidemark_node::{Flow, LinkId, LinkKind};

/// How much a link is asked for at a time.
const ROOM: usize = 256 << 10;

/// A connection: its place among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnId(pub(super) usize);

/// One connection, from the process that dialled to the other.
pub(super) struct Conn {
    pub(super) kind: LinkKind,
    pub(super) ends: [End; 2],
    /// What is under way from each end to the other.
    pub(super) flows: [Bytes; 2],
}

/// One end.
pub(super) struct End {
    pub(super) process: usize,
    /// The start of the process that it belongs to; 0 until it is known.
    pub(super) boots: u64,
    /// What the node calls it; none before the other side accepts it.
    pub(super) link: Option<LinkId>,
    /// The process does not have it any more.
    pub(super) gone: bool,
    /// What has arrived and was not taken.
    pub(super) inbox: BytesMut,
    /// Nothing is taken until the node says so.
    pub(super) paused: bool,
}

impl End {
    pub(super) fn new(process: usize, boots: u64, link: Option<LinkId>) -> Self {
        Self { process, boots, link, gone: false, inbox: BytesMut::new(), paused: false }
    }
}

/// Bytes under way.
#[derive(Default)]
pub(super) struct Bytes {
    /// Pieces, each with when it arrives.
    pub(super) pieces: VecDeque<(Micros, Vec<u8>)>,
    /// When the last of them arrives: nothing overtakes it.
    pub(super) arrival: Micros,
    /// Something was sent.
    pub(super) begun: bool,
    /// How many bytes that were not taken yet come before the first damaged frame, if there is one.
    pub(super) good: Option<usize>,
    /// That frame, if its end was cut off.
    pub(super) torn: Option<Torn>,
    /// How many pieces would have arrived if the link were not cut.
    pub(super) stalled: u32,
}

impl Bytes {
    /// Adds a piece that would arrive then if nothing were before it. Returns when it does.
    pub(super) fn push(&mut self, arrives: Micros, bytes: Vec<u8>) -> Micros {
        self.arrival = self.arrival.max(arrives);
        self.pieces.push_back((self.arrival, bytes));
        self.arrival
    }
}

/// How a process ends, to those that it was connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// They hear of it.
    Reset,
    /// They hear nothing any more.
    Silent,
}

/// All connections.
pub(super) struct Net {
    pub(super) conns: Vec<Conn>,
    /// How many faults cut the way from one process to another, by `from * processes + to`.
    pub(super) cut: Vec<u32>,
    /// What everything takes longer from one region to another, by `from << 8 | to`.
    pub(super) slow: Vec<(usize, Micros)>,
    pub(super) wrong: Wrong,
    /// When the last of the bytes arrive that a cut had held.
    released: Micros,
    processes: usize,
}

impl Net {
    pub(super) fn new(processes: usize) -> Self {
        let cut = vec![0; processes * processes];
        Self { conns: Vec::new(), cut, slow: Vec::new(), wrong: Wrong::default(), released: 0, processes }
    }

    pub(super) fn way(&self, from: usize, to: usize) -> usize {
        from * self.processes + to
    }
}

impl Cluster<'_> {
    /// Whether nothing passes from one process to another.
    pub(super) fn is_cut(&self, from: usize, to: usize) -> bool {
        self.net.cut[self.net.way(from, to)] > 0
            || self.are_siblings(from, to) && (self.processes[from].mute > 0 || self.processes[to].deaf > 0)
    }

    /// Whether two processes are of one group.
    fn are_siblings(&self, from: usize, to: usize) -> bool {
        from.max(to) < self.servers && self.group_of(from) == self.group_of(to)
    }

    /// A node connects to another.
    pub(super) fn dial(&mut self, at: usize, link: LinkId, to: usize, kind: LinkKind) {
        let conn = ConnId(self.net.conns.len());
        let ends = [End::new(at, self.processes[at].boots, Some(link)), End::new(to, 0, None)];
        self.net.conns.push(Conn { kind, ends, flows: Default::default() });
        self.processes[at].bind(link, Some((conn, 0)));
        let there_and_back = self.delay(conn, 0) + self.delay(conn, 1);
        self.queue.push(self.now + there_and_back, Event::Connected(conn));
    }

    /// The end of a connection in a process that runs, and has not forgotten it.
    fn alive(&self, conn: ConnId, end: usize) -> bool {
        let End { process, boots, gone, .. } = self.net.conns[conn.0].ends[end];
        !gone && self.processes[process].node.is_some() && self.processes[process].boots == boots
    }

    pub(super) fn connected(&mut self, conn: ConnId) {
        if !self.alive(conn, 0) {
            return;
        }
        let [End { process: at, link: Some(link), .. }, End { process: to, .. }] =
            self.net.conns[conn.0].ends
        else {
            return;
        };
        if self.is_cut(at, to) || self.is_cut(to, at) {
            // Half of those who call are told; the others call on.
            if mix(self.plan.seed ^ conn.0 as u64, self.now).is_multiple_of(2) {
                return self.broken(conn, 0);
            }
            return self.queue.push(self.now + self.plan.config.farthest_us(), Event::Connected(conn));
        }
        if self.processes[to].node.is_none() {
            return self.broken(conn, 0);
        }
        self.net.conns[conn.0].ends[1].boots = self.processes[to].boots;
        self.said_again(conn);
        self.input(at, |node, now| node.connected(now, link));
        self.turn(at);
    }

    /// What a link has to say leaves.
    pub(super) fn transmit(&mut self, at: usize, link: LinkId) {
        loop {
            let mut bytes = self.spare.pop().unwrap_or_default();
            let more = self.input(at, |node, now| node.transmit(now, link, ROOM, &mut bytes));
            match self.processes[at].end_of(link) {
                Some((conn, end)) if !bytes.is_empty() => self.send(conn, end, bytes),
                _ => self.spare.push(emptied(bytes)),
            }
            if more != Some(true) {
                return;
            }
        }
    }

    pub(super) fn send(&mut self, conn: ConnId, end: usize, bytes: Vec<u8>) {
        let Some(mut bytes) = self.holds_bytes(conn, end, bytes) else { return };
        let first = !std::mem::replace(&mut self.net.conns[conn.0].flows[end].begun, true);
        let late = self.tamper(conn, end, first, &mut bytes);
        if bytes.is_empty() {
            return self.spare.push(bytes);
        }
        let held = if first { 0 } else { self.held(conn, end) };
        let arrives = self.now + self.asking(conn, end) + held + self.delay(conn, end) + late;
        let gap = self.gap(conn, end);
        let flow = &mut self.net.conns[conn.0].flows[end];
        let arrives = if gap > 0 { arrives.max(flow.arrival + gap) } else { arrives };
        if arrives <= flow.arrival
            && self.now < flow.arrival
            && let Some((_, last)) = flow.pieces.back_mut()
        {
            last.extend_from_slice(&bytes);
            return self.spare.push(emptied(bytes));
        }
        let arrives = flow.push(arrives, bytes);
        self.queue.push(arrives, Event::Arrives(conn, 1 - end));
    }

    pub(super) fn arrives(&mut self, conn: ConnId, end: usize) {
        let Conn { ends, .. } = &self.net.conns[conn.0];
        let (from, at) = (ends[1 - end].process, ends[end].process);
        if self.is_cut(from, at) {
            self.net.conns[conn.0].flows[1 - end].stalled += 1;
            return;
        }
        let flow = &mut self.net.conns[conn.0].flows[1 - end];
        if flow.pieces.front().is_none_or(|(arrives, _)| *arrives > self.now) {
            return; // it arrived early, or is lost
        }
        let Some((_, bytes)) = flow.pieces.pop_front() else { return };
        if !self.alive(conn, end) {
            // Nobody knows this connection here.
            self.stats.lost += 1;
            if !self.net.conns[conn.0].ends[1 - end].gone {
                let at = self.now + self.delay(conn, end);
                self.queue.push(at, Event::Broken(conn, 1 - end));
            }
            return;
        }
        let link = match self.net.conns[conn.0].ends[end].link {
            Some(link) => link,
            None => {
                let Some(link) = self.input(at, |node, now| node.accepted(now)) else { return };
                self.processes[at].bind(link, Some((conn, end)));
                self.net.conns[conn.0].ends[end].link = Some(link);
                link
            }
        };
        let End { inbox, paused, .. } = &mut self.net.conns[conn.0].ends[end];
        inbox.extend_from_slice(&bytes);
        self.spare.push(emptied(bytes));
        if !*paused {
            self.read(conn, end, link);
            self.turn(at);
        }
    }

    /// The node takes what has arrived.
    fn read(&mut self, conn: ConnId, end: usize, link: LinkId) {
        let End { process: at, inbox, .. } = &mut self.net.conns[conn.0].ends[end];
        let (at, mut bytes) = (*at, std::mem::take(inbox));
        let arrived = bytes.len();
        let read = self.input(at, |node, now| node.receive(now, link, &mut bytes));
        match read {
            Some(Ok(flow)) => {
                let taken = arrived - bytes.len();
                let one = &mut self.net.conns[conn.0].ends[end];
                (one.inbox, one.paused) = (bytes, flow == Flow::Pause);
                self.took(conn, end, link, taken);
            }
            Some(Err(_)) => {
                self.stats.refused += u64::from(self.net.conns[conn.0].flows[1 - end].good.is_some());
                self.transmit(at, link);
                self.close(at, link);
            }
            None => {}
        }
    }

    /// A node reads on.
    pub(super) fn resume(&mut self, at: usize, link: LinkId) {
        if let Some((conn, end)) = self.processes[at].end_of(link) {
            self.stats.streams_waited += 1;
            self.read(conn, end, link);
        }
    }

    /// A process closes a connection: the other end hears of it, after everything that was said.
    pub(super) fn close(&mut self, at: usize, link: LinkId) {
        let Some((conn, end)) = self.processes[at].end_of(link) else { return };
        self.leave(conn, end);
        self.tell_end(conn, end, Ending::Reset);
    }

    /// An end is there no more.
    fn leave(&mut self, conn: ConnId, end: usize) {
        let Conn { ends, flows, .. } = &mut self.net.conns[conn.0];
        let one = &mut ends[end];
        one.gone = true;
        one.inbox = BytesMut::new();
        let (process, link) = (one.process, one.link);
        // What was on its way to it is lost.
        self.stats.lost += flows[1 - end].pieces.len() as u64;
        flows[1 - end].pieces.clear();
        if self.processes[process].boots == one.boots
            && let Some(link) = link
        {
            self.processes[process].bind(link, None);
        }
    }

    /// The other end of `end`, which is gone, notices that some time.
    fn tell_end(&mut self, conn: ConnId, end: usize, ending: Ending) {
        let Conn { ends, flows, .. } = &self.net.conns[conn.0];
        if ends[1 - end].gone {
            return;
        }
        let hears = ending == Ending::Reset && !self.is_cut(ends[end].process, ends[1 - end].process);
        let at = match hears {
            true => flows[end].arrival.max(self.now + self.delay(conn, end)),
            false => self.now + self.patience(conn, 1 - end),
        };
        self.queue.push(at, Event::Broken(conn, 1 - end));
    }

    /// How long an end waits for a sign of life.
    pub(super) fn patience(&self, conn: ConnId, end: usize) -> Micros {
        let chance = mix(self.plan.seed ^ (conn.0 as u64) << 1 ^ end as u64, self.now ^ 1 << 50);
        1 + (self.plan.config.farthest_us() << (chance % 5)) / 2
    }

    pub(super) fn broken(&mut self, conn: ConnId, end: usize) {
        if self.net.conns[conn.0].ends[end].gone {
            return;
        }
        let alive = self.alive(conn, end);
        let End { process: at, link, .. } = self.net.conns[conn.0].ends[end];
        self.leave(conn, end);
        self.tell_end(conn, end, Ending::Reset);
        if let (true, Some(link)) = (alive, link) {
            self.input(at, |node, now| node.disconnected(now, link, "the connection broke"));
            self.turn(at);
        }
    }

    /// A process is there no more.
    pub(super) fn break_connections_of(&mut self, at: usize, ending: Ending) {
        for conn in 0..self.net.conns.len() {
            for end in 0..2 {
                let End { process, gone, .. } = self.net.conns[conn].ends[end];
                if process == at && !gone {
                    self.leave(ConnId(conn), end);
                    self.tell_end(ConnId(conn), end, ending);
                }
            }
        }
    }

    /// Ways were cut or healed.
    pub(super) fn ways_changed(&mut self) {
        for conn in (0..self.net.conns.len()).map(ConnId) {
            for end in 0..2 {
                let Conn { ends, flows, .. } = &self.net.conns[conn.0];
                let (from, to) = (ends[end].process, ends[1 - end].process);
                if ends[1 - end].gone && ends[end].gone {
                    continue;
                }
                if !self.is_cut(from, to) {
                    let (stalled, arrives) = (flows[end].stalled, self.now + self.delay(conn, end));
                    self.net.conns[conn.0].flows[end].stalled = 0;
                    if stalled > 0 {
                        self.net.released = self.net.released.max(arrives);
                    }
                    for _ in 0..stalled {
                        self.queue.push(arrives, Event::Arrives(conn, 1 - end));
                    }
                } else if !mix(self.plan.seed ^ self.now, conn.0 as u64).is_multiple_of(3) {
                    // A third waits for as long as it takes.
                    for end in
                        (0..2).filter(|end| !self.net.conns[conn.0].ends[*end].gone).collect::<Vec<_>>()
                    {
                        self.queue.push(self.now + self.patience(conn, end), Event::Broken(conn, end));
                    }
                }
            }
        }
    }

    /// When the last bytes that are under way arrive.
    pub(super) fn last_arrival(&self) -> Micros {
        let flows = self.net.conns.iter().flat_map(|conn| &conn.flows);
        let last = flows.filter(|flow| !flow.pieces.is_empty()).map(|flow| flow.arrival).max();
        last.unwrap_or(self.now).max(self.net.released)
    }

    /// The processes of two ends.
    pub(super) fn pair(&self, from: usize, to: usize) -> (&Process, &Process) {
        (&self.processes[from], &self.processes[to])
    }
}

/// The buffer, to be filled again.
fn emptied(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.clear();
    bytes
}
