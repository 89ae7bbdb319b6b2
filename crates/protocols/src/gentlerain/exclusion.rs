//! D10: an operator excludes a data centre that is cut off, and readmits it; [`Removal`] says in which steps, and why they are
//! safe. Here is what that changes at a server of GentleRain.

use super::{
    ADMITS_IGNORANCE, ALL_HIDE_FIRST, DELETIONS_LAST, FETCHES, GST_JUMPS, HIDES, MOVERS_CATCH_UP,
    MOVERS_WAIT, ONE_CUT, Past, Peer, RETURN_WAITS, Request, Resolver, Server, saw,
};
use tidemark_contract::order::Order;
use tidemark_contract::prelude::{
    Cx, DcId, Deserialize, Hard, Hlc, Micros, Outcome, Recovered, Serialize, ServerId, Ticket, Vector,
    Version, not_covered,
};
use tidemark_contract::removal::{self, Away, Found, Lacks, Removal, Standing, Step};

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

/// The data centre that is away, if one is.
pub(super) struct Exclusion {
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

    /// This server's share in the stable time.
    pub(super) fn share(&self, vv: &Vector) -> Hlc {
        self.removal.share(vv)
    }

    /// Whether `gst` is not to become the stable time here: it is between what had come and the cut.
    pub(super) fn skips(&self, gst: Hlc) -> bool {
        GST_JUMPS.kept() && self.removal.skips(gst)
    }

    /// Of which data centre a reader at `gst` is shown nothing that it wrote above a cut.
    #[inline]
    pub(super) fn hides(&self, gst: Hlc) -> Option<(DcId, Hlc)> {
        if HIDES.kept() { self.removal.hides(gst) } else { None }
    }

    /// Whether older versions than this one can go, which is safe for readers.
    pub(super) fn forgets(&mut self, d: &Version<Hlc>) -> bool {
        self.removal.forgets(d) || !DELETIONS_LAST.kept()
    }

    /// Nobody reads below `safe` any more.
    pub(super) fn end(&mut self, safe: Hlc) {
        self.removal.end(safe);
    }

    /// Whether a session that moves from `home` may know of what is hidden from readers at `gst`.
    pub(super) fn refuses(&self, home: DcId, past: Past, gst: Hlc) -> bool {
        MOVERS_WAIT.kept() && self.removal.refuses(home, past.dt, gst)
    }

    /// What such a session has been shown elsewhere, and waits for here.
    pub(super) fn shown(&self, past: Past) -> Hlc {
        if MOVERS_CATCH_UP.kept() && self.removal.returns() { past.gst } else { Hlc::ZERO }
    }

    pub(super) fn away(&self) -> Option<&Away> {
        self.removal.away()
    }
}

impl<R: Resolver> Server<R> {
    /// D5: a session moves here. It is refused, if it may know of what is hidden.
    pub(super) fn cover(&mut self, ticket: Ticket, past: Past, home: DcId, cx: &mut Cx<'_, Self>) {
        if self.exclusion.refuses(home, past, self.gst()) {
            return cx.fail(ticket, not_covered());
        }
        let needs = past.dt.max(self.exclusion.shown(past));
        if needs <= self.gst() {
            return cx.answer(ticket, Outcome::Adopted, Past { dt: past.dt, gst: self.gst() });
        }
        let deadline = cx.mono + cx.params.wait_limit_us;
        self.waiting_for_gst.park(needs, deadline, (ticket, Request::Cover(past, home)));
    }

    /// Carries out a step.
    pub(super) fn obey(&mut self, order: &Order, cx: &mut Cx<'_, Self>) -> Result<Standing, String> {
        let Order::Exclusion(order) = order else { return Err(order.unknown::<Self>()) };
        let (me, mut order, removal) = (cx.me.dc, order.clone(), &mut self.exclusion.removal);
        if let Step::Cut { least } = &mut order.step
            && !ONE_CUT.kept()
        {
            cx.topology.peers(cx.me).for_each(|peer| least[peer.dc] = Hlc::ZERO); // each for itself, as printed
        }
        let standing = removal.obey(&order, me, &self.st.vv);
        match order.step {
            Step::Cut { .. } if !ALL_HIDE_FIRST.kept() => {
                let order = removal::Exclusion { step: Step::Exclude, ..order };
                let _ = removal.obey(&order, me, &self.st.vv);
            }
            Step::Readmit { from } if !RETURN_WAITS.kept() => removal.end(from),
            _ => {}
        }
        self.fetch(cx);
        self.keep_removal(cx);
        standing
    }

    /// Asks the donor for what is missing of a data centre that is to be excluded.
    pub(super) fn fetch(&mut self, cx: &mut Cx<'_, Self>) {
        let Some((donor, lacks)) = self.exclusion.removal.lacks(&self.st.vv) else { return };
        if !FETCHES.kept() {
            return self.st.vv.raise(lacks.dc, lacks.upto);
        }
        if cx.mono < self.exclusion.ask_again {
            return;
        }
        self.exclusion.ask_again = cx.mono + ASK_AGAIN_US;
        cx.send(ServerId::new(donor, cx.me.partition), Peer::Own(Message::Lacks(lacks)));
    }

    /// The donor is asked, or has answered.
    pub(super) fn hand_over(&mut self, from: ServerId, message: Message, cx: &mut Cx<'_, Self>) {
        let Found { dc, versions, upto } = match message {
            Message::Lacks(lacks) => {
                return cx.send(from, Peer::Own(Message::Found(Removal::find(cx.store, lacks))));
            }
            Message::Found(found) => found,
        };
        for (key, stamp, meta, write) in versions {
            if !cx.store.chain(&key).any(|other| other.stamp == stamp) {
                cx.write_here(key.clone(), Version { stamp, meta, write }); // whoever else lacks it asks, too
                self.conflicts.note(cx.store, &key, stamp, saw);
            }
        }
        self.st.vv.raise(dc, upto);
        self.exclusion.ask_again = 0;
        self.fetch(cx);
    }

    /// Who is silent is noted before `vv` is reported.
    pub(super) fn listen(&mut self, cx: &mut Cx<'_, Self>) {
        self.exclusion.removal.listen(cx.me.dc, &self.st.vv);
        self.keep_removal(cx);
    }

    /// Makes it durable, if it has changed.
    pub(super) fn keep_removal(&mut self, cx: &mut Cx<'_, Self>) {
        let removal = &mut self.exclusion.removal;
        if removal.changed() {
            self.st.ceiling.persist(|kept| kept.removal = removal.clone(), cx);
        }
    }
}
