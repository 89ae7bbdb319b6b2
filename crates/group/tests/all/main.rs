//! Groups of three members on simulated disks, whose messages and copies a test brings.

mod copies;
mod handover;
mod harness;
mod members;
mod typed;
