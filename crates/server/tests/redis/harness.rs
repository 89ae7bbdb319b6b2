//! A server without sockets and protocols: requests in, raw replies out. Its store takes every write and forgets it.

use bytes::BytesMut;
use std::sync::LazyLock;
use tidemark_contract::Topology;
use tidemark_contract::grouping::{CheckingGroup, Members, NamedGroup};
use tidemark_core::{DcId, Failure, Found, Hlc, Op, Outcome, Stamp, Update};
use tidemark_crdt::{Moment, State};
use tidemark_server::redis::{
    ClientRegistry, Command, Config, Connection, Context, ErrorReply, Facts, Keyspace, Next, ServerInfo,
    Shared, Step, Task, Work,
};
use tidemark_wire::resp::{Decoder, Encoder, Reply, RequestParser, encode_request};

pub(crate) struct Server {
    pub(crate) config: Config,
    pub(crate) registry: ClientRegistry,
    pub(crate) shared: Shared,
    pub(crate) now: u64,
    /// What commands asked of the session, in the words of [`Step`] and [`Op`].
    pub(crate) asked: Vec<String>,
    pub(crate) write_transactions: bool,
    /// What every key holds.
    pub(crate) value: Option<&'static str>,
}

pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) closed: bool,
}

struct Info;

impl ServerInfo for Info {
    fn facts(&mut self) -> Facts {
        Facts {
            run_id: "f".repeat(40),
            tcp_port: 6379,
            started_at: 1_000_000,
            log_is_good: true,
            keys: 7,
            tidemark: vec![("region".into(), "A".into())],
            ..Facts::default()
        }
    }

    fn reset_statistics(&mut self) {}

    fn protocol(&self) -> &'static str {
        "accf"
    }

    fn has_types(&self) -> bool {
        true
    }

    fn has_guarantees(&self) -> bool {
        false
    }

    fn checking_groups(&mut self) -> &[NamedGroup] {
        static GROUPS: LazyLock<Vec<NamedGroup>> = LazyLock::new(|| {
            ["near", "far"].iter().zip(1..).map(|(name, id)| (CheckingGroup(id), members(name))).collect()
        });
        &GROUPS
    }

    fn session_token(&mut self) -> String {
        "tm1.token".into()
    }
}

fn members(name: &str) -> Members {
    Members { name: name.to_string(), servers: Vec::new() }
}

impl Server {
    pub(crate) fn new() -> Self {
        Self {
            config: Config::default(),
            registry: ClientRegistry::default(),
            shared: Shared::default(),
            now: 61_000_000,
            asked: Vec::new(),
            write_transactions: false,
            value: None,
        }
    }

    pub(crate) fn connect(&mut self) -> Client {
        let port = 1000 + self.registry.len();
        let id = self.registry.register(format!("127.0.0.1:{port}"), "127.0.0.1:6379".into(), self.now);
        Client { connection: Connection::new(id, &self.config), closed: false }
    }

    /// The raw reply to a request written as words between spaces.
    pub(crate) fn send(&mut self, client: &mut Client, request: &str) -> String {
        self.send_words(client, &request.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn send_words(&mut self, client: &mut Client, words: &[&str]) -> String {
        assert!(!client.closed, "the connection is closed");
        let mut wire = Vec::new();
        encode_request(&mut wire, words);
        let mut buffer = BytesMut::from(&wire[..]);
        let mut parser = RequestParser::new(self.config.request_limits());
        parser.set_authenticated(client.connection.is_authenticated());
        let mut request = match parser.parse(&mut buffer) {
            Ok(request) => request.expect("a whole request"),
            Err(error) => {
                client.closed = true;
                return format!("-{error}\r\n");
            }
        };
        let mut out = Vec::new();
        let done =
            client.connection.parse(&mut request).and_then(|command| self.run(client, command, &mut out));
        match done {
            Ok(next) => client.closed = matches!(next, Next::Close),
            Err(error) => error.write(&mut Encoder::new(&mut out, client.connection.version())),
        }
        if client.connection.is_muted() {
            out.clear();
        }
        String::from_utf8(out).expect("text")
    }

    fn run(&mut self, client: &mut Client, command: Command, out: &mut Vec<u8>) -> Result<Next, ErrorReply> {
        let call = match command.work {
            Work::Operations(task) => {
                let mut encoder = Encoder::new(out, client.connection.version());
                return self.carry_out(task, &mut encoder).map(|()| Next::Continue);
            }
            Work::Local(call) => call,
        };
        let mut cx = Context {
            spec: command.spec,
            now: self.now,
            config: &mut self.config,
            registry: &mut self.registry,
            shared: &mut self.shared,
            info: &mut Info,
            out: Encoder::new(out, client.connection.version()),
        };
        let next = client.connection.handle(&call, &mut cx)?;
        for publication in std::mem::take(&mut self.shared.published) {
            self.shared.hand_out(&publication, 0);
        }
        match (next, call.command) {
            (Next::Begin(task), _) => {
                let mut encoder = Encoder::new(out, client.connection.version());
                self.carry_out(task, &mut encoder).map(|()| Next::Continue)
            }
            (_, Some(command)) => self.run(client, *command, out),
            (next, None) => Ok(next),
        }
    }

    fn carry_out(&mut self, task: Task, out: &mut Encoder<'_>) -> Result<(), ErrorReply> {
        let topology = Topology::new(1, 2);
        let (write_transactions, now) = (self.write_transactions, self.now);
        let scripts = std::mem::take(&mut self.shared.scripts);
        let keyspace =
            Keyspace { topology: &topology, write_transactions, types: true, now, scripts: &scripts };
        let (mut step, mut pending) = task.begin(&keyspace, out)?;
        loop {
            let outcome = match &step {
                Step::Local(command) => panic!("{} inside a transaction", command.spec.name),
                Step::Done => return Ok(()),
                Step::Block => {
                    pending.give_up(out);
                    return Ok(());
                }
                Step::Import(token) => {
                    self.asked.push(format!("Import {token:?}"));
                    Outcome::Adopted
                }
                Step::Op(op) => {
                    self.asked.push(format!("{op:?}"));
                    self.outcome(op)
                }
            };
            step = pending.step(outcome, &keyspace, out)?;
        }
    }

    /// A command of a data type, on a key that holds what every key holds.
    fn evaluate(&self, command: &tidemark_core::Command) -> Outcome {
        let state = self.value.map_or_else(State::default, |value| State::string(value.as_bytes().into()));
        let time = Hlc::at(self.now);
        let moment = Moment {
            time,
            origin: DcId(0),
            floor: Hlc::ZERO,
            expiring: false,
            alone: true,
            past: None,
            longest: tidemark_core::Limit::VALUE_BYTES,
        };
        let reply = Some(Box::new(tidemark_crdt::evaluate(command, &state, moment).reply));
        Outcome::Written { stamp: None, previous: Some(Found { reply, ..Found::default() }) }
    }

    fn outcome(&self, op: &Op) -> Outcome {
        let found = || Found::new(None, self.value.map(|value| value.as_bytes().into()));
        match op {
            Op::Get { .. } => Outcome::Found(found()),
            Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. } => {
                Outcome::FoundAll(vec![found(); keys.len()])
            }
            Op::Query { keys, .. } => {
                let reply = self
                    .value
                    .map_or(tidemark_core::Reply::Null, |value| tidemark_core::Reply::bulk(value.as_bytes()));
                let found = Found { reply: Some(Box::new(reply)), ..Found::default() };
                Outcome::FoundAll(vec![found; keys.len()])
            }
            Op::Scan { .. } => Outcome::Keys { keys: Vec::new(), cursor: 0 },
            Op::Count { .. } => Outcome::Count(3),
            Op::Transact(_) => Outcome::Failed(Failure::Refused("it has no interactive transactions".into())),
            Op::Conflicts { partition, .. } => {
                let version = |dc: u8| {
                    let stamp = Stamp::new(Hlc::at(1_500_000 + u64::from(dc)), DcId(dc));
                    Found { stamp: Some(stamp), ..found() }
                };
                let key = format!("k{}", partition.0);
                Outcome::Conflicts(vec![(key.as_str().into(), vec![version(1), version(0)])])
            }
            Op::Put { update: Update { command: Some(command), .. }, .. } => self.evaluate(command),
            Op::Put { .. } | Op::PutAll { .. } => {
                let stamp = Some(Stamp { ts: Hlc(1), origin: DcId(0), seq: 0 });
                Outcome::Written { stamp, previous: Some(found()) }
            }
        }
    }

    /// What waits for a client that it did not request.
    pub(crate) fn inbox(&mut self, client: &Client) -> String {
        let mut out = Vec::new();
        let (mine, others): (Vec<_>, _) =
            self.shared.mail.drain(..).partition(|mail| mail.to == client.connection.id());
        self.shared.mail = others;
        let mut encoder = Encoder::new(&mut out, client.connection.version());
        mine.iter().for_each(|mail| mail.message.write(&mut encoder));
        String::from_utf8(out).expect("text")
    }

    /// The same, understood.
    pub(crate) fn ask(&mut self, client: &mut Client, request: &str) -> Reply {
        let raw = self.send(client, request);
        let mut buffer = BytesMut::from(raw.as_bytes());
        let reply =
            Decoder::default().decode(&mut buffer).expect("a well-formed reply").expect("a whole reply");
        assert!(buffer.is_empty(), "one reply to {request}: {raw}");
        reply
    }
}

/// What one request gets from a fresh server.
pub(crate) fn answer(request: &str) -> String {
    let mut server = Server::new();
    let mut client = server.connect();
    server.send(&mut client, request)
}
