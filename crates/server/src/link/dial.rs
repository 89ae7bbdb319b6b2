//! Calling other nodes, again and again until they answer, and whether a link is cut.

use super::reader::FrameReader;
use super::{feed_in, group, messages};
use crate::shard::Shard;
use socket2::{SockRef, TcpKeepalive};
use std::rc::Rc;
use std::time::Duration;
use tidemark_contract::Protocol;
use tidemark_core::DcId;
use tidemark_node::NodeId;
use tidemark_node::link::frame::{frame, value};
use tidemark_node::link::hello::{Hello, LinkKind, Speaker, Welcome};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// The longest that a call may take.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(5);
/// Between two calls: at first, and at most.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(1_000);

/// An answered call.
pub(crate) struct Call {
    pub(crate) node: NodeId,
    /// What this node said of itself.
    pub(crate) said: Speaker,
    pub(crate) reader: FrameReader<OwnedReadHalf>,
    pub(crate) write: OwnedWriteHalf,
}

/// The two ends of a link.
#[derive(Clone, Copy)]
pub(crate) struct Dcs {
    pub(crate) mine: DcId,
    pub(crate) other: DcId,
}

/// Whether a connection is cut, and when that changes.
pub(crate) struct Cut<P: Protocol> {
    shard: Rc<Shard<P>>,
    direction: (DcId, DcId),
    /// In which of its roles this node was when the connection was made.
    era: u64,
    changes: watch::Receiver<u64>,
}

impl<P: Protocol> Cut<P> {
    /// Of what flows in `direction` between this node and one in `other`.
    pub(crate) fn new(shard: &Rc<Shard<P>>, direction: impl Fn(Dcs) -> (DcId, DcId), other: DcId) -> Self {
        let (mine, era) = {
            let engine = &shard.core.borrow().engine;
            (engine.dc, engine.era)
        };
        let direction = direction(Dcs { mine, other });
        Self { shard: shard.clone(), direction, era, changes: shard.changes.subscribe() }
    }

    /// Whether nothing passes between the regions.
    fn is_cut(&self) -> bool {
        self.shard.core.borrow().engine.faults.is_region_cut(self.direction.0, self.direction.1)
    }

    /// When faults, or the role of this node, have changed: whether the connection has to end.
    pub(crate) async fn changed(&mut self) -> bool {
        // The sender lives as long as the shard does.
        let _ = self.changes.changed().await;
        self.is_cut() || self.shard.core.borrow().engine.era != self.era
    }

    /// When something passes.
    pub(crate) async fn healed(&mut self) {
        while self.is_cut() {
            let _ = self.changes.changed().await;
        }
    }
}

/// How long a node may not be reached before that is told.
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps one channel to `node` open until the node stops.
pub(crate) async fn keep<P: Protocol>(shard: Rc<Shard<P>>, node: NodeId, channel: LinkKind) {
    let (name, dc) = {
        let core = shard.core.borrow();
        let layout = &core.engine.config.cluster.nodes[node.index()];
        (layout.name.clone(), layout.dc)
    };
    let mut cut = Cut::new(
        &shard,
        |dcs| match channel {
            LinkKind::Messages | LinkKind::Raft | LinkKind::Copy => (dcs.mine, dcs.other),
            LinkKind::Stream => (dcs.other, dcs.mine),
        },
        dc,
    );
    let (mut pauses, mut last) = (Pauses::default(), String::new());
    let mut met = shard.met.subscribe();
    let mut down_since = Instant::now();
    loop {
        cut.healed().await;
        if channel == LinkKind::Stream {
            shard.may_be_fed_by(node).await;
        }
        let started = Instant::now();
        let (trouble, patience) = match call(&shard, node, channel).await {
            Ok(call) => {
                shard.core.borrow_mut().links.peers[node.index()].trouble = None;
                tracing::debug!("{channel:?} to node {name} is up");
                last.clear();
                let ended = match channel {
                    LinkKind::Messages => messages::speak(&shard, call).await,
                    LinkKind::Stream => feed_in::receive(&shard, call).await,
                    LinkKind::Raft => group::speak(&shard, call).await,
                    LinkKind::Copy => unreachable!("a copy is sent once"),
                };
                down_since = Instant::now();
                // In groups links end and are opened again when leaders change: no trouble, unless the next call fails.
                let ended = ended.err().filter(|_| shard.core.borrow().engine.place.is_none());
                (ended.map(|error| error.to_string()), Duration::ZERO)
            }
            // Nodes that start together call each other before all of them listen: no trouble yet.
            Err(why) => (Some(why), PATIENCE),
        };
        if let Some(trouble) = trouble {
            if trouble != last && down_since.elapsed() >= patience {
                tracing::warn!("{channel:?} to node {name}: {trouble}");
                last.clone_from(&trouble);
            }
            shard.core.borrow_mut().links.peers[node.index()].trouble = Some(trouble);
        }
        if started.elapsed() > PAUSE_MAX {
            pauses = Pauses::default();
        }
        tokio::select! {
            () = sleep(pauses.next()) => {}
            // A node that has just started calls everybody: it need not wait until it is called back.
            _ = met.changed() => {
                pauses = Pauses::default();
                sleep(pauses.next()).await;
            }
        }
    }
}

/// How long to wait before the next call, on every channel: soon at first, then twice as long each time.
struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(PAUSE_MIN)
    }
}

impl Pauses {
    /// Nodes that lost each other at the same moment do not call at the same moments: up to a quarter more or less.
    fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(PAUSE_MAX);
        pause.mul_f64(0.75 + fastrand::f64() / 2.0)
    }
}

/// Calls `node` once.
pub(crate) async fn call<P: Protocol>(
    shard: &Rc<Shard<P>>,
    node: NodeId,
    channel: LinkKind,
) -> Result<Call, String> {
    let (hello, address, era) = {
        let core = shard.core.borrow();
        let engine = &core.engine;
        let (config, cluster) = (&engine.config, &engine.config.cluster);
        let secret = config.peer_secret.as_deref();
        let speaker = core.speaker(node, None);
        let hello = Hello::new(cluster, secret, &engine.dialect.name, (engine.me, node), speaker, channel);
        (hello, cluster.nodes[node.index()].peer_address.clone(), engine.era)
    };
    let handshake = async {
        let stream = TcpStream::connect(&address)
            .await
            .map_err(|error| format!("cannot connect to {address}: {error}"))?;
        prepare(&stream);
        let (read, mut write) = stream.into_split();
        write.write_all(&frame(&hello)).await.map_err(|error| error.to_string())?;
        let mut reader = FrameReader::new(read);
        let payload = reader.next().await.map_err(|error| error.to_string())?;
        match value(&payload).map_err(|error| error.to_string())? {
            Welcome::Refused(why) => Err(format!("refused by {address}: {why}")),
            Welcome::Accepted(speaker) => {
                reader.trust();
                if shard.core.borrow().engine.era != era {
                    return Err("this node has begun or ceased to lead meanwhile".to_string());
                }
                shard.meet(node, &speaker, channel);
                if channel == LinkKind::Raft {
                    shard.hear_answer(node, &speaker);
                }
                Ok(Call { node, said: hello.speaker, reader, write })
            }
        }
    };
    match timeout(HANDSHAKE, handshake).await {
        Ok(result) => result,
        Err(_) => Err(format!("no answer from {address}")),
    }
}

/// Small frames leave at once, and a dead connection is noticed.
pub(crate) fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive =
        TcpKeepalive::new().with_time(Duration::from_secs(5)).with_interval(Duration::from_secs(2));
    let socket = SockRef::from(stream);
    let _ = socket.set_tcp_keepalive(&keepalive);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(Duration::from_secs(10)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_repeated_soon_and_then_ever_more_rarely() {
        let mut pauses = Pauses::default();
        for ms in [20, 40, 80, 160, 320, 640, 1_000, 1_000] {
            let pause = pauses.next().as_millis();
            assert!((ms * 3 / 4..=ms * 5 / 4).contains(&pause), "{pause} instead of {ms}");
        }
    }
}
