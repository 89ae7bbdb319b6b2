//! The admin HTTP server: on a thread of its own, so that it never disturbs the one that serves clients.
//!
//! It asks the data thread for what it needs through a channel; what takes time (making text) it does itself.

mod group;
mod http;
mod membership;
mod metrics;
mod orders;
mod regrouping;
mod report;

use crate::ServeError;
use crate::shard::Shard;
pub(crate) use orders::Order;
use report::Report;
use std::net::TcpListener;
use std::rc::Rc;
use tidemark_contract::Protocol;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

/// What the admin server asks of the data thread.
pub(crate) enum Question {
    /// How things stand.
    Report(oneshot::Sender<Box<Report>>),
    /// Faults are to be injected or healed.
    Order(Order, oneshot::Sender<Result<(), String>>),
    /// A region is to be done without, or taken back.
    Membership(tidemark_contract::Exclusion, oneshot::Sender<membership::Answer>),
    /// Groups of servers are to change.
    Regroup(tidemark_contract::Regrouping, oneshot::Sender<regrouping::Answer>),
    /// Who belongs to this node's group is to change.
    Group(group::GroupOrder, oneshot::Sender<Result<(), String>>),
}

/// The server; it ends when this is dropped.
pub(crate) struct Admin {
    _stop: oneshot::Sender<()>,
}

/// Starts the server at `listener`.
pub(crate) fn start<P: Protocol>(shard: &Rc<Shard<P>>, listener: TcpListener) -> Result<Admin, ServeError> {
    let (ask, mut questions) = mpsc::channel(64);
    let (stop, stopped) = oneshot::channel();
    let password = {
        let core = shard.core.borrow();
        let config = &core.engine.config;
        let local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
        if local { None } else { config.requirepass.clone() }
    };
    let failed = |error| ServeError::Failed(format!("cannot start the admin server: {error}"));
    std::thread::Builder::new()
        .name("admin".to_string())
        .spawn(move || http::run(listener, ask, stopped, password))
        .map_err(failed)?;
    let shard = shard.clone();
    spawn_local(async move {
        while let Some(question) = questions.recv().await {
            match question {
                Question::Report(answer) => drop(answer.send(Box::new(shard.report()))),
                Question::Order(order, answer) => drop(answer.send(shard.obey(order))),
                Question::Group(order, answer) => drop(answer.send(shard.change_group(&order))),
                Question::Regroup(order, answer) => {
                    drop(spawn_local(regrouping::tell(shard.regroup(order), answer)));
                }
                Question::Membership(order, answer) => {
                    drop(spawn_local(membership::tell(shard.order(&order), answer)));
                }
            }
        }
    });
    Ok(Admin { _stop: stop })
}
