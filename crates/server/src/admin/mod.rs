//! The admin HTTP server: on a thread of its own, so that it never disturbs the one that serves clients.
//!
//! It asks the data thread for what it needs through a channel; what takes time (making text) it does itself.

mod conditions;
mod faults;
mod http;
mod leased;
mod metrics;
mod orders;
mod report;

use crate::ServeError;
use crate::run::shard::Shard;
pub use faults::FaultOrder;
pub(crate) use faults::Ordered;
pub use leased::{LinkFault, Waiting, Wanted};
pub(crate) use orders::Orders;
use report::Report;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::Duration;
use tidemark_node::{Order, OrderAnswer};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

/// The time between two looks of the data thread whether faults have to end.
const LEASE_LOOK: Duration = Duration::from_millis(500);

/// What the admin server asks of the data thread.
enum Query {
    /// How things stand.
    Report(oneshot::Sender<Box<Report>>),
    /// Faults are to be injected or healed.
    Fault(faults::FaultOrder, oneshot::Sender<Result<(), String>>),
    /// The node is to do something.
    Order(Order, oneshot::Sender<OrderAnswer>),
    /// The members of this node's Raft group are to change.
    Group(orders::GroupOrder, oneshot::Sender<OrderAnswer>),
}

/// The server; it ends when this is dropped.
pub(crate) struct Admin {
    _stop: oneshot::Sender<()>,
}

/// Ends faults of a supervisor that does not renew them, until the node stops.
pub(crate) async fn watch_lease(shard: Rc<Shard>) {
    loop {
        tokio::time::sleep(LEASE_LOOK).await;
        shard.look_at_lease();
    }
}

/// Starts the server at `listener`.
pub(crate) fn start(shard: &Rc<Shard>, listener: TcpListener) -> Result<Admin, ServeError> {
    let (ask, mut queries) = mpsc::channel(64);
    let (stop, stopped) = oneshot::channel();
    let password = {
        let config = &shard.core.borrow().engine.config;
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
        while let Some(query) = queries.recv().await {
            match query {
                Query::Report(answer) => drop(answer.send(Box::new(shard.report()))),
                Query::Fault(order, answer) => drop(answer.send(shard.inject(&order))),
                Query::Order(order, answer) => shard.order(order, answer),
                Query::Group(order, answer) => shard.change_group(&order, answer),
            }
        }
    });
    Ok(Admin { _stop: stop })
}
