//! The controller of checking groups, and what nodes see for it.

mod controller;
mod delays;
mod watch;
