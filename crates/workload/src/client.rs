//! One client's requests: a stream that follows from the workload, the client's number and a seed.

use crate::choose::Chooser;
use crate::filling::value;
use crate::keys::hash;
use crate::objects::{Object, Transaction};
use crate::pairs::Partner;
use crate::social::Member;
use crate::{KeySpace, Pattern, Think, Workload, WorkloadError};
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tidemark_core::{Key, Op, Update, Write};

/// What a request is to the one who makes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One key is read.
    #[default]
    Read,
    /// A key that exists is written.
    Update,
    /// A new key is written.
    Insert,
    /// Some keys are listed.
    Scan,
    /// A key is read, then written.
    ReadModifyWrite,
    /// Several keys are read in one transaction.
    Transaction,
    /// Several keys are read from a snapshot.
    Snapshot,
    /// Keys are read one after the other, then some are written.
    Round,
    /// Many writes, one after the other.
    Amplified,
    /// A key is read until another client has written to it, then one is written.
    Turn,
    /// Somebody's wall is read.
    ReadWall,
    /// Somebody's friends are read.
    SeeFriends,
    /// A message is left on somebody's wall.
    Message,
    /// A user says something on their own wall.
    PostStatus,
    /// Two users become friends.
    AddFriend,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::Read,
        Self::Update,
        Self::Insert,
        Self::Scan,
        Self::ReadModifyWrite,
        Self::Transaction,
        Self::Snapshot,
        Self::Round,
        Self::Amplified,
        Self::Turn,
        Self::ReadWall,
        Self::SeeFriends,
        Self::Message,
        Self::PostStatus,
        Self::AddFriend,
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Scan => "scan",
            Self::ReadModifyWrite => "read-modify-write",
            Self::Transaction => "transaction",
            Self::Snapshot => "snapshot",
            Self::Round => "round",
            Self::Amplified => "amplified",
            Self::Turn => "turn",
            Self::ReadWall => "read-wall",
            Self::SeeFriends => "see-friends",
            Self::Message => "message",
            Self::PostStatus => "post-status",
            Self::AddFriend => "add-friend",
        }
    }
}

/// What a client asks for at once: operations to run one after the other, in one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What it is.
    pub kind: Kind,
    /// Its operations; each begins when the one before has been answered.
    pub ops: Vec<Op>,
    /// If it is made in another region than the client's: which, of the others in their order from that one on. Take it
    /// modulo their number.
    pub remote: Option<u32>,
    /// How long the client thinks after the last answer, in microseconds.
    pub think_us: u64,
}

/// The stream of one client's requests.
#[derive(Clone, Debug)]
pub struct Client {
    workload: Workload,
    keys: Arc<KeySpace>,
    rng: Rng,
    chooser: Chooser,
    /// Where round robin goes on.
    turn: u64,
    /// What it is to the other of its pair, where clients come in pairs.
    partner: Partner,
    /// Whom it is, in a social network.
    member: Option<Member>,
    /// Inserts of the last request, which has ended when the next is asked for.
    inserted: u64,
    /// Partitions drawn without repetition; kept for its memory.
    drawn: Vec<usize>,
}

impl Client {
    /// Client `number` of `clients` in all. Streams of the same seed differ from client to client, and follow from both.
    /// Fails if the workload makes no sense or does not fit the keys.
    pub fn new(
        workload: &Workload,
        keys: &Arc<KeySpace>,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        workload.validate_for(keys.partitions())?;
        workload.validate_clients(clients, keys.partitions())?;
        let mut rng = Rng::with_seed(hash(seed) ^ hash(!(number as u64)));
        let chooser = Chooser::new(workload, keys, &mut rng);
        // Clients that walk through partitions begin spread over them.
        let turn = match workload.pattern {
            Pattern::Alternate { .. } | Pattern::Apps { .. } => 0,
            _ => (number * keys.partitions() / clients.max(1)) as u64,
        };
        let (workload, keys) = (workload.clone(), Arc::clone(keys));
        let partner = Partner::new(number, &workload.pattern);
        let member = Member::new(&workload, &mut rng);
        Ok(Self { workload, keys, rng, chooser, turn, partner, member, inserted: 0, drawn: Vec::new() })
    }

    /// The next request, which begins `at_us` microseconds after the run's clients began. Asking for it says that the one before
    /// has ended.
    #[allow(clippy::should_implement_trait, reason = "it has no end")]
    pub fn next(&mut self, at_us: u64) -> Request {
        let mut request = Request::default();
        self.next_into(&mut request, at_us);
        request
    }

    /// As `next`, into a request whose memory is used again.
    pub fn next_into(&mut self, request: &mut Request, at_us: u64) {
        self.keys.acknowledge(std::mem::take(&mut self.inserted));
        self.partner.in_turn = self.partner.takes_turns(&self.workload.pattern, at_us);
        request.ops.clear();
        request.kind = match self.workload.pattern {
            Pattern::Mix { read, update, insert, scan, scan_length, .. } => {
                self.mix([read, update, insert, scan], scan_length, &mut request.ops)
            }
            Pattern::Transactions { write_share, span } => {
                self.transactions(write_share, span, &mut request.ops)
            }
            Pattern::Rounds {} => self.round(&mut request.ops),
            Pattern::RoundRobin {} => {
                self.put_in_turn(&mut request.ops);
                Kind::Update
            }
            Pattern::Ratio { reads, writes } => self.ratio(reads, writes, &mut request.ops),
            Pattern::Snapshots { span } => {
                let keys = (0..span).map(|_| self.anywhere()).collect();
                request.ops.push(Op::Snapshot { keys });
                Kind::Snapshot
            }
            Pattern::Amplified { factor, inserts } => {
                (0..factor).for_each(|_| match inserts {
                    true => self.insert(&mut request.ops),
                    false => self.put_in_turn(&mut request.ops),
                });
                Kind::Amplified
            }
            Pattern::Social { .. } => self.social(&mut request.ops),
            Pattern::Alternate { .. } => self.alternate(&mut request.ops),
            Pattern::Apps { .. } if !self.partner.in_turn => self.alternate(&mut request.ops),
            Pattern::Turns { partition, .. } | Pattern::Apps { partition, .. } => {
                let key = |index| self.keys.key(self.keys.number_in(partition, index));
                self.partner.turn(key, self.workload.value_bytes, &mut request.ops)
            }
        };
        request.remote = self.remote();
        request.think_us = self.think(request.kind);
    }

    /// Operation `at` of the request has been answered, `at_us` microseconds after the run's clients began, with a value if it was a
    /// GET that found one. If the client wants to make it once more before it goes on: after how many microseconds.
    pub fn answered(&mut self, at: usize, read: Option<&[u8]>, at_us: u64) -> Option<u64> {
        match self.workload.pattern {
            Pattern::Turns { poll_us, .. } | Pattern::Apps { poll_us, .. } if self.partner.in_turn => {
                let waits = self.partner.answered(at, read);
                // When pairs have swapped, the other does something else: a turn that is still running ends as it is.
                (waits && self.partner.takes_turns(&self.workload.pattern, at_us)).then_some(poll_us)
            }
            _ => None,
        }
    }

    /// What a member of a social network does next, as a transaction over objects.
    pub(crate) fn transaction(&mut self) -> Option<Transaction> {
        Some(self.member.as_mut()?.next(&self.workload, &mut self.rng))
    }

    /// The same as commands, one after the other.
    fn social(&mut self, ops: &mut Vec<Op>) -> Kind {
        let Some(transaction) = self.transaction() else { return Kind::Read };
        ops.extend(transaction.reads.iter().map(Object::read));
        ops.extend(transaction.changes.into_iter().map(|(object, change)| change.op(object.key)));
        transaction.kind
    }

    /// Nothing is drawn if nobody leaves: streams are as they were without that.
    fn remote(&mut self) -> Option<u32> {
        let leaves = self.workload.remote > 0.0 && self.rng.f64() < self.workload.remote;
        leaves.then(|| self.rng.u32(..))
    }

    /// YCSB's core workload. `shares` of reads, updates, inserts and scans; the rest is read-modify-write.
    fn mix(&mut self, shares: [f64; 4], scan_length: u32, ops: &mut Vec<Op>) -> Kind {
        let draw = self.rng.f64();
        let mut below = 0.0;
        let kind = shares.iter().zip(Kind::ALL).find_map(|(share, kind)| {
            below += share;
            (draw < below).then_some(kind)
        });
        let kind = kind.unwrap_or(self.last_of_the_mix());
        if kind == Kind::Insert {
            self.insert(ops);
            return kind;
        }
        let key = self.keys.key(self.chooser.any(&self.keys, &mut self.rng));
        match kind {
            Kind::Update => ops.push(self.put(key)),
            Kind::Scan => {
                let (partition, limit) = (self.keys.partition_of(&key), self.rng.u32(1..=scan_length));
                ops.push(Op::Scan { partition, cursor: 0, limit });
            }
            Kind::ReadModifyWrite => {
                ops.push(Op::Get { key: key.clone() });
                ops.push(self.put(key));
            }
            _ => ops.push(Op::Get { key }),
        }
        kind
    }

    /// What a draw means that lies above all shares, if only because they do not quite sum to 1.
    fn last_of_the_mix(&self) -> Kind {
        match self.workload.pattern {
            Pattern::Mix { read_modify_write, .. } if read_modify_write > 0.0 => Kind::ReadModifyWrite,
            Pattern::Mix { scan, .. } if scan > 0.0 => Kind::Scan,
            Pattern::Mix { insert, .. } if insert > 0.0 => Kind::Insert,
            Pattern::Mix { update, .. } if update > 0.0 => Kind::Update,
            _ => Kind::Read,
        }
    }

    /// The share w counts single operations, a transaction of p keys as p reads. So of requests, q are writes with
    /// q / (q + (1 − q) p) = w.
    fn transactions(&mut self, write_share: f64, span: usize, ops: &mut Vec<Op>) -> Kind {
        let reads = span as f64;
        let requests = write_share * reads / (1.0 - write_share + write_share * reads);
        if self.rng.f64() < requests {
            let key = self.anywhere();
            ops.push(self.put(key));
            return Kind::Update;
        }
        self.draw_partitions(span);
        let drawn = std::mem::take(&mut self.drawn);
        let keys = drawn[..span].iter().map(|partition| self.within(*partition)).collect();
        self.drawn = drawn;
        ops.push(Op::Rotx { keys });
        Kind::Transaction
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> Kind {
        // Each client begins elsewhere, or all would meet at one partition after the other.
        let (partitions, first) = (self.keys.partitions(), self.turn as usize);
        for partition in (0..partitions).map(|n| (first + n) % partitions) {
            let key = self.within(partition);
            ops.push(Op::Get { key });
        }
        let key = self.anywhere();
        ops.push(self.put(key));
        Kind::Round
    }

    fn ratio(&mut self, reads: u32, writes: u32, ops: &mut Vec<Op>) -> Kind {
        for _ in 0..reads {
            let key = self.anywhere();
            ops.push(Op::Get { key });
        }
        // Each write in another partition; with more writes than partitions, in all of them and over again.
        let mut left = writes as usize;
        while left > 0 {
            let now = left.min(self.keys.partitions());
            self.draw_partitions(now);
            for at in 0..now {
                let key = self.within(self.drawn[at]);
                ops.push(self.put(key));
            }
            left -= now;
        }
        Kind::Round
    }

    fn put_in_turn(&mut self, ops: &mut Vec<Op>) {
        let partition = (self.turn % self.keys.partitions() as u64) as usize;
        self.turn += 1;
        let key = self.within(partition);
        ops.push(self.put(key));
    }

    fn alternate(&mut self, ops: &mut Vec<Op>) -> Kind {
        let (partitions, index) = (self.keys.partitions(), self.partner.shared());
        let place = (self.turn % partitions as u64) as usize;
        self.turn += 1;
        let key = |partition| self.keys.key(self.keys.number_in(partition, index));
        if !self.partner.writes() {
            ops.push(Op::Get { key: key(place) });
            return Kind::Read;
        }
        ops.push(self.put(key(partitions - 1 - place)));
        Kind::Update
    }

    fn insert(&mut self, ops: &mut Vec<Op>) {
        self.inserted += 1;
        let key = self.keys.key(self.keys.insert());
        ops.push(self.put(key));
    }

    /// `count` different partitions, into `drawn`, in random order (Fisher and Yates, as far as needed).
    fn draw_partitions(&mut self, count: usize) {
        if self.drawn.len() != self.keys.partitions() {
            self.drawn = (0..self.keys.partitions()).collect();
        }
        for at in 0..count {
            let other = self.rng.usize(at..self.drawn.len());
            self.drawn.swap(at, other);
        }
    }

    /// A key of a partition that is chosen uniformly.
    fn anywhere(&mut self) -> Key {
        let partition = self.rng.usize(0..self.keys.partitions());
        self.within(partition)
    }

    fn within(&mut self, partition: usize) -> Key {
        let index = self.chooser.within(&mut self.rng);
        self.keys.key(self.keys.number_in(partition, index))
    }

    fn put(&mut self, key: Key) -> Op {
        Op::Put { key, update: Update::put(Write::Assign(value(&mut self.rng, self.workload.value_bytes))) }
    }

    fn think(&mut self, kind: Kind) -> u64 {
        if let Pattern::Alternate { pause_us } | Pattern::Apps { pause_us, .. } = self.workload.pattern
            && kind == Kind::Update
            && self.turn.is_multiple_of(self.keys.partitions() as u64)
        {
            return pause_us;
        }
        match (self.workload.think_us, self.workload.think) {
            (0, _) => 0,
            (think_us, Think::Fixed) => think_us,
            (think_us, Think::Exponential) => (-(1.0 - self.rng.f64()).ln() * think_us as f64) as u64,
        }
    }
}
