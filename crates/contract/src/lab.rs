//! A cluster driven by hand: tests of single steps, and golden transcripts.
//!
//! Nothing happens in a lab by itself. A test sets clocks, fires timers, and delivers what is in flight, in the order that it chooses
//! between any two servers; a transcript says what happened. Durability is not modelled here: that is the simulator's job.

use crate::cx::Moment;
use crate::protocol::{Received, replicate};
use crate::session::{Ask, SessionEffects};
use crate::{
    AskId, Cx, Protocol, Recovered, Session, SessionCx, Store, Ticket, Topology, Version, cx::Effect,
    forwarded::ForwardedSession, order::Order, removal::Standing,
};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::{Display, Write as _};
use tidemark_core::{DcId, Guarantees, Hlc, Key, Limit, Micros, Op, Outcome, PartitionId, ServerId, Vector};

mod itself;
mod words;
use words::{Logged, log, shown};
pub use words::{put, rotx, server, text};

/// Something on its way from one server to its peer, in order.
enum Feed<P: Protocol> {
    Version(Key, Version<P::Meta>),
    Heartbeat(Hlc),
}

struct Server<P: Protocol> {
    protocol: Option<P>,
    store: Store<P::Meta>,
    /// What of each version's metadata would be there after a crash.
    logged: Logged<P>,
    hard: P::Hard,
    now: Micros,
    mono: Micros,
    life: u64,
    received: Vector,
    /// How many versions of each data centre are here: the number of its last record.
    records: Vec<u64>,
    timers: BTreeMap<P::Timer, Micros>,
}

struct Client<P: Protocol> {
    dc: DcId,
    session: ForwardedSession<P>,
    effects: SessionEffects<P>,
    asks: Guarantees,
    /// The questions of the running operation that are open, and whether several servers may answer.
    open: Vec<(AskId, bool)>,
    /// What it asks this server is held.
    slow: Option<ServerId>,
    held: Vec<Ask<P>>,
}

type Channel = (ServerId, ServerId);

/// A cluster driven by hand.
pub struct Lab<P: Protocol> {
    topology: Topology,
    params: P::Params,
    servers: BTreeMap<ServerId, Server<P>>,
    clients: Vec<Client<P>>,
    feeds: BTreeMap<Channel, VecDeque<Feed<P>>>,
    messages: BTreeMap<Channel, VecDeque<P::Peer>>,
    replies: Vec<(Ticket, ServerId, P::Reply)>,
    max_skew_us: Micros,
    /// What happened, one line an event or effect.
    pub transcript: String,
}

impl<P: Protocol> Lab<P> {
    /// `dcs` data centres of `partitions` partitions, all clocks at 1,000 µs.
    pub fn new(dcs: usize, partitions: usize, params: P::Params) -> Self {
        Self::of(Topology::new(dcs, partitions), params)
    }

    /// The same, of a topology.
    pub fn of(topology: Topology, params: P::Params) -> Self {
        let Topology { dcs, partitions, .. } = topology;
        let mut lab = Self {
            servers: BTreeMap::new(),
            clients: Vec::new(),
            feeds: BTreeMap::new(),
            messages: BTreeMap::new(),
            replies: Vec::new(),
            max_skew_us: 10_000_000,
            transcript: String::new(),
            topology,
            params,
        };
        for (dc, partition) in (0..dcs as u8).flat_map(|dc| (0..partitions as u16).map(move |p| (dc, p))) {
            let fresh = Server {
                protocol: None,
                store: P::EXTENSIONS.store(0, (DcId(dc), dcs)),
                logged: BTreeMap::new(),
                hard: P::Hard::default(),
                now: 1_000,
                mono: 1_000,
                life: 0,
                received: Vector::zero(dcs),
                records: vec![0; dcs],
                timers: BTreeMap::new(),
            };
            lab.servers.insert(server(dc, partition), fresh);
        }
        lab.all().into_iter().for_each(|at| lab.start(at));
        lab
    }

    /// Refuses writes whose stamps lie further ahead of the clock than this; ten seconds at first.
    pub fn set_max_skew(&mut self, us: Micros) {
        self.max_skew_us = us;
    }

    /// A key that partition `partition` holds, whose name begins with `name`.
    pub fn key(&self, name: &str, partition: u16) -> Key {
        let names =
            (0..).map(|i| Key::from(if i == 0 { name.to_string() } else { format!("{name}{i}") }.as_str()));
        let mut held = names.filter(|key| self.topology.partition_of(key) == PartitionId(partition));
        held.next().expect("some name hashes to the partition")
    }

    /// Writes a remark into the transcript.
    pub fn say(&mut self, remark: &str) {
        self.note(format_args!("\n# {remark}"));
    }

    /// Sets the physical clock of one server; the clock for deadlines comes along if that means forward.
    pub fn set_clock(&mut self, at: ServerId, now: Micros) {
        self.jump_clock(at, now);
        let place = self.server(at);
        place.mono = place.mono.max(now);
    }

    /// Makes the physical clock of one server jump; no time passes.
    pub fn jump_clock(&mut self, at: ServerId, now: Micros) {
        self.server(at).now = now;
        self.note(format_args!("{at} clock {now}"));
    }

    /// Sets the physical clock of every server.
    pub fn set_clocks(&mut self, now: Micros) {
        for server in self.servers.values_mut() {
            (server.now, server.mono) = (now, server.mono.max(now));
        }
        self.note(format_args!("all clocks {now}"));
    }

    /// Starts the server again from its versions and persisted state, and tells all others. What was in flight
    /// stays in flight; what was changed beside a version and not logged was not changed.
    pub fn restart(&mut self, at: ServerId) {
        self.start(at);
        for other in self.all().into_iter().filter(|other| *other != at) {
            self.at(other, |protocol, cx| protocol.on_peer_reset(at, cx));
        }
    }

    fn start(&mut self, at: ServerId) {
        let place = self.server(at);
        place.life += 1;
        place.timers.clear();
        for (stamp, key, ()) in place.store.pick(|_| Some(())) {
            let meta = place.store.meta_mut(&key, stamp).expect("just seen");
            *meta = place.logged.get(&(key, stamp)).expect("what is stored is logged").clone();
        }
        let recovered = Recovered {
            hard: place.hard.clone(),
            life: place.life,
            received: place.received.clone(),
            records: place.records.clone(),
        };
        self.note(format_args!("{at} starts, life {}", recovered.life));
        let mut effects = Vec::new();
        let protocol = P::start(recovered, &mut self.cx(at, &mut effects));
        self.server(at).protocol = Some(protocol);
        self.absorb(at, effects);
    }

    /// Every server, data centre by data centre, the leaves of a tree before their parents.
    fn all(&self) -> Vec<ServerId> {
        let dcs = (0..self.topology.dcs as u8).map(DcId);
        let partitions = (0..self.topology.partitions as u16).rev();
        dcs.flat_map(|dc| partitions.clone().map(move |p| ServerId::new(dc, PartitionId(p)))).collect()
    }

    /// A session of data centre `dc`, by number.
    pub fn client(&mut self, dc: u8) -> usize {
        let session = ForwardedSession::open(DcId(dc));
        let (effects, open, held) = (SessionEffects::default(), Vec::new(), Vec::new());
        let asks = Guarantees::ALL;
        self.clients.push(Client { dc: DcId(dc), session, effects, asks, open, slow: None, held });
        self.clients.len() - 1
    }

    /// The session itself.
    pub fn session(&self, client: usize) -> &P::Session {
        self.clients[client].session.session()
    }

    /// What the session's operations ask for from now on.
    pub fn asks(&mut self, client: usize, guarantees: Guarantees) {
        self.note(format_args!("s{client} asks for {guarantees}"));
        self.clients[client].asks = guarantees;
    }

    /// Begins an operation and delivers its questions; the answers come when they come.
    pub fn begin(&mut self, client: usize, op: Op) {
        self.note(format_args!("s{client} begins {op:?}"));
        self.with_client(client, |session, cx| session.begin(op, cx));
    }

    /// Holds what a session asks `server`, until [`Self::release`].
    pub fn hold(&mut self, client: usize, server: ServerId) {
        self.clients[client].slow = Some(server);
    }

    /// Lets through what was held of a session's questions.
    pub fn release(&mut self, client: usize) {
        let place = &mut self.clients[client];
        place.slow = None;
        for Ask { id, to, request, .. } in std::mem::take(&mut place.held) {
            self.question(client, id, to, request);
        }
    }

    /// The outcome of the running operation, if it has ended.
    pub fn outcome(&mut self, client: usize) -> Option<Outcome> {
        self.clients[client].effects.outcome.take()
    }

    /// What a session waits for does not come: its deadline.
    pub fn lose(&mut self, client: usize) {
        for (ask, _) in std::mem::take(&mut self.clients[client].open) {
            self.with_client(client, |session, cx| session.on_lost(ask, cx));
        }
    }

    /// Runs an operation. If it is not answered at once, delivers what is in flight in its data centre.
    pub fn run(&mut self, client: usize, op: Op) -> Outcome {
        self.begin(client, op);
        self.finish(client)
    }

    /// The outcome of an operation that was begun; delivers what is in flight in its data centre if need be.
    pub fn finish(&mut self, client: usize) -> Outcome {
        if let Some(outcome) = self.outcome(client) {
            return outcome;
        }
        self.deliver_within(self.clients[client].dc);
        self.outcome(client).expect("it waits for what is not in flight in its data centre")
    }

    /// What the session would hand over.
    pub fn token(&self, client: usize) -> <P::Session as Session<P>>::Token {
        self.clients[client].session.token()
    }

    /// Begins to take over a token; the outcome comes when it comes.
    pub fn adopt(&mut self, client: usize, token: <P::Session as Session<P>>::Token) {
        self.note(format_args!("s{client} adopts {token:?}"));
        self.with_client(client, |session, cx| session.adopt(token, cx));
    }

    /// Asks a server directly, without a session; returns its answer if it gives one at once.
    pub fn ask(&mut self, at: ServerId, request: P::Request) -> Option<P::Reply> {
        let ticket = Ticket { node: u16::MAX, session: 0, ask: Default::default() };
        self.note(format_args!("{at} <- {request:?}"));
        self.at(at, |protocol, cx| protocol.on_request(ticket, request, cx));
        let place = self.replies.iter().position(|(to, _, _)| *to == ticket)?;
        Some(self.replies.remove(place).2)
    }

    /// Whether there is such a server.
    pub fn exists(&self, at: ServerId) -> bool {
        self.servers.contains_key(&at)
    }

    /// Gives an operator's order.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn order(&mut self, at: ServerId, order: &Order) -> Result<Standing, String> {
        self.note(format_args!("{at} <- {order:?}"));
        let (mut answer, records) = (None, self.server(at).records.clone());
        self.at(at, |protocol, cx| answer = Some(order.carry_out(protocol, &records, cx)));
        answer.expect("the handler ran")
    }

    /// When a timer is due, if it is armed.
    pub fn due(&mut self, at: ServerId, timer: P::Timer) -> Option<Micros> {
        self.server(at).timers.get(&timer).copied()
    }

    /// The state of a server.
    pub fn protocol(&self, at: ServerId) -> &P {
        self.servers[&at].protocol.as_ref().expect("the server is up")
    }

    /// The version chains of a server.
    pub fn store(&self, at: ServerId) -> &Store<P::Meta> {
        &self.servers[&at].store
    }

    /// What a server would recover, were it to crash now.
    pub fn hard(&self, at: ServerId) -> &P::Hard {
        &self.servers[&at].hard
    }

    /// All clocks show `now`; then each of `timers` fires at every server, leaves of a tree first, and after
    /// each everything in flight is delivered.
    pub fn round(&mut self, now: Micros, timers: &[P::Timer]) {
        self.set_clocks(now);
        for timer in timers {
            self.all().into_iter().for_each(|at| self.fire(at, *timer));
            self.deliver_all();
        }
    }

    /// Delivers everything that is in flight.
    pub fn deliver_all(&mut self) {
        let dcs = self.topology.dcs as u8;
        for (from, to) in (0..dcs).flat_map(|from| (0..dcs).map(move |to| (from, to))) {
            self.deliver_between(from, to);
        }
        let between: Vec<Channel> = self.messages.keys().filter(|(a, b)| a.dc != b.dc).copied().collect();
        between.into_iter().for_each(|(from, to)| while self.deliver_message(from, to) {});
        (0..dcs).for_each(|dc| self.deliver_within(DcId(dc)));
    }

    /// Delivers the messages in flight from `from` to `to` but the oldest, which they overtake.
    pub fn overtake(&mut self, from: ServerId, to: ServerId) {
        let Some(oldest) = self.messages.get_mut(&(from, to)).and_then(VecDeque::pop_front) else { return };
        while self.deliver_message(from, to) {}
        self.messages.entry((from, to)).or_default().push_front(oldest);
    }

    /// Loses the messages in flight from `from` to `to`: they arrive at most once.
    pub fn lose_messages(&mut self, from: ServerId, to: ServerId) {
        self.note(format_args!("{from} -> {to} lost"));
        self.messages.remove(&(from, to));
    }

    /// Delivers the next thing that `from` feeds to its peer `to`; false if there is none, or it is not taken.
    pub fn deliver(&mut self, from: ServerId, to: ServerId) -> bool {
        let Some(feed) = self.next_of(from, to) else { return false };
        match feed {
            Feed::Version(key, version) => {
                self.note(format_args!("{to} <- {from} replicate {}", shown(&key, &version)));
                let server = self.server(to);
                let upto = P::EXTENSIONS.announced(version.stamp, &version.meta);
                server.received.raise(from.dc, upto);
                server.records[from.dc.index()] += 1;
                log::<P>(&mut server.logged, &key, &version);
                let item = Received { upto, versions: &[(key, version)] };
                self.at(to, |protocol, cx| replicate(protocol, from, item, cx));
            }
            Feed::Heartbeat(ts) => {
                self.note(format_args!("{to} <- {from} heartbeat {ts}"));
                self.at(to, |p, cx| replicate(p, from, Received { upto: ts, versions: &[] }, cx));
            }
        }
        true
    }

    /// The next version that `from` feeds to its peer `to` will come a second time, after all that is in flight: what drivers
    /// rule out, and what resending means where nobody drops repeats.
    pub fn resend(&mut self, from: ServerId, to: ServerId) {
        let queue = self.feeds.entry((from, to)).or_default();
        if let Some(Feed::Version(key, version)) = queue.front() {
            let again = Feed::Version(key.clone(), version.clone());
            queue.push_back(again);
        }
    }

    /// Delivers everything that is on its way from data centre `from` to another: feeds, then messages.
    pub fn deliver_between(&mut self, from: u8, to: u8) {
        for partition in 0..self.topology.partitions as u16 {
            while self.deliver(server(from, partition), server(to, partition)) {}
        }
        while from != to && self.deliver_any(DcId(from), DcId(to)) {}
    }

    /// Delivers one message from `from` to `to`; false if there is none.
    pub fn deliver_message(&mut self, from: ServerId, to: ServerId) -> bool {
        let Some(message) = self.messages.get_mut(&(from, to)).and_then(VecDeque::pop_front) else {
            return false;
        };
        self.note(format_args!("{to} <- {from} {message:?}"));
        self.at(to, |protocol, cx| protocol.on_peer(from, message, cx));
        true
    }

    /// Delivers messages among the servers of `dc`, and answers to sessions, until nothing is left.
    pub fn deliver_within(&mut self, dc: DcId) {
        while self.deliver_any(dc, dc) {}
    }

    fn deliver_any(&mut self, here: DcId, there: DcId) -> bool {
        let mut ready = self.messages.iter().filter(|((from, to), _)| (from.dc, to.dc) == (here, there));
        let next = ready.find(|(_, queue)| !queue.is_empty()).map(|(channel, _)| *channel);
        next.is_some_and(|(from, to)| self.deliver_message(from, to))
    }

    fn server(&mut self, at: ServerId) -> &mut Server<P> {
        self.servers.get_mut(&at).expect("the server exists")
    }

    fn cx<'a>(&'a mut self, at: ServerId, effects: &'a mut Vec<Effect<P>>) -> Cx<'a, P> {
        let server = self.servers.get_mut(&at).expect("the server exists");
        let (max_skew_us, limit) = (self.max_skew_us, Limit::default());
        let moment = Moment { now: server.now, mono: server.mono, max_skew_us, limit };
        Cx::new(at, &self.topology, &self.params, moment, &mut server.store, effects)
    }

    /// Runs one event at a server and carries out its effects.
    fn at(&mut self, at: ServerId, event: impl FnOnce(&mut P, &mut Cx<'_, P>)) {
        let mut effects = Vec::new();
        let mut protocol = self.server(at).protocol.take().expect("the server is up");
        event(&mut protocol, &mut self.cx(at, &mut effects));
        self.server(at).protocol = Some(protocol);
        self.absorb(at, effects);
    }

    fn absorb(&mut self, at: ServerId, effects: Vec<Effect<P>>) {
        for effect in effects {
            match effect {
                Effect::Reply(ticket, reply) => {
                    self.note(format_args!("{at} -> s{} {reply:?}", ticket.session));
                    self.answer(ticket, at, reply);
                }
                Effect::Send(to, message) => {
                    self.note(format_args!("{at} -> {to} {message:?}"));
                    self.messages.entry((at, to)).or_default().push_back(message);
                }
                Effect::Write { key, version, regions } => {
                    self.note(format_args!("{at} writes {}", shown(&key, &version)));
                    let server = self.server(at);
                    server.received.include(P::EXTENSIONS.written_at(&version));
                    server.records[at.dc.index()] += 1;
                    log::<P>(&mut server.logged, &key, &version);
                    for to in self.topology.peers(at).filter(|to| regions.contains(to.dc)) {
                        let shipped = Version { meta: P::shipped(&version.meta), ..version.clone() };
                        let feed = self.feeds.entry((at, to)).or_default();
                        feed.push_back(Feed::Version(key.clone(), shipped));
                    }
                }
                Effect::Revise { key, stamp, meta } => {
                    self.note(format_args!("{at} revises {key} {stamp}, meta {meta:?}"));
                    self.server(at).logged.insert((key, stamp), meta);
                }
                Effect::Heartbeat(ts) => {
                    self.note(format_args!("{at} heartbeat {ts}"));
                    for to in self.topology.peers(at) {
                        self.feeds.entry((at, to)).or_default().push_back(Feed::Heartbeat(ts));
                    }
                }
                Effect::Arm(timer, delay) => {
                    let server = self.server(at);
                    server.timers.insert(timer, server.now + delay);
                }
                Effect::Reach(_) => {}
                Effect::Persist(hard) => {
                    self.note(format_args!("{at} persists {hard:?}"));
                    self.server(at).hard = hard;
                }
            }
        }
    }

    fn answer(&mut self, ticket: Ticket, from: ServerId, reply: P::Reply) {
        if ticket.node == u16::MAX {
            return self.replies.push((ticket, from, reply));
        }
        let number = ticket.session as usize;
        let open = &mut self.clients[number].open;
        let Some(place) = open.iter().position(|(ask, _)| *ask == ticket.ask) else {
            return self.note(format_args!("s{number} does not wait for it"));
        };
        if !open[place].1 {
            open.swap_remove(place);
        }
        self.with_client(number, |session, cx| session.on_reply(ticket.ask, from, reply, cx));
    }

    fn with_client(&mut self, at: usize, go: impl FnOnce(&mut ForwardedSession<P>, &mut SessionCx<'_, P>)) {
        let client = &mut self.clients[at];
        let now = self.servers[&ServerId::new(client.dc, PartitionId(0))].now;
        let mut cx = SessionCx::new(client.dc, now, &self.topology, &mut client.effects);
        cx.guarantees = client.asks;
        go(&mut client.session, &mut cx);
        if client.effects.outcome.is_some() {
            client.open.clear();
        }
        let asks = std::mem::take(&mut client.effects.asks);
        client.open.extend(asks.iter().map(|ask| (ask.id, ask.several)));
        let (held, asks): (Vec<_>, Vec<_>) = asks.into_iter().partition(|ask| Some(ask.to) == client.slow);
        client.held.extend(held);
        for Ask { id, to, request, .. } in asks {
            self.question(at, id, to, request);
        }
    }

    fn question(&mut self, client: usize, ask: AskId, to: ServerId, request: P::Request) {
        let ticket = Ticket { node: 0, session: client as u64, ask };
        self.note(format_args!("{to} <- s{client} {request:?}"));
        self.at(to, |protocol, cx| protocol.on_request(ticket, request, cx));
    }

    fn note(&mut self, line: impl Display) {
        writeln!(self.transcript, "{line}").expect("writing to a string cannot fail");
    }
}
