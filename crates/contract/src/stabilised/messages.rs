//! The messages and timers of protocols by stable time: those of the component, and their own.

use crate::synced::REPORTS_ARE_SYNCED;
use crate::{Past, SliceReply, SliceReq, Tree, Wire};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use tidemark_core::Vector;

/// θ and Δ, and what else a protocol arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer<X = Never> {
    /// [`Params::theta_us`](super::Params::theta_us).
    Theta,
    /// [`Params::delta_us`](super::Params::delta_us).
    Delta,
    /// One of the protocol.
    Own(X),
}

/// The timers of a protocol by stable time: a [`Timer`].
pub trait Timers: Copy + Ord + Debug + Send + 'static {
    /// θ.
    const THETA: Self;
    /// Δ.
    const DELTA: Self;
}

impl<X: Copy + Ord + Debug + Send + 'static> Timers for Timer<X> {
    const THETA: Self = Self::Theta;
    const DELTA: Self = Self::Delta;
}

/// What servers send each other: `A` names a snapshot, `S` is what a slice tells its reader beside values, and `X` is what
/// else the protocol sends.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer<A, S, X = Never> {
    Tree(Tree),
    SliceReq(SliceReq<A>),
    SliceReply(SliceReply<S>),
    Own(X),
}

/// The messages of a protocol by stable time: a [`Peer`].
pub trait Messages: Wire {
    /// Names a snapshot; as a vector, it is what collection stays below (S3).
    type At: Wire + Into<Vector>;
    /// What a slice tells its reader.
    type Slice: Past;
    /// The protocol's own.
    type Own: Wire;
    /// Makes a message of the protocol.
    fn of(message: Peer<Self::At, Self::Slice>) -> Self;
    /// Whether it asks for a slice of a snapshot, or is one: see [`Extensions::for_client`](crate::Extensions::for_client).
    fn is_for_client(&self) -> bool;
    /// The component's message, or the protocol's own.
    ///
    /// # Errors
    /// It is the protocol's own.
    fn shared(self) -> Result<Peer<Self::At, Self::Slice>, Self::Own>;
}

impl<A: Wire + Into<Vector>, S: Past, X: Wire> Messages for Peer<A, S, X> {
    type At = A;
    type Slice = S;
    type Own = X;

    fn of(message: Peer<A, S>) -> Self {
        match message {
            Peer::Tree(tree) => Self::Tree(tree),
            Peer::SliceReq(request) => Self::SliceReq(request),
            Peer::SliceReply(reply) => Self::SliceReply(reply),
            Peer::Own(never) => match never {},
        }
    }

    fn is_for_client(&self) -> bool {
        match self {
            Self::SliceReq(_) | Self::SliceReply(_) => true,
            Self::Tree(_) => !REPORTS_ARE_SYNCED.kept(),
            Self::Own(_) => false,
        }
    }

    fn shared(self) -> Result<Peer<A, S>, X> {
        Ok(match self {
            Self::Tree(tree) => Peer::Tree(tree),
            Self::SliceReq(request) => Peer::SliceReq(request),
            Self::SliceReply(reply) => Peer::SliceReply(reply),
            Self::Own(own) => return Err(own),
        })
    }
}

/// There is none: no message and no timer of the protocol's own, no snapshot that a coordinator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Never {}

impl From<Never> for Vector {
    fn from(never: Never) -> Self {
        match never {}
    }
}
