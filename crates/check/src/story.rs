//! Tells violations: words for events, and the shortest causal chain from a version to a read.

use crate::hash::Map;
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED};
use crate::report::{Deed, DeedKind, Fact, Link, Step};
use tidemark_core::history::{Action, Event, Fate, Final, ReadKind};
use tidemark_core::{Found, Key, Stamp};

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

/// What was found of a key, or written to it.
fn fact(key: &Key, found: &Found) -> Fact {
    let unstamped = Found::new(None, found.value.clone());
    let value = match (&found.value, found.stamp) {
        (None, Some(_)) => "a delete".to_string(),
        _ => found_words(&unstamped),
    };
    Fact { key: key.to_string(), value, version: found.stamp.map(|stamp| stamp.to_string()) }
}

/// A replica's last word.
pub(crate) fn last_word(last: &Final) -> Step {
    Step {
        event: None,
        session: None,
        dc: last.dc,
        text: format!("returns {} = {}", last.key, found_words(&last.found)),
        link: Link::Beside,
        deed: Deed { kind: DeedKind::LastWord, words: "returns in the end".to_string() },
        facts: vec![fact(&last.key, &last.found)],
        shows: true,
    }
}

/// What a read found: `"1" (5@A)`, `a delete (6@B)` or `nothing`.
pub(crate) fn found_words(found: &Found) -> String {
    match (&found.value, found.stamp) {
        (Some(value), stamp) => format!("{}{}", value_words(value), stamp_words(stamp)),
        (None, None) => "nothing".to_string(),
        (None, stamp) => format!("a delete{}", stamp_words(stamp)),
    }
}

fn read_verb(kind: ReadKind) -> &'static str {
    match kind {
        ReadKind::Get => "reads",
        ReadKind::Rotx => "reads in one transaction",
        ReadKind::Snapshot => "reads in one snapshot",
    }
}

/// What an event wrote or found, key by key.
fn facts(event: &Event) -> Vec<Fact> {
    match &event.action {
        Action::Write { key, observed: Some(found), .. } if event.fate == Fate::Skipped => {
            vec![fact(key, found)]
        }
        Action::Write { key, value: None, version, .. } => {
            vec![Fact {
                key: key.to_string(),
                value: "deleted".into(),
                version: version.map(|v| v.to_string()),
            }]
        }
        Action::Write { key, value, version, .. } => {
            vec![fact(key, &Found::new(*version, value.clone()))]
        }
        Action::Read { reads, .. } => reads.iter().map(|read| fact(&read.key, &read.found)).collect(),
        Action::Adopt { .. } => Vec::new(),
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
                    found_words(&Found::new(version.stamp, value.clone())).replace("nothing", "a delete")
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
                let verb = read_verb(*kind);
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
            deed: self.deed(e),
            facts: facts(event),
            shows: false,
        }
    }

    fn deed(&self, e: u32) -> Deed {
        let event = self.event(e);
        let (kind, words) = match &event.action {
            Action::Write { observed: Some(_), .. } if event.fate == Fate::Skipped => {
                return Deed { kind: DeedKind::Read, words: "observes, and writes nothing".to_string() };
            }
            Action::Write { value: None, .. } => (DeedKind::Write, "deletes".to_string()),
            Action::Write { observed: Some(found), .. } => {
                let observed = fact(&Key::from(""), found).value;
                (DeedKind::Write, format!("writes, having observed {observed}"))
            }
            Action::Write { .. } => (DeedKind::Write, "writes".to_string()),
            Action::Read { kind, .. } => (DeedKind::Read, read_verb(*kind).to_string()),
            Action::Adopt { .. } => (DeedKind::Adopt, self.event_words(e)),
        };
        Deed { kind, words: format!("{words}{}", fate_words(event.fate)) }
    }

    /// [`Self::chain`], or at least its two ends.
    pub(crate) fn chain_or_ends(&self, version: u32, e: u32, through: bool) -> Vec<Step> {
        let ends = [(self.version(version).writer, Link::Beside), (e, Link::Beside)];
        self.chain(version, e, through).unwrap_or_else(|| self.story(ends))
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

    /// How event `first`, which the session of event `e` did or took over, comes before `e`: later in the same
    /// session, or by adoption.
    pub(crate) fn own_story(&self, first: u32, e: u32) -> Vec<(u32, Link)> {
        let (mut story, mut at) = (vec![(e, Link::SessionOrder)], e);
        while self.session_of[at as usize] != self.session_of[first as usize] {
            let adopts = |i: &u32| {
                let (from, events) = self.adopts(*i)?;
                let last = self.events_of(from)[events as usize - 1];
                (last == first || self.earlier(last).any(|known| known == first)).then_some((*i, last))
            };
            let own = &self.events_of(self.session_of[at as usize])[..=self.seat[at as usize] as usize];
            let Some((adopting, last)) = own.iter().find_map(adopts) else {
                return vec![(first, Link::Beside), (e, Link::Beside)];
            };
            story.extend([(adopting, Link::Adopts), (last, Link::SessionOrder)]);
            at = last;
        }
        story.push((first, Link::Beside));
        story.reverse();
        story
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
    /// it is not in the past, or nobody is known to have written it.
    pub(crate) fn chain(&self, version: u32, e: u32, through: bool) -> Option<Vec<Step>> {
        if self.version(version).writer == NONE {
            return None;
        }
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

    /// Whether event `cause` of another session is `version`'s write, or one of its transaction, or follows it, as far
    /// as is known.
    fn follows(&self, known: &[Reached], cause: u32) -> bool {
        self.index.transaction(self.writer).contains(&cause)
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
