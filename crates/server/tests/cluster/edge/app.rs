//! The Rust client over real WebSockets, driven by the thread of the test.

use crate::support::{Cluster, PATIENCE};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tidemark_edge::client::{Client, Config, Effect, Event, Report};
use tidemark_edge::durable::Durable;
use tidemark_edge::frames::{OperationKind, Secret, Value};
use tungstenite::{Message, WebSocket};

fn connect(address: SocketAddr) -> Option<WebSocket<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    let (socket, _) = tungstenite::client(format!("ws://{address}/edge"), stream).ok()?;
    socket.get_ref().set_nonblocking(true).unwrap();
    socket.get_ref().set_nodelay(true).unwrap();
    Some(socket)
}

/// A client with its disk, in memory, and its connection.
pub(crate) struct App {
    pub(crate) client: Client,
    disk: Durable,
    config: Config,
    endpoints: Vec<SocketAddr>,
    started: Instant,
    socket: Option<(u64, WebSocket<TcpStream>)>,
    online: bool,
    wake_at_us: u64,
    commits: u64,
    pub(super) reports: Vec<Report>,
    /// Bytes of frames.
    pub(super) received: usize,
}

impl App {
    pub(crate) fn new(cluster: &Cluster, nodes: &[usize], regions: u64) -> Self {
        Self::with_token(cluster, nodes, regions, "")
    }

    pub(super) fn with_token(cluster: &Cluster, nodes: &[usize], regions: u64, token: &'static str) -> Self {
        let endpoints: Vec<SocketAddr> =
            nodes.iter().map(|node| cluster.nodes[*node].config.edge_listen.unwrap()).collect();
        let mut disk = Durable::new(Secret(std::array::from_fn(|_| fastrand::u8(..))));
        disk.regions = regions;
        let config =
            Config { endpoints: endpoints.len(), seed: fastrand::u64(..), token: Bytes::from(token) };
        let mut app = Self {
            client: Client::new(disk.clone(), config.clone()),
            disk,
            config,
            endpoints,
            started: Instant::now(),
            socket: None,
            online: true,
            wake_at_us: u64::MAX,
            commits: 0,
            reports: Vec::new(),
            received: 0,
        };
        app.event(Event::Start);
        app
    }

    fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn event(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in self.client.handle(self.now_us(), event) {
                match effect {
                    Effect::Persist { id, rows } => {
                        rows.iter().for_each(|row| self.disk.apply(row));
                        events.push_back(Event::Persisted { id });
                    }
                    Effect::Connect { endpoint, connection } => {
                        self.socket = None;
                        let socket = connect(self.endpoints[endpoint]).filter(|_| self.online);
                        events.push_back(match socket {
                            Some(socket) => {
                                self.socket = Some((connection, socket));
                                Event::Connected { connection }
                            }
                            None => Event::Disconnected { connection },
                        });
                    }
                    Effect::Send { bytes, .. } => {
                        let Some((connection, socket)) = &mut self.socket else { continue };
                        if socket.send(Message::Binary(bytes.into())).is_err() {
                            let connection = *connection;
                            self.socket = None;
                            events.push_back(Event::Disconnected { connection });
                        }
                    }
                    Effect::Close { .. } => self.socket = None,
                    Effect::WakeAt { at_us } => self.wake_at_us = at_us,
                    Effect::DrawSecret => {
                        let secret = Secret(std::array::from_fn(|_| fastrand::u8(..)));
                        events.push_back(Event::Secret(secret));
                    }
                    Effect::CommitFailed { why, .. } => panic!("{why}"),
                    Effect::Report(report) => {
                        assert!(!matches!(report, Report::Forked { .. } | Report::Lost { .. }), "{report:?}");
                        self.reports.push(report);
                    }
                    Effect::Committed { .. } | Effect::Changed { .. } | Effect::Status(_) => {}
                }
            }
        }
    }

    /// Does what is due, for so long.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            if self.now_us() >= self.wake_at_us {
                self.wake_at_us = u64::MAX;
                self.event(Event::Timer);
            }
            while let Some((connection, socket)) = &mut self.socket {
                let connection = *connection;
                match socket.read() {
                    Ok(Message::Binary(bytes)) => {
                        self.received += bytes.len();
                        self.event(Event::Frame { connection, bytes: bytes.to_vec() });
                    }
                    Ok(Message::Close(_)) => {
                        self.socket = None;
                        self.event(Event::Disconnected { connection });
                    }
                    Ok(_) => {}
                    Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(_) => {
                        self.socket = None;
                        self.event(Event::Disconnected { connection });
                    }
                }
            }
            if Instant::now() >= end {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !condition(self) {
            let (status, pending) = (self.client.status(), self.client.pending());
            assert!(
                start.elapsed() < PATIENCE,
                "in vain: {what}; {status:?}, {pending} pending, {:?}",
                self.reports
            );
            self.run(Duration::from_millis(5));
        }
    }

    /// Watches keys, and waits until they are here.
    pub(crate) fn load(&mut self, keys: &[&str]) {
        keys.iter().for_each(|key| self.event(Event::Watch { key: Bytes::copy_from_slice(key.as_bytes()) }));
        self.until("the keys are here", |app| {
            keys.iter().all(|key| app.client.read(key.as_bytes()).is_some())
        });
    }

    pub(crate) fn commit(&mut self, operations: &[(&'static str, OperationKind)]) {
        let mut transaction = self.client.begin();
        operations.iter().for_each(|(key, kind)| transaction.push(*key, kind.clone()));
        self.commits += 1;
        self.event(Event::Commit { id: self.commits, transaction });
    }

    pub(super) fn text(&self, key: &str) -> String {
        string(self.client.read(key.as_bytes()))
    }

    pub(super) fn field(&self, key: &str, field: &str) -> String {
        match self.client.read(key.as_bytes()) {
            Some(Value::Map(fields)) => fields
                .get(field.as_bytes())
                .map_or(String::new(), |written| String::from_utf8_lossy(&written.bytes).into_owned()),
            _ => String::new(),
        }
    }

    /// The connection breaks.
    pub(super) fn break_off(&mut self) {
        if let Some((connection, _)) = self.socket.take() {
            self.event(Event::Disconnected { connection });
        }
    }

    pub(crate) fn offline(&mut self) {
        self.online = false;
        self.event(Event::Stop);
        self.socket = None;
    }

    pub(crate) fn online(&mut self) {
        self.online = true;
        self.event(Event::Start);
    }

    /// The process ends; another one goes on with its disk.
    pub(super) fn crash(&mut self) {
        self.socket = None;
        self.config.seed += 1;
        self.client = Client::new(self.disk.clone(), self.config.clone());
        self.wake_at_us = u64::MAX;
        self.event(Event::Start);
    }
}

/// A string, empty if there is none.
pub(super) fn string(value: Option<Value>) -> String {
    match value {
        Some(Value::String(written)) => String::from_utf8_lossy(&written.bytes).into_owned(),
        _ => String::new(),
    }
}

/// A connection that is sent what no client sends.
pub(super) struct Raw(WebSocket<TcpStream>);

impl Raw {
    pub(super) fn connect(address: SocketAddr) -> Self {
        let socket = connect(address).expect("it is served");
        socket.get_ref().set_nonblocking(false).unwrap();
        socket.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        Self(socket)
    }

    /// What comes until the connection ends, as text.
    fn rest(&mut self) -> String {
        let mut all = Vec::new();
        loop {
            match self.0.read() {
                Ok(Message::Binary(bytes)) => all.extend_from_slice(&bytes),
                Ok(Message::Close(_)) | Err(_) => return String::from_utf8_lossy(&all).into_owned(),
                Ok(_) => {}
            }
        }
    }

    pub(super) fn send(mut self, frame: &[u8]) -> String {
        self.0.send(Message::Binary(frame.to_vec().into())).unwrap();
        self.rest()
    }

    pub(super) fn text(mut self, text: &str) -> String {
        self.0.send(Message::Text(text.into())).unwrap();
        self.rest()
    }
}
