//! A data centre that was cut off, and that the others do without until it is back.
//!
//! A stable time that is the least of what all data centres have announced stands still once one of them is cut off.
//! The others, the *survivors*, can count it no more and hide what it wrote above a *cut* (001 §5.5). They have to
//! agree, or one shows what depends on something that another hides (erratum E-11); here an operator makes them, one
//! data centre at a time, in steps that every server of every survivor has made durable before the next one begins:
//!
//! 1. *Hold.* What the absent one announces from now on does not count. Each server tells how far it had come.
//! 2. *Cut*: of each survivor the least that its servers told, and of these the greatest. What the absent one wrote above
//!    it is hidden. Whoever had come less far asks the survivor that had come farthest, the *donor*, for the rest.
//! 3. *Exclude*, which a server refuses until it has that: the absent one is counted no more.
//! 4. *Hold* again, for the way back. Each server tells its clock; its stable time goes no further.
//! 5. *Readmit* from a time above all clocks. Stable times go on, and pass that time once the absent one has announced
//!    it. A reader whose stable time is that late sees what was hidden.
//!
//! **Why it is safe.**
//! - Whatever a server reported, and its data centre may still be using, is at or below what it tells in 1. So no stable
//!   time passes the least that its data centre told before the server that told it is through 3; by then, all survivors
//!   hide.
//! - Heartbeats leave no trace in the log, so a server that started again may have reported more than it knows: it tells
//!   nothing in 1 unless it has heard from the absent one since, or that one had been silent for long before the crash,
//!   for then its last word was made durable.
//! - From that least a stable time goes to the cut at once, and is never between: of what was fetched a donor may have
//!   collected what only a reader between would see. A deletion that it has forgotten it has told of in 1.
//! - All survivors hide by the stable time of the reader alone. What depends on something hidden was written by sessions
//!   that had passed the time of 5, hence above it; or in the absent data centre; or by sessions that moved from there,
//!   which are refused. Those that have passed it and move to another survivor wait until that one has passed it, too.
//! - While older versions may come from the absent one, no deletion is forgotten that was not older than all of them.

use crate::ceiling;
use crate::{Store, Version};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tidemark_core::{DcId, Hlc, Key, Stamp, Vector, Write};

mod orders;
pub use orders::cut;
pub use orders::{End, Exclusion, Standing, Step};

/// How many versions a donor sends in one message.
const PIECE: usize = 1_000;

/// Who is this far behind, in microseconds, is silent.
const SILENT: u64 = ceiling::STEP;

/// What a server asks of a donor: what the absent data centre wrote above one time, up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Lacks {
    pub dc: DcId,
    pub above: Hlc,
    pub upto: Hlc,
}

/// What a donor answers: these versions of a data centre, which are all up to a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Found<M> {
    pub dc: DcId,
    pub versions: Vec<(Key, Stamp, M, Write)>,
    pub upto: Hlc,
}

/// The data centre that is away, if one is, as one server sees it, and what it has to know to do without one. It outlives a
/// crash, if it is persisted whenever it has [`changed`](Self::changed).
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    away: Option<Away>,
    /// The last round that is over.
    over: u64,
    /// The last word of those who are silent.
    silent: BTreeMap<DcId, Hlc>,
    /// The newest deletion of each data centre that was forgotten.
    forgotten: BTreeMap<DcId, Hlc>,
    /// What had been announced for certain when this server started, unless for the first time.
    #[serde(skip)]
    started: Option<Vector>,
    #[serde(skip)]
    changed: bool,
}

/// A data centre that is held, excluded, or on its way back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Away {
    /// Which.
    pub dc: DcId,
    /// Which exclusion or readmission.
    pub round: u64,
    /// Where the server stood when it held.
    pub told: Standing,
    /// The least that a server of its data centre told.
    pub least: Hlc,
    /// How far it is.
    pub stage: Stage,
}

/// Which steps were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Stage {
    Held,
    Cut { cut: Hlc, donor: DcId },
    Excluded { cut: Hlc },
    HeldAgain { cut: Hlc },
    Readmitted { cut: Hlc, from: Hlc },
}

impl fmt::Debug for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { away, silent, forgotten, .. } = self;
        match away {
            None if silent.is_empty() && forgotten.is_empty() => f.write_str("nobody"),
            _ => write!(f, "{away:?}, silent {silent:?}, forgotten {forgotten:?}"),
        }
    }
}

impl Removal {
    /// What was recovered, at a server that starts for the `life`th time: raises in its version vector what others had
    /// announced last.
    #[must_use]
    pub fn recovered(mut self, life: u64, vv: &mut Vector) -> Self {
        self.silent.iter().for_each(|(dc, announced)| vv.raise(*dc, *announced));
        self.started = (life > 1).then(|| vv.clone());
        self
    }

    /// Whether it has changed since it was asked last.
    pub fn changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Who of those that `vv` is about is silent. To be called before `vv` is reported.
    pub fn listen(&mut self, me: DcId, vv: &Vector) {
        let clock = vv[me].micros();
        let silent =
            vv.iter().filter(|(dc, announced)| announced.micros() + SILENT < clock && self.knows(*dc, vv));
        let silent = silent.collect();
        self.changed |= self.silent != silent;
        self.silent = silent;
    }

    /// Whether this server knows up to when a data centre has announced what it ever reported.
    fn knows(&self, dc: DcId, vv: &Vector) -> bool {
        self.silent.contains_key(&dc) || self.started.as_ref().is_none_or(|started| vv[dc] > started[dc])
    }

    /// Carries out an order at a server of data centre `me` whose version vector is `vv`. Doing it again changes nothing.
    ///
    /// # Errors
    /// Says why the order does not fit, or not yet.
    pub fn obey(&mut self, order: &Exclusion, me: DcId, vv: &Vector) -> Result<Standing, String> {
        let Exclusion { dc, round, step } = order;
        let (dc, round) = (*dc, *round);
        let forgotten = self.forgotten.get(&dc).copied().unwrap_or_default();
        let now = Standing { announced: vv[dc], clock: vv[me], forgotten, ..Standing::default() };
        if dc == me {
            return Err("a region cannot do without itself".into());
        }
        self.changed = true;
        match &mut self.away {
            it if *step == Step::Release && it.as_ref().is_none_or(|it| it.round != round) => {
                self.over = self.over.max(round); // a hold that comes later is late
                Ok(now)
            }
            None => self.begin(dc, round, step, now, vv),
            Some(it) if it.dc != dc => Err(format!("region {} is away already, and only one can be", it.dc)),
            Some(it) => {
                it.stage = match (step, it.stage) {
                    (Step::Hold, Stage::Excluded { cut }) if round > it.round => {
                        (it.round, it.told.clock) = (round, now.clock.max(cut));
                        Stage::HeldAgain { cut }
                    }
                    _ if round != it.round => return Err(format!("round {} is under way", it.round)),
                    (Step::Release, Stage::Held | Stage::Cut { .. }) => {
                        (self.away, self.over) = (None, self.over.max(round));
                        return Ok(now);
                    }
                    _ => it.next(step, me, now.announced)?,
                };
                let held_again = matches!(it.stage, Stage::HeldAgain { .. });
                Ok(Standing {
                    announced: if held_again { now.announced } else { it.told.announced },
                    ..it.told
                })
            }
        }
    }

    /// The first step, or one that comes late.
    fn begin(
        &mut self,
        dc: DcId,
        round: u64,
        step: &Step,
        now: Standing,
        vv: &Vector,
    ) -> Result<Standing, String> {
        match step {
            Step::Hold if round <= self.over => return Err(format!("round {round} is over")),
            Step::Hold if !self.knows(dc, vv) => {
                return Err(format!("it was started again and has not heard from region {dc} since"));
            }
            Step::Hold => {
                self.away = Some(Away { dc, round, told: now, least: now.announced, stage: Stage::Held });
            }
            Step::Readmit { .. } if round <= self.over => {} // it was done
            _ => return Err("it has to hold first".into()),
        }
        Ok(now)
    }

    /// A server's share in the stable time: the least that any data centre has announced, which may be one that has to be
    /// done without.
    pub fn share(&self, vv: &Vector) -> Hlc {
        let Some(it) = &self.away else { return vv.min() };
        let others = vv.iter().filter(|(dc, _)| *dc != it.dc).map(|(_, ts)| ts).min().unwrap_or_default();
        match it.stage {
            Stage::Held | Stage::Cut { .. } => others.min(it.told.announced),
            Stage::Excluded { .. } => others,
            Stage::HeldAgain { .. } => others.min(it.told.clock),
            Stage::Readmitted { from, .. } if vv[it.dc] >= from => others.min(vv[it.dc]),
            Stage::Readmitted { from, .. } => others.min(Hlc(from.0 - 1)),
        }
    }

    /// Whether this cannot be a stable time here, for it lies between the least that was told and the cut.
    pub fn skips(&self, stable: Hlc) -> bool {
        let above = self.away.as_ref().is_some_and(|it| stable > it.least);
        above && self.hides(stable).is_some_and(|(_, cut)| stable < cut)
    }

    /// For a reader with this stable time: of which data centre nothing is shown that it wrote above a cut.
    #[inline]
    pub fn hides(&self, stable: Hlc) -> Option<(DcId, Hlc)> {
        let it = self.away.as_ref()?;
        match it.stage {
            Stage::Held => None,
            Stage::Cut { cut, .. } | Stage::Excluded { cut } | Stage::HeldAgain { cut } => Some((it.dc, cut)),
            Stage::Readmitted { cut, from } => (stable < from).then_some((it.dc, cut)),
        }
    }

    /// Whether a session that comes from `home` with a past up to `dt` may know of what is hidden.
    pub fn refuses(&self, home: DcId, dt: Hlc, stable: Hlc) -> bool {
        self.hides(stable).is_some_and(|(dc, cut)| dc == home && dt > cut)
    }

    /// Whether other survivors may show already what is hidden here.
    pub fn returns(&self) -> bool {
        let back = |it: &Away| matches!(it.stage, Stage::HeldAgain { .. } | Stage::Readmitted { .. });
        self.away.as_ref().is_some_and(back)
    }

    /// Whether `d` may be forgotten with everything older once it is safe, if it is a deletion; it is noted then.
    pub fn forgets<M>(&mut self, d: &Version<M>) -> bool {
        if d.write != Write::Remove {
            return true;
        }
        let may = |it: &Away| {
            let decided = !matches!(it.stage, Stage::Held | Stage::Cut { .. });
            decided && d.stamp.ts <= it.told.announced
        };
        if !self.away.as_ref().is_none_or(may) {
            return false;
        }
        let forgotten = self.forgotten.entry(d.stamp.origin).or_default();
        self.changed |= d.stamp.ts > *forgotten;
        *forgotten = d.stamp.ts.max(*forgotten);
        true
    }

    /// What to ask of whom, where not everything up to the cut has come.
    pub fn lacks(&self, vv: &Vector) -> Option<(DcId, Lacks)> {
        let it = self.away.as_ref()?;
        let Stage::Cut { cut: upto, donor } = it.stage else { return None };
        let above = vv[it.dc].max(it.told.announced);
        (above < upto).then_some((donor, Lacks { dc: it.dc, above, upto }))
    }

    /// At the donor: the oldest of what is lacking, as much as goes in one message.
    pub fn find<M: Clone>(store: &Store<M>, Lacks { dc, above, mut upto }: Lacks) -> Found<M> {
        let mut versions = Vec::new();
        store.dump(0, usize::MAX, |key, d| {
            if d.stamp.origin == dc && above < d.stamp.ts && d.stamp.ts <= upto {
                versions.push((Key(key.to_vec().into()), d.stamp, d.meta.clone(), d.write.clone()));
            }
        });
        versions.sort_by_key(|(_, stamp, ..)| *stamp);
        if versions.len() > PIECE {
            versions.truncate(PIECE);
            upto = versions[PIECE - 1].1.ts;
        }
        Found { dc, versions, upto }
    }

    /// Ends a readmission, if it can: nobody reads a snapshot any more that is older than `safe`.
    pub fn end(&mut self, safe: Hlc) {
        let Some(it) = &self.away else { return };
        if matches!(it.stage, Stage::Readmitted { from, .. } if safe >= from) {
            (self.over, self.away, self.changed) = (self.over.max(it.round), None, true);
        }
    }

    /// Who is away.
    pub fn away(&self) -> Option<&Away> {
        self.away.as_ref()
    }
}

impl Away {
    /// The next stage, or the same if `step` was taken before.
    fn next(&mut self, step: &Step, me: DcId, announced: Hlc) -> Result<Stage, String> {
        Ok(match (step, self.stage) {
            (Step::Hold, stage) | (Step::Exclude, stage @ Stage::Excluded { .. }) => stage,
            (Step::Cut { least, .. }, Stage::Held) => {
                let (cut, donor) = cut(least);
                self.least = least[me];
                Stage::Cut { cut, donor }
            }
            (Step::Cut { .. }, stage @ (Stage::Cut { .. } | Stage::Excluded { .. })) => stage,
            (Step::Exclude, Stage::Cut { cut, donor }) => {
                if announced.max(self.told.announced) < cut {
                    return Err(format!(
                        "region {donor} has yet to send what is missing of region {}",
                        self.dc
                    ));
                }
                Stage::Excluded { cut }
            }
            (Step::Release, Stage::HeldAgain { cut }) => Stage::Excluded { cut },
            (Step::Readmit { from }, Stage::HeldAgain { cut }) if *from > self.told.clock => {
                Stage::Readmitted { cut, from: *from }
            }
            (Step::Readmit { .. }, stage @ Stage::Readmitted { .. }) => stage,
            (_, stage) => return Err(format!("{step:?} does not fit {stage:?}")),
        })
    }
}

#[cfg(test)]
mod tests;
