//! COPS-GT: COPS with read-only transactions of at most two rounds that never block.
//!
//! **Idea.** A version carries the newest update of every key in its past. A transaction reads all its keys at once; if
//! something that it returned comes after a newer version of another of its keys, it reads exactly that version in a
//! second round. Which is there: what came after it shows here only because it does. So old versions are kept a while.
//!
//! **Source.** W. Lloyd et al., *Don't Settle for Eventual: Scalable Causal Consistency for Wide-Area Storage with COPS*,
//! SOSP 2011; steps as in PROTOCOLS §2 (T1 to T4 those of `get_trans`). Of the paper itself only the beginning could be
//! read: that old versions are kept for five seconds, and what *never depend* means, are taken from §2.
//!
//! **Names.** As in [`crate::cops`], and: all dependencies: [`Causes`] · `ccv` the causally correct version of a key ·
//! `get_by_version`: [`Request::Versions`] · `trans_time`: [`Params::trans_time_us`].
//!
//! **Deviations**
//! - D1 to D6 are those of COPS. Contexts are settled, and tombstones let go, by what is stable in *all* partitions.
//! - D7 The paper drops dependencies and old versions after a time that is longer than any transaction. Here the time is
//!   for liveness only: a server refuses a version that it has dropped, and a list says up to where it names nothing
//!   (`floor`, never above what was applied everywhere). A transaction whose reads may be older than that begins again.
//! - D8 For each key a list names the last writer's update only, with no graph: that is all that `ccv` asks for.
//! - D9 Lists are as long as what is under way is much, and grow while a data centre is away; `near` is bounded (D4).
//!
//! **Invariants**
//! - I1 to I3 are those of COPS.
//! - I4 Of each key in the past of a version its list names the newest update, or that lies at or below its `floor`, and
//!   was applied in every data centre when it was dropped.

mod session;

pub use session::{Client, Context};

use tidemark_contract::aging::Aging;
use tidemark_contract::causes::Causes;
use tidemark_contract::dependants::Applied;
use tidemark_contract::dependency_checked::{self, Checked, DependencyChecked, Messages};
use tidemark_contract::prelude::*;
use tidemark_contract::watched::Watched;
use tidemark_contract::{Deps, Past as _, Report, Stabilisation, Tree};

pub use tidemark_contract::dependency_checked::Timer;

tidemark_contract::rules! {
    LISTS_ALL, // 2
    SECOND_ROUND, // T3
    REFUSES_DROPPED, // D7
    MINDS_FLOORS, // D7
    STABLE_IN_ALL; // D7, I4
    of dependency_checked: ASKS_SIBLINGS, WAITING_SURVIVES, APPLIED_SURVIVES, MOVERS_WAIT
}

/// D4.
const MOST_DEPS: usize = 64;

/// The numbers: the paper's five seconds; the others it does not give.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How often servers tell their peers what they have applied, and their data centre what is applied everywhere.
    pub theta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How often a dependency check that is not answered is asked again.
    pub retry_us: Micros,
    /// How long versions are kept that newer ones have taken the place of.
    pub trans_time_us: Micros,
    /// How long a session that moved here waits for what it depends on.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let dependency_checked::Params { theta_us, retry_us, wait_limit_us } = Default::default();
        Self { theta_us, fan_out: 2, retry_us, trans_time_us: 5_000_000, wait_limit_us }
    }
}

/// What is stored beside a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// It is not applied: what it depends on is checked.
    pub waits: bool,
    /// Its nearest dependencies; none once it was applied.
    pub near: Deps,
    /// All of them.
    pub past: Causes,
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Read(Vec<Key>), // get, and T1
    /// T3: exactly these.
    Versions(Vec<(Key, Stamp)>),
    Put(Key, Update, Context), // put_after
    Walk(Walk),
    Cover(Context), // D6
}

/// One key's part of an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Got {
    found: Found,
    past: Causes,
}

/// What a server answers; the last part is what is stable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// An outcome, and what the session depends on now. After a put that is all its `near`.
    Done(Outcome, Context, Vector),
    /// What was found, and up to where everything that belongs here was applied.
    Slice(Vec<Got>, Vector, Vector),
    /// D7: a version of the second round was dropped.
    TooOld,
}

/// What servers say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Tree(Tree), // siblings (D7)
    Checks(dependency_checked::Peer),
}

impl Messages for Peer {
    fn of(message: dependency_checked::Peer, _: Hlc) -> Self {
        Self::Checks(message)
    }

    fn shared(self) -> Option<dependency_checked::Peer> {
        if let Self::Checks(message) = self { Some(message) } else { None }
    }
}

/// A server.
pub struct CopsGt {
    dc: DependencyChecked<Context>,
    /// What is applied in every data centre, all partitions together.
    stable: Vector,
    stabilisation: Stabilisation,
    /// What was stable, until no transaction is older any more; and what is that already.
    aged: Aging<Vector>,
    ripe: Vector,
    /// Keys with versions to drop, those that are older than the stamp.
    overwritten: Aging<(Key, Stamp)>,
    /// Versions whose lists are not empty.
    listed: Watched,
}

const ABOUT: &str = "COPS with snapshots of two rounds that never block; lists all dependencies";

impl Protocol for CopsGt {
    const INFO: Info = Info::new("cops-gt", ABOUT, Promise::CausalImmediate).rules(RULES);
    type Meta = Meta;
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = ();
    type Session = Client;
    type Params = Params;
    type Component = DependencyChecked<Context>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let Params { theta_us, retry_us, wait_limit_us, .. } = *cx.params;
        let params = dependency_checked::Params { theta_us, retry_us, wait_limit_us };
        dependency_checked::start(&was, params, cx, |dc, cx| {
            let mut server = Self {
                dc,
                stable: Vector::zero(cx.topology.dcs),
                stabilisation: Stabilisation::new(cx.me, cx.topology, cx.params.fan_out),
                aged: Aging::default(),
                ripe: Vector::default(),
                overwritten: Aging::default(),
                listed: Watched::default(),
            };
            server.recall(cx);
            server
        }) // D3
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Read(keys) => {
                let got = keys.iter().map(|key| got(cx.latest(key, &()))).collect();
                cx.reply(ticket, Reply::Slice(got, self.dc.applied(), self.settled())); // T1
            }
            Request::Versions(wanted) => self.versions(ticket, &wanted, cx),
            Request::Put(key, update, context) => self.put(ticket, key, update, context, cx),
            Request::Walk(walk) => {
                let (outcome, seen) = self.walk(&walk, cx);
                self.answer(ticket, outcome, seen, cx);
            }
            Request::Cover(context) => {
                dependency_checked::arrive(self, ticket, context, |context| &context.near, cx); // D6
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Checks(message) => dependency_checked::on_peer(self, from, message, cx),
            Peer::Tree(message) => {
                let stable = self.stabilisation.on_message((from, message), self.report(), Peer::Tree, cx);
                stable.into_iter().for_each(|stable| self.stable.merge(&stable));
            }
        }
    }

    fn visible((): &(), _: Stamp, meta: &Meta) -> bool {
        !meta.waits
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { waits: true, ..meta.clone() }
    }

    fn status(&self) -> Status {
        Status { stable: self.stable.clone(), ..self.dc.status() }
    }
}

impl Checked for CopsGt {
    type Context = Context;

    fn dependency_checked(&mut self) -> &mut DependencyChecked<Context> {
        &mut self.dc
    }

    fn waits(meta: &Meta) -> Option<&Deps> {
        meta.waits.then_some(&meta.near)
    }

    fn apply(&mut self, d: &Applied, cx: &mut Cx<'_, Self>) {
        self.dc.show(d, |meta| (meta.waits, meta.near) = (false, Deps::default()), cx); // 6, D3
        self.shows(&d.key, d.stamp, cx);
    }

    fn answer(&mut self, ticket: Ticket, outcome: Outcome, seen: Context, cx: &mut Cx<'_, Self>) {
        cx.reply(ticket, Reply::Done(outcome, seen, self.settled()));
    }

    /// Tells peers and siblings what is applied here and everywhere.
    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        dependency_checked::announce(self, cx);
        self.stabilisation.tick(self.report(), Peer::Tree, cx);
        self.collect(cx);
    }
}

impl CopsGt {
    /// Goes on with what is to be dropped or has a list, among what survived.
    fn recall(&mut self, cx: &Cx<'_, Self>) {
        let (mut here, mut last) = (Vec::new(), Vec::new());
        cx.store().dump(0, usize::MAX, |key, d| {
            if !d.meta.waits && (last == key || !d.meta.past.list().is_empty()) {
                here.push((d.stamp, Key(key.to_vec().into())));
            }
            last.clear();
            last.extend_from_slice(key);
        });
        here.sort_unstable();
        here.into_iter().for_each(|(stamp, key)| self.shows(&key, stamp, cx));
    }

    /// `put_after`.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, mut context: Context, cx: &mut Cx<'_, Self>) {
        let n = cx.me.partition;
        let see = |seen: &mut Context, d: &Version<Meta>| seen.include(n, &key, d.stamp, &d.meta.past); // D5
        let (outcome, seen) = cx.update(&key, update, &(), Context::default(), see, |seen, cx| {
            context.merge(seen);
            context.settle(&self.settled(), MOST_DEPS);
            let ver = self.dc.stamp(context.clock, cx)?; // 3
            seen.near = Deps::default();
            seen.include(n, &key, ver, &Causes::default());
            let Context { near, past, .. } = context;
            let in_memory = Meta { waits: false, near: Deps::default(), past: past.clone() };
            Ok(Draft::new(ver, Meta { waits: false, near, past }).in_memory(in_memory))
        });
        if let Outcome::Written { stamp: Some(ver), .. } = outcome {
            self.shows(&key, ver, cx);
        }
        self.answer(ticket, outcome, seen, cx);
    }

    /// `get_by_version`: exactly these, or none.
    fn versions(&self, ticket: Ticket, wanted: &[(Key, Stamp)], cx: &mut Cx<'_, Self>) {
        let find = |(key, stamp): &(Key, Stamp)| cx.chain(key).find(|d| d.stamp == *stamp);
        let there: Vec<_> = wanted.iter().map(find).collect();
        let dropped = there.iter().any(|d| d.is_none_or(|d| d.meta.waits));
        if dropped && REFUSES_DROPPED.kept() {
            return cx.reply(ticket, Reply::TooOld); // D7
        }
        let there = there.into_iter().map(got).collect();
        cx.reply(ticket, Reply::Slice(there, Vector::default(), self.settled())); // T3
    }

    /// A scan comes to depend on each version that decided about a key, a tombstone included.
    fn walk(&self, walk: &Walk, cx: &Cx<'_, Self>) -> (Outcome, Context) {
        let mut seen = Context::default();
        let Walk::Scan { cursor, limit } = walk else { return (cx.walk(walk, &(), |_| ()), seen) };
        let mut latest: Vec<(Key, Version<Meta>)> = Vec::new();
        let cursor = cx.store().dump(*cursor, *limit as usize, |key, d| {
            if latest.last().is_some_and(|(last, _)| last[..] == *key) {
                latest.pop_if(|_| !d.meta.waits);
            }
            if !d.meta.waits {
                latest.push((Key(key.to_vec().into()), d.clone()));
            }
        });
        latest.iter().for_each(|(key, d)| seen.include(cx.me.partition, key, d.stamp, &d.meta.past));
        seen.settle(&self.settled(), MOST_DEPS);
        let keys = latest.into_iter().filter(|(_, d)| d.write.value().is_some()).map(|(key, _)| key);
        (Outcome::Keys { keys: keys.collect(), cursor }, seen)
    }

    /// A version shows: what is older is kept for a while (D7), and its list until it is stable.
    fn shows(&mut self, key: &Key, stamp: Stamp, cx: &Cx<'_, Self>) {
        let mut shown = cx.chain(key).filter(|d| !d.meta.waits);
        let (newest, older) = (shown.next().map(|d| (d.stamp, d.meta.past.list().is_empty())), shown.next());
        let Some((newest, bare)) = newest else { return };
        if older.is_some() {
            self.overwritten.keep(cx.mono + cx.params.trans_time_us, (key.clone(), newest));
        }
        if newest == stamp && !bare {
            self.listed.watch(key, stamp);
        }
    }

    /// What the tree takes from this server: what is applied everywhere, and what was a while ago.
    fn report(&self) -> Report {
        Report::new(self.dc.everywhere.get().clone(), &self.ripe, std::iter::empty())
    }

    /// Drops what no transaction asks for any more, if none takes longer than it should (D7).
    fn collect(&mut self, cx: &mut Cx<'_, Self>) {
        while let Some((key, stamp)) = self.overwritten.ripe(cx.mono) {
            if !cx.chain(&key).any(|d| d.stamp < stamp && d.meta.waits) {
                cx.cut(&key, |d| d.stamp == stamp); // I3
            }
        }
        if self.aged.youngest() != Some(&self.stable) {
            self.aged.keep(cx.mono + cx.params.trans_time_us, self.stable.clone());
        }
        while let Some(ripe) = self.aged.ripe(cx.mono) {
            self.ripe.merge(&ripe);
        }
        self.stabilisation.collect(cx, |ripe, d| d.stamp.ts <= ripe.min()); // tombstones, mostly
        let stable = self.settled();
        self.listed.settle_in_memory(cx, |meta| {
            meta.past.settle(&stable);
            meta.past.list().is_empty()
        });
    }

    /// What lists need not name any more.
    fn settled(&self) -> Vector {
        if STABLE_IN_ALL.kept() { self.stable.clone() } else { self.dc.everywhere.get().clone() }
    }
}

fn got(d: Option<&Version<Meta>>) -> Got {
    Got { found: found_of(d), past: d.map(|d| d.meta.past.clone()).unwrap_or_default() }
}
