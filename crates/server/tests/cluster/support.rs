//! Clusters on loopback ports and temporary directories, and clients that speak RESP to them.

use bytes::BytesMut;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use tidemark_contract::Topology;
use tidemark_core::{DcId, PartitionId};
pub(crate) use tidemark_patience::until as eventually;
use tidemark_patience::{PATIENCE, wait_for};
use tidemark_server::{
    ClusterLayout, Hooks, NodeConfig, NodeId, NodeLayout, Ready, ServeError, run_node_with,
};
use tidemark_wire::resp::{Decoder, Reply, encode_request};

/// A listener at a port that is this test's alone.
fn listen() -> TcpListener {
    TcpListener::bind(("127.0.0.1", tidemark_patience::port())).expect("nobody listens there")
}

/// Has reads and transactions wait for long, however busy the machine is, unless the test says otherwise. What has lost a message is
/// given up then, and the test tries it again several times within its patience.
fn be_patient(config: &mut NodeConfig) {
    let cluster = Arc::make_mut(&mut config.cluster);
    let factory = tidemark_registry::by_name(&cluster.protocol).expect("a protocol");
    // Some wait a moment only, and then go on in another way.
    let fails_after = factory.default_params().get("wait_limit_us").and_then(serde_json::Value::as_u64);
    if fails_after.is_some_and(|limit| limit >= 1_000_000) && cluster.params.get("wait_limit_us").is_none() {
        cluster.params["wait_limit_us"] = (PATIENCE.as_micros() as u64 / 6).into();
    }
}

/// A node that runs on a thread of this process.
struct Running {
    stop: Arc<tokio::sync::Notify>,
    thread: JoinHandle<Result<(), ServeError>>,
}

/// One node: its configuration stays while it is stopped and started.
pub(crate) struct Node {
    pub(crate) config: NodeConfig,
    running: Option<Running>,
    pub(crate) ready: Option<Ready>,
}

/// A cluster.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    _directory: tempfile::TempDir,
}

impl Cluster {
    /// One node a region, each with every partition.
    pub(crate) fn regions(protocol: &str, regions: usize, partitions: usize) -> Self {
        let all: Vec<u16> = (0..partitions as u16).collect();
        let shape: Vec<(u8, &[u16])> = (0..regions as u8).map(|dc| (dc, &all[..])).collect();
        Self::start(protocol, &shape, |_| ())
    }

    /// Nodes of the given regions and partitions; `adjust` may change each configuration before it starts.
    pub(crate) fn start(protocol: &str, shape: &[(u8, &[u16])], adjust: impl Fn(&mut NodeConfig)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let dcs = shape.iter().map(|(dc, _)| *dc as usize + 1).max().unwrap();
        let partitions = shape.iter().flat_map(|(_, held)| *held).map(|id| *id as usize + 1).max().unwrap();
        let peers: Vec<TcpListener> = shape.iter().map(|_| listen()).collect();
        let nodes = shape.iter().zip(&peers).enumerate().map(|(at, ((dc, held), peer))| NodeLayout {
            name: format!("n{at}"),
            dc: DcId(*dc),
            partitions: held.iter().copied().map(PartitionId).collect(),
            peer_address: peer.local_addr().unwrap().to_string(),
        });
        let cluster = Arc::new(ClusterLayout {
            name: "test".to_string(),
            protocol: protocol.to_string(),
            params: serde_json::Value::Null,
            topology: Topology::new(dcs, partitions),
            // Whoever holds the same is a group.
            replicas: shape.iter().filter(|node| **node == shape[0]).count(),
            regions: (0..dcs as u8).map(|dc| DcId(dc).to_string()).collect(),
            nodes: nodes.collect(),
            wan: Vec::new(),
            adapts: false,
        });
        let nodes = peers.into_iter().enumerate().map(|(at, peer)| {
            let (redis, admin) = (listen(), listen());
            let data = directory.path().join(format!("n{at}"));
            let mut config =
                NodeConfig::new(cluster.clone(), NodeId(at as u16), data, redis.local_addr().unwrap());
            config.peer_listen = Some(peer.local_addr().unwrap());
            config.admin_listen = Some(admin.local_addr().unwrap());
            config.log_segment_bytes = 4 << 20;
            // Tests of what cannot be answered have less.
            config.op_deadline_us = PATIENCE.as_micros() as u64;
            // A leader that a busy machine holds up for a moment stays one.
            config.election_timeout_us = 3_000_000;
            adjust(&mut config);
            be_patient(&mut config);
            let edge = config.edge_listen.map(|_| listen());
            config.edge_listen = edge.as_ref().map(|edge| edge.local_addr().unwrap());
            let mut node = Node { config, running: None, ready: None };
            node.start(Hooks {
                redis: Some(redis),
                peer: Some(peer),
                admin: Some(admin),
                edge,
                ..Hooks::default()
            });
            node
        });
        Self { nodes: nodes.collect(), _directory: directory }
    }

    /// A client of a node, after authentication if it needs that.
    pub(crate) fn client(&self, node: usize) -> Client {
        let config = &self.nodes[node].config;
        let mut client = Client::connect(config.redis_listen);
        if let Some(password) = &config.requirepass {
            client.ok(&["AUTH", password]);
        }
        client
    }

    /// Waits until every node reaches the partitions of these keys, which it sets.
    pub(crate) fn meet(&self, keys: &[&str]) {
        for node in 0..self.nodes.len() {
            let mut client = self.client(node);
            for key in keys {
                eventually("the nodes have met", || client.text(&["SET", key, "met"]) == "OK");
            }
        }
    }

    /// Stops a node cleanly.
    pub(crate) fn stop(&mut self, node: usize) {
        self.nodes[node].stop();
    }

    /// Begins to stop a node, and does not wait for its end.
    pub(crate) fn stopping(&mut self, node: usize) -> JoinHandle<Result<(), ServeError>> {
        let Running { stop, thread } = self.nodes[node].running.take().expect("it runs");
        stop.notify_one();
        thread
    }

    /// Starts a node that was stopped.
    pub(crate) fn restart(&mut self, node: usize) {
        self.nodes[node].start(Hooks::default());
    }

    /// Changes the configuration of a node that was stopped.
    pub(crate) fn configure(&mut self, node: usize, change: impl FnOnce(&mut NodeConfig)) {
        change(&mut self.nodes[node].config);
    }

    /// An order to the admin server of a node.
    pub(crate) fn admin(&self, node: usize, path: &str, body: &str) -> String {
        http(self.nodes[node].config.admin_listen.unwrap(), "POST", path, body)
    }

    /// What the admin server of a node says.
    pub(crate) fn page(&self, node: usize, path: &str) -> String {
        http(self.nodes[node].config.admin_listen.unwrap(), "GET", path, "")
    }
}

impl Cluster {
    /// How a node says that it stands.
    pub(crate) fn status(&self, node: usize) -> serde_json::Value {
        let page = self.page(node, "/status");
        let (_, body) = page.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {page}"))
    }
}

impl Node {
    fn start(&mut self, mut hooks: Hooks) {
        let stop = Arc::new(tokio::sync::Notify::new());
        let (ready, is_ready) = mpsc::channel();
        hooks.stop = Some(stop.clone());
        hooks.ready = Some(ready);
        let config = self.config.clone();
        let thread = std::thread::spawn(move || run_node_with(config, hooks));
        match is_ready.recv_timeout(PATIENCE) {
            Ok(ready) => {
                self.ready = Some(ready);
                self.running = Some(Running { stop, thread });
            }
            Err(_) => panic!("the node does not start: {:?}", thread.join()),
        }
    }

    fn stop(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            stop.notify_one();
            thread.join().expect("no panic").expect("a clean end");
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

/// A client's connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: BytesMut,
    decoder: Decoder,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: BytesMut::new(), decoder: Decoder::default() }
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        match self.stream.write_all(bytes) {
            // There will be no reply.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {}
            sent => sent.unwrap(),
        }
    }

    /// The next reply; none if the connection was closed.
    pub(crate) fn reply(&mut self) -> Option<Reply> {
        loop {
            if let Some(reply) = self.decoder.decode(&mut self.buffer).unwrap() {
                return Some(reply);
            }
            let mut chunk = [0; 64 << 10];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no reply: {error}"),
            }
        }
    }

    /// A command and its reply.
    #[track_caller]
    pub(crate) fn call(&mut self, command: &[&str]) -> Reply {
        let mut bytes = Vec::new();
        encode_request(&mut bytes, command);
        self.send(&bytes);
        self.reply().expect("the connection stands")
    }

    /// A command that answers OK.
    #[track_caller]
    pub(crate) fn ok(&mut self, command: &[&str]) {
        assert_eq!(self.call(command), Reply::Simple("OK".into()), "{command:?}");
    }

    /// A command's reply as text: `-` for none, errors with a leading `!`.
    #[track_caller]
    pub(crate) fn text(&mut self, command: &[&str]) -> String {
        text(&self.call(command))
    }

    /// The reply to a command that a slow node may refuse; it is sent again for as long as it is.
    #[track_caller]
    pub(crate) fn answered(&mut self, command: &[&str]) -> Reply {
        let refused = |reply: &Reply| text(reply).starts_with("!UNAVAILABLE");
        wait_for("an answer", || Some(self.call(command)).filter(|reply| !refused(reply)))
    }

    /// The words of a list, in order.
    #[track_caller]
    pub(crate) fn list(&mut self, command: &[&str]) -> Vec<String> {
        let reply = self.call(command);
        reply.items().unwrap_or_else(|| panic!("{command:?}: {reply:?}")).iter().map(text).collect()
    }
}

/// A reply as text.
pub(crate) fn text(reply: &Reply) -> String {
    if let Some(error) = reply.error() {
        return format!("!{}", String::from_utf8_lossy(error));
    }
    match (reply.bytes(), reply.integer()) {
        (Some(bytes), _) => String::from_utf8_lossy(bytes).into_owned(),
        (_, Some(number)) => number.to_string(),
        _ if *reply == Reply::Null => "-".to_string(),
        _ => format!("{reply:?}"),
    }
}

/// The answer to a request, which is asked again while the node is busy with something else.
fn http(address: SocketAddr, method: &str, path: &str, body: &str) -> String {
    let mut answer = String::new();
    eventually("the node answers", || {
        answer = http_once(address, method, path, body);
        !answer.contains("the node does not answer")
    });
    answer
}

fn http_once(address: SocketAddr, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    let kind = "Content-Type: application/json\r\n";
    write!(stream, "{head}{kind}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
