//! What an operator says, and what servers answer.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_core::{DcId, Hlc, ServerId, Vector};

/// What an operator orders, about one data centre. Orders may be lost, repeated, and late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Which data centre.
    pub dc: DcId,
    /// Tells this exclusion or readmission from earlier ones, which have smaller numbers.
    pub round: u64,
    /// What is to be done.
    pub step: Step,
}

/// One step of an exclusion or readmission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Prepare: for an exclusion, or if it is excluded for its readmission.
    Hold,
    /// Go on as before: what was prepared does not come. Only while nobody was told to exclude, or to readmit.
    Release,
    /// Hide what it wrote above the cut, and get what is below.
    Cut {
        /// What every server of a survivor had received of it: an entry a data centre. The largest is the cut.
        least: Vector,
        /// Where it ends, in protocols that exclude for good.
        #[serde(default)]
        end: End,
    },
    /// Do without it.
    Exclude,
    /// Count it again.
    Readmit {
        /// From this stable time on what was hidden is shown.
        from: Hlc,
    },
}

/// Where a data centre ends that is excluded for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The cut: everything that it wrote up to here is with every survivor, and no stable vector of theirs had more.
    pub stable: Hlc,
    /// Stable vectors go from the cut to this, or higher.
    pub over: Hlc,
    /// Of each partition the number of its last record that a survivor has.
    pub records: Vec<u64>,
}

/// What a server answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Up to here it has everything of the data centre, and no report of its was ever above.
    pub announced: Hlc,
    /// No stable time of its that does without the data centre was ever above this.
    pub clock: Hlc,
    /// The newest deletion by the data centre that it has forgotten.
    pub forgotten: Hlc,
    /// Up to here the data centre is stable, as far as it knows, in protocols with stable vectors.
    #[serde(default)]
    pub stable: Hlc,
    /// The number of the last record that it has of the data centre.
    #[serde(default)]
    pub records: u64,
}

impl Standing {
    /// What to cut by, once every server of every survivor holds. None if a server lacks what the donor has forgotten: a
    /// deletion.
    pub fn least(all: &BTreeMap<ServerId, Standing>) -> Option<Vector> {
        let mut least = Vector::default();
        for (server, standing) in all {
            let of_dc = all.iter().filter(|(other, _)| other.dc == server.dc).map(|(_, told)| told.announced);
            least.raise(server.dc, of_dc.min().unwrap_or(standing.announced));
        }
        let (_, donor) = cut(&least);
        let knows = |(server, told): (&ServerId, &Standing)| {
            let at_donor = all.get(&ServerId::new(donor, server.partition));
            // If nobody has heard anything, nobody is the donor.
            server.dc == donor || at_donor.is_none_or(|donor| told.announced >= donor.forgotten)
        };
        all.iter().all(knows).then_some(least)
    }

    /// Where the data centre ends, once every server of every survivor holds.
    pub fn end(all: &BTreeMap<ServerId, Standing>) -> End {
        let partitions = all.keys().map(|server| server.partition.index() + 1).max().unwrap_or_default();
        let (mut announced, mut records) = (vec![Hlc::ZERO; partitions], vec![0; partitions]);
        for (server, told) in all {
            let at = server.partition.index();
            announced[at] = told.announced.max(announced[at]);
            records[at] = told.records.max(records[at]);
        }
        let known = all.values().map(|told| told.stable).max().unwrap_or_default();
        let stable = announced.into_iter().min().unwrap_or_default().max(known);
        let latest = all.values().map(|told| told.clock.max(told.announced)).max().unwrap_or_default();
        End { stable, over: latest.max(stable).next(), records }
    }

    /// What to order once every server of every survivor holds: none if that cannot be ([`Self::least`]).
    pub fn cut(all: &BTreeMap<ServerId, Standing>) -> Option<Step> {
        Some(Step::Cut { least: Self::least(all)?, end: Self::end(all) })
    }

    /// From when on what was hidden may be shown, once every server of every survivor holds.
    pub fn from(all: &BTreeMap<ServerId, Standing>) -> Hlc {
        all.values().map(|told| told.clock).max().unwrap_or_default().next()
    }
}

/// The cut, and the donor.
pub fn cut(least: &Vector) -> (Hlc, DcId) {
    least.iter().map(|(dc, announced)| (announced, dc)).max().unwrap_or_default()
}
