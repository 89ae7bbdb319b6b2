//! A node from start to end: listeners, recovery, the data thread's tasks, and a clean stop.

use crate::clock::Clock;
use crate::gateway::info::About;
use crate::link::links::Links;
use crate::shard::client::Clients;
use crate::shard::disk::DiskThread;
use crate::shard::engine::Engine;
use crate::shard::open::open_seat;
use crate::shard::seat::Broken;
use crate::shard::turn::Turns;
use crate::shard::{Core, Shard, ticker, turn};
use crate::{NodeConfig, NodeId, ServeError};
use crate::{admin, gateway, link, redis};
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tidemark_contract::Protocol;
use tidemark_node::founding::Place;
use tidemark_node::link::hello::LinkKind;
use tidemark_protocols::with_protocol;
use tidemark_replica::Host;
use tidemark_store::log::Fsync;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};

/// How a node is run by something other than a shell: a test, or a program that embeds it.
#[derive(Default)]
pub struct Hooks {
    /// Listeners that are open already, instead of the configured addresses.
    pub redis: Option<StdListener>,
    /// For other nodes.
    pub peer: Option<StdListener>,
    /// For the admin HTTP server.
    pub admin: Option<StdListener>,
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
pub fn run_node_with(config: NodeConfig, hooks: Hooks) -> Result<(), ServeError> {
    config.validate().map_err(ServeError::Config)?;
    let name = config.cluster.protocol.clone();
    with_protocol!(&name, P => start::<P>(config, hooks), otherwise {
        let known = tidemark_protocols::NAMES.join(", ");
        Err(ServeError::Config(format!("there is no protocol {name:?}; choose one of {known}")))
    })
}

fn failed(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> ServeError {
    move |error| ServeError::Failed(format!("{what}: {error}"))
}

/// The sockets of a node, each bound to its address. They are bound first, so that an address that is taken is noticed
/// at once; but nobody is let in before the log was read back, rather than let in and kept waiting.
struct Sockets {
    redis: Socket,
    peer: Option<Socket>,
    admin: Option<Socket>,
}

/// The same, open.
struct Listeners {
    redis: StdListener,
    peer: Option<StdListener>,
    admin: Option<StdListener>,
}

impl Sockets {
    fn bind(config: &NodeConfig, hooks: &mut Hooks) -> Result<Self, ServeError> {
        let socket =
            |given: Option<StdListener>, address: Option<SocketAddr>, whom: &str| match (given, address) {
                (Some(listener), _) => Ok(Some(listener.into())),
                (None, None) => Ok(None),
                (None, Some(address)) => {
                    bind(address).map(Some).map_err(failed(format!("cannot listen for {whom} at {address}")))
                }
            };
        let redis = socket(hooks.redis.take(), Some(config.redis_listen), "clients")?;
        Ok(Self {
            redis: redis.expect("clients always have an address"),
            peer: socket(hooks.peer.take(), config.peer_listen, "nodes")?,
            admin: socket(hooks.admin.take(), config.admin_listen, "the admin server")?,
        })
    }

    fn listen(self) -> Result<Listeners, ServeError> {
        let listen = |socket: Socket| {
            socket
                .listen(1024)
                .map_err(failed("cannot listen: somebody else has taken the address meanwhile"))?;
            socket.set_nonblocking(true).map_err(failed("cannot use a listener"))?;
            Ok(socket.into())
        };
        Ok(Listeners {
            redis: listen(self.redis)?,
            peer: self.peer.map(listen).transpose()?,
            admin: self.admin.map(listen).transpose()?,
        })
    }

    fn ready<P: Protocol>(&self, config: &NodeConfig) -> std::io::Result<Ready> {
        let layout = config.layout();
        let address_of = |socket: &Socket| {
            let address = socket.local_addr()?.as_socket();
            address.ok_or_else(|| std::io::Error::other("it has no IP address"))
        };
        let address = |socket: &Option<Socket>| socket.as_ref().map(address_of).transpose();
        Ok(Ready {
            node: layout.name.clone(),
            region: config.cluster.regions[layout.dc.index()].clone(),
            protocol: P::INFO.name.to_string(),
            redis: address_of(&self.redis)?,
            peer: address(&self.peer)?,
            admin: address(&self.admin)?,
            pid: std::process::id(),
        })
    }
}

/// A socket whose address can be taken again at once after a restart. The life before may be dying still: it is waited
/// for, a little.
fn bind(address: SocketAddr) -> std::io::Result<Socket> {
    let patience = Instant::now() + Duration::from_secs(2);
    loop {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        match socket.bind(&address.into()) {
            Ok(()) => return Ok(socket),
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < patience => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(error),
        }
    }
}

fn redis_config(config: &NodeConfig, port: u16) -> redis::Config {
    let mut redis = redis::Config::default();
    redis.preset("port", port.to_string());
    redis.preset("bind", config.redis_listen.ip().to_string());
    redis.preset("dir", config.data_dir.display().to_string());
    redis.preset("maxclients", config.max_clients.to_string());
    redis.preset("appendfsync", config.fsync.to_string());
    if let Some(password) = &config.requirepass {
        redis.preset("requirepass", password.clone());
    }
    redis
}

fn start<P: Protocol>(config: NodeConfig, mut hooks: Hooks) -> Result<(), ServeError> {
    let sockets = Sockets::bind(&config, &mut hooks)?;
    let ready = sockets.ready::<P>(&config).map_err(failed("cannot use a listener"))?;
    let clock = Clock::new();
    let place = (config.cluster.replicas > 1)
        .then(|| Place::new(&config.cluster.groups(), config.me, config.election_timeout_us));
    let (seat, dialect) = open_seat::<P>(&config, place.as_ref(), &clock)?;
    let listeners = sockets.listen()?;
    let config = Arc::new(config);
    let about = About {
        run_id: (0..5).map(|_| format!("{:08x}", fastrand::u32(..))).collect(),
        started_at: clock.now().wall,
        port: ready.redis.port(),
        node: ready.node.clone(),
        region: ready.region.clone(),
    };
    let redis = redis_config(&config, ready.redis.port());
    // Keys of clients must not come back: one of a group counts no starts, and goes by the time.
    let life = seat.host().filter(|_| place.is_none()).map_or(clock.now().wall / 1_000_000, Host::life);
    let engine = Engine::new((seat, dialect), place, clock, config.clone(), about, redis);
    let core = Core {
        engine,
        clients: Clients::new(life),
        turns: Turns::default(),
        links: Links::new(config.cluster.nodes.len()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed("cannot start the runtime"))?;
    let local = LocalSet::new();
    let (disk, results) = DiskThread::start().map_err(failed("cannot start the disk's thread"))?;
    let shard = Rc::new(Shard::new(core, disk));
    let outcome = local.block_on(&runtime, serve(shard.clone(), listeners, ready, hooks, results));
    // Tasks and connections end here: what is left is the host.
    drop(local);
    // Jobs for copies may still run: they only read, or write what has no name yet. Nobody waits for them.
    runtime.shutdown_background();
    outcome?;
    match Rc::try_unwrap(shard) {
        Ok(shard) => {
            let seat = shard.core.into_inner().engine.seat;
            seat.close().map_err(|broken| ServeError::Failed(broken.to_string()))
        }
        Err(_) => Err(ServeError::Failed("a task outlived its runtime".to_string())),
    }
}

/// Serves until the node stops, then ends well.
async fn serve<P: Protocol>(
    shard: Rc<Shard<P>>,
    listeners: Listeners,
    ready: Ready,
    hooks: Hooks,
    results: tokio::sync::mpsc::UnboundedReceiver<crate::shard::disk::Done>,
) -> Result<(), ServeError> {
    let usable = |listener| TcpListener::from_std(listener).map_err(failed("cannot use a listener"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed("cannot wait for signals"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed("cannot wait for signals"))?;
    let from_disk = spawn_local(turn::take_from_disk(shard.clone(), results));
    let mut tasks = vec![
        spawn_local(turn::run(shard.clone())),
        spawn_local(ticker::run(shard.clone())),
        spawn_local(link::feed_out::pump(shard.clone())),
        spawn_local(gateway::serve::accept(shard.clone(), usable(listeners.redis)?)),
    ];
    if let Some(listener) = listeners.peer {
        tasks.push(spawn_local(link::accept::accept(shard.clone(), usable(listener)?)));
    }
    for (node, channel) in calls(&shard) {
        tasks.push(spawn_local(link::dial::keep(shard.clone(), node, channel)));
    }
    let admin = match listeners.admin {
        Some(listener) => Some(admin::start(&shard, listener)?),
        None => None,
    };
    announce(&shard, &ready, &hooks)?;

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
    }
    hand_over(&shard).await;
    shard.stop();
    drop(admin);
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    shard.disk.close();
    // Ends once the disk's thread has done what it was given.
    let _ = from_disk.await;
    if let Some(failure) = shard.failure() {
        return Err(failure);
    }
    last_turn(&shard)
}

/// Between two steps of handing a group over.
const HAND_OVER_STEP: Duration = Duration::from_millis(1);

/// If this node leads its group, another does before it ends, unless that takes as long as to notice that it is gone.
async fn hand_over<P: Protocol>(shard: &Rc<Shard<P>>) {
    let Some(patience_us) = shard.core.borrow().engine.place.as_ref().map(|place| place.election_timeout_us)
    else {
        return;
    };
    let over = async {
        let goes_on = || {
            let engine = &mut shard.core.borrow_mut().engine;
            let now = engine.clock.now();
            engine.seat.member_mut().is_some_and(|member| !member.hand_over(now))
        };
        let alone = || shard.core.borrow().links.group.is_alone();
        while !shard.is_stopping() && !alone() && goes_on() {
            shard.want_turn();
            tokio::time::sleep(HAND_OVER_STEP).await;
        }
    };
    if tokio::time::timeout(Duration::from_micros(patience_us), over).await.is_err() {
        tracing::warn!("no other member of the group has taken over; it will elect one");
    }
}

/// Answers what was done, once it is durable.
fn last_turn<P: Protocol>(shard: &Rc<Shard<P>>) -> Result<(), ServeError> {
    let failed = |broken: Broken| ServeError::Failed(broken.to_string());
    shard.end_turn().map_err(failed)?;
    let job = shard.core.borrow_mut().engine.seat.sync_job();
    if let Some(job) = job {
        let done = job.run();
        shard.core.borrow_mut().engine.seat.synced(done).map_err(failed)?;
    }
    shard.end_turn().map_err(failed)?;
    Ok(())
}

/// The connections that this node opens: one to each node for messages, one to each that holds one of its
/// partitions in another region, for records, and one to each of its group.
fn calls<P: Protocol>(shard: &Rc<Shard<P>>) -> Vec<(NodeId, LinkKind)> {
    let core = shard.core.borrow();
    let engine = &core.engine;
    let mut calls = Vec::new();
    for (at, layout) in engine.config.cluster.nodes.iter().enumerate() {
        let node = NodeId(at as u16);
        if node == engine.me {
            continue;
        }
        calls.push((node, LinkKind::Messages));
        let shared = layout.partitions.iter().any(|partition| engine.holds(*partition));
        match (shared, layout.dc == engine.dc) {
            (true, true) => calls.push((node, LinkKind::Raft)),
            (true, false) => calls.push((node, LinkKind::Stream)),
            (false, _) => {}
        }
    }
    calls
}

/// Says that the node serves.
fn announce<P: Protocol>(shard: &Shard<P>, ready: &Ready, hooks: &Hooks) -> Result<(), ServeError> {
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
        protocol = P::INFO.name,
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
