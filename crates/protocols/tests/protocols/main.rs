//! Tests of protocols by hand: one for each numbered step of a paper's listings, one for each deviation, the
//! traces of the errata, and golden transcripts.

mod accf;
mod causal_spartan_x;
mod cc_lo;
mod contrarian;
mod cops;
mod cops_gt;
mod cure;
mod eiger;
mod eventual;
mod gentlerain;
mod golden;
mod hybrid;
mod nukv;
mod occult;
mod okapi;
mod orbe;
mod placement;
mod pocc;
mod tidemark;
mod wren;

use tidemark_contract::core::Hlc;

/// A time without a counter.
fn at(us: u64) -> Hlc {
    Hlc::at(us)
}
