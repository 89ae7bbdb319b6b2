//! Tells violations: words for events, and the shortest causal chain from a version to a read.

use crate::hash::Map;
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED};
use crate::report::{Link, Step};
use tidemark_core::history::{Action, Fate, ReadKind};
use tidemark_core::{Found, Stamp};

/// Longest value shown.
const SHOWN: usize = 24;

fn value_words(value: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(value).chars().take(SHOWN + 1).collect();
    if text.chars().count() > SHOWN {
        format!("\"{}…\"", text.chars().take(SHOWN).collect::<String>().escape_debug())
    } else {
        format!("\"{}\"", text.escape_debug())
    }
}

fn stamp_words(stamp: Option<Stamp>) -> String {
    stamp.map_or_else(String::new, |s| format!(" ({s})"))
}

/// What a read found: `"1" (5@A)`, `a delete (6@B)` or `nothing`.
pub(crate) fn found_words(found: &Found) -> String {
    match (&found.value, found.stamp) {
        (Some(value), stamp) => format!("{}{}", value_words(value), stamp_words(stamp)),
        (None, None) => "nothing".to_string(),
        (None, stamp) => format!("a delete{}", stamp_words(stamp)),
    }
}

fn fate_words(fate: Fate) -> &'static str {
    match fate {
        Fate::Ok => "",
        Fate::Skipped => ", condition not met",
        Fate::Unknown => ", no answer came",
        Fate::Failed => ", failed",
    }
}

impl Index<'_> {
    pub(crate) fn key_words(&self, key: u32) -> String {
        self.keys[key as usize].to_string()
    }

    /// A version, as it was written: `"1" (5@A)`.
    pub(crate) fn version_words(&self, v: u32) -> String {
        if v == ABSENT {
            return "nothing".to_string();
        }
        let version = self.version(v);
        match version.writer {
            NONE => format!("a version{}", stamp_words(version.stamp)),
            writer => match &self.event(writer).action {
                Action::Write { value, .. } => {
                    found_words(&Found { stamp: version.stamp, value: value.clone() })
                        .replace("nothing", "a delete")
                }
                _ => unreachable!("only writes write"),
            },
        }
    }

    /// What event `e` did and found.
    pub(crate) fn event_words(&self, e: u32) -> String {
        let event = self.event(e);
        let text = match &event.action {
            Action::Write { key, value: None, version, .. } => {
                format!("deletes {key}{}", stamp_words(*version))
            }
            Action::Write { key, value: Some(value), version, .. } => {
                format!("writes {key} = {}{}", value_words(value), stamp_words(*version))
            }
            Action::Read { kind, reads } => {
                let verb = match kind {
                    ReadKind::Get => "reads",
                    ReadKind::Rotx => "reads in one transaction",
                    ReadKind::Snapshot => "reads in one snapshot",
                };
                let found = reads.iter().take(6).map(|r| format!("{} = {}", r.key, found_words(&r.found)));
                let more = if reads.len() > 6 { ", …" } else { "" };
                format!("{verb} {}{more}", found.collect::<Vec<_>>().join(", "))
            }
            Action::Adopt { from, events } => format!("adopts {from} after {events} events"),
        };
        let observed = match &event.action {
            Action::Write { observed: Some(found), .. } => {
                format!(", having observed {}", found_words(found))
            }
            _ => String::new(),
        };
        format!("{text}{observed}{}", fate_words(event.fate))
    }

    /// Whose event it is, and where: `s2 in A`.
    pub(crate) fn actor(&self, e: u32) -> String {
        format!("{} in {}", self.event(e).session, self.event(e).dc)
    }

    pub(crate) fn step(&self, e: u32, link: Link) -> Step {
        let event = self.event(e);
        Step {
            event: Some(u64::from(e)),
            session: Some(event.session),
            dc: event.dc,
            text: self.event_words(e),
            link,
        }
    }

    /// [`Self::chain`], or at least its two ends.
    pub(crate) fn chain_or_ends(&self, version: u32, e: u32, through: bool) -> Vec<Step> {
        self.chain(version, e, through).unwrap_or_else(|| {
            vec![self.step(self.version(version).writer, Link::Beside), self.step(e, Link::Beside)]
        })
    }

    /// The steps of a story; of an event that comes twice running, one is enough. What nobody is known to have
    /// written is left out.
    pub(crate) fn story(&self, events: impl IntoIterator<Item = (u32, Link)>) -> Vec<Step> {
        let mut events: Vec<(u32, Link)> = events.into_iter().filter(|(e, _)| *e != NONE).collect();
        events.dedup_by_key(|(e, _)| *e);
        if let Some((_, link)) = events.first_mut() {
            *link = Link::Beside;
        }
        events.into_iter().map(|(e, link)| self.step(e, link)).collect()
    }

    /// The events that the session of event `e` had done before it, or had taken over from those whose past it
    /// adopted; its own first.
    pub(crate) fn earlier(&self, e: u32) -> impl Iterator<Item = u32> + '_ {
        let mut seen: Map<u32, u32> = Map::default();
        let mut spans = vec![(self.session_of[e as usize], self.seat[e as usize])];
        std::iter::from_fn(move || {
            let (session, events) = spans.pop()?;
            let known = seen.insert(session, events).unwrap_or(0).min(events);
            let span = &self.events_of(session)[known as usize..events as usize];
            spans.extend(span.iter().filter_map(|e| self.adopts(*e)));
            Some(span.iter().copied())
        })
        .flatten()
    }

    /// The events that wrote what event `e` returned.
    pub(crate) fn written(&self, e: u32) -> impl Iterator<Item = u32> + '_ {
        let known = self.reads_of(e).iter().filter(|r| r.version != UNCHECKED && r.version != ABSENT);
        known.map(|r| self.version(r.version).writer).filter(|writer| *writer != NONE)
    }

    /// The event in which the session of event `e`, or one whose past it adopted, read `version` before `e`.
    pub(crate) fn earlier_read(&self, e: u32, version: u32) -> Option<u32> {
        self.earlier(e).find(|i| self.reads_of(*i).iter().any(|r| r.version == version))
    }

    /// The shortest story of how `version` came into the past of event `e`: by session order, reads-from and
    /// adoption, with the fewest changes of session. With `through`, what `e` itself returns counts. None if
    /// it is not in the past.
    pub(crate) fn chain(&self, version: u32, e: u32, through: bool) -> Option<Vec<Step>> {
        let mut search = Search::new(self, version);
        let target = self.session_of[e as usize] as usize;
        let goal = self.pos[e as usize] - u32::from(!through);
        while search.reached[target].seat >= goal {
            if !search.widen(e, through) {
                return None;
            }
        }
        Some(search.tell(e))
    }
}

/// Where a session first knows of the version: from its event `seat` on, because of `cause`.
#[derive(Clone, Copy)]
struct Reached {
    seat: u32,
    /// The event that got it from another session, and the write or event of that one; NONE at the start.
    via: u32,
    from: u32,
}

struct Search<'i, 'h> {
    index: &'i Index<'h>,
    writer: u32,
    reached: Vec<Reached>,
}

impl<'i, 'h> Search<'i, 'h> {
    fn new(index: &'i Index<'h>, version: u32) -> Self {
        let nowhere = Reached { seat: u32::MAX, via: NONE, from: NONE };
        let mut reached = vec![nowhere; index.session_ids.len()];
        let writer = index.version(version).writer;
        if index.event(writer).fate == Fate::Ok {
            // An unknown write is not followed by its session's later events.
            let session = index.session_of[writer as usize] as usize;
            reached[session].seat = index.seat[writer as usize];
        }
        Self { index, writer, reached }
    }

    /// Whether event `cause` of another session is `version`'s write or follows it, as far as is known.
    fn follows(&self, known: &[Reached], cause: u32) -> bool {
        cause == self.writer
            || known[self.index.session_of[cause as usize] as usize].seat < self.index.pos[cause as usize]
    }

    /// Takes one more change of session. False if that reaches nobody new.
    fn widen(&mut self, end: u32, through: bool) -> bool {
        let (index, known) = (self.index, self.reached.clone());
        let mut wider = false;
        for e in 0..index.history.events.len() as u32 {
            let (session, seat) = (index.session_of[e as usize] as usize, index.seat[e as usize]);
            if self.reached[session].seat <= seat || (e == end && !through) {
                continue;
            }
            let adopted = index.adopts(e).map(|(from, n)| index.events_of(from)[n as usize - 1]);
            let read = index.reads_of(e).iter().filter(|r| r.version != UNCHECKED && r.version != ABSENT);
            let causes = read.map(|r| index.version(r.version).writer).filter(|w| *w != NONE).chain(adopted);
            if let Some(from) = causes.into_iter().find(|cause| self.follows(&known, *cause)) {
                self.reached[session] = Reached { seat, via: e, from };
                wider = true;
            }
        }
        wider
    }

    /// The story backwards from `e`, turned round.
    fn tell(&self, e: u32) -> Vec<Step> {
        let index = self.index;
        let mut steps = Vec::new();
        let mut at = e;
        loop {
            let reached = self.reached[index.session_of[at as usize] as usize];
            let here = if at == self.writer { NONE } else { reached.via };
            if here == NONE || reached.seat > index.pos[at as usize] {
                let same = index.session_of[at as usize] == index.session_of[self.writer as usize];
                if at != self.writer {
                    steps.push(index.step(at, if same { Link::SessionOrder } else { Link::Beside }));
                }
                steps.push(index.step(self.writer, Link::Beside));
                break;
            }
            if here != at {
                steps.push(index.step(at, Link::SessionOrder));
            }
            let adopts = index.adopts(here).is_some();
            steps.push(index.step(here, if adopts { Link::Adopts } else { Link::ReadsFrom }));
            at = reached.from;
            if steps.len() > 2 * index.session_ids.len() + 2 {
                break;
            }
        }
        steps.reverse();
        steps
    }
}

/// What a history's read returned, in words of the recorder.
pub(crate) fn read_words(index: &Index<'_>, read: Ref) -> String {
    format!("{} = {}", index.key_words(read.key), index.version_words(read.version))
}
