//! Copies of everything, from the leader of a group to a member that lacks much: each on a connection of its own, a piece at a
//! time, read and made durable on other threads.
//!
//! ```text
//! leader   Begin(message) Records… End
//! member   Taken            once all of it is durable, and loaded; whatever goes wrong ends the connection
//! ```

use super::dial::{Call, call};
use super::reader::{FrameReader, LinkError};
use crate::shard::Shard;
use crate::shard::seat::Broken;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tidemark_contract::Protocol;
use tidemark_group::{CopyIn, CopyOut, Member, RecallJob};
use tidemark_node::NodeId;
use tidemark_node::link::frame::{frame, value};
use tidemark_node::link::hello::LinkKind;
use tidemark_replica::CopyRefused;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::{spawn_blocking, spawn_local};

/// How much one frame holds, about.
const PIECE_BYTES: usize = 256 << 10;
/// After a copy that did not arrive, before the leader hears of it and tries again.
const PAUSE: Duration = Duration::from_secs(1);

/// What is said of a copy.
#[derive(Serialize, Deserialize)]
enum Part<'a> {
    /// The message that tells of it, as the library encodes it: heard when all of it is there.
    Begin(&'a [u8]),
    /// Records.
    Records(&'a [u8]),
    /// That was all.
    End,
}

/// The answer.
#[derive(Serialize, Deserialize)]
struct Taken;

/// Why a copy did not arrive.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error("{0}")]
    Call(String),
    #[error("{0}")]
    Frame(#[from] LinkError),
    #[error("{0}")]
    Refused(#[from] CopyRefused),
    #[error("this node leads its group no more")]
    Replaced,
    #[error("{0}")]
    Broken(Broken),
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

impl From<std::io::Error> for Lost {
    fn from(error: std::io::Error) -> Self {
        Self::Frame(error.into())
    }
}

impl<P: Protocol> Shard<P> {
    /// Sends the copies that wait to be sent, and reads what the leader of a group wants to remember.
    pub(crate) fn send_copies(self: &Rc<Self>) {
        let (copies, recall) = {
            let mut core = self.core.borrow_mut();
            let Some(member) = core.engine.seat.member_mut() else { return };
            (member.take_copies(), member.recall_job())
        };
        for copy in copies {
            spawn_local(send(self.clone(), copy));
        }
        if let Some(job) = recall {
            spawn_local(self.clone().recall(job));
        }
    }

    async fn recall(self: Rc<Self>, job: RecallJob) {
        // It is aborted with the node alone.
        let Ok(recalled) = spawn_blocking(move || job.run()).await else { return };
        let result = {
            let engine = &mut self.core.borrow_mut().engine;
            let now = engine.clock.now();
            engine.seat.member_mut().map(|member| member.recalled(now, recalled))
        };
        match result {
            Some(Err(error)) => self.fail(&Broken(error.to_string())),
            _ => self.want_turn(),
        }
    }

    fn with_member<T>(&self, act: impl FnOnce(&mut Member<P>) -> Result<T, Lost>) -> Result<T, Lost> {
        act(self.core.borrow_mut().engine.seat.member_mut().ok_or(Lost::Replaced)?)
    }

    fn name_of(&self, node: NodeId) -> String {
        self.core.borrow().engine.config.cluster.nodes[node.index()].name.clone()
    }
}

/// Sends a copy, and tells the member that sends it how that ended.
async fn send<P: Protocol>(shard: Rc<Shard<P>>, copy: CopyOut) {
    let (to, opened) = (copy.to, copy.opened);
    let node = shard.core.borrow().engine.place.as_ref().and_then(|place| place.node(to));
    let arrived = match node {
        None => false,
        Some(node) => {
            let (name, begun) = (shard.name_of(node), Instant::now());
            tracing::info!("node {name} gets a copy of everything");
            match stream(&shard, node, copy).await {
                Ok(bytes) => {
                    let (mib, seconds) = (bytes >> 20, begun.elapsed().as_secs_f64());
                    tracing::info!("node {name} has its copy: {mib} MiB in {seconds:.1} s");
                    true
                }
                Err(lost) => {
                    tracing::warn!("the copy for node {name} did not arrive, and is sent again: {lost}");
                    tokio::time::sleep(PAUSE).await;
                    false
                }
            }
        }
    };
    if let Some(member) = shard.core.borrow_mut().engine.seat.member_mut() {
        member.copy_ended(to, opened, arrived);
    }
    shard.want_turn();
}

/// Returns how many bytes it was.
async fn stream<P: Protocol>(shard: &Rc<Shard<P>>, node: NodeId, mut copy: CopyOut) -> Result<u64, Lost> {
    let Call { mut reader, mut write, .. } = call(shard, node, LinkKind::Copy).await.map_err(Lost::Call)?;
    write.write_all(&frame(&Part::Begin(&tidemark_group::encode(&copy.message)))).await?;
    let mut bytes = 0;
    loop {
        let (piece, back) = spawn_blocking(move || (copy.next_piece(PIECE_BYTES), copy))
            .await
            .map_err(|error| Lost::Unreadable(error.to_string()))?;
        copy = back;
        let opened = copy.opened;
        shard.with_member(|member| if member.opened() == opened { Ok(()) } else { Err(Lost::Replaced) })?;
        let Some(piece) = piece.map_err(|error| Lost::Unreadable(error.to_string()))? else { break };
        bytes += piece.len() as u64;
        write.write_all(&frame(&Part::Records(&piece))).await?;
    }
    write.write_all(&frame(&Part::End)).await?;
    let Taken = value(&reader.next().await?).map_err(LinkError::from)?;
    Ok(bytes)
}

/// Receives a copy.
pub(crate) async fn receive<P: Protocol>(
    shard: &Rc<Shard<P>>,
    node: NodeId,
    mut reader: FrameReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
) {
    let (name, begun) = (shard.name_of(node), Instant::now());
    let mut copy = None;
    match take(shard, &mut reader, &mut copy).await {
        Ok(()) => {
            tracing::info!(
                "the copy of everything from node {name} is there, after {:.1} s",
                begun.elapsed().as_secs_f64()
            );
            // If it is not told, it asks.
            let _ = write.write_all(&frame(&Taken)).await;
        }
        Err(Lost::Broken(broken)) => shard.fail(&broken),
        Err(lost) => {
            tracing::warn!("the copy from node {name} did not arrive: {lost}");
            let give_up = |member: &mut Member<P>| {
                copy.into_iter().for_each(|copy| member.give_up_copy(copy));
                Ok(())
            };
            let _ = shard.with_member(give_up);
        }
    }
    shard.want_turn();
}

async fn take<P: Protocol>(
    shard: &Rc<Shard<P>>,
    reader: &mut FrameReader<OwnedReadHalf>,
    copy: &mut Option<CopyIn>,
) -> Result<(), Lost> {
    loop {
        let payload = reader.next().await?;
        let part = value(&payload).map_err(LinkError::from)?;
        match (part, *copy) {
            (Part::Begin(message), None) => {
                let message = tidemark_group::decode(message)
                    .ok_or_else(|| CopyRefused("it is not said of what it is".to_string()))?;
                *copy = Some(shard.with_member(|member| Ok(member.begin_copy(message)?))?);
            }
            (Part::Records(piece), Some(copy)) => {
                shard.with_member(|member| Ok(member.copy_piece(copy, piece)?))?;
                shard.want_turn();
            }
            (Part::End, Some(copy)) => {
                let job = shard.with_member(|member| Ok(member.seal_copy(copy)?))?;
                let sealed = spawn_blocking(move || job.run())
                    .await
                    .map_err(|error| CopyRefused(error.to_string()))?;
                let now = shard.core.borrow().engine.clock.now();
                return shard.with_member(|member| match member.copy_sealed(now, copy, sealed) {
                    Ok(taken) => Ok(taken?),
                    Err(error) => Err(Lost::Broken(Broken(error.to_string()))),
                });
            }
            _ => return Err(CopyRefused("its parts are out of order".to_string()).into()),
        }
    }
}
