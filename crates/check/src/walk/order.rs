//! In which order events are visited: as recorded, except that effects wait for their causes.

use super::{Observer, Walk, done_at};
use crate::hash::Map;
use crate::index::{Index, NONE, UNCHECKED};

/// A cycle of happens-before: each event reads what the next one's session has yet to write.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    /// Pairs of a read (or adopt) event and the event, of the next session in the cycle, that it waits for.
    pub(crate) waits: Vec<(u32, u32)>,
}

pub(super) struct Order {
    /// The events in the order to try; as recorded if none.
    permutation: Option<Vec<u32>>,
    /// Per session: how many of its events have come up.
    due: Vec<u32>,
    /// Per session: its event that waits, and the event that it waits for.
    waits: Vec<Option<(u32, u32)>>,
    /// Sessions that wait for a session to have visited so many events.
    waiting: Map<(u32, u32), Vec<u32>>,
    /// Events that no longer wait: a cycle was cut there.
    cut: Map<u32, ()>,
    ready: Vec<u32>,
}

impl Order {
    pub(super) fn new(index: &Index<'_>) -> Self {
        let sessions = index.session_ids.len();
        Self {
            permutation: permutation(index),
            due: vec![0; sessions],
            waits: vec![None; sessions],
            waiting: Map::default(),
            cut: Map::default(),
            ready: Vec::new(),
        }
    }
}

/// By time if every event has one; else as recorded, unless sessions stand one after the other: then abreast.
fn permutation(index: &Index<'_>) -> Option<Vec<u32>> {
    let events = &index.history.events;
    let time = |e: usize| events[e].end_us.or(events[e].start_us).unwrap_or(u64::MAX);
    let sorted = |key: &dyn Fn(usize) -> u64| {
        let mut order: Vec<u32> = (0..events.len() as u32).collect();
        order.sort_by_key(|e| key(*e as usize));
        Some(order)
    };
    if events.iter().all(|e| e.start_us.is_some() || e.end_us.is_some()) {
        return if (0..events.len()).is_sorted_by_key(time) { None } else { sorted(&time) };
    }
    let switches = index.session_of.windows(2).filter(|w| w[0] != w[1]).count();
    let grouped = index.session_ids.len() > 1 && switches < events.len() / 16;
    if grouped { sorted(&|e| u64::from(index.seat[e])) } else { None }
}

impl Walk<'_> {
    pub(super) fn run(&mut self, observer: &mut impl Observer) -> Vec<Cycle> {
        let permutation = self.order.permutation.take();
        for i in 0..self.index.history.events.len() as u32 {
            let e = permutation.as_ref().map_or(i, |p| p[i as usize]);
            let session = self.index.session_of[e as usize];
            let due = &mut self.order.due[session as usize];
            *due = (*due).max(self.index.seat[e as usize] + 1);
            self.order.ready.push(session);
            self.advance(observer);
        }
        let mut cycles = Vec::new();
        while let Some(cycle) = self.find_cycle() {
            let (e, _) = cycle.waits[0];
            let session = self.index.session_of[e as usize];
            self.order.cut.insert(e, ());
            self.order.waits[session as usize] = None;
            self.order.ready.push(session);
            cycles.push(cycle);
            self.advance(observer);
        }
        cycles
    }

    /// Visits what is due and waits for nothing, in the sessions that are ready.
    fn advance(&mut self, observer: &mut impl Observer) {
        let index = self.index;
        while let Some(session) = self.order.ready.pop() {
            while self.visited[session as usize] < self.order.due[session as usize]
                && self.order.waits[session as usize].is_none()
            {
                let from = self.visited[session as usize];
                let all = index.events_of(session);
                let events = &all[from as usize..index.pos[all[from as usize] as usize] as usize];
                if let Some((e, cause)) = self.missing_cause(session, events) {
                    let at = (index.session_of[cause as usize], index.pos[cause as usize]);
                    self.order.waits[session as usize] = Some((e, cause));
                    self.order.waiting.entry(at).or_default().push(session);
                    break;
                }
                self.visit(session, events, observer);
                self.wake(session);
            }
        }
    }

    /// Makes the sessions ready that waited for `session` to get where it is.
    fn wake(&mut self, session: u32) {
        if self.order.waiting.is_empty() {
            return;
        }
        for woken in self.order.waiting.remove(&(session, self.visited[session as usize])).unwrap_or_default()
        {
            self.order.waits[woken as usize] = None;
            self.order.ready.push(woken);
        }
    }

    /// A cause of `events` that was not visited yet, with the event that needs it.
    #[inline]
    fn missing_cause(&self, session: u32, events: &[u32]) -> Option<(u32, u32)> {
        let index = self.index;
        for e in events {
            for read in index.reads_of(*e) {
                if read.version == UNCHECKED || index.version(read.version).writer == NONE {
                    continue;
                }
                let writer = index.version(read.version).writer;
                let of = index.session_of[writer as usize];
                let own = of == session && events.len() > 1 && events.contains(&writer);
                if self.visited[of as usize] <= index.seat[writer as usize] && !own && !self.is_cut(*e) {
                    return Some((*e, writer));
                }
            }
            if index.reads_of(*e).is_empty()
                && let Some((from, n)) = index.adopts(*e)
                && self.visited[from as usize] < done_at(index, from, n)
                && !self.is_cut(*e)
            {
                return Some((*e, index.events_of(from)[n as usize - 1]));
            }
        }
        None
    }

    fn is_cut(&self, e: u32) -> bool {
        !self.order.cut.is_empty() && self.order.cut.contains_key(&e)
    }

    /// Follows who waits for whom until a session comes up again. None if nobody waits.
    fn find_cycle(&self) -> Option<Cycle> {
        let index = self.index;
        let waits = &self.order.waits;
        let mut session = waits.iter().position(Option::is_some)?;
        let mut path: Vec<usize> = Vec::new();
        let start = loop {
            if let Some(start) = path.iter().position(|s| *s == session) {
                break start;
            }
            path.push(session);
            let (_, cause) = waits[session].expect("everything is due, so who is waited for waits too");
            session = index.session_of[cause as usize] as usize;
        };
        Some(Cycle { waits: path[start..].iter().filter_map(|s| waits[*s]).collect() })
    }
}
