//! A protocol that writes numbered versions and insists that its peers' arrive in order.

use serde::{Deserialize, Serialize};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{DcId, Hlc, Key, Op, ServerId, Stamp, Write};
use tidemark_contract::protocol::Received;
use tidemark_contract::{AskId, Cx, Info, Protocol, Recovered, Session, SessionCx, Ticket, Version};

pub(crate) struct Recorder {
    pub written: u64,
    /// What it was told at its start.
    pub records: Vec<u64>,
    /// The timers that have fired.
    pub fired: Vec<char>,
    /// What its clock showed at its start.
    pub started: u64,
    arrived: Vec<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Put(u64),
    /// The same, of so many bytes.
    Large(u64, usize),
    /// Revises what is stored beside a record: 0 from then on.
    Revise(u64),
    /// Writes to the one key that all of these share: a value, or nothing.
    Share(u64, bool),
    /// Drops what is older than this; a tombstone of that time goes with its key.
    Collect(u64),
    /// Nothing is written up to this time any more.
    Beat(u64),
    /// Arms a timer, which fires after so many microseconds.
    Arm(char, u64),
    Read,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer(char);

const ABOUT: &str = "numbers";

impl Protocol for Recorder {
    const INFO: Info = Info::new("recorder", ABOUT, Promise::Eventual);
    type Meta = u64;
    type Request = Request;
    type Reply = ();
    type Peer = ();
    type Hard = ();
    type Timer = Timer;
    type View = ();
    type Session = NoSession;
    type Params = ();
    type Component = ();

    fn start(recovered: Recovered<()>, cx: &mut Cx<'_, Self>) -> Self {
        let last = |dc: DcId| cx.store().versions().filter(|v| v.stamp.origin == dc).map(|v| v.meta).max();
        let arrived: Vec<u64> = cx.topology.all_dcs().map(|dc| last(dc).unwrap_or(0)).collect();
        let written = arrived[cx.me.dc.index()];
        Self { written, records: recovered.records, fired: Vec::new(), started: cx.now, arrived }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        let key = |number| Key::from(format!("{}{number}", cx.me.dc).as_str());
        let value = Write::Assign(vec![b'v'; 20].into());
        match request {
            Request::Put(number) => self.put(number, key(number), value, cx),
            Request::Large(number, bytes) => {
                let bytes = bytes - key(number).len();
                self.put(number, key(number), Write::Assign(vec![b'v'; bytes].into()), cx)
            }
            Request::Share(number, there) => {
                self.put(number, Key::from("shared"), if there { value } else { Write::Remove }, cx)
            }
            Request::Collect(up_to) => {
                cx.collect(usize::MAX, |v| v.stamp.ts.0 <= up_to, |stamp| stamp.ts.0 <= up_to);
            }
            Request::Revise(number) => {
                let stamp = Stamp::new(Hlc(number), cx.me.dc);
                cx.revise(&key(number), stamp, |meta| *meta = 0)
            }
            Request::Beat(ts) => cx.heartbeat(Hlc(ts)),
            Request::Arm(timer, delay) => cx.arm(Timer(timer), delay),
            Request::Read => {}
        }
        cx.reply(ticket, ());
    }

    fn on_replicate(&mut self, from: ServerId, item: Received<'_, u64>, cx: &mut Cx<'_, Self>) {
        for (_, version) in item.versions {
            let last = &mut self.arrived[from.dc.index()];
            assert_eq!(version.meta, *last + 1, "from {from} at {}", cx.me);
            *last = version.meta;
        }
    }

    fn on_timer(&mut self, Timer(timer): Timer, _cx: &mut Cx<'_, Self>) {
        self.fired.push(timer);
    }

    fn visible(_view: &(), _stamp: Stamp, _meta: &u64) -> bool {
        true
    }
}

impl Recorder {
    fn put(&mut self, number: u64, key: Key, write: Write, cx: &mut Cx<'_, Self>) {
        assert_eq!(number, self.written + 1);
        self.written = number;
        let version = Version { stamp: Stamp::new(Hlc(number), cx.me.dc), meta: number, write };
        cx.write(key, version);
    }
}

pub(crate) struct NoSession;

impl Session<Recorder> for NoSession {
    type Token = ();
    fn open(_dc: DcId) -> Self {
        Self
    }
    fn begin(&mut self, _op: Op, _cx: &mut SessionCx<'_, Recorder>) {}
    fn on_reply(&mut self, _ask: AskId, _from: ServerId, _reply: (), _cx: &mut SessionCx<'_, Recorder>) {}
    fn token(&self) {}
    fn adopt(&mut self, _token: (), _cx: &mut SessionCx<'_, Recorder>) {}
}
