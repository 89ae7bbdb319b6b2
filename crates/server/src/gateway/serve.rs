//! Sockets of clients: accepting them, and one task for each that reads.
//!
//! A connection's task reads and runs commands; what it wants to say is written by the task that ends batches
//! ([`crate::run`]), so that one write of the log serves all connections.

use super::blocked;
use super::client::Client;
use super::deliver::deliver;
use super::execute::{Status, execute};
use super::interactive;
use super::visible::look_around;
use crate::config::SessionScope;
use crate::redis;
use crate::run::shard::Shard;
use bytes::BytesMut;
use std::rc::Rc;
use std::time::Duration;
use tidemark_node::{PastName, SessionId};
use tidemark_wire::resp::RequestParser;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{spawn_local, yield_now};

/// The least and the most that is read at once.
const READ_BYTES_MIN: usize = 4 << 10;
const READ_BYTES_MAX: usize = 64 << 10;
/// With so many bytes unread, nothing more is read from a client whose command waits for a key.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Accepts clients until the node stops.
pub(crate) async fn accept(shard: Rc<Shard>, listener: TcpListener) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shard.stopped() => return,
        };
        match stream {
            Ok((stream, _)) => welcome(&shard, stream),
            Err(error) => {
                // Out of file descriptors, most likely: others will be closed.
                tracing::warn!("cannot accept a client: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn welcome(shard: &Rc<Shard>, stream: TcpStream) {
    let mut core = shard.core.borrow_mut();
    let core = &mut *core;
    let engine = &mut core.engine;
    engine.now = engine.clock.now();
    if core.clients.len() >= engine.redis.clients_max() {
        engine.stats.refused += 1;
        // Best effort: the socket's buffer is empty.
        let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
        return;
    }
    engine.stats.connections += 1;
    let address =
        |address: std::io::Result<std::net::SocketAddr>| address.map_or(String::new(), |a| a.to_string());
    let (peer, local) = (address(stream.peer_addr()), address(stream.local_addr()));
    // Replies leave in one write a batch: there is nothing to wait for.
    let _ = stream.set_nodelay(true);
    let id = engine.registry.register(peer, local, engine.now.wall);
    let mut connection = redis::Connection::new(id, &engine.redis);
    connection.mute = engine.mute.is_some();
    let limits = engine.redis.request_limits();
    let (read, write) = stream.into_split();
    let session = engine.node.open();
    if engine.config.session_scope == SessionScope::Gateway {
        engine.node.share(session, Some(PastName::of(b"")));
    }
    let client = Client::new(session, connection, Rc::new(write));
    let wake = client.wake.clone();
    core.clients.add(client);
    let shard = shard.clone();
    spawn_local(async move {
        let connection =
            Reader { read, parser: RequestParser::new(limits), buffer: BytesMut::new(), received: 0 };
        serve(&shard, session, connection, &wake).await;
        let mut core = shard.core.borrow_mut();
        if let Some(mut client) = core.clients.remove(session) {
            interactive::leave(&mut core.engine, &mut client);
            core.engine.registry.remove(client.redis.id());
            core.engine.shared.forget(client.redis.id());
            core.engine.waiters.remove(session);
            core.engine.node.close(session);
        }
    });
}

struct Reader {
    read: OwnedReadHalf,
    parser: RequestParser,
    buffer: BytesMut,
    /// Bytes that are not counted yet.
    received: u64,
}

/// The client has left.
struct End;

impl Reader {
    /// Waits until it is woken. Bytes that come meanwhile are kept, up to a limit, so that the client's end is noticed.
    async fn read_while_blocked(&mut self, wake: &tokio::sync::Notify) -> Result<(), End> {
        while self.buffer.len() < KEPT_BYTES_MAX {
            self.buffer.reserve(READ_BYTES_MIN);
            tokio::select! {
                () = wake.notified() => return Ok(()),
                read = self.read.read_buf(&mut self.buffer) => match read {
                    Ok(0) | Err(_) => return Err(End),
                    Ok(count) => self.received += count as u64,
                },
            }
        }
        wake.notified().await;
        Ok(())
    }
}

async fn serve(shard: &Rc<Shard>, session: SessionId, mut reader: Reader, wake: &tokio::sync::Notify) {
    let mut status = Status::Read;
    let mut room = READ_BYTES_MIN;
    loop {
        match status {
            Status::Read => {
                let wanted = reader.parser.wanted(reader.buffer.len()).min(READ_BYTES_MAX);
                reader.buffer.reserve(room.max(wanted));
                let before = reader.buffer.capacity() - reader.buffer.len();
                match reader.read.read_buf(&mut reader.buffer).await {
                    Ok(0) => return close(shard, session, wake).await,
                    Err(_) => return,
                    Ok(count) => {
                        reader.received += count as u64;
                        if count == before {
                            room = (room * 2).min(READ_BYTES_MAX);
                        }
                    }
                }
            }
            Status::Wait => wake.notified().await,
            Status::Block => {
                if let Err(End) = reader.read_while_blocked(wake).await {
                    return;
                }
            }
            Status::Yield | Status::Serve => yield_now().await,
            Status::Close => return close(shard, session, wake).await,
        }
        if shard.is_stopping() {
            // What was done is answered; nothing more is.
            return std::future::pending().await;
        }
        status = step(shard, session, &mut reader);
        shard.want_batch();
        if !reader.buffer.is_empty() || room == READ_BYTES_MIN {
            continue;
        }
        // What a large request took is given back when it has been served.
        if reader.buffer.capacity() > 4 * READ_BYTES_MAX {
            reader.buffer = BytesMut::new();
        }
    }
}

#[inline]
fn step(shard: &Rc<Shard>, session: SessionId, reader: &mut Reader) -> Status {
    let mut core = shard.core.borrow_mut();
    core.engine.stats.input_bytes += std::mem::take(&mut reader.received);
    look_around(&mut core);
    reader.parser.set_limits(core.engine.redis.request_limits());
    let status = execute(&mut core, session, &mut reader.parser, &mut reader.buffer);
    deliver(&mut core);
    if std::mem::take(&mut core.engine.shared.shutdown) {
        shard.asked_to_stop.notify_one();
    }
    if core.engine.waiters.needs_tending() {
        spawn_local(blocked::tend(shard.clone()));
    }
    if core.engine.shared.pause.take_change() {
        spawn_local(pause(shard.clone()));
    }
    let doomed = core.engine.registry.take_killed();
    if !doomed.is_empty() {
        for client in core.clients.iter().filter(|client| doomed.contains(&client.redis.id())) {
            client.close();
        }
    }
    status
}

/// Waits for the end of a pause, and lets the commands that it holds back go on.
async fn pause(shard: Rc<Shard>) {
    loop {
        let left_us = {
            let mut core = shard.core.borrow_mut();
            let now = core.engine.clock.now().wall;
            let left_us = core.engine.shared.pause.left(now);
            if left_us.is_none() {
                core.clients
                    .iter()
                    .filter(|client| client.held.is_some())
                    .for_each(|client| client.wake.notify_one());
            }
            left_us
        };
        match left_us {
            Some(left_us) => tokio::time::sleep(Duration::from_micros(left_us)).await,
            None => return,
        }
    }
}

/// Waits until what was said has been written.
async fn close(shard: &Rc<Shard>, session: SessionId, wake: &tokio::sync::Notify) {
    let written = async {
        loop {
            {
                let mut core = shard.core.borrow_mut();
                let Some(client) = core.clients.get(session) else { return };
                client.wants_room = true;
                if client.out.bytes.is_empty() {
                    return;
                }
            }
            shard.want_batch();
            wake.notified().await;
        }
    };
    // A client that does not read what it is told is not waited for.
    let _ = tokio::time::timeout(Duration::from_secs(5), written).await;
}
