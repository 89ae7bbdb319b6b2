//! What of ACCF can be broken: by its text, and by tests.

use super::Server;
use tidemark_contract::Rule;

/// Where the corrected protocol and the published one differ, and what tests break to see it matter.
#[allow(missing_docs)]
pub trait Rules: 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const READS_ARE_DEPENDENCIES: Rule = Rule::Kept; // Algorithm 7.1 line 5
    const GET_WAITS: Rule = Rule::Kept; // Algorithm 7.2 lines 2 and 3
    const STABLE_IF_COVERED: Rule = Rule::Kept; // D1
    const LEAST_OF_GROUP: Rule = Rule::Kept; // D2
    const PUT_ABOVE_DS: Rule = Rule::Kept; // Algorithm 7.2 lines 10 and 11
    const PUT_KEEPS_DS: Rule = Rule::Kept; // Algorithm 7.2 line 13
    const SNAPSHOT_HOLDS_DS: Rule = Rule::Kept; // D7
    const SLICE_WAITS: Rule = Rule::Kept; // D7
    const SLICE_LEAVES_OUT: Rule = Rule::Kept; // D7
    const SLICE_LIFTS_CLOCK: Rule = Rule::Kept; // I3
    const LATE_SLICE_IS_REFUSED: Rule = Rule::Kept; // D8
    const STAMPS_SURVIVE: Rule = Rule::Kept; // D5
    const FORMING_GROUP_IS_SILENT: Rule = Rule::Kept; // D10
    const TRACKING_IS_MARKED: Rule = Rule::Kept; // D11
    const FLOOR_HOLDS: Rule = Rule::Kept; // D11
}

/// The protocol as it should be.
pub type Accf = Server<Sound>;
/// The rules of [`Accf`].
pub struct Sound;

impl Rules for Sound {
    const NAME: &'static str = "accf";
    const ABOUT: &'static str = "causal+ with groups of your choice for tracking and checking dependencies";
}

/// The protocol to the letter of the dissertation, for the checker to convict.
pub type AccfPublished = Server<Published>;
/// The rules of [`AccfPublished`].
pub struct Published;

impl Rules for Published {
    const NAME: &'static str = "accf-published";
    const ABOUT: &'static str = "ACCF to the letter, with erratum E-7: for study only";
    const STABLE_IF_COVERED: Rule = Rule::Broken;
    const LEAST_OF_GROUP: Rule = Rule::Broken;
}
