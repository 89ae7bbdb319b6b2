//! COPS: causal+ consistency by explicit dependency checks; reads and writes never wait.
//!
//! **Idea.** A session remembers what it has read and written. A write carries that list to the other data centres, and
//! shows there once everything on the list does: the server asks the siblings that hold it. Only the nearest
//! dependencies are listed, what was read since the last write and that write, for it shows only after its own.
//!
//! **Source.** W. Lloyd et al., *Don't Settle for Eventual: Scalable Causal Consistency for Wide-Area Storage with COPS*,
//! SOSP 2011; steps are numbered as in PROTOCOLS §2, which follows it (summaries in 000 §3.2.1 and 002 §3). Of the paper
//! itself only the beginning could be read: its wording of `dep_check`, and what it collects when, are taken from §2.
//! [`DependencyChecked`] does steps 4, 5 and 7, and what D3 and D6 say of restarts and of sessions that move.
//!
//! **Names.** `ver` the version number: a [`Stamp`] · the context: [`Context`] · `near` the nearest dependencies: its
//! [`Deps`] · `dep_check`: [`Check`] · `put_after`: a put with its context.
//!
//! **Deviations**
//! - D1 (E-4) A dependency is on that very update, by partition and stamp. As published a check is met by any version of
//!   the key that is at least as new, which may be a concurrent one and says nothing of the other's causes.
//! - D2 Version numbers are hybrid clocks in the place of Lamport's: the same rules and one more lower bound, so that
//!   between data centres the later writer wins, and drivers can tell a stamp from a future that has not come.
//! - D3 What was applied outlives a crash, for a session that saw it may come back; what was not is checked again.
//! - D4 Contexts are bounded: a session forgets what is applied everywhere, and lists are cut: `session.rs`.
//! - D5 A conditional update depends on the version that decided it; so does its session. MGET is GETs to all partitions
//!   at once, and no snapshot (COPS-GT has those). Heartbeats, every θ, let go of tombstones.
//! - D6 A session that moves brings its context, and waits until it is applied there.
//!
//! **Invariants**
//! - I1 When a version shows in a data centre, everything that it depends on has been applied there.
//! - I2 Whatever a session's context does not name of its past is a cause of what it names, or applied everywhere.
//! - I3 A version that waits is never dropped: it shows, or it has lost, once it was checked.

mod session;

pub use session::{Context, Known, Request, most_deps};

use tidemark_contract::dependants::Applied;
use tidemark_contract::dependency_checked::{self, Checked, DependencyChecked};
use tidemark_contract::prelude::*;
use tidemark_contract::{Deps, Past as _};

pub use tidemark_contract::dependency_checked::{Params, Peer, Timer};

tidemark_contract::rules! {
    READS_ARE_NEAR, // 1
    PUT_IS_NEAR, // 2
    PUT_ABOVE_CONTEXT, // 3
    WAITS_FOR_CHECKS, // 5
    CHECKS_THAT_UPDATE, // 5, D1
    LOSERS_WAIT, // 6
    FORGETS, // D4
    FORGETS_ONLY_EVERYWHERE, // D4
    SPARES_WAITING, // I3
    LISTS_ARE_LONG; // D4; safe without: for schedules that are too small to have long lists
    of dependency_checked: ASKS_SIBLINGS, WAITING_SURVIVES, APPLIED_SURVIVES, MOVERS_WAIT
}

// As published (erratum E-4); and without a part, so that experiments can tell what it costs: 001, figure 1, whose COPS forgets
// nothing before it writes, and whose second COPS sends, answers and ignores checks.
tidemark_contract::variants! {
    "cops-published", "COPS whose checks ask for a version at least as new; its flaw stays in (E-4)": CHECKS_THAT_UPDATE;
    "cops-unforgetting", "COPS that checks even what has long been applied everywhere": FORGETS;
    "cops-heedless", "COPS that checks dependencies and does not wait for the answers": FORGETS, WAITS_FOR_CHECKS;
    "cops-unchecked", "COPS that ships dependencies and does not check them": FORGETS, ASKS_SIBLINGS, WAITS_FOR_CHECKS;
}

/// What is stored beside a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// It is not applied: what it depends on is checked.
    pub waits: bool,
    /// Its nearest dependencies; none once it was applied, for nobody asks again.
    pub near: Deps,
}

/// A server.
pub struct Cops {
    dc: DependencyChecked<Context>,
}

const ABOUT: &str = "causal+ by dependency checks; MGET is single reads, not a snapshot";

impl Protocol for Cops {
    const INFO: Info =
        Info::new("cops", ABOUT, Promise::Causal).splits_reads().rules(RULES).variants(VARIANTS); // D5
    type Meta = Meta;
    type Request = Request;
    type Reply = Answer<Known>;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = ();
    type Session = OneRoundSession<Self>;
    type Params = Params;
    type Component = DependencyChecked<Context>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        dependency_checked::start(&was, *cx.params, cx, |dc, _| Self { dc }) // D3
    }

    fn on_request(&mut self, ticket: Ticket, Request(op, context): Request, cx: &mut Cx<'_, Self>) {
        match op {
            Some(Op::Get { key }) => {
                let (mut found, seen) = read(&[key], cx);
                self.answer(ticket, Outcome::Found(found.remove(0)), seen, cx);
            }
            Some(Op::Rotx { keys } | Op::Snapshot { keys }) => {
                let (found, seen) = read(&keys, cx);
                self.answer(ticket, Outcome::FoundAll(found), seen, cx);
            }
            Some(Op::Put { key, update }) => self.put(ticket, key, update, context, cx),
            Some(walk) => {
                let mut near = Deps::default();
                let outcome = cx.walk(&Walk::of(&walk), &(), |d| near.include(cx.me.partition, d.stamp));
                near.bound(most_deps());
                self.answer(ticket, outcome, Context { clock: near.latest(), near }, cx);
            }
            None => dependency_checked::arrive(self, ticket, context, |context| &context.near, cx), // D6
        }
    }

    fn visible((): &(), _: Stamp, meta: &Meta) -> bool {
        !meta.waits || !WAITS_FOR_CHECKS.kept()
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { waits: true, near: meta.near.clone() }
    }

    fn status(&self) -> Status {
        self.dc.status()
    }
}

impl Checked for Cops {
    type Context = Context;

    fn dependency_checked(&mut self) -> &mut DependencyChecked<Context> {
        &mut self.dc
    }

    fn waits(meta: &Meta) -> Option<&Deps> {
        meta.waits.then_some(&meta.near)
    }

    fn apply(&mut self, d: &Applied, cx: &mut Cx<'_, Self>) {
        self.dc.show(d, |meta| *meta = Meta::default(), cx); // 6, D3
        trim(&d.key, cx);
    }

    fn answer(&mut self, ticket: Ticket, outcome: Outcome, seen: Context, cx: &mut Cx<'_, Self>) {
        let known = match FORGETS_ONLY_EVERYWHERE.kept() {
            _ if !FORGETS.kept() => Vector::default(),
            true => self.dc.everywhere.get().clone(),
            false => self.dc.applied(),
        };
        cx.answer(ticket, outcome, Known(seen, known));
    }

    fn awaited(&self, key: &Key, d: &Version<Meta>, cx: &Cx<'_, Self>) -> Deps {
        let loses = !LOSERS_WAIT.kept() && cx.latest(key, &()).is_some_and(|newest| newest.stamp > d.stamp);
        if loses { Deps::default() } else { d.meta.near.clone() } // 4
    }
}

impl Cops {
    /// `put_after`.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, context: Context, cx: &mut Cx<'_, Self>) {
        let n = cx.me.partition;
        let see = |seen: &mut Context, d: &Version<_>| *seen = Context::of(&key, n, d.stamp); // D5
        let (outcome, seen) = cx.update(&key, update, &(), Context::default(), see, |seen, cx| {
            let mut near = context.near;
            near.merge(&seen.near);
            let above = if PUT_ABOVE_CONTEXT.kept() { context.clock } else { Hlc::ZERO };
            let ver = self.dc.stamp(above, cx)?; // 3
            *seen = Context::of(&key, n, ver);
            // Nobody asks again what a version depends on that is applied: memory keeps nothing of it.
            Ok(Draft::new(ver, Meta { waits: false, near }).in_memory(Meta::default()))
        });
        trim(&key, cx);
        self.answer(ticket, outcome, seen, cx);
    }
}

/// `get`, of each key: what was found, and what a session comes to depend on.
fn read(keys: &[Key], cx: &Cx<'_, Cops>) -> (Vec<Found>, Context) {
    let mut seen = Context::default();
    let find = |key: &Key| {
        let d = cx.latest(key, &());
        d.into_iter().for_each(|d| seen.merge(&Context::of(key, cx.me.partition, d.stamp)));
        found_of(d)
    };
    (keys.iter().map(find).collect(), seen)
}

/// Keeps one version of `key`, if none waits (I3).
fn trim(key: &Key, cx: &mut Cx<'_, Cops>) {
    if !SPARES_WAITING.kept() || !cx.chain(key).any(|d| d.meta.waits) {
        cx.keep_newest(key);
    }
}
