//! A node from start to end: listeners, recovery, the data thread's tasks, and a clean stop.

mod batch;
mod files;
mod jobs;
pub(crate) mod mute;
pub(crate) mod shard;
mod sockets;
mod ticker;
mod writer;

use crate::admin::Ordered;
use crate::clock::Clock;
use crate::gateway::info::Identity;
use crate::{NodeConfig, ServeError, admin, edge, gateway, net, redis};
use serde::Serialize;
use shard::{Core, Engine, Shard};
use sockets::{Listeners, Sockets};
use std::net::{SocketAddr, TcpListener as StdListener};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tidemark_node::{Config, Done, Pace, PartSizes, RaftLimits};
use tidemark_store::disk::{Disk, RealDisk, Unsynced};
use tidemark_store::log::Fsync;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{LocalSet, spawn_local};

/// Tests fill a disk by it: the file that it names holds how many bytes the data directory may take.
const DISK_QUOTA: &str = "TIDEMARK_DISK_QUOTA";

/// How a node is run by something other than a shell: a test, or a program that embeds it.
#[derive(Default)]
pub struct Hooks {
    /// Listeners that are open already, instead of the configured addresses.
    pub redis: Option<StdListener>,
    /// For other nodes.
    pub peer: Option<StdListener>,
    /// For the admin HTTP server.
    pub admin: Option<StdListener>,
    /// For edge clients.
    pub edge: Option<StdListener>,
    /// Stops the node when notified.
    pub stop: Option<Arc<Notify>>,
    /// Told once the node serves.
    pub ready: Option<mpsc::Sender<Ready>>,
}

/// Where a node that serves can be reached.
#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    /// Its name.
    pub node: String,
    /// Its region.
    pub region: String,
    /// The protocol that it runs.
    pub protocol: String,
    /// For Redis clients.
    pub redis: SocketAddr,
    /// For other nodes.
    pub peer: Option<SocketAddr>,
    /// For the admin HTTP server.
    pub admin: Option<SocketAddr>,
    /// For edge clients.
    pub edge: Option<SocketAddr>,
    /// The process.
    pub pid: u32,
}

/// Runs a node until it is told to stop (SIGTERM, SIGINT): blocks. `Ok` is a clean end.
///
/// # Errors
/// See [`ServeError`].
pub fn run_node(config: NodeConfig) -> Result<(), ServeError> {
    run_node_with(config, Hooks::default())
}

/// As [`run_node`], with hooks.
///
/// # Errors
/// See [`ServeError`].
pub fn run_node_with(mut config: NodeConfig, mut hooks: Hooks) -> Result<(), ServeError> {
    config.validate().map_err(ServeError::Config)?;
    files::make_room(&mut config);
    let name = &config.cluster.protocol;
    let Some(factory) = tidemark_registry::by_name(name) else {
        let known = tidemark_registry::NAMES.join(", ");
        return Err(ServeError::Config(format!("there is no protocol {name:?}; choose one of {known}")));
    };
    tidemark_contract::programs::install(redis::interpret);
    let sockets = Sockets::bind(&config, &mut hooks)?;
    let ready = sockets.ready(&config, factory.name()).map_err(failed("cannot use a listener"))?;
    let clock = Clock::new();
    let disk = RealDisk::open(&config.data_dir).map_err(|error| ServeError::Failed(error.to_string()))?;
    let disk: Arc<dyn Disk> = match std::env::var_os(DISK_QUOTA) {
        Some(file) => Arc::new(disk.with_quota(file.into())),
        None => Arc::new(disk),
    };
    let disk = match files::loses_power() {
        true => Arc::new(Unsynced::new(disk, fastrand::u64(..))),
        false => disk,
    };
    let faults = std::mem::take(&mut config.faults);
    let (config, mut ordered) = (Arc::new(config), None);
    loop {
        let (node, mute) = mute::open(factory, node_config(&config), &disk, clock.now())?;
        let listeners = sockets.listen()?;
        let identity = Identity::new(&ready, clock.now().wall);
        let redis = redis_config(&config, ready.redis.port());
        let engine = Engine::new((node, mute), clock.clone(), config.clone(), identity, redis);
        let shard = Rc::new(Shard::new(Core::new(engine)));
        // Before any connection, so that nothing passes that is to be cut or late.
        match ordered.take() {
            Some(ordered) => shard.take_over(ordered),
            None => faults.iter().try_for_each(|fault| shard.inject(fault)).map_err(ServeError::Config)?,
        }
        shard.core.borrow_mut().tell_conditions();
        match run_shard(shard, listeners, &ready, &hooks, disk.clone())? {
            End::Stopped => return Ok(()),
            End::Room(faults) => ordered = Some(faults),
        }
    }
}

/// The way in which a node ended.
enum End {
    Stopped,
    /// A mute node has room now. Faults that were ordered stay.
    Room(Box<Ordered>),
}

/// Runs what is open until it stops.
fn run_shard(
    shard: Rc<Shard>,
    listeners: Listeners,
    ready: &Ready,
    hooks: &Hooks,
    disk: Arc<dyn Disk>,
) -> Result<End, ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed("cannot start the runtime"))?;
    let local = LocalSet::new();
    let results = shard.disk.start().map_err(failed("cannot start the disk's thread"))?;
    let outcome = local.block_on(&runtime, serve(shard.clone(), listeners, (ready, hooks), results, disk));
    // Tasks and connections end here: what is left is the node.
    drop(local);
    // Jobs for copies may still run: they only read, or write what has no name yet. Nobody waits for them.
    runtime.shutdown_background();
    let room = outcome?;
    match Rc::try_unwrap(shard) {
        Ok(shard) if room => Ok(End::Room(Box::new(shard.core.into_inner().ordered))),
        Ok(shard) => {
            let Engine { node, clock, .. } = shard.core.into_inner().engine;
            node.shut_down(clock.now()).map_err(|fatal| ServeError::Failed(fatal.to_string()))?;
            Ok(End::Stopped)
        }
        Err(_) => Err(ServeError::Failed("a task outlived its runtime".to_string())),
    }
}

fn failed(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> ServeError {
    move |error| ServeError::Failed(format!("{what}: {error}"))
}

fn redis_config(config: &NodeConfig, port: u16) -> redis::Config {
    let mut redis = redis::Config::default();
    redis.preset("port", port.to_string());
    redis.rule(config.limit.clone());
    redis.preset("bind", config.redis_listen.ip().to_string());
    redis.preset("dir", config.data_dir.display().to_string());
    redis.preset("maxclients", config.max_clients.to_string());
    redis.preset("maxmemory", config.max_memory_bytes.to_string());
    redis.preset("maxmemory-policy", config.max_memory_policy.to_string());
    redis.preset("appendfsync", config.fsync.to_string());
    redis.preset("tidemark-session-scope", config.session_scope.to_string());
    if let Some(password) = &config.requirepass {
        redis.preset("requirepass", password.clone());
    }
    redis
}

/// The most that waits in the node for one link, beside large payloads.
const BACKLOG_BYTES: usize = 256 << 20;

/// What the node itself needs of it.
fn node_config(config: &NodeConfig) -> Config {
    Config {
        cluster: config.cluster.clone(),
        me: config.me,
        peer_secret: config.peer_secret.clone(),
        fsync: config.fsync,
        boot: files::boot_id(),
        max_skew_us: config.max_skew_us,
        limit: config.limit.clone(),
        log_segment_bytes: config.log_segment_bytes,
        log_retain_bytes: config.log_retain_bytes,
        snapshot_every_bytes: config.snapshot_every_bytes,
        op_deadline_us: config.op_deadline_us,
        election_timeout_us: config.election_timeout_us,
        backlog_bytes: BACKLOG_BYTES,
        stream_frame_bytes: Config::STREAM_FRAME_BYTES,
        parts: PartSizes::default(),
        pace: Pace { relay_after_us: config.relay_after_us, ..Pace::default() },
        raft: RaftLimits::default(),
        observer: None,
        seed: fastrand::u64(1..),
    }
}

/// Serves until the node stops, then ends well. Returns whether it was mute, and there is room now.
async fn serve(
    shard: Rc<Shard>,
    listeners: Listeners,
    (ready, hooks): (&Ready, &Hooks),
    results: UnboundedReceiver<Done>,
    disk: Arc<dyn Disk>,
) -> Result<bool, ServeError> {
    let usable = |listener| TcpListener::from_std(listener).map_err(failed("cannot use a listener"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed("cannot wait for signals"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed("cannot wait for signals"))?;
    let from_disk = spawn_local(jobs::take_from_disk(shard.clone(), results));
    let mut tasks = vec![
        spawn_local(batch::run(shard.clone())),
        spawn_local(ticker::run(shard.clone())),
        spawn_local(admin::watch_lease(shard.clone())),
        spawn_local(gateway::serve::accept(shard.clone(), usable(listeners.redis)?)),
    ];
    let mute = shard.core.borrow().engine.mute.is_some();
    if let Some(listener) = listeners.peer.filter(|_| !mute) {
        tasks.push(spawn_local(net::accept(shard.clone(), usable(listener)?)));
    }
    let admin = match listeners.admin {
        Some(listener) => Some(admin::start(&shard, listener)?),
        None => None,
    };
    let edge = match listeners.edge.filter(|_| !mute) {
        Some(listener) => Some(edge::start(&shard, listener)?),
        None => None,
    };
    // The node may have something to do from the start: other nodes are to be called.
    shard.want_batch();
    announce(&shard, ready, hooks)?;
    let mut has_room = false;

    let asked = async {
        match &hooks.stop {
            Some(stop) => stop.notified().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = shard.stopped() => {}
        _ = terminate.recv() => tracing::info!("stopping: SIGTERM"),
        _ = interrupt.recv() => tracing::info!("stopping: SIGINT"),
        () = asked => tracing::info!("stopping: asked to"),
        () = shard.asked_to_stop.notified() => tracing::info!("stopping: SHUTDOWN"),
        () = mute::room(&shard, disk) => {
            has_room = true;
            tracing::info!("there is room on the disk again: the node opens its log");
        }
    }
    hand_over(&shard).await;
    // From here on nobody is heard any more, neither clients nor other nodes.
    shard.stop();
    drop((admin, edge));
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    shard.core.borrow().links.abort();
    let last = match shard.failure() {
        Some(failure) => Err(failure),
        None => batch::run_last(&shard).await.map_err(|fatal| ServeError::Failed(fatal.to_string())),
    };
    shard.disk.close();
    // Ends once the disk's thread has done what it was given.
    let _ = from_disk.await;
    last.map(|()| has_room)
}

/// Between two steps of handing a Raft group over.
const HAND_OVER_STEP: Duration = Duration::from_millis(1);

/// If this node leads its Raft group, another does before it ends, unless that takes as long as to notice that it is gone.
async fn hand_over(shard: &Rc<Shard>) {
    let patience_us = shard.core.borrow().engine.config.election_timeout_us;
    let over = async {
        let goes_on = || {
            let engine = &mut shard.core.borrow_mut().engine;
            !engine.node.hand_over(engine.clock.now())
        };
        while !shard.is_stopping() && goes_on() {
            shard.want_batch();
            tokio::time::sleep(HAND_OVER_STEP).await;
        }
    };
    if tokio::time::timeout(Duration::from_micros(patience_us), over).await.is_err() {
        tracing::warn!("no other member of the group has taken over; it will elect one");
    }
}

/// Says that the node serves.
fn announce(shard: &Shard, ready: &Ready, hooks: &Hooks) -> Result<(), ServeError> {
    let core = shard.core.borrow();
    let config = &core.engine.config;
    if config.fsync == Fsync::No {
        tracing::warn!("fsync is 'no': a power failure may lose any number of acknowledged writes");
    }
    let line = serde_json::to_string(ready).expect("addresses are JSON");
    if let Some(file) = &config.ready_file {
        let partial = file.with_extension("partial");
        let written =
            std::fs::write(&partial, format!("{line}\n")).and_then(|()| std::fs::rename(&partial, file));
        written.map_err(failed(format!("cannot write {}", file.display())))?;
    }
    tracing::info!(
        redis = %ready.redis,
        peer = ready.peer.map(tracing::field::display),
        admin = ready.admin.map(tracing::field::display),
        edge = ready.edge.map(tracing::field::display),
        protocol = ready.protocol,
        "ready: node {} of region {}",
        ready.node,
        ready.region
    );
    if let Some(sender) = &hooks.ready {
        // Nobody may be waiting any more.
        let _ = sender.send(ready.clone());
    }
    Ok(())
}
