//! Being called by other nodes.

use super::dial::{HANDSHAKE, prepare};
use super::reader::FrameReader;
use super::{copies, feed_out, group, messages};
use crate::shard::Shard;
use std::rc::Rc;
use std::time::Duration;
use tidemark_contract::Protocol;
use tidemark_node::link::frame::{frame, value};
use tidemark_node::link::hello::{Hello, LinkKind, Welcome};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;
use tokio::time::timeout;

/// Connections that have not introduced themselves yet, at most.
const STRANGERS_MAX: usize = 64;

/// Accepts nodes until this one stops.
pub(crate) async fn accept<P: Protocol>(shard: Rc<Shard<P>>, listener: TcpListener) {
    let strangers = Rc::new(tokio::sync::Semaphore::new(STRANGERS_MAX));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shard.stopped() => return,
        };
        match accepted {
            Ok((stream, address)) => {
                let (shard, strangers) = (shard.clone(), strangers.clone());
                spawn_local(async move {
                    // Too many strangers: the connection is dropped.
                    let Ok(stranger) = strangers.try_acquire() else { return };
                    let met = timeout(HANDSHAKE, meet(&shard, stream)).await;
                    drop(stranger);
                    match met {
                        Ok(Ok((hello, reader, write))) => serve(&shard, hello, reader, write).await,
                        Ok(Err(why)) => tracing::warn!("a caller from {address} was refused: {why}"),
                        Err(_) => tracing::warn!("a caller from {address} did not introduce itself"),
                    }
                });
            }
            Err(error) => {
                tracing::warn!("cannot accept a node: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

type Met = (Hello, FrameReader<tokio::net::tcp::OwnedReadHalf>, tokio::net::tcp::OwnedWriteHalf);

async fn meet<P: Protocol>(shard: &Rc<Shard<P>>, stream: TcpStream) -> Result<Met, String> {
    prepare(&stream);
    let (read, mut write) = stream.into_split();
    let mut reader = FrameReader::new(read);
    let payload = reader.next().await.map_err(|error| error.to_string())?;
    let hello: Hello = value(&payload).map_err(|error| error.to_string())?;
    let (checked, era) = {
        let core = shard.core.borrow();
        let (engine, config) = (&core.engine, &core.engine.config);
        let (secret, protocol) = (config.peer_secret.as_deref(), &engine.dialect.name);
        let checked = hello.check(&config.cluster, secret, protocol, config.me);
        let checked = checked.and_then(|()| {
            let other = config.cluster.nodes[hello.from.index()].dc;
            let (from, to) = match hello.kind {
                LinkKind::Messages | LinkKind::Raft | LinkKind::Copy => (other, engine.dc),
                LinkKind::Stream => (engine.dc, other),
            };
            if hello.kind == LinkKind::Stream && engine.seat.host().is_none() {
                return Err("this node leads its group no more, and feeds nobody".to_string());
            }
            if engine.faults.is_region_cut(from, to) {
                return Err(format!("the link from {from} to {to} is cut"));
            }
            Ok(core.speaker(hello.from, Some(hello.speaker.start)))
        });
        (checked, engine.era)
    };
    let answer = match &checked {
        Ok(speaker) => Welcome::Accepted(*speaker),
        Err(why) => Welcome::Refused(why.clone()),
    };
    write.write_all(&frame(&answer)).await.map_err(|error| error.to_string())?;
    checked?;
    if shard.core.borrow().engine.era != era {
        return Err("this node has begun or ceased to lead meanwhile".to_string());
    }
    reader.trust();
    Ok((hello, reader, write))
}

async fn serve<P: Protocol>(
    shard: &Rc<Shard<P>>,
    hello: Hello,
    reader: FrameReader<tokio::net::tcp::OwnedReadHalf>,
    write: tokio::net::tcp::OwnedWriteHalf,
) {
    let node = hello.from;
    shard.meet(node, &hello.speaker, hello.kind);
    let name = shard.core.borrow().engine.config.cluster.nodes[node.index()].name.clone();
    let result = match hello.kind {
        LinkKind::Messages => {
            // Kept open: the caller notices by it that we are gone.
            let _write = write;
            messages::listen(shard, node, reader).await
        }
        LinkKind::Stream => feed_out::send(shard, node, reader, write).await,
        LinkKind::Raft => {
            let _write = write;
            group::listen(shard, reader).await
        }
        LinkKind::Copy => {
            copies::receive(shard, node, reader, write).await;
            Ok(())
        }
    };
    if let Err(error) = result {
        tracing::debug!("{:?} from node {name} ended: {error}", hello.kind);
    }
}
