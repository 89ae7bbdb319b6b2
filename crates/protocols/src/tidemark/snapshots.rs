//! What readers see: fresh views, and snapshots of one round (8 to 10).

use super::*;

impl Tidemark {
    /// What a reader at `sv`, whose view this is, finds of keys of this partition.
    pub(super) fn slice_as(
        &mut self,
        view: &View,
        sv: &Vector,
        keys: &Several<(u32, Key)>,
        cx: &mut Cx<'_, Self>,
    ) -> FoundSlice<Self> {
        let (m, mut seen) = (cx.me.dc, Past::default());
        self.take_l(sv[self.l], cx);
        if SLICE_LIFTS.kept() {
            self.st.stable.raise(m, sv[m]); // 9
            self.st.promise(sv[m], cx); // D1
        }
        let mut see = |d: &Version<Meta>| seen.saw(d, m);
        let found = if keys.looks() {
            let now = self.fresh(cx);
            cx.look_in(&keys.keys, view, &now, &mut see) // T13
        } else {
            cx.read_slice(keys, view, &mut see)
        };
        seen.dsv[m] = if SLICE_FENCES.kept() { self.st.stable[m] } else { Hlc::ZERO }; // 10
        (found, seen)
    }

    /// ROTX.
    pub(super) fn rotx(&mut self, ticket: Ticket, keys: Several, known: &Known, cx: &mut Cx<'_, Self>) {
        let sv = self.snapshot(known, cx); // 8
        let seen = self.read_in(&sv);
        self.st.scatter((ticket, keys), sv, seen, cx); // 10
    }

    /// What whoever knows this reads in now.
    pub(super) fn snapshot(&mut self, known: &Known, cx: &mut Cx<'_, Self>) -> Vector {
        let (m, l) = (cx.me.dc, self.l);
        self.learn_from(known, cx);
        self.st.stable.raise(m, self.clock(cx).max(Hlc::at(cx.now)).max(self.st.stable[l]));
        let mut sv = self.st.stable.clone();
        sv[l] = if SNAPSHOT_HAS_L.kept() { sv[l] } else { sv[m] };
        sv
    }

    /// What a session comes to remember that reads at `sv`.
    pub(super) fn read_in(&self, sv: &Vector) -> Past {
        Past { dsv: self.without_l(sv), ..Past::default() }
    }

    /// What a reader here sees now.
    #[inline]
    pub(super) fn fresh(&self, _: &Cx<'_, Self>) -> View {
        View::Fresh(self.seen_at(self.st.stable.clone()))
    }

    /// What a reader takes along: the stable vector and the fence. Of L it takes what it needs.
    #[inline]
    pub(super) fn known(&self, cx: &Cx<'_, Self>) -> Vector {
        let (m, mut dsv) = (cx.me.dc, self.without_l(&self.st.stable));
        dsv[m] = if GET_FENCES.kept() { dsv[m] } else { Hlc::ZERO };
        dsv
    }

    #[inline]
    pub(super) fn without_l(&self, dsv: &Vector) -> Vector {
        dsv.first(self.l.index())
    }

    /// A session that moved waits until this data centre covers what it depends on; what of it was written here, by L (T14).
    pub(super) fn cover(&mut self, ticket: Ticket, ds: Vector, cx: &mut Cx<'_, Self>) {
        let (m, l) = (cx.me.dc, self.l);
        let mut needs = ds.without(m);
        needs[l] = if MOVERS_WAIT_FOR_L.kept() { ds[m] } else { Hlc::ZERO };
        let told = |server: &mut Self, ds: Vector| {
            let dsv = server.without_l(&server.st.stable);
            let l = ds[server.m];
            Answer(Outcome::Adopted, Past { ds, dsv, l })
        };
        stabilised::arrive(self, ticket, (needs, ds), told, cx);
    }

    /// D6.
    pub(super) fn at(&mut self, ticket: Ticket, keys: Vec<Key>, time: Micros, cx: &mut Cx<'_, Self>) {
        let request = Request::Of(request::Request::At(keys.clone(), time));
        let Some(time) = stabilised::at_a_time(self, time, (ticket, request), cx) else { return };
        let (m, view) = (cx.me.dc, View::At(time, self.excluded.lost()));
        let mut past = Past { dsv: self.known(cx), ..Past::default() };
        let found = cx.read_all(&keys, &view, |d| past.saw(d, m));
        cx.answer(ticket, Outcome::FoundAll(found), past);
    }
}
