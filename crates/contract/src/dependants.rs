//! What waits for dependencies where each version is checked on its own: COPS, COPS-GT, Eiger. Versions from elsewhere
//! wait until what they depend on is applied in this data centre, sessions that moved here until what they have seen is.

use crate::dependency_checked::APPLIED_SURVIVES;
use crate::deps::Deps;
use crate::{Checks, Cx, Protocol, Ticket};
use tidemark_core::{Key, Micros, Stamp};

/// Something that waits; `C` is what a session brings.
pub enum Dependant<C> {
    /// A version.
    Version(Applied),
    /// A session, and until when it waits.
    Session(Ticket, C, Micros),
}

/// A version that shows once this is ready.
pub struct Applied {
    /// Its key, or the first of its keys.
    pub key: Key,
    /// Its other keys.
    pub others: Vec<Key>,
    /// Which it is.
    pub stamp: Stamp,
    /// No sibling is asked: a restart finds out at once whether it was applied.
    alone: bool,
}

impl Applied {
    /// All of its keys.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.key).chain(&self.others)
    }

    /// Changes what is stored beside the version, so that it shows. Whoever learns of it may come back after a crash, so
    /// the change is logged ([`Cx::revise`]) unless a restart would make it at once.
    pub fn show<P: Protocol>(&self, change: impl Fn(&mut P::Meta), cx: &mut Cx<'_, P>) {
        for key in self.keys() {
            if APPLIED_SURVIVES.kept() && !self.alone {
                cx.revise(key, self.stamp, &change);
            } else {
                cx.change_in_memory(key, self.stamp, &change);
            }
        }
    }
}

impl<C> Checks<Dependant<C>> {
    /// A version of these keys that has [`arrived`](Checks::arrived) waits for `near`, what it depends on.
    pub fn version(&mut self, (key, others): (Key, Vec<Key>), stamp: Stamp, near: &Deps) {
        let alone = near.iter().all(|dep| self.knows(dep));
        self.open(near, Dependant::Version(Applied { key, others, stamp, alone }));
    }

    /// A session that comes with `past` waits for `near`.
    pub fn session(&mut self, ticket: Ticket, past: C, near: &Deps, until: Micros) {
        self.open(near, Dependant::Session(ticket, past, until));
    }

    /// The sessions that have waited too long.
    pub fn turn_away(&mut self, now: Micros) -> Vec<Ticket> {
        let late = |waits: &Dependant<C>| matches!(waits, Dependant::Session(_, _, until) if *until <= now);
        let late = self.give_up(late).into_iter();
        late.filter_map(|waits| if let Dependant::Session(ticket, ..) = waits { Some(ticket) } else { None })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, Hlc, PartitionId, ServerId, Vector};

    fn stamp(ts: u64, origin: u8) -> Stamp {
        Stamp::new(Hlc(ts), DcId(origin))
    }

    /// The checks of B/0, which has received A's updates up to 3.
    fn checks() -> Checks<Dependant<char>> {
        let received = Vector::from_entries([Hlc(3), Hlc::ZERO]);
        Checks::new(ServerId::new(DcId(1), PartitionId(0)), 1, received)
    }

    fn next(checks: &mut Checks<Dependant<char>>) -> String {
        match checks.ready() {
            Some(Dependant::Version(Applied { key, stamp, alone, .. })) => {
                checks.apply(stamp);
                format!("{key}{}", if alone { " alone" } else { "" })
            }
            Some(Dependant::Session(_, past, _)) => past.to_string(),
            None => "-".into(),
        }
    }

    #[test]
    fn a_version_is_applied_when_it_is_ready_and_others_go_on() {
        let mut checks = checks();
        checks.arrived(stamp(5, 0));
        checks.arrived(stamp(7, 0));
        checks.version(("y".into(), Vec::new()), stamp(7, 0), &Deps::one(PartitionId(0), stamp(5, 0)));
        assert_eq!(next(&mut checks), "-");
        checks.version(("x".into(), Vec::new()), stamp(5, 0), &Deps::default());
        assert_eq!([next(&mut checks), next(&mut checks), next(&mut checks)], ["x alone", "y alone", "-"]);
        assert!(checks.is_applied(stamp(5, 0)) && checks.is_applied(stamp(7, 0)));
    }

    #[test]
    fn who_asks_a_sibling_is_not_alone_and_what_was_written_here_needs_no_sibling() {
        let mut checks = checks();
        let mut near = Deps::one(PartitionId(1), stamp(9, 1));
        checks.arrived(stamp(5, 0));
        checks.version(("x".into(), Vec::new()), stamp(5, 0), &near);
        assert_eq!(next(&mut checks), "x alone");
        near.include(PartitionId(1), stamp(2, 0));
        assert!(!near.iter().all(|dep| checks.knows(dep)));
    }

    #[test]
    fn sessions_wait_until_their_time_is_over() {
        let ticket = |session| Ticket { node: 0, session, ask: Default::default() };
        let mut checks = checks();
        let near = Deps::one(PartitionId(0), stamp(5, 0));
        checks.session(ticket(1), 'a', &near, 10);
        checks.session(ticket(2), 'b', &near, 20);
        assert_eq!(checks.turn_away(10), [ticket(1)]);
        checks.heard(DcId(0), Hlc(6));
        assert_eq!([next(&mut checks), next(&mut checks)], ["b", "-"]);
    }
}
