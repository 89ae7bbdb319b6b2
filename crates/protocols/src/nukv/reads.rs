//! Reads, at whatever replica: what it has applied decides.

use super::{FOLLOWERS_LOOK, Indexes, READS_ANSWER_IDX, Reply, Request, Seen, Server, What};
use tidemark_contract::core::{Key, Outcome};
use tidemark_contract::cx::found_of;
use tidemark_contract::waiters::Threshold;
use tidemark_contract::{Store, Version};

impl<const HYBRID: bool> Server<HYBRID> {
    /// What `d` adds to what an operation has read, where `sv` is applied: GET, step 3.
    pub(super) fn read(d: &Version<u64>, sv: &Indexes, read: &mut Seen) {
        let origin = d.stamp.origin;
        read.x.raise(origin, if READS_ANSWER_IDX.kept() { d.meta } else { sv.get(origin) }); // D4
        read.t = read.t.max(d.stamp.ts);
    }

    /// GET, step 2.
    pub(super) fn get(keys: &[Key], sv: &Indexes, store: &Store<u64>) -> Reply {
        let mut read = Seen::default();
        let newest = |key: &Key| store.chain(key).next();
        let found = keys.iter().map(|key| found_of(newest(key).inspect(|d| Self::read(d, sv, &mut read))));
        Reply { outcome: Outcome::FoundAll(found.collect()), read, wrote: Seen::default() }
    }

    /// GET at a follower, which does not wait: the leader has applied more.
    pub(super) fn get_behind(
        Request(what, after): &Request,
        applied: &[u64],
        store: &Store<u64>,
    ) -> Option<Reply> {
        let (What::Get(keys), sv) = (what, Indexes(applied.to_vec())) else { return None };
        (!FOLLOWERS_LOOK.kept() || after.reached(&sv)).then(|| Self::get(keys, &sv, store))
    }
}
