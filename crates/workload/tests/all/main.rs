//! Workloads as drivers see them: what clients ask for.

mod clients;
mod objects;
mod pairs;
