//! Lists through the public interface: each command as Redis answers it, and what concurrent ones come to.

mod commands;
mod convergence;
mod differential;
mod merges;
mod positions;
mod region;
