//! Sockets between nodes: accepting and dialling, and one task for each that reads and writes.

use super::{Pipe, Side};
use crate::run::shard::{Core, Shard};
use bytes::BytesMut;
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tidemark_node::{Flow, LinkError, LinkId, NodeId};
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

/// Connections that have not been accepted yet, at most.
const STRANGERS_MAX: usize = 64;
/// The least that is read at once.
const READ_BYTES: usize = 16 << 10;

/// Accepts nodes until this one stops.
pub(crate) async fn accept(shard: Rc<Shard>, listener: TcpListener) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shard.stopped() => return,
        };
        match accepted {
            Ok((stream, address)) => shard.accepted(stream, address),
            Err(error) => {
                tracing::warn!("cannot accept a node: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Small frames leave at once, and a dead connection is noticed.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive =
        TcpKeepalive::new().with_time(Duration::from_secs(5)).with_interval(Duration::from_secs(2));
    let socket = SockRef::from(stream);
    let _ = socket.set_tcp_keepalive(&keepalive);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(Duration::from_secs(10)));
}

impl Shard {
    /// Another node, or a stranger, has connected.
    fn accepted(self: &Rc<Self>, stream: TcpStream, from: SocketAddr) {
        let mut core = self.core.borrow_mut();
        // Too many strangers: the connection is dropped.
        if core.links.strangers() >= STRANGERS_MAX {
            return;
        }
        let engine = &mut core.engine;
        let id = engine.node.accepted(engine.clock.now());
        let (shard, pipe) = (self.clone(), Rc::new(Pipe::default()));
        let of_task = pipe.clone();
        let task = spawn_local(async move { shard.carry(id, stream, &of_task).await });
        core.links.add(id, Side::Accepted(from), pipe, task.abort_handle());
        self.want_batch();
    }

    /// Connects to node `to`: the connection becomes link `id`.
    pub(crate) fn dial(self: &Rc<Self>, core: &mut Core, id: LinkId, to: NodeId) {
        let address = core.engine.config.cluster.nodes[to.index()].peer_address.clone();
        let (shard, pipe) = (self.clone(), Rc::new(Pipe::default()));
        let of_task = pipe.clone();
        let task = spawn_local(async move {
            match TcpStream::connect(&address).await {
                Ok(stream) => {
                    shard.connected(id);
                    shard.carry(id, stream, &of_task).await;
                }
                Err(error) => shard.disconnected(id, &format!("cannot connect to {address}: {error}")),
            }
        });
        core.links.add(id, Side::Dialling, pipe, task.abort_handle());
    }

    fn connected(&self, id: LinkId) {
        let mut core = self.core.borrow_mut();
        let core = &mut *core;
        if let Some(link) = core.links.links.get_mut(&id) {
            link.side = Side::Dialled;
            core.engine.node.connected(core.engine.clock.now(), id);
            self.want_batch();
        }
    }

    /// Reads and writes until the connection breaks or the link ends.
    async fn carry(&self, id: LinkId, stream: TcpStream, pipe: &Pipe) {
        prepare(&stream);
        let (mut read, mut write) = stream.into_split();
        let writing = pipe.outbox.write_to(&mut write, || self.has_room(id));
        tokio::pin!(writing);
        let (mut buffer, mut flow) = (BytesMut::new(), Flow::Go);
        let why = loop {
            tokio::select! {
                written = &mut writing => match written {
                    Ok(()) => return,
                    Err(error) => break error,
                },
                count = read_some(&mut read, &mut buffer), if flow == Flow::Go => match count {
                    Ok(()) => {}
                    Err(error) => break error,
                },
                () = pipe.resumed.notified() => {}
            }
            flow = self.receive(id, &mut buffer);
        };
        self.disconnected(id, &format!("the connection ended: {why}"));
    }

    /// Hands on what was read. A link that is refused reads no more, and ends when what is left to be sent is written.
    fn receive(&self, id: LinkId, bytes: &mut BytesMut) -> Flow {
        self.want_batch();
        let mut core = self.core.borrow_mut();
        let engine = &mut core.engine;
        match engine.node.receive(engine.clock.now(), id, bytes) {
            Ok(flow) => flow,
            Err(error) => {
                core.refuse(id, &error);
                Flow::Pause
            }
        }
    }

    /// A full outbox has room again.
    fn has_room(&self, id: LinkId) {
        self.core.borrow_mut().links.is_ready(id);
        self.want_batch();
    }

    fn disconnected(&self, id: LinkId, why: &str) {
        let mut core = self.core.borrow_mut();
        if core.links.links.remove(&id).is_some() {
            let engine = &mut core.engine;
            engine.node.disconnected(engine.clock.now(), id, why);
            self.want_batch();
        }
    }
}

impl Core {
    fn refuse(&mut self, id: LinkId, error: &LinkError) {
        let Some(link) = self.end_link(id) else { return };
        match (link.side, link.peer) {
            (Side::Accepted(address), None) => {
                tracing::warn!("a connection from {address} was refused: {error}")
            }
            (_, peer) => tracing::debug!(?peer, "a link ends: {error}"),
        }
    }
}

async fn read_some(read: &mut OwnedReadHalf, buffer: &mut BytesMut) -> io::Result<()> {
    buffer.reserve(READ_BYTES);
    match read.read_buf(buffer).await? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}
