//! The ports of tests, and the schedules that they play.

mod ports;
mod schedules;
