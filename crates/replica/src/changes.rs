//! Which keys have changed, as a fresh reader of this server sees it: what is written here at once, and what comes from other
//! regions when it becomes visible.
//!
//! **Idea.** While somebody listens, each partition keeps the versions that were added to it and do not show yet. They are looked
//! at again when the view of a fresh reader has become another one.
//!
//! **Invariants**
//! - I1 A version that was hidden when listening began, or was added since, is told once it shows; or [`Change::Unknown`] is.
//! - I2 Nothing is kept while nobody listens.

use crate::host::Host;
use crate::place::Place;
use tidemark_contract::{Protocol, Store};
use tidemark_core::{DcId, Key, Stamp};
use tidemark_store::{Added, Event, events};

/// How many hidden versions, and how many keys of a walk, one look takes.
const PIECE: usize = 4_096;

/// A key has come into being.
const NEW: Event = ('n', "new");

/// Something has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A version shows now.
    Version {
        /// Its key.
        key: Key,
        /// Its stamp.
        stamp: Stamp,
        /// What it has done, for keyspace notifications: that it has created its key, and the rest if another region has written it.
        events: Vec<Event>,
    },
    /// The deadline of a key has passed.
    Expired(Key),
    /// Any key may have changed.
    Unknown,
}

/// What a partition keeps for who listens.
#[derive(Default)]
pub(crate) struct Hidden {
    versions: Vec<Added>,
    /// How many of them were looked at under this view.
    looked: usize,
    view: Option<u64>,
    /// Where the walk stands that looks for what was hidden before.
    walk: Option<u64>,
}

impl<P: Protocol> Host<P> {
    /// Appends what has changed since the last call. From this call on somebody listens, or nobody does. True if there is more: call
    /// again soon. Nothing is known of protocols without data types.
    pub fn changes(&mut self, listens: bool, told: &mut Vec<Change>) -> bool {
        let (dc, alone) = (self.config.dc, self.config.topology.dcs == 1 && self.group.is_none());
        let mut more = false;
        for place in &mut self.places {
            if listens != place.store.is_listened_to() {
                place.store.listen(listens);
                place.store.tell_expired(listens);
                place.hidden = Hidden { walk: (listens && !alone).then_some(0), ..Hidden::default() };
            }
            more |= listens && place.look(dc, told);
        }
        more
    }
}

impl<P: Protocol> Place<P> {
    /// Tells what shows now. True if there is more to look at.
    fn look(&mut self, dc: DcId, told: &mut Vec<Change>) -> bool {
        let (Some(types), Some(protocol)) = (P::EXTENSIONS.types, &self.protocol) else { return false };
        let Self { store, hidden, .. } = self;
        told.extend(store.take_expired().into_iter().map(|expired| Change::Expired(expired.key)));
        let added = store.take_added();
        let view = (types.now)(protocol, dc);
        let name = (types.fresh)(&view);
        if added.is_empty() && hidden.walk.is_none() && name.is_some() && name == hidden.view {
            return false;
        }
        if name.is_none() || name != hidden.view {
            (hidden.view, hidden.looked) = (name, 0);
        }
        let shows = |stamp: Stamp, meta: &P::Meta| P::visible(&view, stamp, meta);
        let together = |stamp: Stamp, meta: &P::Meta| match types.together {
            Some(together) => together(&view, stamp, meta),
            None => shows(stamp, meta),
        };
        let end = hidden.versions.len().min(hidden.looked + PIECE);
        let piece: Vec<Added> = hidden.versions.drain(hidden.looked..end).collect();
        let mut left = Vec::new();
        for added in piece.into_iter().chain(added) {
            let Added { key, stamp, creates } = added;
            let typed = store.is_typed(&key);
            let seen =
                |stamp: Stamp, meta: &P::Meta| if typed { together(stamp, meta) } else { shows(stamp, meta) };
            match look_at(store, &key, (stamp, dc), seen) {
                Look::Shows(mut events) => {
                    if creates {
                        events.insert(0, NEW);
                    }
                    // Nobody may have looked at it since, and it may have a deadline.
                    let name = name.unwrap_or_default();
                    store.refreshed(&key, name, |version| together(version.stamp, &version.meta));
                    told.push(Change::Version { key, stamp, events });
                }
                Look::Hidden => left.push(Added { key, stamp, creates }),
            }
        }
        let at = hidden.looked;
        hidden.looked += left.len();
        hidden.versions.splice(at..at, left);
        if let Some(cursor) = hidden.walk {
            let wanted =
                |version: &tidemark_contract::Version<P::Meta>| !together(version.stamp, &version.meta);
            let (found, next) = store.walk_versions((cursor, PIECE), wanted);
            let found = found.into_iter().map(|(key, stamp)| Added { key, stamp, creates: false });
            let (at, found) = (hidden.looked, Vec::from_iter(found));
            hidden.looked += found.len();
            hidden.versions.splice(at..at, found);
            hidden.walk = (next != 0).then_some(next);
            if next == 0 {
                // What has become visible before the walk came to it was not told.
                told.push(Change::Unknown);
            }
        }
        hidden.walk.is_some() || hidden.looked < hidden.versions.len()
    }
}

/// How a version stands.
enum Look {
    /// It shows; what it has done, if another region has.
    Shows(Vec<Event>),
    Hidden,
}

fn look_at<M: Clone>(
    store: &Store<M>,
    key: &Key,
    (stamp, here): (Stamp, DcId),
    shows: impl Fn(Stamp, &M) -> bool,
) -> Look {
    match store.chain(key).find(|version| version.stamp == stamp) {
        // It was folded, or a newer one has taken its place.
        None => Look::Shows(Vec::new()),
        Some(version) if !shows(stamp, &version.meta) => Look::Hidden,
        Some(_) if stamp.origin == here => Look::Shows(Vec::new()),
        Some(version) => Look::Shows(events(&version.write)),
    }
}
