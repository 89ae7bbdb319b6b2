//! Rules 10, 13 and 14: connections, their opening, and the status.

use super::{Client, Config, Effect, Status};
use crate::frames::{ClientLink, Hello, NO_HASH, ToGateway, Welcome};
use crate::rule::ALL_IS_SENT_AGAIN;

/// How long a client waits for what, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The first delay before another connection is tried is about this long. It doubles with each failure.
    pub backoff_min_ms: u64,
    /// The longest delay.
    pub backoff_max_ms: u64,
    /// A connection without Welcome after this time has failed.
    pub welcome_within_ms: u64,
    /// What went wrong is tried again after this time.
    pub retry_ms: u64,
    /// After so long elsewhere than at the first endpoint, or in an isolated region, it looks for a better one (rule 17). None: never.
    pub look_ms: Option<u64>,
}

impl Timing {
    /// For networks that people have.
    pub const DEFAULT: Self = Self {
        backoff_min_ms: 250,
        backoff_max_ms: 10_000,
        welcome_within_ms: 10_000,
        retry_ms: 1_000,
        look_ms: Some(60_000),
    };
}

/// The status is `Behind` after so many periods without a tick.
const PERIODS: u64 = 5;

/// Where the client is with its connections.
#[derive(Clone, Debug)]
pub(super) struct Connecting {
    pub(super) config: Config,
    /// Whether the application wants a connection.
    wanted: bool,
    /// The state of the generator of delays.
    random: u64,
    /// The endpoint that is tried now or next.
    pub(super) endpoint: usize,
    pub(super) failures: u32,
    /// So many endpoints in a row could not be used, or are in isolated regions.
    pub(super) in_vain: usize,
    /// How often it has looked for a better endpoint in vain, and whether it does now.
    pub(super) looks: u32,
    pub(super) looking: bool,
    connections: u64,
    pub(super) phase: Phase,
}

#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// Nobody wants a connection.
    Stopped,
    /// Until it is time for the next try.
    Waiting(u64),
    /// The client gets a new name before it connects again.
    Renewing,
    /// It has been asked for, since this time.
    Asked(u64, u64),
    /// It is there.
    Connected(Box<Connection>),
}

/// A connection that is there.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) number: u64,
    pub(super) since_us: u64,
    /// K that was asked for, and how many regions share what is new in this one, if that was said.
    pub(super) wants: u64,
    pub(super) shared: Option<u64>,
    /// Once Hello was sent.
    pub(super) link: Option<ClientLink>,
    pub(super) welcome: Option<Welcome>,
    /// Transactions up to this one are acknowledged here.
    pub(super) acked: u64,
    /// The one that is sent next.
    pub(super) next: u64,
    pub(super) paused_until_us: Option<u64>,
    /// How many Behind came in a row.
    pub(super) behind: u32,
    /// The last Missing, and when it came.
    pub(super) missing: Option<(u64, u64)>,
    /// When to send again, because another Missing has been ignored.
    pub(super) retry_at_us: Option<u64>,
    /// The transaction that gets a new time, and when that was asked for; until it is acknowledged.
    pub(super) retimed: Option<(u64, u64)>,
    /// New times are to be persisted, from this transaction on.
    pub(super) retime: Option<u64>,
    pub(super) ticked_at_us: Option<u64>,
    /// A base of this connection is visible.
    pub(super) has_based: bool,
    /// That transactions were lost was reported.
    pub(super) told_loss: bool,
    welcomed_at_us: u64,
}

impl Connecting {
    pub(super) fn new(config: Config) -> Self {
        let random = config.seed;
        Self {
            config,
            wanted: false,
            random,
            endpoint: 0,
            failures: 0,
            in_vain: 0,
            looks: 0,
            looking: false,
            connections: 0,
            phase: Phase::Stopped,
        }
    }

    /// The connection of this number, if it is the present one.
    pub(super) fn open(&mut self, number: u64) -> Option<&mut Connection> {
        match &mut self.phase {
            Phase::Connected(open) if open.number == number => Some(open),
            _ => None,
        }
    }

    pub(super) fn connection(&self) -> Option<&Connection> {
        if let Phase::Connected(open) = &self.phase { Some(open) } else { None }
    }

    pub(super) fn endpoint(&self) -> usize {
        self.endpoint
    }

    pub(super) fn opened_mut(&mut self) -> Option<&mut Connection> {
        match &mut self.phase {
            Phase::Connected(open) if open.link.is_some() => Some(open),
            _ => None,
        }
    }

    /// Rule 14: the delay before the next try, in microseconds: half of it is drawn, by SplitMix64.
    fn delay_us(&mut self) -> u64 {
        let Timing { backoff_min_ms, backoff_max_ms, .. } = self.config.timing;
        let doubled = backoff_min_ms << self.failures.saturating_sub(1).min(10);
        let half_us = doubled.min(backoff_max_ms) * 500;
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.random;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        half_us + (drawn ^ (drawn >> 31)) % (half_us + 1)
    }
}

impl Connection {
    fn new(number: u64, now_us: u64) -> Self {
        Self {
            number,
            since_us: now_us,
            wants: 0,
            shared: None,
            link: None,
            welcome: None,
            acked: 0,
            next: 1,
            paused_until_us: None,
            behind: 0,
            missing: None,
            retry_at_us: None,
            retimed: None,
            retime: None,
            ticked_at_us: None,
            has_based: false,
            told_loss: false,
            welcomed_at_us: now_us,
        }
    }

    /// The region has everything up to `k`, and with that the new time of what it has.
    pub(super) fn reaches(&mut self, k: u64) {
        self.acked = k;
        self.retimed = self.retimed.filter(|(first, _)| *first > k);
    }

    /// Whether the region is known to have the client's base.
    pub(super) fn has_base(&self) -> bool {
        self.ticked_at_us.is_some() || self.welcome.as_ref().is_some_and(|welcome| welcome.covered)
    }

    /// When the status becomes `Behind`, if no tick comes.
    fn behind_at_us(&self) -> u64 {
        let period_ms = self.welcome.as_ref().map_or(0, |welcome| welcome.period_ms);
        let since = self.ticked_at_us.unwrap_or(self.welcomed_at_us);
        since.saturating_add(period_ms.saturating_mul(PERIODS * 1000))
    }
}

impl Client {
    pub(super) fn timing(&self) -> Timing {
        self.connecting.config.timing
    }

    pub(super) fn start(&mut self) {
        self.connecting.wanted = true;
        if matches!(self.connecting.phase, Phase::Stopped) {
            self.connecting.phase = Phase::Waiting(self.now_us);
        }
    }

    pub(super) fn stop(&mut self) {
        self.connecting.wanted = false;
        self.close();
        if self.fork.is_none() {
            self.connecting.phase = Phase::Stopped;
        }
    }

    pub(super) fn on_connected(&mut self, connection: u64) {
        if matches!(self.connecting.phase, Phase::Asked(number, _) if number == connection) {
            let open = Connection::new(connection, self.now_us);
            self.connecting.phase = Phase::Connected(Box::new(open));
        }
    }

    pub(super) fn on_disconnected(&mut self, connection: u64) {
        let asked = matches!(self.connecting.phase, Phase::Asked(number, _) if number == connection);
        if asked || self.connecting.open(connection).is_some() {
            self.wait_for_next();
        }
    }

    /// Gives up the connection, and tries the next endpoint.
    pub(super) fn fail(&mut self) {
        if matches!(self.connecting.phase, Phase::Asked(..) | Phase::Connected(_)) {
            self.close();
            self.wait_for_next();
        }
    }

    /// Closes what there is of a connection.
    pub(super) fn close(&mut self) {
        let connection = match &self.connecting.phase {
            Phase::Asked(number, _) => *number,
            Phase::Connected(open) => open.number,
            _ => return,
        };
        self.out.push(Effect::Close { connection });
        self.connecting.phase = Phase::Stopped;
    }

    fn wait_for_next(&mut self) {
        let connecting = &mut self.connecting;
        connecting.failures += 1;
        connecting.in_vain += 1;
        connecting.looking = false;
        connecting.endpoint = (connecting.endpoint + 1) % connecting.config.endpoints;
        connecting.phase = Phase::Waiting(self.now_us + connecting.delay_us());
    }

    /// Connects to the same gateway after a delay, so that one which always says the same is not asked without end.
    pub(super) fn try_again(&mut self) {
        self.connecting.failures += 1;
        let at_us = self.now_us + self.connecting.delay_us();
        self.connecting.phase = if self.connecting.wanted { Phase::Waiting(at_us) } else { Phase::Stopped };
    }

    /// Does what it is time for.
    pub(super) fn advance_connection(&mut self) {
        let (now_us, within_us) = (self.now_us, self.timing().welcome_within_ms * 1000);
        if self.looks_now() {
            self.look_elsewhere();
        }
        match &mut self.connecting.phase {
            Phase::Waiting(until) if *until <= now_us => {
                self.connecting.connections += 1;
                let (connection, endpoint) = (self.connecting.connections, self.connecting.endpoint);
                self.connecting.phase = Phase::Asked(connection, now_us);
                self.out.push(Effect::Connect { endpoint, connection });
            }
            Phase::Asked(_, since) if *since + within_us <= now_us => self.fail(),
            Phase::Connected(open) if open.welcome.is_none() && open.since_us + within_us <= now_us => {
                self.fail();
            }
            Phase::Connected(open) if open.link.is_none() => self.say_hello(),
            Phase::Connected(open) if open.retry_at_us.is_some_and(|at| at <= now_us) => {
                open.retry_at_us = None;
                open.next = open.acked + 1;
            }
            _ => {}
        }
    }

    /// Rule 10: the opening. It begins at the base that is durable and visible.
    fn say_hello(&mut self) {
        if !self.staged.is_empty() {
            return;
        }
        let (first, in_base) = (self.first_k(), self.base.in_base);
        let next = if ALL_IS_SENT_AGAIN.kept() { first } else { first.max(self.acknowledged + 1) };
        let Phase::Connected(open) = &mut self.connecting.phase else { return };
        open.link = Some(ClientLink::default());
        open.wants = self.regions;
        (open.acked, open.next) = (next - 1, next);
        self.send_if_open(&ToGateway::Hello(Hello {
            secret: self.secret.clone(),
            regions: self.regions,
            base: self.base.base.clone(),
            in_base,
            first,
            check: self.base.chain.check(),
            token: self.connecting.config.token.clone(),
        }));
        self.by_reference.clear();
        let written = self.written();
        for key in self.watched.keys().cloned().collect::<Vec<_>>() {
            let have = if written.contains(&key) { NO_HASH } else { self.hash_of(&key) };
            self.send_watch(key, have);
        }
        self.send_if_open(&ToGateway::Sync);
    }

    pub(super) fn on_welcome(&mut self, welcome: Welcome) {
        let now_us = self.now_us;
        self.clock = Some((welcome.time_us, now_us));
        let (head, check) = (welcome.head, welcome.check);
        if let Some(open) = self.connecting.opened_mut() {
            open.welcome = Some(welcome);
            open.welcomed_at_us = now_us;
            if self.connecting.looking && !self.connecting.connection().is_some_and(Connection::has_base) {
                return self.fail(); // where it was it had a base
            }
        }
        if self.chain_at(head).is_some_and(|known| known != check) {
            let first = self.first_k();
            self.on_forked(first);
        }
    }

    /// The check of the chain up to `k`, if the log reaches so far.
    pub(super) fn chain_at(&self, k: u64) -> Option<[u8; 8]> {
        let mut chain = self.base.chain;
        if k == 0 || k < self.base.chain_k {
            return None;
        }
        for number in self.first_k()..=k {
            chain = chain.then(&self.view.log.get(&number)?.body.encode());
        }
        Some(chain.check())
    }

    /// Sends a frame, if Hello was sent.
    pub(super) fn send_if_open(&mut self, frame: &ToGateway) {
        let Some(open) = self.connecting.opened_mut() else { return };
        let (connection, Some(link)) = (open.number, &mut open.link) else { return };
        match link.encode(frame) {
            Ok(bytes) => self.out.push(Effect::Send { connection, bytes }),
            Err(unsendable) => debug_assert!(false, "{unsendable}: {frame:?}"),
        }
    }

    pub(super) fn tell_status(&mut self) {
        let status = match &self.connecting.phase {
            Phase::Stopped | Phase::Waiting(_) => Status::Offline,
            Phase::Asked(..) | Phase::Renewing => Status::Connecting,
            Phase::Connected(open) if open.welcome.is_none() => Status::Connecting,
            Phase::Connected(open) if !open.has_base() || open.behind_at_us() <= self.now_us => {
                Status::Behind
            }
            Phase::Connected(_) => Status::Live,
        };
        if status != self.status {
            self.status = status;
            self.out.push(Effect::Status(status));
        }
    }

    /// Asks for a timer at the next time when something is to be done without an event.
    pub(super) fn set_timer(&mut self) {
        let now_us = self.now_us;
        let within_us = self.timing().welcome_within_ms * 1000;
        let welcome_by = |since: u64| since + within_us;
        let at_us = match &self.connecting.phase {
            Phase::Stopped | Phase::Renewing => None,
            Phase::Waiting(until) => Some(*until),
            Phase::Asked(_, since) => Some(welcome_by(*since)),
            Phase::Connected(open) if open.welcome.is_none() => Some(welcome_by(open.since_us)),
            Phase::Connected(open) => {
                let looks = self.connecting.looks_at_us(open, (self.regions, &self.secret));
                let times = [open.paused_until_us, open.retry_at_us, Some(open.behind_at_us()), looks];
                times.into_iter().flatten().filter(|at| *at > now_us).min()
            }
        };
        if at_us.is_some() && at_us != self.wake_at {
            self.out.extend(at_us.map(|at_us| Effect::WakeAt { at_us }));
        }
        self.wake_at = at_us;
    }
}
