//! The core of each server, in runs whose work takes time: what arrives waits until the batch before it has ended.
//!
//! A batch takes everything that has arrived. The node handles it when the batch begins; what it causes leaves when the batch
//! ends, after as much time as its parts cost. Clients that ask servers themselves have a core each (see [`super::till`]).

use super::clients::Reply;
use super::generator::Generator;
use super::net::ConnId;
use super::till::Till;
use super::{Cluster, Event};
use crate::load::Load;
use crate::meter::size;
use std::collections::VecDeque;
use tidemark_core::{Micros, Op};
use tidemark_node::LinkKind;

/// The most that one batch takes: the server looks at its sockets again then.
const BATCH_EVENTS: usize = 512;

/// Something that leaves when a batch ends.
enum Leaving {
    Bytes(ConnId, usize, Vec<u8>),
    Reply(Reply),
}

/// The core of one server.
#[derive(Default)]
struct Core {
    inbox: VecDeque<Event>,
    /// A batch is running.
    busy: bool,
    /// It takes what has arrived.
    takes: bool,
    /// What it has caused.
    leaving: Vec<Leaving>,
    /// How long the core was busy while it counted.
    busy_us: Micros,
}

/// All cores.
pub(super) struct Cores {
    all: Vec<Core>,
    till: Till,
    /// Sessions are at servers, and what they do keeps those busy.
    gateways: bool,
    /// What clients share, if they take time.
    pub(super) generator: Option<Generator>,
    /// Only what happens then counts.
    counted: std::ops::Range<Micros>,
}

impl Cores {
    pub(super) fn new(what: &Load, servers: usize, till: Till, counted: std::ops::Range<Micros>) -> Self {
        till.opens(what, servers, counted.clone());
        let generator = what.generator.then(Generator::default);
        let all = (0..servers).map(|_| Core::default()).collect();
        Self { all, till, gateways: what.gateways, generator, counted }
    }

    /// How long each core was busy.
    pub(super) fn busy_us(&self) -> Vec<Micros> {
        self.all.iter().map(|core| core.busy_us).collect()
    }
}

impl Cluster<'_> {
    /// Whether work takes time, and sessions are at servers.
    pub(super) fn has_gateways(&self) -> bool {
        self.cores.as_ref().is_some_and(|cores| cores.gateways)
    }

    /// Which process's core an event keeps busy, if any.
    fn worker(&self, event: &Event) -> Option<usize> {
        let at = match event {
            Event::Arrives(conn, end) => {
                let conn = &self.net.conns[conn.0];
                // What the receiver of records confirms is part of what a record costs.
                let works = match conn.kind {
                    LinkKind::Stream => *end == 0,
                    LinkKind::Messages | LinkKind::Raft => true,
                    LinkKind::Copy => false,
                };
                works.then(|| conn.ends[*end].process)?
            }
            Event::Tick(at) => *at,
            Event::Wake(client) if self.has_gateways() => self.gateway(*client),
            _ => return None,
        };
        (at < self.servers).then_some(at)
    }

    /// An event is due: it happens, or it waits for the core that it needs.
    #[inline]
    pub(super) fn due(&mut self, event: Event) {
        if self.cores.is_none() {
            return self.handle(event);
        }
        let Some(at) = self.worker(&event) else { return self.handle(event) };
        if matches!(event, Event::Tick(_)) && self.processes[at].tick_at != Some(self.now) {
            return;
        }
        let Some(cores) = &mut self.cores else { return };
        cores.all[at].inbox.push_back(event);
        if !cores.all[at].busy {
            self.begin_batch(at, true);
        }
    }

    fn begin_batch(&mut self, at: usize, wakes: bool) {
        let Some(cores) = &mut self.cores else { return };
        let core = &mut cores.all[at];
        (core.busy, core.takes) = (true, true);
        let events = core.inbox.len().min(BATCH_EVENTS);
        let mut works = false;
        for _ in 0..events {
            let Some(event) = self.cores.as_mut().and_then(|cores| cores.all[at].inbox.pop_front()) else {
                break;
            };
            works |= !matches!(event, Event::Tick(_));
            match event {
                Event::Tick(at) => self.tells_time(at),
                Event::Wake(client) => {
                    let bytes = self.clients[client].op().and_then(Op::writes).unwrap_or_default();
                    self.charge(at, |costs| costs.request_ns + bytes as f64 * costs.byte_ns);
                    self.handle(event);
                }
                event => self.handle(event),
            }
        }
        if let Some(cores) = &mut self.cores {
            cores.all[at].takes = false;
        }
        self.end_turn(at);
        let Some(cores) = &mut self.cores else { return };
        let takes = cores.till.ends_batch(at, works, wakes);
        let idle = if wakes { cores.till.idle_us() } else { 0 };
        if cores.counted.contains(&self.now) {
            cores.all[at].busy_us += takes;
        }
        self.happens(self.now + idle + takes, super::driving::Happening::Free(at));
    }

    /// A batch ends: what it has caused leaves, and what arrived meanwhile makes the next one.
    pub(super) fn ends_batch(&mut self, at: usize) {
        let Some(core) = self.cores.as_mut().map(|cores| &mut cores.all[at]) else { return };
        core.busy = false;
        let mut leaving = std::mem::take(&mut core.leaving);
        for what in leaving.drain(..) {
            match what {
                Leaving::Bytes(conn, end, bytes) => self.send(conn, end, bytes),
                Leaving::Reply(reply) => self.take_reply(at, reply),
            }
        }
        let Some(core) = self.cores.as_mut().map(|cores| &mut cores.all[at]) else { return };
        core.leaving = leaving;
        if !core.inbox.is_empty() {
            self.begin_batch(at, false);
        }
    }

    fn charge(&mut self, at: usize, cost: impl FnOnce(&crate::load::Costs) -> f64) {
        if let Some(cores) = &self.cores {
            cores.till.charge(at, cost);
        }
    }

    /// Whether a process takes what has arrived: its batch ends when it has all.
    #[inline]
    pub(super) fn takes_more(&self, at: usize) -> bool {
        self.cores.as_ref().is_some_and(|cores| cores.all.get(at).is_some_and(|core| core.takes))
    }

    /// How much longer clients take to send what leaves their node now; 0 at servers.
    pub(super) fn asking(&self, conn: ConnId, end: usize) -> Micros {
        let at = self.net.conns[conn.0].ends[end].process;
        let cores = self.cores.as_ref().filter(|_| at >= self.servers);
        cores.map_or(0, |cores| cores.till.asking_us())
    }

    /// How much longer a client takes to read what its servers have told it; 0 if it asks a gateway.
    pub(super) fn reading(&self, number: usize) -> Micros {
        let (Some(cores), Some(connection)) = (&self.cores, &self.clients[number].connection) else {
            return 0;
        };
        cores.till.reading_us(connection.process, connection.session)
    }

    fn leaving(&mut self, at: usize) -> Option<&mut Vec<Leaving>> {
        let core = self.cores.as_mut()?.all.get_mut(at)?;
        core.busy.then_some(&mut core.leaving)
    }

    /// Bytes leave a process: at once, or when its batch ends. None if they wait.
    #[inline]
    pub(super) fn holds_bytes(&mut self, conn: ConnId, end: usize, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let at = self.net.conns[conn.0].ends[end].process;
        match self.leaving(at) {
            None => Some(bytes),
            Some(leaving) => {
                leaving.push(Leaving::Bytes(conn, end, bytes));
                None
            }
        }
    }

    /// A reply may leave: at once, or when the batch ends.
    pub(super) fn release(&mut self, at: usize, reply: Reply) {
        if self.leaving(at).is_none() {
            return self.take_reply(at, reply);
        }
        if let Reply::Outcome { client, outcome, .. } = &reply
            && !self.is_asked_at_once(*client)
        {
            let payload = size(outcome).payload as f64;
            self.charge(at, |costs| costs.reply_ns + payload * costs.byte_ns);
        }
        if let Some(leaving) = self.leaving(at) {
            leaving.push(Leaving::Reply(reply));
        }
    }
}
