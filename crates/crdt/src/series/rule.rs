//! The rules of a series: those that its own test can switch off. They stand apart from [`crate::rule`], which schedules of regions
//! have to miss one by one.

use tidemark_core::Rule;

tidemark_core::rules! {
    from Rule::TYPES + 48;
    TAKEN_SUMS_END, // a series that counts, takes it back and counts again assigns what comes out
    SERIES_KILLS, // what a series overwrites or removes names what the key held before it
}
