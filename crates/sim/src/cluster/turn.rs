//! Inputs of nodes, and what they bring about: batches, jobs, bytes that leave, replies that are released.

use super::clients::Reply;
use super::process::{Process, User, Worked};
use super::{Cluster, Event};
use crate::plan::Moment;
use crate::rng::mix;
use crate::trace::Happening;
use tidemark_node::{Fatal, Job, Lane, Level, LinkId, LinkKind, Node, OrderAnswer, OrderId, Output};
use tidemark_replica::Now;

/// What a batch asks of the world.
#[derive(Default)]
pub(super) struct Wishes {
    /// Links that have something to transmit, and whether they are closed after that.
    links: Vec<(LinkId, bool)>,
    dials: Vec<(LinkId, usize, LinkKind)>,
    resumes: Vec<LinkId>,
    ended: Vec<User>,
    jobs: Vec<Job>,
    released: Vec<Reply>,
    /// Links on which a copy of everything begins.
    copies: Vec<LinkId>,
    ordered: Vec<(OrderId, OrderAnswer)>,
    notices: Vec<String>,
}

impl Cluster<'_> {
    /// Gives a node something, if it runs. REQUIRES: a turn ends afterwards.
    pub(super) fn input<T>(&mut self, at: usize, give: impl FnOnce(&mut dyn Node, Now) -> T) -> Option<T> {
        let process = &mut self.processes[at];
        let now = process.clocks.read(self.now);
        let node = process.node.as_deref_mut()?;
        Some(Worked::measure(&mut process.worked, || give(node, now)))
    }

    /// A process was given something: its batch ends, at once or once more has come.
    pub(super) fn turn(&mut self, at: usize) {
        if self.takes_more(at) {
            return;
        }
        if self.gather_us == 0 {
            return self.end_turn(at);
        }
        let process = &mut self.processes[at];
        if process.node.is_some() && !std::mem::replace(&mut process.gathers, true) {
            self.queue.push(self.now + self.gather_us, Event::TurnEnds(at, process.boots));
        }
    }

    pub(super) fn heard_enough(&mut self, at: usize, boots: u64) {
        if self.processes[at].boots == boots && self.processes[at].gathers {
            self.end_turn(at);
        }
    }

    /// Commits, and carries out what the node wants, until it wants no more.
    pub(super) fn end_turn(&mut self, at: usize) {
        self.processes[at].gathers = false;
        let mut wishes = self.wishes.take().unwrap_or_default();
        let boots = self.processes[at].boots;
        while self.processes[at].has_more() && self.processes[at].boots == boots {
            let process = &mut self.processes[at];
            let now = process.clocks.read(self.now);
            if let Err(fatal) = process.commit(now, &mut wishes) {
                return self.stops(at, &fatal.to_string());
            }
            let wrote = process.note_written(self.now, self.plan.replicas);
            if wrote && self.power_fails_if(at, |moment| moment == Moment::Written) {
                return;
            }
            self.fulfil(at, &mut wishes);
            let same = self.processes[at].boots == boots && self.processes[at].node.is_some();
            if wrote && same && self.power_fails_if(at, |moment| moment == Moment::Left) {
                return;
            }
        }
        self.wishes = Some(wishes);
        self.see_epoch(at);
        self.plan_tick(at);
        self.compare_at_turn(at);
        self.look_at_streams();
        if self.trace.is_some() {
            self.show_versions(at);
        }
    }

    fn fulfil(&mut self, at: usize, wishes: &mut Wishes) {
        let Wishes { links, dials, resumes, ended, jobs, released, copies, ordered, notices } = wishes;
        for what in notices.drain(..) {
            let name = self.name_of(at);
            self.trace(|| Happening::Trouble(format!("{name}: {what}")));
        }
        let sent = |link: &LinkId| self.processes[at].end_of(*link).is_some_and(|(_, end)| end == 0);
        self.stats.copies += copies.drain(..).filter(sent).count() as u64;
        ordered.drain(..).for_each(|(id, answer)| self.ordered(at, id, answer));
        ended.drain(..).for_each(|user| match user {
            User::Client(client) => self.disconnect_client(client),
            User::Gateway(ask) if self.crowd.is_some() => self.crowd_ended(at, ask),
            User::Gateway(ask) => self.edge_ended(at, ask),
        });
        jobs.drain(..).for_each(|job| self.begin_job(at, job));
        dials.drain(..).for_each(|(link, to, kind)| self.dial(at, link, to, kind));
        for (link, closes) in links.drain(..) {
            self.transmit(at, link);
            if closes {
                self.close(at, link);
            }
        }
        resumes.drain(..).for_each(|link| self.resume(at, link));
        released.drain(..).for_each(|reply| self.release(at, reply));
    }

    fn begin_job(&mut self, at: usize, job: Job) {
        if self.cores.is_some() && self.plan.config.sync_us == 0 {
            // What takes no time ends in the batch that it began in.
            let done = job.run();
            self.input(at, |node, now| node.done(now, done));
            return;
        }
        let (process, longest) = (&mut self.processes[at], self.plan.config.sync_us);
        match job.lane() {
            Lane::Log => {
                process.log_jobs.push_back(job);
                if process.log_jobs.len() == 1 {
                    self.log_job_begins(at);
                }
            }
            Lane::Any => {
                let takes = mix(self.plan.seed ^ at as u64, self.now) % (longest + 1);
                self.queue.push(self.now + takes, Event::Worked(at, process.boots, Box::new(job)));
            }
        }
    }

    /// The first job that concerns the log begins.
    fn log_job_begins(&mut self, at: usize) {
        let takes = self.sync_takes(at);
        self.queue.push(self.now + takes, Event::Logged(at, self.processes[at].boots));
    }

    /// The first job that concerns the log ends.
    pub(super) fn logged(&mut self, at: usize, boots: u64) {
        let process = &mut self.processes[at];
        if process.boots != boots || process.stalls > 0 {
            return;
        }
        let Some(job) = process.log_jobs.pop_front() else { return };
        if !process.log_jobs.is_empty() {
            self.log_job_begins(at);
        }
        self.worked(at, boots, job);
    }

    pub(super) fn worked(&mut self, at: usize, boots: u64, job: Job) {
        if self.processes[at].boots != boots {
            return;
        }
        self.stats.snapshots += u64::from(format!("{job:?}") == "end of a snapshot");
        let done = job.run();
        if self.power_fails_if(at, |moment| moment == Moment::Synced) {
            return;
        }
        self.input(at, |node, now| node.done(now, done));
        self.turn(at);
    }

    /// Sees to it that the node is told the time when it wants to be.
    fn plan_tick(&mut self, at: usize) {
        let process = &mut self.processes[at];
        let Some(node) = &process.node else { return };
        let due = node.next_timeout();
        if process.tick_at.is_some() && process.tick_due == due {
            return;
        }
        if due == tidemark_node::node::NEVER {
            return;
        }
        let tick_at = process.clocks.when(due, self.now);
        if process.tick_at.is_none_or(|planned| tick_at < planned) {
            process.tick_at = Some(tick_at);
            process.tick_due = due;
            self.queue.push(tick_at, Event::Tick(at));
        }
    }

    pub(super) fn tick(&mut self, at: usize) {
        if self.processes[at].tick_at != Some(self.now) {
            return;
        }
        self.tells_time(at);
    }

    /// The node is told the time, if that is due.
    pub(super) fn tells_time(&mut self, at: usize) {
        self.processes[at].tick_at = None;
        let due = self.input(at, |node, now| {
            let due = node.next_timeout() <= now.mono;
            if due {
                node.tick(now);
            }
            due
        });
        match due {
            Some(true) => self.turn(at),
            Some(false) => self.plan_tick(at),
            None => {}
        }
    }
}

impl Process {
    /// Whether the node wants another batch.
    fn has_more(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.wants_commit()) || !self.said.is_empty()
    }

    /// Ends the batch that is open, and takes what the node wants of the world. REQUIRES: it runs.
    fn commit(&mut self, now: Now, wishes: &mut Wishes) -> Result<(), Fatal> {
        let Some(node) = self.node.as_deref_mut() else { return Ok(()) };
        let synced = !self.kept_gate.is_empty() || self.said.iter().any(Reply::is_kept);
        self.batch = Worked::measure(&mut self.worked, || node.commit(now, synced))?;
        for reply in self.said.drain(..) {
            let gate = if reply.is_kept() { &mut self.kept_gate } else { &mut self.gate };
            gate.push(self.batch, reply);
        }
        while let Some(output) = node.poll() {
            match output {
                // Its reply belongs to the next batch: what brought it about may be younger than this one.
                Output::Done { session, outcome } => {
                    self.said.extend(self.users.of(session).map(|user| Reply::to(user, session, outcome)));
                }
                Output::Ended { session } => {
                    wishes.ended.extend(self.users.of(session));
                    self.said.retain(|reply| reply.session() != session);
                    self.gate.retain(|reply| reply.session() != session);
                    self.kept_gate.retain(|reply| reply.session() != session);
                }
                Output::Dial { link, to, kind } => wishes.dials.push((link, to.index(), kind)),
                Output::Up { link, kind: LinkKind::Copy, .. } => wishes.copies.push(link),
                Output::Up { .. } => {}
                Output::Ordered { id, answer } => wishes.ordered.push((id, answer)),
                Output::Close { link } => wishes.links.push((link, true)),
                Output::Ready { link } => wishes.links.push((link, false)),
                Output::Resume { link } => wishes.resumes.push(link),
                Output::Job(job) => wishes.jobs.push(job),
                Output::Notice(notice) if notice.level <= Level::Info => wishes.notices.push(notice.what),
                // Only gateways broadcast, and there is none here.
                Output::Broadcast { .. } | Output::Notice(_) => {}
            }
        }
        let released = node.released();
        for (gate, released) in [(&mut self.gate, released.clients), (&mut self.kept_gate, released.others)] {
            while let Some(reply) = gate.release(released) {
                wishes.released.push(reply);
            }
        }
        Ok(())
    }
}
