//! The addresses of a node.

use super::{Hooks, Ready, failed};
use crate::{NodeConfig, ServeError};
use socket2::{Domain, Socket, Type};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::time::{Duration, Instant};

/// The sockets of a node, each bound to its address. They are bound first, so that an address that is taken is noticed
/// at once; but nobody is let in before the log was read back, rather than let in and kept waiting.
pub(super) struct Sockets {
    redis: Socket,
    peer: Option<Socket>,
    admin: Option<Socket>,
    edge: Option<Socket>,
}

/// The same, open.
pub(super) struct Listeners {
    pub(super) redis: StdListener,
    pub(super) peer: Option<StdListener>,
    pub(super) admin: Option<StdListener>,
    pub(super) edge: Option<StdListener>,
}

impl Sockets {
    pub(super) fn bind(config: &NodeConfig, hooks: &mut Hooks) -> Result<Self, ServeError> {
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
            edge: socket(hooks.edge.take(), config.edge_listen, "edge clients")?,
        })
    }

    /// Opens them, once more if the node begins anew.
    pub(super) fn listen(&self) -> Result<Listeners, ServeError> {
        // When a region has gone, all of its edge clients come to others at once.
        let listen = |socket: &Socket| {
            let socket = socket.try_clone().map_err(failed("cannot use a listener"))?;
            socket
                .listen(4096)
                .map_err(failed("cannot listen: somebody else has taken the address meanwhile"))?;
            socket.set_nonblocking(true).map_err(failed("cannot use a listener"))?;
            Ok(socket.into())
        };
        Ok(Listeners {
            redis: listen(&self.redis)?,
            peer: self.peer.as_ref().map(listen).transpose()?,
            admin: self.admin.as_ref().map(listen).transpose()?,
            edge: self.edge.as_ref().map(listen).transpose()?,
        })
    }

    /// What is told once the node serves.
    pub(super) fn ready(&self, config: &NodeConfig, protocol: &str) -> std::io::Result<Ready> {
        let layout = config.layout();
        let address_of = |socket: &Socket| {
            let address = socket.local_addr()?.as_socket();
            address.ok_or_else(|| std::io::Error::other("it has no IP address"))
        };
        let address = |socket: &Option<Socket>| socket.as_ref().map(address_of).transpose();
        Ok(Ready {
            node: layout.name.clone(),
            region: config.cluster.regions[layout.dc.index()].clone(),
            protocol: protocol.to_string(),
            redis: address_of(&self.redis)?,
            peer: address(&self.peer)?,
            admin: address(&self.admin)?,
            edge: address(&self.edge)?,
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
