//! The checker on histories: those of a store that is causal, mutants of them, tiny ones, and stories written by hand.

mod accepts;
mod anomalies;
mod as_of;
mod asked;
mod atomic_writes;
mod common;
mod drawing;
mod formats;
mod guarantees;
mod lost;
mod mutants;
mod oracle;
mod oracle_black_box;
mod pictures;
mod refinement;
mod sequential;
