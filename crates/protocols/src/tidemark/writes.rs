//! PUT (4 to 7), and what servers learn from sessions (1, 4, 8).

use super::*;

impl Tidemark {
    /// PUT.
    #[inline]
    pub(super) fn put(
        &mut self,
        ticket: Ticket,
        key: Key,
        update: Update,
        brought: Past,
        cx: &mut Cx<'_, Self>,
    ) {
        self.bring(&brought, cx); // 4
        if Self::is_apart(&update, cx) {
            return self.transact(ticket, key, update, brought, cx);
        }
        if self.has_to_wait(&key, &update, cx) {
            return self.hold(ticket, key, update, brought, cx); // T11
        }
        let (m, view, known) = (cx.me.dc, self.fresh(cx), self.known(cx));
        let see = |past: &mut Past, d: &Version<Meta>| {
            past.saw(d, m);
            past.dsv.merge(&known);
        };
        let (outcome, past) = cx.update(&key, update, &view, Past::default(), see, |past, cx| {
            let (new, meta) = self.version(brought, past, cx)?;
            meta.need.iter().for_each(|_| self.exceptional.watch(&key, new)); // D5
            Ok(Draft::new(new, meta))
        });
        self.written_now(cx);
        cx.answer(ticket, outcome, past); // 7
    }

    /// Takes over what a session brings that writes.
    #[inline]
    pub(super) fn bring(&mut self, Past { ds, dsv, l }: &Past, cx: &mut Cx<'_, Self>) {
        if PUT_TAKES_DSV.kept() {
            let (m, fence) = (cx.me.dc, self.st.stable[cx.me.dc]);
            self.st.stable.merge(&self.excluded.believed(dsv));
            self.st.stable[m] = if PUT_TAKES_FENCE.kept() { self.st.stable[m] } else { fence };
            self.take_l(*l, cx);
        }
        if !DS_IS_NOT_STABLE.kept() {
            self.st.stable.merge(ds);
        }
    }

    /// A version of a session that brings this and has `seen` that (D3), to which is added what it learns.
    #[inline]
    pub(super) fn version(
        &mut self,
        Past { mut ds, l, .. }: Past,
        seen: &mut Past,
        cx: &mut Cx<'_, Self>,
    ) -> Result<(Stamp, Meta), Failure> {
        let m = cx.me.dc;
        ds.merge(&seen.ds);
        let fence = if PUT_ABOVE_FENCE.kept() { self.st.stable[m] } else { Hlc::ZERO };
        let new = cx.stamp_above(self.clock(cx), ds.max().max(fence))?; // 5
        self.st.written(new.ts, cx);
        let stable = self.need(&ds, m); // 6
        let local = if VERSIONS_NEED_L.kept() { seen.l.max(l) } else { Hlc::ZERO };
        seen.ds.include(new);
        seen.dsv.merge(&stable);
        let announced = if UPTO_IS_ANNOUNCED.kept() { self.announced(cx) } else { new.ts }; // 7
        let upto = if announced < new.ts { announced } else { Hlc::ZERO };
        let plain = ds.le_elsewhere(&stable, m) && local <= self.st.safe()[self.l] && upto == Hlc::ZERO;
        let need = (!plain).then(|| Box::new(Need { stable, local, upto }));
        Ok((new, Meta { ds, need, edge: None }))
    }

    /// What of these dependencies is stable; entry m is zero.
    pub(super) fn need(&self, ds: &Vector, m: DcId) -> Vector {
        let mut need = ds.clone();
        need.meet(&self.st.stable);
        need[m] = Hlc::ZERO;
        need
    }

    /// Merges DSV_c and L_c (1, 4, 8).
    #[inline]
    pub(super) fn learn_from(&mut self, (dsv, l): &Known, cx: &mut Cx<'_, Self>) {
        self.st.stable.merge(&self.excluded.believed(dsv));
        self.take_l(*l, cx);
    }
}
