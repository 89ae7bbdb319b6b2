//! What tests ask of a cluster.

use super::Cluster;
use bytes::BytesMut;
use tidemark_contract::Topology;
use tidemark_core::{Condition, DcId, Key, Op, Outcome, PartitionId, Update, Value, Write};
use tidemark_node::{ClusterLayout, Flow, LinkId, NodeLayout, Order, OrderId, SessionId};

pub(crate) fn layout(dcs: usize, partitions: usize, replicas: usize) -> ClusterLayout {
    let node = |dc: usize, replica: usize| NodeLayout {
        name: format!("{}-{replica}", DcId(dc as u8)),
        dc: DcId(dc as u8),
        partitions: (0..partitions as u16).map(PartitionId).collect(),
        peer_address: format!("{dc}.{replica}"),
    };
    ClusterLayout {
        topology: Topology::new(dcs, partitions),
        replicas,
        regions: (0..dcs).map(|dc| DcId(dc as u8).to_string()).collect(),
        nodes: (0..dcs).flat_map(|dc| (0..replicas).map(move |replica| node(dc, replica))).collect(),
        ..ClusterLayout::single("causal", partitions)
    }
}

impl Cluster {
    pub(crate) fn open(&mut self, at: usize) -> SessionId {
        self.node(at).open()
    }

    /// Begins an operation; its outcome is found among the node's outcomes once it is released.
    pub(crate) fn begin(&mut self, at: usize, session: SessionId, op: Op) {
        let now = self.now(at);
        let outcome = self.node(at).begin(now, session, op);
        let batch = self.end_batch(at);
        if let Some(outcome) = outcome {
            self.processes[at].gate.push(batch, (session, outcome));
        }
        self.release(at);
    }

    /// Takes over a token; as [`Self::begin`].
    pub(crate) fn import(&mut self, at: usize, session: SessionId, token: &str) {
        let now = self.now(at);
        let outcome = self.node(at).import(now, session, token.as_bytes()).expect("it is a token");
        let batch = self.end_batch(at);
        if let Some(outcome) = outcome {
            self.processes[at].gate.push(batch, (session, outcome));
        }
        self.release(at);
    }

    pub(crate) fn export(&mut self, at: usize, session: SessionId) -> String {
        let now = self.now(at);
        self.node(at).export(now, session)
    }

    pub(crate) fn order(&mut self, at: usize, number: u64, order: Order) {
        self.begin_order(at, number, order);
        self.run_for(0);
    }

    /// Gives an order, of which no other node hears yet.
    pub(crate) fn begin_order(&mut self, at: usize, number: u64, order: Order) {
        let now = self.now(at);
        self.node(at).order(now, OrderId(number), order);
        self.end_batch(at);
    }

    /// Runs an operation to its end.
    pub(crate) fn call(&mut self, at: usize, session: SessionId, op: Op) -> Outcome {
        self.begin(at, session, op);
        for _ in 0..20_000 {
            if let Some(outcome) = self.processes[at].outcomes.remove(&session) {
                return outcome;
            }
            self.run_for(1_000);
        }
        panic!("the operation does not end");
    }

    pub(crate) fn set(&mut self, at: usize, session: SessionId, key: &str, value: &str) -> Outcome {
        self.call(at, session, set(key, value))
    }

    pub(crate) fn get(&mut self, at: usize, session: SessionId, key: &str) -> Option<String> {
        match self.call(at, session, get(key)) {
            Outcome::Found(found) => found.value.map(|value| String::from_utf8_lossy(&value).into_owned()),
            other => panic!("GET ended with {other:?}"),
        }
    }

    /// A connection to `to` that nobody has dialled: its link there.
    pub(crate) fn stranger(&mut self, to: usize) -> LinkId {
        let now = self.now(to);
        self.node(to).accepted(now)
    }

    /// What a link has to say.
    pub(crate) fn said(&mut self, at: usize, link: LinkId) -> Vec<u8> {
        let now = self.now(at);
        let mut bytes = Vec::new();
        self.node(at).transmit(now, link, 1 << 20, &mut bytes);
        bytes
    }

    pub(crate) fn receive(
        &mut self,
        at: usize,
        link: LinkId,
        bytes: &mut BytesMut,
    ) -> Result<Flow, tidemark_node::LinkError> {
        let now = self.now(at);
        self.node(at).receive(now, link, bytes)
    }

    pub(crate) fn up(&mut self, at: usize) -> bool {
        let now = self.now(at);
        let status = self.node(at).status(now);
        (0..status.peers.len()).filter(|peer| *peer != at).all(|peer| status.peers[peer].up)
    }

    /// The node of `nodes` that leads its Raft group.
    pub(crate) fn leader(&mut self, nodes: std::ops::Range<usize>) -> Option<usize> {
        nodes.into_iter().find(|at| {
            let now = self.now(*at);
            self.processes[*at].node.is_some()
                && self.node(*at).status(now).group.is_some_and(|group| group.role == "leader")
        })
    }
}

pub(crate) fn set(key: &str, value: &str) -> Op {
    let update = Update {
        write: Write::Assign(Value::from(value.as_bytes())),
        condition: Condition::Always,
        returns_previous: false,
        command: None,
    };
    Op::Put { key: Key::from(key), update }
}

pub(crate) fn get(key: &str) -> Op {
    Op::Get { key: Key::from(key) }
}
