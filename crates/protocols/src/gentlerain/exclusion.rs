//! A data centre that is cut off and left out: §5.5, with its whole life. It is the component of a server of GentleRain, on top
//! of [`Stabilised`]: what its steps say to peers, what they persist, what is hidden from readers, and which sessions are refused.
//!
//! **Deviation D10** (E-11). §5.5 leaves open how a data centre that was cut off is left out. An operator excludes it, and readmits
//! it; [`Removal`] says in which steps, and why they are safe. Versions that it wrote above the cut are hidden from readers by
//! their `gst`, which is never between what was here and the cut; sessions that moved from it are refused, and deletions
//! remembered.

use super::{
    ADMITS_IGNORANCE, ALL_HIDE_FIRST, DELETIONS_LAST, FETCHES, GST_JUMPS, GentleRain, HIDES, MOVERS_CATCH_UP,
    MOVERS_WAIT, ONE_CUT, Past, Peer, RETURN_WAITS, Request, Timer,
};
use tidemark_contract::component::Component;
use tidemark_contract::order::Order;
use tidemark_contract::prelude::{
    Cx, DcId, Deserialize, Hard, Hlc, Micros, Outcome, Received, Recovered, Serialize, ServerId, Stamp,
    Ticket, Version, not_covered,
};
use tidemark_contract::removal::{self, Away, Found, Lacks, Removal, Stage, Standing, Step};
use tidemark_contract::stabilised::{self, Stabilised};

/// How long a donor may take before it is asked again.
const ASK_AGAIN_US: Micros = 500_000;

/// What the survivors' servers of a partition say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Message {
    Lacks(Lacks),      // to the donor
    Found(Found<Hlc>), // and back
}

/// What outlives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Kept {
    pub clock: Hard,
    pub removal: Removal,
}

impl AsRef<Hard> for Kept {
    fn as_ref(&self) -> &Hard {
        &self.clock
    }
}

impl AsMut<Hard> for Kept {
    fn as_mut(&mut self) -> &mut Hard {
        &mut self.clock
    }
}

/// Of which data centre nothing is shown that it wrote above a cut.
pub(super) struct Hidden(Option<(DcId, Hlc)>);

impl Hidden {
    pub(super) fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    #[inline]
    pub(super) fn shows(&self, stamp: Stamp) -> bool {
        self.0.is_none_or(|(dc, cut)| stamp.origin != dc || stamp.ts <= cut)
    }
}

/// The data centre that is away, if one is.
pub struct Exclusion {
    removal: Removal,
    ask_again: Micros,
}

impl Exclusion {
    /// What outlived a crash, with which what was `received` is more.
    pub(super) fn recovered(was: &mut Recovered<Kept>) -> Self {
        let life = if ADMITS_IGNORANCE.kept() { was.life } else { 1 };
        was.hard.removal = std::mem::take(&mut was.hard.removal).recovered(life, &mut was.received);
        Self { removal: was.hard.removal.clone(), ask_again: 0 }
    }

    /// Whether `gst` is not to become the stable time here: it is between what had come and the cut.
    pub(super) fn skips(&self, gst: Hlc) -> bool {
        GST_JUMPS.kept() && self.removal.skips(gst)
    }

    /// What is hidden from a reader at `gst`.
    #[inline]
    pub(super) fn hidden(&self, gst: Hlc) -> Hidden {
        Hidden(if HIDES.kept() { self.removal.hides(gst) } else { None })
    }

    /// Whether older versions than this one can go, which is safe for readers.
    pub(super) fn forgets(&mut self, d: &Version<Hlc>) -> bool {
        self.removal.forgets(d) || !DELETIONS_LAST.kept()
    }

    /// What a session that moves here from `home` waits for, beside its `dt`: what it has been shown elsewhere. None if it may know
    /// of what is hidden from readers at `gst`, and is refused.
    fn admits(&self, home: DcId, past: Past, gst: Hlc) -> Option<Hlc> {
        if MOVERS_WAIT.kept() && self.removal.refuses(home, past.dt, gst) {
            return None;
        }
        Some(if MOVERS_CATCH_UP.kept() && self.removal.returns() { past.gst } else { Hlc::ZERO })
    }

    /// D11: whether what a reader at this time sees has changed, or will, because versions were hidden from readers for a while.
    pub(super) fn obscures(&self, time: Hlc) -> bool {
        self.removal.away().is_some_and(|it| {
            let shown = matches!(it.stage, Stage::Readmitted { from, .. } if time >= from);
            time > it.least && !shown
        })
    }

    pub(super) fn away(&self) -> Option<Away> {
        self.removal.away().cloned()
    }
}

impl Component<GentleRain> for Exclusion {
    fn on_peer(server: &mut GentleRain, from: ServerId, message: Peer, cx: &mut Cx<'_, GentleRain>) {
        match message {
            Peer::Own(Message::Lacks(lacks)) => {
                cx.send(from, Peer::Own(Message::Found(Removal::find(cx.store(), lacks))));
            }
            Peer::Own(Message::Found(found)) => take(server, found, cx),
            message => stabilised::on_peer(server, from, message, cx),
        }
    }

    fn on_replicate(
        server: &mut GentleRain,
        from: ServerId,
        item: Received<'_, Hlc>,
        cx: &mut Cx<'_, GentleRain>,
    ) {
        Stabilised::on_replicate(server, from, item, cx);
    }

    fn on_peer_reset(server: &mut GentleRain, peer: ServerId, cx: &mut Cx<'_, GentleRain>) {
        stabilised::on_peer_reset(server, peer, cx);
    }

    fn on_timer(server: &mut GentleRain, timer: Timer, cx: &mut Cx<'_, GentleRain>) {
        stabilised::on_timer(server, timer, cx);
    }
}

impl GentleRain {
    /// D5: a session moves here. It is refused, if it may know of what is hidden.
    pub(super) fn cover(&mut self, ticket: Ticket, past: Past, home: DcId, cx: &mut Cx<'_, Self>) {
        let Some(shown) = self.exclusion.admits(home, past, self.gst()) else {
            return cx.fail(ticket, not_covered());
        };
        let needs = past.dt.max(shown);
        if needs > self.gst() {
            return self.st.block(needs.into(), (ticket, Request::Cover(past, home)), not_covered, cx);
        }
        cx.answer(ticket, Outcome::Adopted, Past { dt: past.dt, gst: self.gst() });
    }
}

/// An operator's order: carries out a step.
pub(super) fn obey(
    server: &mut GentleRain,
    order: &Order,
    _records: &[u64],
    cx: &mut Cx<'_, GentleRain>,
) -> Result<Standing, String> {
    let Order::Exclusion(order) = order else { return Err(order.unknown::<GentleRain>()) };
    let (me, mut order, removal) = (cx.me.dc, order.clone(), &mut server.exclusion.removal);
    if let Step::Cut { least, .. } = &mut order.step
        && !ONE_CUT.kept()
    {
        cx.topology.peers(cx.me).for_each(|peer| least[peer.dc] = Hlc::ZERO); // each for itself, as printed
    }
    let standing = removal.obey(&order, me, &server.st.vv);
    match order.step {
        Step::Cut { .. } if !ALL_HIDE_FIRST.kept() => {
            let order = removal::Exclusion { step: Step::Exclude, ..order };
            let _ = removal.obey(&order, me, &server.st.vv);
        }
        Step::Readmit { from } if !RETURN_WAITS.kept() => removal.end(from),
        _ => {}
    }
    fetch(server, cx);
    keep(server, cx);
    standing
}

/// This server's share in the stable time. Who is silent is noted before `vv` is reported.
pub(super) fn share(server: &mut GentleRain, cx: &mut Cx<'_, GentleRain>) -> Hlc {
    server.exclusion.removal.listen(cx.me.dc, &server.st.vv);
    keep(server, cx);
    server.exclusion.removal.share(&server.st.vv)
}

/// θ: ends a readmission once nobody reads any more what is older, and asks again for what is missing.
pub(super) fn theta(server: &mut GentleRain, cx: &mut Cx<'_, GentleRain>) {
    let before = server.exclusion.away().map(|it| it.stage);
    server.exclusion.removal.end(server.st.safe().min());
    if let (Some(Stage::Readmitted { from, .. }), None) = (before, server.exclusion.away()) {
        server.st.horizon.raise(from); // what was hidden below it is shown from now on (D11)
    }
    keep(server, cx);
    fetch(server, cx);
}

/// Asks the donor for what is missing of a data centre that is to be excluded.
fn fetch(server: &mut GentleRain, cx: &mut Cx<'_, GentleRain>) {
    let GentleRain { exclusion, st, .. } = server;
    let Some((donor, lacks)) = exclusion.removal.lacks(&st.vv) else { return };
    if !FETCHES.kept() {
        return st.vv.raise(lacks.dc, lacks.upto);
    }
    if cx.mono < exclusion.ask_again {
        return;
    }
    exclusion.ask_again = cx.mono + ASK_AGAIN_US;
    cx.send(ServerId::new(donor, cx.me.partition), Peer::Own(Message::Lacks(lacks)));
}

/// The donor has answered.
fn take(server: &mut GentleRain, found: Found<Hlc>, cx: &mut Cx<'_, GentleRain>) {
    for (key, stamp, meta, write) in found.versions {
        if !cx.chain(&key).any(|other| other.stamp == stamp) {
            cx.write_here(key.clone(), Version { stamp, meta, write }); // whoever else lacks it asks, too
            server.conflicts.note(cx.store(), &key, stamp);
        }
    }
    server.st.vv.raise(found.dc, found.upto);
    server.exclusion.ask_again = 0;
    fetch(server, cx);
}

/// Makes durable what has changed.
fn keep(server: &mut GentleRain, cx: &mut Cx<'_, GentleRain>) {
    let GentleRain { exclusion, st, .. } = server;
    if exclusion.removal.changed() {
        st.ceiling.persist(|kept| kept.removal = exclusion.removal.clone(), cx);
    }
}
