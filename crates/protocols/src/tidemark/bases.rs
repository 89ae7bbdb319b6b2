//! Snapshots that several data centres have whole ([`tidemark_contract::bases`], 004).
//!
//! **Idea.** V(b) is what was written at or below `b`, and depends on nothing above. That asks neither when a reader comes nor what had
//! come by then. So it is the same set in all data centres whose stable vectors cover `b`, and it is closed under causes.
//!
//! - D16 Roots of the trees tell each other the stable vector, with L as the own entry, once it is durable (28). What is collected lies in
//!   every base that is kept. A base is a snapshot vector whose entries m and L are both `b[m]`.

use super::transactions::Message;
use super::*;
use std::collections::VecDeque;
use tidemark_contract::bases::Bases;
use tidemark_contract::core::PartitionId;

/// Who knows the bases of a data centre.
const ROOT: PartitionId = PartitionId(0);

/// The bases, at the root.
pub(super) struct Kept {
    bases: Bases,
    /// Whether there are any.
    pub(super) any: bool,
    tell_at: Micros,
    /// What was stable here, and durable, when this server started.
    was_stable: Vector,
    /// Those of the last while, oldest first, each with when it was the newest.
    recent: VecDeque<(Micros, Vec<Vector>)>,
}

impl Kept {
    /// With the bases of an earlier life. One that was not kept then begins at what was stable: below, something may be collected.
    pub(super) fn start(was: &mut Lasting, l: DcId, cx: &Cx<'_, Tidemark>) -> Self {
        let most = if cx.me.partition == ROOT { cx.params.base_regions.min(cx.topology.dcs) } else { 0 };
        was.bases.resize(most, has(&was.times.stable, cx.me.dc, l));
        let bases = Bases::new(cx.topology.dcs, was.bases.clone());
        let was_stable = if BASES_ARE_HERE.kept() {
            has(&was.times.stable, cx.me.dc, l).raised(l, was.times.stable[l])
        } else {
            Vector::default()
        };
        Self { bases, any: cx.params.base_regions > 0, tell_at: 0, was_stable, recent: VecDeque::new() }
    }

    /// Another data centre has told.
    pub(super) fn told(&mut self, dc: DcId, stable: &Vector) {
        self.bases.told(dc, stable);
    }
}

impl Tidemark {
    /// θ: tells the other roots what is stable here, and finds the bases of now.
    pub(super) fn tell_bases(&mut self, cx: &mut Cx<'_, Self>) {
        if self.kept.bases.all().is_empty() || cx.mono < self.kept.tell_at {
            return;
        }
        self.kept.tell_at = cx.mono + cx.params.tell_us;
        let (m, stable) = (cx.me.dc, self.st.stable.clone());
        let told = has(&stable, m, self.l);
        self.kept.bases.told(m, &told);
        self.kept.bases.without(self.excluded.gone()); // D21
        self.kept.bases.advance(m); // 29
        let bases = self.kept.bases.all().to_vec();
        if self.retain > 0 {
            let recent = &mut self.kept.recent;
            recent.push_back((cx.mono, bases.clone()));
            while recent.front().is_some_and(|(at, _)| at + 2 * self.retain < cx.mono) {
                recent.pop_front();
            }
        }
        let lasts = |was: &mut Lasting| (was.times.stable, was.bases) = (stable, bases);
        self.st.ceiling.persist(lasts, cx); // 28
        for dc in cx.topology.all_dcs().filter(|dc| *dc != m) {
            cx.send(ServerId::new(dc, ROOT), Peer::Own(Message::Told(told.clone())));
        }
    }

    /// What one data centre has, what two have, and so on, as far as that is kept; and what each has told. Only the root of a data centre
    /// knows.
    pub fn bases(&self) -> (&[Vector], &[Vector]) {
        (self.kept.bases.all(), self.kept.bases.all_told())
    }

    /// What lies above is not collected: the snapshot that is safe, and after a restart what may have been.
    pub(super) fn collected(&self) -> Vector {
        let mut safe = At::safe(self.m, self.l, self.st.safe());
        safe.merge(&self.kept.was_stable);
        safe
    }

    /// Whether all that is in a base is here, and nothing that is not was taken for the oldest that anybody reads.
    pub(super) fn has_base(&self, At { m, dsv, .. }: &At, cx: &Cx<'_, Self>) -> bool {
        let received = self.st.vv.raised(self.l, self.announced(cx));
        let is_here = dsv.le_elsewhere(&received, *m) && !self.excluded.doubts(dsv);
        self.collected().le(dsv) && is_here || !BASES_ARE_HERE.kept()
    }

    /// The snapshot that so many data centres have whole.
    ///
    /// # Errors
    /// There is none, or none yet.
    pub(super) fn base(&self, regions: u8) -> Result<Vector, Failure> {
        let (regions, most) = (usize::from(regions), self.kept.bases.all().len());
        if regions > most {
            return Err(failures::no_bases(most));
        }
        let base = self.kept.bases.base(regions).ok_or_else(|| failures::no_base_yet(regions))?;
        Ok(self.snapshot_of(base))
    }

    /// The bases that are kept, as snapshots: those of now, and the oldest that can still be read.
    pub(super) fn kept_bases(&self) -> impl Iterator<Item = Vector> {
        let oldest = self.kept.recent.front().into_iter().flat_map(|(_, bases)| bases);
        self.kept.bases.all().iter().chain(oldest).map(|base| self.snapshot_of(base))
    }

    pub(super) fn snapshot_of(&self, base: &Vector) -> Vector {
        base.raised(self.l, base[self.m])
    }
}

/// What a data centre has whose stable vector this is.
fn has(stable: &Vector, m: DcId, l: DcId) -> Vector {
    let mut has = stable.first(l.index());
    has[m] = stable[l];
    has
}
