//! What a driver calls: the [`Node`] of a protocol.

use crate::factory::{Factory, OpenError};
use crate::job::{Done, Result as JobResult};
use crate::link::frame::{Framed, HEADER};
use crate::link::table::{Role, Stage};
use crate::node::{
    About, Batch, Fatal, Flow, LinkError, LinkId, Node, Options, Order, OrderId, Output, Reach, Released,
    SessionId,
};
use crate::observe::{Way, What};
use crate::of::{self, NodeOf};
use crate::shared::PastName;
use crate::status::{Counters, Status};
use crate::token::{self, TokenError};
use bytes::{Buf, BytesMut};
use serde::Serialize;
use serde_json::{Map, Value};
use std::marker::PhantomData;
use std::sync::Arc;
use tidemark_contract::{Info, Params as _, Protocol, Session, Topology};
use tidemark_core::{Micros, Op, Outcome};
use tidemark_replica::{Change, Now};
use tidemark_store::disk::Disk;
use tidemark_store::{Expired, Sought};

impl<P: Protocol> NodeOf<P> {
    /// The next frame of a link.
    fn take_payload(&mut self, id: LinkId, payload: &[u8]) -> Result<(), LinkError> {
        let Some(link) = self.core.links.get(id) else { return Ok(()) };
        self.core.wants_commit = true;
        let up = match &link.stage {
            Stage::Stranger { .. } => return self.welcome(id, payload),
            Stage::Called { .. } => return self.welcomed(id, payload),
            Stage::Dialling { .. } | Stage::Closing => return Ok(()),
            Stage::Up(up) => up,
        };
        let node = up.node;
        match &up.role {
            // The other side says nothing here; what it can do is go away.
            Role::MessagesOut | Role::RaftOut { .. } | Role::CopyTaken => {
                Err(LinkError::Refused("the other side says something where it should not".to_string()))
            }
            Role::MessagesIn => Ok(self.hear_messages(node, payload)?),
            Role::StreamIn(_) => self.take_supply(id, node, payload),
            Role::StreamOut(_) => self.take_stream_requests(id, node, payload),
            Role::RaftIn { .. } => match self.take_raft(node, payload)? {
                true => Ok(()),
                false => Err(LinkError::Refused("a message of a member cannot be understood".to_string())),
            },
            Role::CopyOut(_) => self.copy_taken(id, node, payload),
            Role::CopyIn(..) => self.take_part(id, payload),
        }
    }

    fn take_frames(&mut self, id: LinkId, bytes: &mut BytesMut) -> Result<Flow, LinkError> {
        loop {
            let Some(link) = self.core.links.get(id) else {
                bytes.clear();
                return Ok(Flow::Go);
            };
            if link.waiting.is_some() {
                return Ok(Flow::Pause);
            }
            let Some(framed) = link.decoder.next(bytes)? else { return Ok(Flow::Go) };
            let whole = HEADER + framed.payload().len();
            let taken = match framed {
                Framed::Whole(payload) => self.take_payload(id, payload),
                Framed::Part(part) => match link.assembly.take(part)? {
                    Some(payload) => self.take_payload(id, &payload),
                    None => Ok(()),
                },
            };
            bytes.advance(whole);
            taken?;
        }
    }

    fn run_upkeep(&mut self) {
        let now = self.core.now;
        self.core.upkeep_at = now.mono + self.core.config.pace.upkeep_us;
        self.core.outputs.extend(self.hold.upkeep_job(now).map(Output::Job));
        self.look_after_members();
        self.look_for_relays();
        self.core.outputs.extend(self.hold.spare_job().map(Output::Job));
        self.look();
        if self.hold.wants_sync() {
            self.core.outputs.extend(self.hold.sync_job().map(Output::Job));
        }
        // What upkeep brings about leaves with a batch.
        self.core.wants_commit |= self.core.place.is_some();
    }
}

impl<P: Protocol> Node for NodeOf<P> {
    fn about(&self) -> &About {
        &self.core.about
    }

    fn open(&mut self) -> SessionId {
        self.sessions.open(self.core.dc, self.core.follow.open())
    }

    fn configure(&mut self, session: SessionId, options: Options) {
        if let Some(session) = self.sessions.get(session) {
            self.core.follow.configure(&mut session.following, &options);
            session.options = options;
        }
    }

    #[inline]
    fn begin(&mut self, now: Now, session: SessionId, op: Op) -> Option<Outcome> {
        self.core.now = now;
        self.begin_operation(session, op)
    }

    fn export(&mut self, now: Now, session: SessionId) -> String {
        self.core.now = now;
        let knows = self.next_batch();
        let core = &mut self.core;
        core.wants_commit = true;
        let Some(session) = self.sessions.get(session) else { return String::new() };
        session.knows = knows;
        let mut token = session.session.token();
        if let Some(sharing) = &session.sharing {
            self.shared.complete(sharing, session.session.at(), &mut token);
        }
        token::export(&core.config.cluster.name, &core.identity, now.wall, token)
    }

    fn import(&mut self, now: Now, session: SessionId, text: &[u8]) -> Result<Option<Outcome>, TokenError> {
        self.core.now = now;
        let core = &self.core;
        let time = (now.wall, core.config.max_skew_us);
        let token = token::import(&core.config.cluster.name, &core.identity, time, text)?;
        let token = token::check::<P>(token, &core.topology, time)?;
        Ok(self.adopt(session, token))
    }

    fn inform(&mut self, session: SessionId) {
        let knows = self.next_batch();
        if let Some(session) = self.sessions.get(session) {
            session.knows = knows;
            self.core.wants_commit = true;
        }
    }

    fn broadcast(&mut self, now: Now, reach: Reach, content: &[u8]) {
        self.core.now = now;
        self.say_to_all(reach, content);
    }

    fn share(&mut self, session: SessionId, past: Option<PastName>) {
        let batch = self.next_batch();
        if let Some(session) = self.sessions.get(session)
            && session.shares() != past
        {
            self.core.wants_commit = true;
            self.shared.share(session, past, batch);
        }
    }

    fn close(&mut self, session: SessionId) {
        self.share(session, None);
        self.sessions.close(session);
    }

    fn accepted(&mut self, now: Now) -> LinkId {
        self.core.now = now;
        self.stranger()
    }

    fn connected(&mut self, now: Now, link: LinkId) {
        self.core.now = now;
        self.introduce(link);
    }

    fn disconnected(&mut self, now: Now, link: LinkId, why: &str) {
        self.core.now = now;
        self.end_link(link, Some(why.to_string()));
        self.core.links.remove(link);
    }

    fn receive(&mut self, now: Now, link: LinkId, bytes: &mut BytesMut) -> Result<Flow, LinkError> {
        self.core.now = now;
        self.take_frames(link, bytes).inspect_err(|error| self.end_link(link, Some(error.to_string())))
    }

    fn transmit(&mut self, now: Now, link: LinkId, room: usize, out: &mut Vec<u8>) -> bool {
        self.core.now = now;
        self.fill(link, room, out)
    }

    fn next_timeout(&self) -> Micros {
        let core = &self.core;
        let timer = self.hold.next_timer().unwrap_or(Micros::MAX);
        let deadline = core.deadlines.front().map_or(Micros::MAX, |deadline| deadline.at);
        let sync = core.syncs.next(core.config.fsync);
        let lost = core.lost_copies.iter().map(|lost| lost.0).min().unwrap_or(Micros::MAX);
        let links = core.links.next_due().min(self.next_dial()).min(self.next_look());
        timer.min(deadline).min(core.upkeep_at).min(sync).min(lost).min(links)
    }

    fn tick(&mut self, now: Now) {
        self.core.now = now;
        if self.hold.next_timer().is_some_and(|due| due <= now.mono) {
            self.core.sees(Way::Within, self.core.me, 0, What::Timers);
            self.hold.fire_timers(now);
            self.core.wants_commit = true;
        }
        self.expire();
        if self.core.upkeep_at <= now.mono {
            self.run_upkeep();
        }
        if self.core.syncs.next(self.core.config.fsync) <= now.mono {
            self.core.wants_commit = true;
        }
        self.tell_lost_copies();
        if self.core.links.next_due() <= now.mono {
            self.expire_handshakes();
            self.retry_streams();
            self.core.links.looked();
            self.settle_doubts();
        }
        self.dial_due();
        self.look_at_streams();
    }

    fn done(&mut self, now: Now, done: Done) {
        self.core.now = now;
        self.core.wants_commit = true;
        if self.core.fatal.is_some() {
            return; // the batch that ends says so: what it holds may be gone
        }
        let result = match done.0 {
            JobResult::Upkeep(opened, done) => {
                self.hold.upkept(opened, done);
                Ok(())
            }
            JobResult::Ballast(opened, done) => {
                self.hold.ballast_made(opened, done);
                Ok(())
            }
            JobResult::Recall(recalled) => match self.hold.member_mut() {
                Some(member) => member.recalled(now, recalled).map_err(|error| Fatal(error.to_string())),
                None => Ok(()),
            },
            JobResult::Piece(link, copy, piece) => {
                self.piece_read(link, copy, piece);
                Ok(())
            }
            JobResult::Seal(link, sealed) => {
                self.copy_sealed(link, sealed);
                Ok(())
            }
            JobResult::Spare(opened, spare) => {
                self.hold.spared(opened, spare);
                Ok(())
            }
            sync => {
                self.core.findings.syncs.ended(now.mono);
                // In a group, nothing is released before the others agree, synced or not.
                if matches!(sync, JobResult::Sync(_)) {
                    let covered = self.core.syncs.covered();
                    self.core.released.others = self.core.released.others.max(covered);
                }
                self.hold.synced(now, Done(sync))
            }
        };
        if let Err(fatal) = result {
            self.core.fail(fatal);
        }
    }

    fn order(&mut self, now: Now, id: OrderId, order: Order) {
        self.core.now = now;
        self.carry_out(id, order);
    }

    fn want_snapshot(&mut self) -> Result<(), &'static str> {
        match self.hold.host_mut() {
            Some(host) if host.is_taking_snapshot() => Err("Background save already in progress"),
            Some(host) => {
                host.want_snapshot();
                Ok(())
            }
            None => Err("this node does not lead its Raft group: ask the one that does"),
        }
    }

    fn changes(&mut self, listens: bool, told: &mut Vec<Change>) -> bool {
        self.hold.host_mut().is_some_and(|host| host.changes(listens, told))
    }

    fn hand_over(&mut self, now: Now) -> bool {
        self.core.now = now;
        self.core.wants_commit = true;
        self.is_alone() || self.hold.member_mut().is_none_or(|member| member.hand_over(now))
    }

    fn commit(&mut self, now: Now, synced: bool) -> Result<Batch, Fatal> {
        self.core.now = now;
        self.core.syncs.wanted |= synced;
        self.end_batch()
    }

    fn released(&self) -> Released {
        self.core.released
    }

    fn poll(&mut self) -> Option<Output> {
        let output = self.core.outputs.pop_front();
        if let Some(Output::Job(job)) = &output
            && job.is_sync()
        {
            self.core.findings.syncs.began(self.core.now.mono);
        }
        output
    }

    fn status(&mut self, now: Now) -> Status {
        self.core.now = now;
        self.report()
    }

    fn nearest_deadlines(&self, limit: usize) -> Vec<Expired> {
        self.hold.host().map_or_else(Vec::new, |host| host.nearest_deadlines(limit))
    }

    fn fetch(&self, all: &[Sought<'_>]) {
        if let Some(host) = self.hold.host() {
            host.fetch(all);
        }
    }

    fn counters(&self) -> &Counters {
        &self.core.counters
    }

    fn wants_commit(&self) -> bool {
        self.core.wants_commit || !self.core.outputs.is_empty()
    }

    fn shut_down(self: Box<Self>, now: Now) -> Result<(), Fatal> {
        self.end_well(now)
    }
}

/// Makes nodes that run protocol `P`.
pub(crate) struct Of<P>(PhantomData<fn() -> P>);

impl<P: Protocol> Factory for Of<P> {
    fn info(&self) -> &'static Info {
        const { &P::INFO }
    }

    fn remembers(&self) -> bool {
        size_of::<<P::Session as Session<P>>::Token>() > 0
    }

    fn has_types(&self) -> bool {
        P::EXTENSIONS.types.is_some()
    }

    fn default_params(&self) -> Map<String, Value> {
        fields(P::Params::default())
    }

    fn vary(&self, topology: &Topology, pick: &mut dyn FnMut(usize) -> usize) -> Map<String, Value> {
        let mut varied = P::Params::default();
        varied.vary(topology, pick);
        fields(varied)
    }

    fn check_params(&self, params: &Value, topology: Option<&Topology>) -> Result<(), String> {
        of::params::<P>(params, topology).map(drop)
    }

    fn open(
        &self,
        config: crate::config::Config,
        disk: Arc<dyn Disk>,
        now: Now,
    ) -> Result<Box<dyn Node>, OpenError> {
        Ok(Box::new(NodeOf::<P>::open(config, disk, now)?))
    }
}

fn fields(params: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(params) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Makes nodes that run protocol `P`.
pub fn factory_of<P: Protocol>() -> &'static dyn Factory {
    const { &Of::<P>(PhantomData) }
}
