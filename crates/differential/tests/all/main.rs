//! Campaigns against real servers.

mod campaign;
