//! One member of a group.

use crate::config::GroupConfig;
use crate::copies::{CopyOut, Offer, Sent};
use crate::entries::Entries as Kept;
use crate::handover::HandOver;
use crate::incoming::Incoming;
use crate::lease::Lease;
use crate::raft::{change_of, ours, start};
use crate::rule::{AGREEMENT_FIRST, ALL_APPLIED, BEGIN_ANEW, COLLECTION, RETRACTION, SILENCE, VOTES};
use crate::sync::Unsaved;
use raft::eraftpb::{Entry, HardState, Message, MessageType};
use raft::{RawNode, Ready, StateRole};
use std::collections::VecDeque;
use std::sync::Arc;
use tidemark_contract::{Protocol, Store};
use tidemark_core::{Micros, PartitionId};
use tidemark_replica::{Entries, EntryKind, Fatal, GroupState, Host, HostConfig, Now, OpenError};
use tidemark_store::disk::Disk;
use tidemark_store::log::Position;

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Follows,
    /// It leads in this term, and has made the entries from this one on.
    Leads {
        term: u64,
        from: u64,
    },
}

/// One member of a group, and what it holds.
pub struct Member<P: Protocol> {
    pub(crate) config: GroupConfig,
    pub(crate) raft: RawNode<Kept>,
    /// Absent only while it begins anew, and if that fails.
    pub(crate) host: Option<Host<P>>,
    pub(crate) role: Role,
    pub(crate) hand_over: HandOver,
    pub(crate) lease: Lease,
    pub(crate) messages: Vec<Message>,
    pub(crate) unsaved: VecDeque<Unsaved>,
    /// The members changed since the state was kept.
    pub(crate) members_changed: bool,
    pub(crate) next_tick: Micros,
    /// Before this it takes part in no election.
    pub(crate) mute_until: Micros,
    /// How often it was opened.
    pub(crate) opened: u64,
    /// Copies that the driver has not taken yet.
    pub(crate) copies: Vec<CopyOut>,
    /// Members that were sent one, and do not have everything yet.
    pub(crate) sent: Vec<Sent>,
    /// What is remembered for whoever needs it.
    pub(crate) offer: Option<Offer>,
    /// A job reads what is to be remembered.
    pub(crate) recalling: bool,
    /// A copy on its way in, and how many there have been in this start.
    pub(crate) incoming: Option<Incoming>,
    pub(crate) copies_begun: u64,
    /// Since when somebody who needs a copy waits for a snapshot, and that for the group.
    pub(crate) held_up: Option<Micros>,
    /// The first entry of this term is agreed on, and nobody else's can be any more.
    pub(crate) elected: bool,
}

/// How many entries may be applied before that is written down: a restart has to hear of the others again.
const KEEP_EVERY: u64 = 64;

impl<P: Protocol> Member<P> {
    /// Opens a member's directory on `disk`. It follows until it is elected.
    ///
    /// # Errors
    /// The directory, its snapshot or its log cannot be used as they are.
    pub fn open(
        config: GroupConfig,
        host_config: HostConfig<P>,
        disk: Arc<dyn Disk>,
        now: Now,
    ) -> Result<Self, OpenError> {
        let (mut host, mut entries) = Host::join(host_config, disk)?;
        let new = *host.group_state() == GroupState::default();
        if new && !config.founders.is_empty() {
            // As if there had been an entry that says who founded the group, and is gone: so that who comes later gets a
            // copy, which says who the members are.
            let voters = config.founders.clone();
            let state = GroupState { term: 1, applied: 1, applied_term: 1, voters, ..GroupState::default() };
            entries.after = state.clone();
            host.keep(state);
        }
        let mut member = Self::around(config, host, entries, now);
        if new {
            member.mute_until = 0; // it has promised nothing
        }
        Ok(member)
    }

    fn around(config: GroupConfig, host: Host<P>, entries: Entries, now: Now) -> Self {
        let election_us = (config.election_ticks as u64 + 1) * config.tick_us;
        Self {
            next_tick: now.mono + config.tick_us,
            mute_until: now.mono + election_us,
            raft: start(&config, host.group_state(), entries),
            config,
            host: Some(host),
            role: Role::Follows,
            hand_over: HandOver::No,
            lease: Lease::default(),
            messages: Vec::new(),
            unsaved: VecDeque::new(),
            members_changed: false,
            copies: Vec::new(),
            sent: Vec::new(),
            offer: None,
            recalling: false,
            incoming: None,
            copies_begun: 0,
            held_up: None,
            elected: false,
            opened: 1,
        }
    }

    /// What it holds, whether it leads or not.
    pub fn held(&self) -> &Host<P> {
        self.host.as_ref().expect("it is not beginning anew")
    }

    /// The same, for jobs on its log.
    pub fn held_mut(&mut self) -> &mut Host<P> {
        self.host.as_mut().expect("it is not beginning anew")
    }

    pub(crate) fn leads(&self) -> bool {
        matches!(self.role, Role::Leads { .. })
    }

    /// Whether it leads, and the group has agreed on its start: before that, another may start with the same number.
    pub(crate) fn serves(&self) -> bool {
        matches!(self.role, Role::Leads { from, .. } if self.state().applied >= from) && !self.is_over()
    }

    /// Its host, while it leads.
    pub fn host(&self) -> Option<&Host<P>> {
        self.host.as_ref().filter(|_| self.serves())
    }

    /// Its host, while it leads. REQUIRES: after it was given something, [`Self::commit`].
    pub fn host_mut(&mut self) -> Option<&mut Host<P>> {
        let serves = self.serves();
        self.host.as_mut().filter(|_| serves)
    }

    /// What it holds of a partition, whether it leads or follows.
    pub fn store(&self, partition: PartitionId) -> &Store<P::Meta> {
        self.held().store(partition)
    }

    /// What it keeps of the group.
    pub fn state(&self) -> &GroupState {
        self.held().group_state()
    }

    /// When time has to be told next, on the clock that does not jump.
    pub fn next_timer(&self) -> Micros {
        let timer = self.host().filter(|_| self.takes_requests()).and_then(Host::next_timer);
        timer.map_or(self.next_tick, |timer| timer.min(self.next_tick))
    }

    /// Tells the time: ticks that are due, and timers of the host. REQUIRES: [`Self::commit`] after it.
    pub fn fire_timers(&mut self, now: Now) {
        if self.next_tick <= now.mono {
            // Ticks that passed while the process was busy count once: what others have said meanwhile waits to be heard.
            self.next_tick = (self.next_tick + self.config.tick_us).max(now.mono);
            self.raft.tick();
        }
        if self.leads() && !self.is_over() {
            if self.serves() && self.takes_requests() {
                self.held_mut().fire_timers(now);
            }
            let every = self.config.heartbeat_ticks as u64 * self.config.tick_us;
            if self.lease.last_asked().is_none_or(|at| at + every <= now.mono) {
                self.ask_for_lease(now);
            }
            self.look_after_copies(now);
            if self.takes_requests() {
                self.promote();
            }
        }
    }

    /// A message of another member. REQUIRES: [`Self::commit`] after it.
    pub fn step(&mut self, now: Now, message: Message) {
        use MessageType::{
            MsgPropose, MsgReadIndex, MsgReadIndexResp, MsgRequestPreVote, MsgRequestVote, MsgSnapshot,
        };
        let heard = match message.msg_type {
            MsgRequestVote | MsgRequestPreVote => now.mono >= self.mute_until || !SILENCE.kept(),
            // It is heard when the copy is there of which it tells.
            MsgSnapshot => false,
            // The library would have followers ask and propose through their leader. Who leads does so itself here, and
            // nobody else does.
            MsgPropose | MsgReadIndex | MsgReadIndexResp => false,
            _ => true,
        };
        // What was said to whom this process was before would be taken for something that it has promised.
        if !heard || message.to != self.config.id {
            return;
        }
        // What it refuses is of a member that was removed, or answers a question of another term.
        drop(self.raft.step(message));
    }

    /// Ends the turn: what the host wrote becomes an entry, what has arrived is written, what is agreed on applied.
    ///
    /// # Errors
    /// The log failed, or says what cannot be understood; the process must stop, and this not be used again.
    pub fn commit(&mut self, now: Now) -> Result<(), OpenError> {
        let mut goes_on = self.propose_turn();
        loop {
            if self.is_over() && self.is_replaced() {
                return Ok(()); // its process ends
            }
            if self.is_replaced() && !BEGIN_ANEW.kept() {
                self.role = Role::Follows;
            }
            if !goes_on || self.is_replaced() {
                return self.begin_anew(now);
            }
            if std::mem::take(&mut self.elected) {
                // Everything before it is applied: nothing that anybody was told of is missing.
                self.role = Role::Leads { term: self.raft.raft.term, from: self.raft.store().last() + 1 };
                self.lease = Lease::default();
                self.held_mut().lead(now);
                goes_on = self.propose_turn();
                self.ask_for_lease(now);
                continue;
            }
            if !ALL_APPLIED.kept() && self.role == Role::Follows {
                self.elected = self.raft.raft.state == StateRole::Leader;
            }
            if !self.raft.has_ready() {
                break;
            }
            let ready = self.raft.ready();
            self.handle(now, ready)?;
        }
        self.flush()?;
        let applied = self.state().applied;
        self.raft.mut_store().trim(applied, self.config.entries_bytes);
        Ok(())
    }

    /// Another leads, or this one again, in a later term.
    pub(crate) fn is_replaced(&self) -> bool {
        match self.role {
            Role::Follows => false,
            Role::Leads { term, .. } => {
                self.raft.raft.state != StateRole::Leader || self.raft.raft.term != term
            }
        }
    }

    /// What the host has written becomes an entry. False if that is refused: then this member leads no more.
    pub(crate) fn propose_turn(&mut self) -> bool {
        if !self.leads() || self.is_over() {
            return true;
        }
        if COLLECTION.kept() {
            self.held_mut().tell_dropped();
        }
        match self.held_mut().take_turn() {
            // The library would hand it on to who leads now.
            Some(_) if self.is_replaced() => false,
            Some(turn) => self.raft.propose(Vec::new(), turn.into()).is_ok(),
            None => true,
        }
    }

    /// Whether this member made entry `index` while it leads: then its host knows it.
    fn made(&self, index: u64) -> bool {
        matches!(self.role, Role::Leads { from, .. } if index >= from)
    }

    fn handle(&mut self, now: Now, mut ready: Ready) -> Result<(), OpenError> {
        for message in ready.take_messages() {
            match message.msg_type {
                MessageType::MsgSnapshot => self.send_copy(message),
                _ => self.messages.push(message),
            }
        }
        for state in ready.take_read_states() {
            if let Ok(number) = state.request_ctx.as_slice().try_into().map(u64::from_le_bytes) {
                self.lease.answered(number, self.config.lease_us());
            }
        }
        if !ready.snapshot().is_empty() {
            return self.install(now, ready);
        }
        for entry in ready.take_committed_entries() {
            self.apply(entry)?;
        }
        let mut wrote = false;
        for entry in ready.take_entries() {
            wrote = true;
            if entry.index <= self.raft.store().last() && RETRACTION.kept() {
                self.held_mut().retract(entry.index);
            }
            let own = self.made(entry.index);
            self.held_mut().log_entry(&ours(&entry), own)?;
            if own && !AGREEMENT_FIRST.kept() {
                self.held_mut().agreed(&ours(&entry), false)?;
            }
            self.raft.mut_store().push(entry);
        }
        self.keep_state(ready.hs().cloned(), wrote);
        let messages = ready.take_persisted_messages();
        let number = ready.number();
        self.raft.advance_append_async(ready);
        let position = self.flush()?;
        self.unsaved.push_back(Unsaved { position, ready: number, messages });
        self.saved();
        Ok(())
    }

    /// Writes down what must not be forgotten: a vote at once, what is applied now and then.
    pub(crate) fn keep_state(&mut self, hard: Option<HardState>, wrote: bool) {
        let kept = self.held().group_state();
        let mut state = kept.clone();
        if let Some(hard) = hard {
            (state.term, state.vote) = (hard.term, hard.vote);
        }
        if !VOTES.kept() {
            state.vote = 0;
        }
        let voted = (state.term, state.vote) != (kept.term, kept.vote);
        let due = wrote && state.applied.is_multiple_of(KEEP_EVERY);
        if voted || due || self.members_changed {
            let members = &self.raft.store().members;
            (state.voters, state.learners) = (members.voters.clone(), members.learners.clone());
            self.members_changed = false;
            self.held_mut().keep(state);
        }
    }

    /// The group has agreed on an entry.
    fn apply(&mut self, entry: Entry) -> Result<(), OpenError> {
        let (index, term) = (entry.index, entry.term);
        let agreed = ours(&entry);
        let elsewhere = !self.made(index);
        if index > self.state().applied {
            self.held_mut().agreed(&agreed, elsewhere)?;
        }
        if agreed.kind == EntryKind::Members {
            let change = change_of(&entry).map_err(|detail| OpenError::Meaning {
                kind: 0,
                seq: index,
                position: Position::START,
                detail,
            })?;
            if let Ok(members) = self.raft.apply_conf_change(&change) {
                self.raft.mut_store().members = members;
                self.members_changed = true;
            }
        }
        self.raft.advance_apply_to(index);
        self.elected |= self.role == Role::Follows
            && self.raft.raft.state == StateRole::Leader
            && term == self.raft.raft.term;
        Ok(())
    }

    fn ask_for_lease(&mut self, now: Now) {
        if !self.is_replaced() {
            let number = self.lease.ask(now.mono);
            self.raft.read_index(number.to_le_bytes().to_vec());
        }
    }

    fn flush(&mut self) -> Result<Position, OpenError> {
        self.held_mut().commit().map_err(|Fatal(error)| OpenError::Log(error))
    }

    /// This member leads no more. What it did and nobody agreed on is still in its memory: it begins again.
    pub(crate) fn begin_anew(&mut self, now: Now) -> Result<(), OpenError> {
        let host = self.host.take().expect("it was not beginning anew");
        let (host, entries) = host.rejoin()?;
        let messages = std::mem::take(&mut self.messages);
        let opened = self.opened + 1;
        *self = Self { messages, opened, ..Self::around(self.config.clone(), host, entries, now) };
        Ok(())
    }
}
