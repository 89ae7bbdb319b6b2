//! One file a verb.

pub(crate) mod config;
pub(crate) mod cut;
pub(crate) mod demo;
pub(crate) mod edge;
pub(crate) mod exclude;
pub(crate) mod groups;
pub(crate) mod heal;
pub(crate) mod kill;
pub(crate) mod protocols;
pub(crate) mod readmit;
pub(crate) mod remove;
pub(crate) mod replace;
pub(crate) mod restart;
pub(crate) mod serve;
pub(crate) mod skew;
pub(crate) mod slow;
pub(crate) mod status;
pub(crate) mod up;
