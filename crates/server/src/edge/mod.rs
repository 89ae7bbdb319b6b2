//! Edge clients: a WebSocket server on a thread of its own, around the [gateway](tidemark_edge::gateway) of this node. It asks the data
//! thread what it needs through a channel, as the admin server does.

mod hub;
mod socket;

use crate::ServeError;
use crate::gateway::desk;
use crate::run::shard::Shard;
use bytes::Bytes;
use hub::Hub;
use std::net::TcpListener;
use std::rc::Rc;
use tidemark_edge::gateway::Settings;
use tokio::sync::{mpsc, oneshot};

/// How often a gateway looks for a new base, in milliseconds.
const PERIOD_MS: u64 = 200;

/// How often a client whose keys do not change is told of one, in milliseconds.
const IDLE_MS: u64 = 5_000;

/// A region whose own writes others have not heard of for so long is isolated, in milliseconds.
const ISOLATED_MS: u64 = 5_000;

/// So many questions wait for the data thread.
const QUESTIONS: usize = 4096;

/// The server; it ends when this is dropped.
pub(crate) struct Edge {
    _stop: oneshot::Sender<()>,
}

/// Starts the server at `listener`.
pub(crate) fn start(shard: &Rc<Shard>, listener: TcpListener) -> Result<Edge, ServeError> {
    let (ask, questions) = mpsc::channel(QUESTIONS);
    let (stop, stopped) = oneshot::channel();
    let (settings, most) = {
        let config = &shard.core.borrow().engine.config;
        let dc = config.dc();
        let params = &config.cluster.params;
        let settings = Settings {
            region: dc.0,
            regions: config.cluster.topology.dcs as u8,
            name: Bytes::from(config.cluster.regions[dc.index()].clone()),
            period_ms: PERIOD_MS,
            idle_ms: IDLE_MS,
            retain_ms: params.get("edge_retain_us").and_then(serde_json::Value::as_u64).unwrap_or_default()
                / 1000,
            isolated_ms: ISOLATED_MS,
            token: config.requirepass.clone().map(Bytes::from),
        };
        (settings, config.max_clients)
    };
    let failed = |error| ServeError::Failed(format!("cannot start the server of edge clients: {error}"));
    desk::serve(shard, questions);
    std::thread::Builder::new()
        .name("edge".to_string())
        .spawn(move || socket::run(listener, Hub::new(settings, most, ask), stopped))
        .map_err(failed)?;
    Ok(Edge { _stop: stop })
}
