//! The Rust client over real WebSockets, driven by the thread of the test.

use crate::support::Cluster;
use bytes::Bytes;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tidemark_edge::client::{Client, Effect, Event, Report, Transaction};
use tidemark_edge::durable::Durable;
use tidemark_edge::frames::{OperationKind, Value};
use tidemark_edge_client::{Driver, Endpoint, Setup, draw_secret};
use tidemark_patience::{PATIENCE, Sought};
use tokio::runtime::Runtime;
use tungstenite::{Message, WebSocket};

/// A client with its disk, in memory, and its connection.
pub(crate) struct App {
    driver: Driver<Durable>,
    setup: Setup,
    runtime: Runtime,
    pub(crate) reports: Vec<Report>,
    /// Transactions of it may be lost, with its region.
    pub(crate) loses: bool,
}

impl App {
    pub(crate) fn new(cluster: &Cluster, nodes: &[usize], regions: u64) -> Self {
        Self::with_token(cluster, nodes, regions, "")
    }

    /// One that lowers K where it knows no region that is not isolated.
    pub(super) fn lowering(cluster: &Cluster, nodes: &[usize], regions: u64) -> Self {
        Self::start(cluster, nodes, regions, Bytes::new(), true)
    }

    pub(super) fn with_token(cluster: &Cluster, nodes: &[usize], regions: u64, token: &'static str) -> Self {
        Self::start(cluster, nodes, regions, Bytes::from(token), false)
    }

    fn start(cluster: &Cluster, nodes: &[usize], regions: u64, token: Bytes, lowers: bool) -> Self {
        let endpoint = |node: &usize| -> Endpoint {
            cluster.nodes[*node].config.edge_listen.unwrap().to_string().parse().unwrap()
        };
        let mut disk = Durable::new(draw_secret());
        disk.regions = regions;
        let endpoints = nodes.iter().map(endpoint).collect();
        let setup = Setup { endpoints, token, lowers, keep_values: false };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut app = Self {
            driver: Driver::new(disk, setup.clone()),
            setup,
            runtime,
            reports: Vec::new(),
            loses: false,
        };
        app.event(Event::Start);
        app
    }

    pub(crate) fn client(&self) -> &Client {
        self.driver.client()
    }

    /// Bytes of frames from gateways.
    pub(super) fn received(&self) -> u64 {
        self.driver.traffic().bytes_in
    }

    fn event(&mut self, event: Event) {
        let _timers = self.runtime.enter();
        self.driver.tell(event);
        for effect in self.driver.news() {
            match effect {
                Effect::CommitFailed { why, .. } => panic!("{why}"),
                Effect::Report(report) => {
                    let is_loss = matches!(report, Report::Lost { .. });
                    assert!(
                        !matches!(report, Report::Forked { .. }) && (self.loses || !is_loss),
                        "{report:?}"
                    );
                    self.reports.push(report);
                }
                _ => {}
            }
        }
    }

    /// Does what is due, for so long.
    pub(crate) fn run(&mut self, time: Duration) {
        self.runtime.block_on(self.driver.run(time));
        self.event(Event::Timer);
    }

    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let sought = Sought::new(what);
        tidemark_patience::until(&sought, || {
            let holds = condition(self);
            if !holds {
                let (status, pending) = (self.client().status(), self.client().pending());
                sought.found(format!("{status:?}, {pending} pending, {:?}", self.reports));
                self.run(Duration::from_millis(5));
            }
            holds
        });
    }

    /// Watches keys, and waits until they are here.
    pub(crate) fn load(&mut self, keys: &[&str]) {
        keys.iter().for_each(|key| self.event(Event::Watch { key: Bytes::copy_from_slice(key.as_bytes()) }));
        self.until("the keys are here", |app| {
            keys.iter().all(|key| app.client().read(key.as_bytes()).is_some())
        });
    }

    pub(crate) fn commit(&mut self, operations: &[(&'static str, OperationKind)]) {
        let mut transaction = self.client().begin();
        operations.iter().for_each(|(key, kind)| transaction.push(*key, kind.clone()));
        let _timers = self.runtime.enter();
        self.driver.commit(transaction);
    }

    /// Commits what `edit` does in a transaction.
    pub(super) fn transact(&mut self, edit: impl FnOnce(&mut Transaction)) {
        let mut transaction = self.client().begin();
        edit(&mut transaction);
        let _timers = self.runtime.enter();
        self.driver.commit(transaction);
    }

    /// The elements of a list, as LRANGE is shown by [`ask`](crate::transactions::ask).
    pub(super) fn list(&self, key: &str) -> String {
        match self.client().read(key.as_bytes()) {
            Some(Value::List(elements)) => {
                let texts = elements.values().map(|written| String::from_utf8_lossy(&written.bytes));
                format!("[{}]", texts.collect::<Vec<_>>().join(" "))
            }
            Some(Value::Absent) => "[]".into(),
            other => format!("{other:?}"),
        }
    }

    pub(crate) fn text(&self, key: &str) -> String {
        string(self.client().read(key.as_bytes()))
    }

    pub(super) fn field(&self, key: &str, field: &str) -> String {
        match self.client().read(key.as_bytes()) {
            Some(Value::Map(fields)) => fields
                .get(field.as_bytes())
                .map_or(String::new(), |written| String::from_utf8_lossy(&written.bytes).into_owned()),
            _ => String::new(),
        }
    }

    /// The connection breaks.
    pub(super) fn break_off(&mut self) {
        let _timers = self.runtime.enter();
        self.driver.break_off();
    }

    pub(crate) fn offline(&mut self) {
        self.event(Event::Stop);
    }

    pub(crate) fn online(&mut self) {
        self.event(Event::Start);
    }

    /// The process ends; another one goes on with its disk.
    pub(super) fn crash(&mut self) {
        self.driver = Driver::new(self.driver.disk().clone(), self.setup.clone());
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
        let stream = TcpStream::connect(address).expect("it is served");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client(format!("ws://{address}/edge"), stream).expect("by WebSocket");
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

    pub(crate) fn text(mut self, text: &str) -> String {
        self.0.send(Message::Text(text.into())).unwrap();
        self.rest()
    }
}
