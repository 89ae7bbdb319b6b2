//! What of ACCF can be broken: by its text, and by tests.

tidemark_contract::rules! {
    READS_ARE_DEPENDENCIES, // Algorithm 7.1 line 5
    GET_WAITS, // Algorithm 7.2 lines 2 and 3
    STABLE_IF_COVERED, // D1
    LEAST_OF_GROUP, // D2
    PUT_ABOVE_DS, // Algorithm 7.2 lines 10 and 11
    PUT_KEEPS_DS, // Algorithm 7.2 line 13
    SNAPSHOT_HOLDS_DS, // D7
    SLICE_WAITS, // D7
    SLICE_LEAVES_OUT, // D7
    SLICE_LIFTS_CLOCK, // I3
    LATE_SLICE_IS_REFUSED, // D8
    STAMPS_SURVIVE, // D5
    FORMING_GROUP_IS_SILENT, // D10
    TRACKING_IS_MARKED, // D11
    FLOOR_HOLDS, // D11
}

// To the letter of the dissertation, for the checker to convict.
tidemark_contract::variants! {
    "accf-published", "ACCF to the letter, with erratum E-7: for study only": STABLE_IF_COVERED, LEAST_OF_GROUP;
}
