//! Which consistency model implies which: the partial order of the models that the checker knows, as a map.
//!
//! Source: M. Roohitavaf's dissertation, section 9.5 (*Model-based development of consistency protocols*) and figure
//! 9.2: how abstract protocols refine each other, so that what refines a stronger model also refines the weaker ones.
//! There a model is a set of guarded actions; here it is a set of properties of histories, and implies another model
//! if every history that keeps the one keeps the other.
//!
//! **Deviation** D1: the figure also relates the ways to implement a model (replication by clients, synchronous or
//! not; Raft, Paxos). Histories do not show these, so they are not on this map.
//!
//! Inclusion of sets gives most of the order, [`IMPLICATIONS`] the rest: what properties imply of each other. That the
//! table is true and complete is tested as attribute exploration does it (B. Ganter and R. Wille, *Formal Concept
//! Analysis*, 1999): `tests/all/refinement.rs` finds no history that contradicts the table, and one history for every set
//! of properties and every property that the table does not derive from it. It is the order of the white box: by
//! values alone fewer violations can be seen.

use crate::guarantee::Guarantee;
use crate::property::{Properties, Property};
use tidemark_core::Promise;

mod drawing;
mod layout;
pub use drawing::Standing;

/// Whatever keeps all premises keeps the conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Implication {
    /// Properties of one history.
    pub premises: &'static [Property],
    /// What it has as well.
    pub conclusion: Property,
    /// The argument, in one line.
    pub because: &'static str,
}

/// What the properties imply of each other.
pub const IMPLICATIONS: [Implication; 8] = [
    Implication {
        premises: &[],
        conclusion: Property::WellFormed,
        because: "every check includes it: nothing can be said of reads that nobody's write explains",
    },
    Implication {
        premises: &[Property::Causal],
        conclusion: Property::ReadYourWrites,
        because: "a session's own writes are in its causal past",
    },
    Implication {
        premises: &[Property::Causal],
        conclusion: Property::MonotonicReads,
        because: "what a session has read is in its causal past",
    },
    Implication {
        premises: &[Property::Causal],
        conclusion: Property::MonotonicWritesGlobal,
        because: "with a write, what its session had written before is in the causal past",
    },
    Implication {
        premises: &[Property::Causal],
        conclusion: Property::WritesFollowReadsGlobal,
        because: "with a write, what its session had read before is in the causal past",
    },
    Implication {
        premises: &[Property::OverwriteOrder],
        conclusion: Property::MonotonicWrites,
        because: "a session's earlier writes are in the causal past of its later ones",
    },
    Implication {
        premises: &[Property::OverwriteOrder],
        conclusion: Property::WritesFollowReads,
        because: "what a session has read is in the causal past of what it writes then",
    },
    Implication {
        premises: &[Property::Causal, Property::Snapshot],
        conclusion: Property::AtomicWrites,
        because: "with one write of a transaction, all of them are in the causal past",
    },
];

/// `properties` with all that they imply.
pub fn closure(properties: Properties) -> Properties {
    let mut closed = properties;
    loop {
        let follows = |i: &&Implication| i.premises.iter().all(|p| closed.contains(*p));
        let more = IMPLICATIONS.iter().filter(follows).fold(closed, |set, i| set.with(i.conclusion));
        if more == closed {
            return closed;
        }
        closed = more;
    }
}

/// A point of the map: a promise, or a single guarantee together with what every promise includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name: that of the promise if it is one, else that of the guarantee, with `-alone` where a promise of this
    /// name asks for more.
    pub name: String,
    /// What it means, in one line.
    pub about: &'static str,
    /// The promise that it is.
    pub promise: Option<Promise>,
    /// The guarantee that it is, by the name under which it is checked on its own.
    pub guarantee: Option<&'static str>,
    /// Its properties, with all that they imply.
    pub properties: Properties,
}

impl Model {
    /// Whether every history that keeps this model keeps `other`.
    pub fn implies(&self, other: &Self) -> bool {
        self.properties.includes(other.properties)
    }

    fn of_promise(promise: Promise) -> Self {
        let (name, about) = (promise.name().to_string(), promise.description());
        Self {
            name,
            about,
            promise: Some(promise),
            guarantee: None,
            properties: closure(Property::of(promise)),
        }
    }

    /// Well-formedness is below everything; any other guarantee stands beside what each promise includes.
    fn of_guarantee(guarantee: &Guarantee) -> Self {
        let base = match guarantee.properties == Properties::default().with(Property::WellFormed) {
            true => Properties::default(),
            false => Property::of(Promise::Eventual),
        };
        let properties = closure(guarantee.properties.iter().fold(base, Properties::with));
        let asks_for_more = Promise::ALL.iter().any(|promise| promise.name() == guarantee.name);
        Self {
            name: if asks_for_more {
                format!("{}-alone", guarantee.name)
            } else {
                guarantee.name.to_string()
            },
            about: guarantee.about,
            promise: None,
            guarantee: Some(guarantee.name),
            properties,
        }
    }
}

/// The models and their order.
#[derive(Clone, Debug)]
pub struct Map {
    models: Vec<Model>,
    levels: Vec<usize>,
}

impl Map {
    /// The map of all promises and guarantees.
    pub fn new() -> Self {
        let mut models: Vec<Model> = Promise::ALL.into_iter().map(Model::of_promise).collect();
        for guarantee in Guarantee::all() {
            let model = Model::of_guarantee(&guarantee);
            match models.iter_mut().find(|known| known.properties == model.properties) {
                Some(known) => known.guarantee = model.guarantee,
                None => models.push(model),
            }
        }
        let levels = levels(&models);
        let mut order: Vec<usize> = (0..models.len()).collect();
        order.sort_by_key(|model| levels[*model]);
        Self {
            models: order.iter().map(|model| models[*model].clone()).collect(),
            levels: order.iter().map(|model| levels[*model]).collect(),
        }
    }

    /// Every model, by level.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// The level of a model, by its place in [`Self::models`]: above all that it implies, and as high as what implies
    /// it allows. The weakest model is on level 0.
    pub fn level(&self, model: usize) -> usize {
        self.levels[model]
    }

    /// What a model implies directly: the models that it implies through no other one.
    pub fn directly(&self, model: usize) -> Vec<usize> {
        let implied = |of: usize| {
            let all = 0..self.models.len();
            all.filter(move |other| *other != of && self.models[of].implies(&self.models[*other]))
        };
        let through = |other: usize| implied(model).any(|between| implied(between).any(|m| m == other));
        implied(model).filter(|other| !through(*other)).collect()
    }

    /// A model's place in [`Self::models`], by name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.models.iter().position(|model| model.name == name)
    }
}

impl Default for Map {
    fn default() -> Self {
        Self::new()
    }
}

/// Each model directly below the lowest one that implies it, and the strongest on top.
fn levels(models: &[Model]) -> Vec<usize> {
    fn depth(models: &[Model], model: usize) -> usize {
        let stronger = |other: &usize| *other != model && models[*other].implies(&models[model]);
        (0..models.len()).filter(stronger).map(|other| depth(models, other) + 1).max().unwrap_or(0)
    }
    let depths: Vec<usize> = (0..models.len()).map(|model| depth(models, model)).collect();
    let deepest = depths.iter().copied().max().unwrap_or(0);
    depths.iter().map(|depth| deepest - depth).collect()
}
