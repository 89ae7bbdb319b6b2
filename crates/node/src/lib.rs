//! A node as a state machine: sessions, requests, links, leadership and replication streams, without sockets, threads or
//! clocks. The server and the simulator drive the same code.

mod batch;
pub mod config;
mod core;
pub mod cuts;
mod dialer;
mod driven;
pub mod factory;
pub mod findings;
pub mod follow;
pub mod founding;
pub mod gate;
mod hold;
pub mod inspect;
pub mod job;
pub mod layout;
mod leadership;
pub mod link;
pub mod node;
pub mod notice;
pub mod observe;
mod of;
mod orders;
mod report;
mod requests;
mod routing;
pub mod rule;
mod sessions;
mod shared;
pub mod status;
mod syncs;
pub mod token;

pub use config::{Config, Pace, RaftLimits};
pub use driven::factory_of;
pub use factory::{Factory, OpenError};
pub use findings::{Code, Condition, Finding, Grade};
pub use gate::Gate;
pub use inspect::{Inspect, MemberView, PartitionView};
pub use job::{Done, Job, Lane};
pub use layout::{ClusterLayout, GroupId, Groups, NodeId, NodeLayout, WanLink};
pub use link::hello::LinkKind;
pub use link::parts::PartSizes;
pub use node::{
    About, Batch, Fatal, Flow, LinkError, LinkId, Node, Options, Order, OrderAnswer, OrderId, Output, Reach,
    Released, SessionId,
};
pub use notice::{Level, Notice};
pub use observe::{Content, Observer, Passing, Sink, Way, What};
pub use shared::PastName;
pub use status::{Counters, GroupStatus, PeerStatus, Status};
pub use token::TokenError;
