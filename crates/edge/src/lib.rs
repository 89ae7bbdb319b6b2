//! Edge clients: they keep a cache and a log of their own transactions, and read and commit without the network.
//!
//! [`frames`] is what a client and its gateway send each other, byte by byte.
//!
//! Nothing here does input or output, reads a clock or draws a random number: bytes, times and seeds are arguments.

pub mod frames;
