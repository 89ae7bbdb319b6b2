//! What the safety of GentleRain rests on, and the paper without some of it.

use tidemark_contract::{Variant, stabilised};

tidemark_contract::rules! {
    PUT_CARRIES_GST, // D1
    GST_NEVER_FALLS, // D2
    STAMPS_INCREASE, // D3
    STABLE_STAYS_HOME, // D5
    PUT_WAITS, // Algorithm 2 line 6
    ROTX_WAITS, // Algorithm 4 line 11
    ROTX_COVERS_DT, // D7, from here on
    SLICE_FENCES,
    FENCE_SURVIVES,
    LOCAL_NEEDS_GST,
    PUT_TELLS_GST,
    ONE_GST,
    ONE_CUT, // D10, from here on
    HIDES,
    FETCHES,
    ALL_HIDE_FIRST,
    GST_JUMPS,
    ADMITS_IGNORANCE,
    RETURN_WAITS,
    MOVERS_WAIT,
    MOVERS_CATCH_UP,
    DELETIONS_LAST,
    LOSERS_STAY; // D9
    of stabilised: STABLE_SURVIVES, CLOCK_SURVIVES, OFFERS_WHAT_IS_DURABLE, // D4
    READS_AT_STABLE, READS_ABOVE_HORIZON // D11
}

/// To the letter of the paper, for the checker to convict.
pub const VARIANTS: &[Variant] = &[Variant {
    name: "gentlerain-published",
    about: "GentleRain to the letter, with errata E-1, E-2, E-9 and E-11: for study only",
    without: &[PUT_CARRIES_GST, GST_NEVER_FALLS, STAMPS_INCREASE, ONE_CUT, ALL_HIDE_FIRST, RETURN_WAITS],
}];
