//! Tests of protocols by hand: one for each numbered step of a paper's listings, one for each deviation, the
//! traces of the errata, and golden transcripts.
//!
//! They are a package of their own because they are compiled without optimisation, and the protocols with all of it.

#[macro_use]
mod each;

mod accf;
mod at_a_time;
mod causal_spartan_x;
mod cc_lo;
mod contrarian;
mod cops;
mod cops_gt;
mod cure;
mod dependency_checked;
mod eiger;
mod eventual;
mod gentlerain;
mod golden;
mod hybrid;
mod interactive;
mod nukv;
mod occult;
mod okapi;
mod orbe;
mod placement;
mod pocc;
mod stabilised;
mod tidemark;
mod wren;

use tidemark_contract::core::Hlc;
use tidemark_contract::without;

/// A time without a counter.
fn at(us: u64) -> Hlc {
    Hlc::at(us)
}

/// What `play` finds in the variant that is called `name`.
fn as_published<T>(name: &str, play: impl FnOnce() -> T) -> T {
    let (_, variant) = tidemark_protocols::variant(name).expect("there is such a variant");
    without(variant.without, play)
}
