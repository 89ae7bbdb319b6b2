//! Hosts as their drivers see them, on simulated disks.

mod host;
mod typed;
