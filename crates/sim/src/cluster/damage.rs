//! Connections that have trouble: handshakes that are lost, late, or arrive again; bytes that are damaged.
//!
//! The world knows which byte is the first of a damaged frame. A node that takes it and keeps the link has accepted the frame.

use super::net::{Bytes, Conn, ConnId, End};
use super::{Cluster, Event};
use crate::outcome::ProblemKind;
use crate::plan::{Damage, Handshake};
use crate::rng::mix;
use crate::trace::Happening;
use bytes::BytesMut;
use tidemark_core::Micros;
use tidemark_node::{LinkId, LinkKind};

/// How many introductions are remembered, to arrive again.
const REMEMBERED: usize = 64;

/// What is wrong with connections now.
#[derive(Default)]
pub(super) struct Wrong {
    /// With handshakes of which process.
    pub(super) handshakes: Vec<(usize, Handshake)>,
    /// With bytes to and from which process, and with one of how many pieces.
    pub(super) damage: Vec<(usize, Damage, u64)>,
    /// What was said first on earlier connections: from whom, to whom, what for.
    said: Vec<(usize, usize, LinkKind, Vec<u8>)>,
}

/// A frame whose end was cut off.
pub(super) struct Torn {
    /// What it lacks.
    missing: Vec<u8>,
    /// Its bytes, when it was whole.
    length: usize,
}

impl Cluster<'_> {
    /// Something leaves an end of a connection, while something is wrong: it may be changed. Returns how much later it arrives.
    pub(super) fn tamper(&mut self, conn: ConnId, end: usize, first: bool, bytes: &mut Vec<u8>) -> Micros {
        let Conn { kind, ends, .. } = &self.net.conns[conn.0];
        let (kind, from, to) = (*kind, ends[end].process, ends[1 - end].process);
        let mut late = 0;
        if first {
            late = self.handshake(conn, (from, to));
            if end == 0 {
                self.remember(from, to, kind, bytes);
            }
        }
        self.net.conns[conn.0].flows[end].completed_by(bytes);
        let chance = mix(self.plan.seed ^ (conn.0 as u64) << 1 ^ end as u64, self.now ^ 5 << 52);
        let meant = |(process, _, one_in): &&(usize, Damage, u64)| {
            (*process == from || *process == to) && (chance >> 8).is_multiple_of(*one_in)
        };
        if let Some((_, how, _)) = self.net.wrong.damage.iter().find(meant).copied() {
            self.damage(conn, end, bytes, how, chance);
        }
        late
    }

    /// The first that one side says to the other leaves.
    fn handshake(&mut self, conn: ConnId, (from, to): (usize, usize)) -> Micros {
        let chance = mix(self.plan.seed ^ conn.0 as u64, self.now ^ 3 << 52);
        let concerned = |(process, _): &&(usize, Handshake)| *process == from || *process == to;
        match self.net.wrong.handshakes.iter().find(concerned).map(|(_, how)| *how) {
            Some(Handshake::Lost) if chance.is_multiple_of(2) => {
                self.stats.handshakes += 1;
                (0..2).for_each(|end| self.breaks_some_time(conn, end));
                0
            }
            Some(Handshake::Late(by)) if chance.is_multiple_of(2) => {
                self.stats.handshakes += 1;
                by
            }
            _ => 0,
        }
    }

    fn remember(&mut self, from: usize, to: usize, kind: LinkKind, bytes: &[u8]) {
        let said = &mut self.net.wrong.said;
        if said.len() < REMEMBERED {
            said.push((from, to, kind, bytes.to_vec()));
        }
    }

    /// A connection stands. What was said first on an earlier one between the same processes may arrive again, on one whose
    /// other end nobody knows any more.
    pub(super) fn said_again(&mut self, conn: ConnId) {
        let [End { process: from, .. }, End { process: to, .. }] = self.net.conns[conn.0].ends;
        let again = |(process, how): &(usize, Handshake)| match how {
            Handshake::Repeated(by) => (*process == from || *process == to).then_some(*by),
            _ => None,
        };
        let Some(by) = self.net.wrong.handshakes.iter().find_map(again) else { return };
        let chance = mix(self.plan.seed ^ conn.0 as u64, self.now ^ 7 << 52);
        let said: Vec<usize> = (0..self.net.wrong.said.len())
            .filter(|n| {
                let (caller, called, ..) = &self.net.wrong.said[*n];
                (*caller, *called) == (from, to)
            })
            .collect();
        if said.is_empty() || chance.is_multiple_of(2) {
            return;
        }
        let (.., kind, bytes) = &self.net.wrong.said[said[(chance >> 8) as usize % said.len()]];
        let (kind, bytes) = (*kind, bytes.clone());
        self.stats.handshakes += 1;
        let ghost = ConnId(self.net.conns.len());
        let ends =
            [End { gone: true, ..End::new(from, 0, None) }, End::new(to, self.processes[to].boots, None)];
        let arrives = self.now + self.delay(conn, 0) + (chance >> 20) % (by + 1);
        let mut flow = Bytes { begun: true, ..Bytes::default() };
        flow.push(arrives, bytes);
        self.net.conns.push(Conn { kind, ends, flows: [flow, Bytes::default()] });
        self.queue.push(arrives, Event::Arrives(ghost, 1));
    }

    /// Each end of a connection notices at a time of its own that it is broken.
    fn breaks_some_time(&mut self, conn: ConnId, end: usize) {
        self.queue.push(self.now + self.patience(conn, end), Event::Broken(conn, end));
    }

    fn damage(&mut self, conn: ConnId, end: usize, bytes: &mut Vec<u8>, how: Damage, chance: u64) {
        self.stats.damaged += 1;
        let at = (chance >> 16) as usize % bytes.len();
        let mut torn = None;
        let bad = match how {
            Damage::Flips => {
                let begins = frame_at(bytes, at).0;
                bytes[at] ^= 1 << ((chance >> 8) % 8);
                begins
            }
            Damage::Truncates => {
                let (begins, ends) = frame_at(bytes, at);
                // A frame that is not there at all could not be missed.
                let kept = at.max(begins + 1);
                torn = Some(Torn { missing: bytes[kept..ends].to_vec(), length: ends - begins });
                bytes.truncate(kept);
                // Bytes are never lost on their own: the connection ends some time.
                (0..2).for_each(|end| self.breaks_some_time(conn, end));
                begins
            }
            Damage::Garbage => {
                let noise = (0..1 + (chance >> 40) % 40).map(|n| mix(chance, n) as u8);
                bytes.splice(0..0, noise);
                0
            }
            Damage::Splits => return self.split(conn, end, bytes, at),
        };
        let before = {
            let Conn { ends, flows, .. } = &self.net.conns[conn.0];
            ends[1 - end].inbox.len() + flows[end].pieces.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
        };
        let flow = &mut self.net.conns[conn.0].flows[end];
        if flow.good.is_none() {
            (flow.good, flow.torn) = (Some(before + bad), torn);
        }
        let (from, to) =
            (self.net.conns[conn.0].ends[end].process, self.net.conns[conn.0].ends[1 - end].process);
        let (from, to) = (self.name_of(from), self.name_of(to));
        self.trace(|| Happening::Trouble(format!("bytes from {from} to {to}: {how:?}")));
    }

    /// The first part of a piece leaves by itself.
    fn split(&mut self, conn: ConnId, end: usize, bytes: &mut Vec<u8>, at: usize) {
        if at == 0 {
            return;
        }
        let rest = bytes.split_off(at);
        let first = std::mem::replace(bytes, rest);
        let arrives = self.now + self.delay(conn, end);
        let flow = &mut self.net.conns[conn.0].flows[end];
        let arrives = flow.push(arrives.max(flow.arrival) + 1, first);
        self.queue.push(arrives, Event::Arrives(conn, 1 - end));
    }

    /// A node has taken bytes, of `before` that had arrived, and keeps the link: were they good?
    pub(super) fn took(&mut self, conn: ConnId, end: usize, link: LinkId, taken: usize) {
        let Some(good) = &mut self.net.conns[conn.0].flows[1 - end].good else { return };
        if taken <= *good {
            *good -= taken;
            return;
        }
        // A link that the node has forgotten takes all bytes, and does nothing.
        let at = self.net.conns[conn.0].ends[end].process;
        let mut probe = BytesMut::from(&[0_u8][..]);
        let forgotten = self.input(at, |node, now| node.receive(now, link, &mut probe).is_ok());
        if forgotten == Some(true) && !probe.is_empty() {
            let text = format!("{} has accepted a damaged frame", self.name_of(at));
            self.problem(ProblemKind::Link, text);
        }
        self.net.conns[conn.0].flows[1 - end].good = None;
    }
}

impl Bytes {
    /// More is sent. If it begins with the very bytes that a torn frame lacks, that frame is whole again, and a node may accept it:
    /// what is damaged is the frame after it, which lent its first bytes.
    fn completed_by(&mut self, bytes: &[u8]) {
        let (Some(good), Some(Torn { missing, length })) = (&mut self.good, &mut self.torn) else { return };
        let more = missing.len().min(bytes.len());
        if missing[..more] != bytes[..more] {
            self.torn = None;
            return;
        }
        missing.drain(..more);
        if missing.is_empty() {
            *good += *length;
            self.torn = None;
        }
    }
}

/// Where the frame begins that byte `at` of `bytes` belongs to, and where it ends.
fn frame_at(bytes: &[u8], at: usize) -> (usize, usize) {
    let mut begins = 0;
    while let Some(header) = bytes.get(begins..begins + 4) {
        // The highest bit says that the frame is a part of a payload: see [`tidemark_node::link::frame`].
        let length = u32::from_le_bytes(header.try_into().expect("four bytes")) & (u32::MAX >> 1);
        let next = begins + tidemark_node::link::frame::HEADER + length as usize;
        if next > at {
            return (begins, next);
        }
        begins = next;
    }
    (begins, bytes.len())
}
