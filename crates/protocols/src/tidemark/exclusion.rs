//! A data centre that is excluded for good: what half arrived of it is settled, and nobody waits for it any more.
//!
//! **Idea.** Whoever read something of C fresh, and wrote, has written what shows elsewhere only once the stable vector passes what was
//! read. If C is lost, and had not told all partitions so much, that never happens. So the survivors agree on where C ends: of each
//! partition the number of its last record that anyone has, and a cut, up to where everything that C wrote is among these records. When all
//! have them, the stable vector passes: whatever a survivor may have read of C is with every survivor. What depends on something that C
//! wrote above the cut may depend on a record that was lost. No survivor has ever shown it, and nobody ever will.
//!
//! - D21 The steps are those of [`Exclusion`], each durable at every server of every survivor before the next one begins. *Hold*: nothing
//!   more is taken of C (`Extensions::ends`), and the server tells what it has: the number of records, up to where C has announced, and
//!   its stable vector. *Cut*: it hides what depends on anything of C above the cut, and takes what is missing, over relays as ever. *Exclude*,
//!   refused until that is here: C's entry of its share in the stable vector is its own clock from now on. Nobody takes C back.
//!
//! **Why it is safe.**
//! - The cut is at or above every stable vector that anybody was shown by: it is at or above those that servers know at *hold*; they
//!   report no more than they told; and whoever learns of more before *cut* refuses that, so that all begin again. What a server may have
//!   forgotten in a crash counts by what others know; a vector that all have forgotten but one session is refused when that session brings
//!   it, since no stable vector lies between the cut and what comes after (`over`).
//! - A version of C shows where `ds[C]` is at or below the cut. Its causes of C are so, too, and here. A version of a survivor depends on
//!   such versions alone: its session read them, or moved here when the stable vector covered its past. Sessions that come from C
//!   later are refused if they depend on something above the cut.
//! - A transaction of C has `ds[C] = ct` in all its versions: all of them show, or none.
//! - What an edge client did on a base of C alone, above the cut, is accepted by nobody: it is asked to do it again on another base.
//! - Everything at or below the cut was announced by C's servers at each partition, hence written before. So no survivor accepts from an edge
//!   client, under a new time, what another one shows of C.

use super::failures::{bygone, excluded_for_good};
use super::*;
use std::borrow::Cow;
use tidemark_contract::order::Order;
use tidemark_contract::removal::{self, Away, End, Stage, Standing, Step};

/// Of which data centre nothing is shown that depends on what it wrote above a cut.
pub(super) type Lost = Option<(DcId, Hlc)>;

/// The data centre that is excluded, or about to be. It outlives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    away: Option<Away>,
    /// Once it is cut.
    end: End,
    /// The number of its last record that is taken here.
    last: u64,
    /// The last round that is over.
    over: u64,
}

impl Excluded {
    /// Carries out an order at server `me`, which stands so now. Doing it again changes nothing.
    ///
    /// # Errors
    /// Says why the order does not fit, or not yet.
    fn obey(&mut self, order: &removal::Exclusion, me: ServerId, now: Standing) -> Result<Standing, String> {
        let removal::Exclusion { dc, round, step } = order;
        if *dc == me.dc {
            return Err("a region cannot do without itself".into());
        }
        let Some(it) = self.away.as_mut().filter(|it| it.round == *round && it.dc == *dc) else {
            return self.begin(order, now);
        };
        match (step, it.stage) {
            (Step::Hold, _)
            | (Step::Cut { .. }, Stage::Cut { .. } | Stage::Excluded { .. })
            | (Step::Exclude, Stage::Excluded { .. }) => {}
            (Step::Cut { end, .. }, Stage::Held) if now.stable > end.stable && CUT_IS_STABLE.kept() => {
                return Err(format!("it has learnt of more that is stable of region {dc}: begin again"));
            }
            (Step::Cut { least, end }, Stage::Held) => {
                self.end = end.clone();
                self.last = end.records.get(me.partition.index()).copied().unwrap_or_default();
                it.stage = Stage::Cut { cut: end.stable, donor: removal::cut(least).1 };
            }
            (Step::Exclude, Stage::Cut { cut, .. }) => {
                if now.records < self.last && RECORDS_ARE_EQUAL.kept() {
                    return Err(format!(
                        "it has {} of the {} records of region {dc} that others have, and gets the rest from them",
                        now.records, self.last
                    ));
                }
                it.stage = Stage::Excluded { cut };
            }
            (Step::Release, Stage::Held | Stage::Cut { .. }) => {
                (self.away, self.end, self.over) = (None, End::default(), self.over.max(*round));
                return Ok(now);
            }
            (_, Stage::Excluded { .. }) => return Err(excluded_for_good(*dc)),
            (_, stage) => return Err(format!("{step:?} does not fit {stage:?}")),
        }
        Ok(it.told)
    }

    /// The first step of a round, or one of another round.
    fn begin(&mut self, order: &removal::Exclusion, now: Standing) -> Result<Standing, String> {
        let removal::Exclusion { dc, round, step } = order;
        match (step, &self.away) {
            (Step::Release, _) => {
                self.over = self.over.max(*round); // a hold that comes later is late
                Ok(now)
            }
            (_, Some(it)) if it.dc != *dc => {
                Err(format!("region {} is excluded, or about to be, and only one can be", it.dc))
            }
            (_, Some(Away { stage: Stage::Excluded { .. }, .. })) => Err(excluded_for_good(*dc)),
            (_, Some(it)) => Err(format!("round {} is under way", it.round)),
            (Step::Hold, None) if *round <= self.over => Err(format!("round {round} is over")),
            (Step::Hold, None) => {
                let (dc, round) = (*dc, *round);
                self.away = Some(Away { dc, round, told: now, least: now.stable, stage: Stage::Held });
                self.last = now.records;
                Ok(now)
            }
            (_, None) => Err("it has to hold first".into()),
        }
    }

    /// Who is excluded, or about to be.
    pub(super) fn away(&self) -> Option<&Away> {
        self.away.as_ref()
    }

    /// Who is excluded.
    pub(super) fn gone(&self) -> Option<DcId> {
        self.away.as_ref().filter(|it| matches!(it.stage, Stage::Excluded { .. })).map(|it| it.dc)
    }

    /// Of whom nothing is shown that depends on what it wrote above the cut.
    #[inline]
    pub(super) fn lost(&self) -> Lost {
        let it = self.away.as_ref()?;
        let cut = !matches!(it.stage, Stage::Held) && LOST_IS_HIDDEN.kept();
        cut.then_some((it.dc, self.end.stable))
    }

    /// The number of the last record of `dc` that is taken, if not all are.
    fn last(&self, dc: DcId) -> Option<u64> {
        self.away.as_ref().filter(|it| it.dc == dc && RECORDS_END.kept()).map(|_| self.last)
    }

    /// What this server has, or its share of what is stable: of who is to be excluded no more than it told, or the cut; and of who is excluded
    /// as much as of itself, since nothing more will come.
    fn bound(&self, vv: &mut Vector, m: DcId) {
        let Some(it) = &self.away else { return };
        vv[it.dc] = match it.stage {
            Stage::Held => vv[it.dc].min(it.told.announced),
            Stage::Excluded { .. } => vv[it.dc].max(self.end.over).max(vv[m]),
            _ => vv[it.dc].min(self.end.stable),
        };
    }

    /// Whether this is no stable vector here: some server may have known it, and has forgotten it.
    #[inline]
    pub(super) fn doubts(&self, stable: &Vector) -> bool {
        let Some(it) = &self.away else { return false };
        let entry = stable[it.dc];
        !matches!(it.stage, Stage::Held)
            && DOUBTS_ARE_REFUSED.kept()
            && (self.end.stable < entry && entry < self.end.over)
    }

    /// A stable vector, without what is in doubt.
    #[inline]
    pub(super) fn believed<'v>(&self, stable: &'v Vector) -> Cow<'v, Vector> {
        let mut stable = Cow::Borrowed(stable);
        if self.doubts(&stable)
            && let Some(it) = &self.away
        {
            stable.to_mut()[it.dc] = self.end.stable;
        }
        stable
    }
}

impl Tidemark {
    /// What a reader sees who has this stable vector.
    #[inline]
    pub(super) fn seen_at(&self, dsv: Vector) -> At {
        At { m: self.m, l: self.l, dsv, lost: self.excluded.lost() }
    }

    /// Who is excluded counts as if it had said as much as this server, from the start on.
    pub(super) fn pass(&mut self, cx: &mut Cx<'_, Self>) {
        let Some(gone) = self.excluded.gone() else { return };
        self.excluded.bound(&mut self.st.vv, self.m);
        cx.forget_floor_of(gone);
    }

    /// This server's share of what is stable (T8).
    pub(super) fn shared(&mut self, cx: &mut Cx<'_, Self>) -> Vector {
        self.pass(cx);
        let mut vv = self.st.vv.clone();
        self.excluded.bound(&mut vv, self.m);
        vv
    }

    /// Why a request is refused: it comes from what has ended.
    pub(super) fn bygone(&self, request: &Request) -> Option<Failure> {
        use request::Request as Of;
        let away = self.excluded.away()?;
        let stable = match request {
            Request::Of(Of::Get(_, (dsv, _)) | Of::Walk(_, (dsv, _)) | Of::Rotx(_, (dsv, _))) => dsv,
            Request::Of(Of::Put(.., past)) | Request::PutAll(_, past) | Request::Transact(_, past) => {
                &past.dsv
            }
            Request::Of(Of::Cover((ds, home))) => {
                let cut = self.excluded.lost().filter(|_| MOVERS_ARE_REFUSED.kept());
                let refused = cut.is_some_and(|(dc, cut)| dc == *home && ds[dc] > cut);
                return refused.then(|| bygone(away.dc));
            }
            Request::Of(Of::At(..)) => return None,
        };
        self.excluded.doubts(stable).then(|| bygone(away.dc))
    }
}

/// An operator's order: carries out a step.
pub(super) fn obey(
    server: &mut Tidemark,
    order: &Order,
    records: &[u64],
    cx: &mut Cx<'_, Tidemark>,
) -> Result<Standing, String> {
    let Order::Exclusion(order) = order else { return Err(order.unknown::<Tidemark>()) };
    let (m, dc, st) = (cx.me.dc, order.dc, &server.st);
    let now = Standing {
        announced: st.vv[dc],
        clock: st.vv[m].max(Hlc::at(cx.now)),
        stable: st.stable[dc],
        records: records[dc.index()],
        ..Standing::default()
    };
    let before = server.excluded.clone();
    let told = server.excluded.obey(order, cx.me, now);
    if server.excluded != before {
        let lasts = server.excluded.clone();
        server.st.ceiling.persist(|hard| hard.excluded = lasts, cx);
        server.pass(cx);
        if before.lost() != server.excluded.lost() {
            stabilised::turn_away(server, cx); // who came before the cut may come from what is lost
        }
    }
    told
}

/// See [`Extensions::ends`].
pub(super) fn last(server: &Tidemark, dc: DcId) -> Option<u64> {
    server.excluded.last(dc)
}
