//! What the connections of one node share beside the [registry](super::ClientRegistry).

use super::command_stats::CommandStats;
use super::config::Config;
use super::error::ErrorReply;
use super::events::Chosen;
use super::latency::{LatencyEvents, Spike};
use super::mail::{Mail, Message, Publication};
use super::pause::Pause;
use super::registry::Client;
use super::scripts::{Mode, News, Scripts, limit_runs};
use super::slow_log::{SlowCommand, SlowLog};
use super::subscriptions::Subscriptions;
use super::table::Spec;
use super::tracking::{Tracker, Tracking};
use super::watch::Watch;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::rc::Rc;
use tidemark_core::Micros;

/// Subscriptions, monitors, what waits to be delivered, and what is noted of commands.
#[derive(Debug, Default)]
pub struct Shared {
    /// Which connections have subscribed to what.
    pub subscriptions: Subscriptions,
    /// Publications that the gateway has to send.
    pub published: Vec<Publication>,
    /// Messages that the gateway has to deliver.
    pub mail: Vec<Mail>,
    /// What is noted of the command that runs.
    pub watch: Watch,
    /// SHUTDOWN was sent: the gateway has to stop the node.
    pub shutdown: bool,
    /// Connections whose commands the gateway has to end, and whether with an error.
    pub unblocked: Vec<(u64, bool)>,
    /// The scripts that the node knows.
    pub scripts: Scripts,
    /// Commands that have to wait.
    pub pause: Pause,
    /// Connections that cache, and what.
    pub tracking: Tracking,
    /// A script has read keys since this was unset.
    pub script_has_read: bool,
    /// So many keys are remembered for them at most; 0 for any number.
    pub tracked_max: u64,
    /// How much memory may be used.
    pub memory: MemoryLimits,
    pub(super) commands: CommandStats,
    pub(super) slow_log: SlowLog,
    pub(super) latency: LatencyEvents,
    /// Which keyspace notifications are sent.
    pub(super) events: Chosen,
    monitors: BTreeSet<u64>,
    slow_log_length: usize,
}

/// How much memory the node may use, and what it does at the limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryLimits {
    /// `maxmemory`; 0 for no limit.
    pub bytes: u64,
    /// `maxmemory-policy` is `volatile-ttl`: keys with deadlines are evicted first.
    pub evicts: bool,
}

/// A command that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Which.
    pub spec: &'static Spec,
    /// It failed.
    pub failed: bool,
    /// How long it took, if that was measured.
    pub took_us: Option<Micros>,
    /// Physical time.
    pub now: Micros,
}

impl Shared {
    /// Takes the settings over, at the start and when they have changed.
    pub fn configure(&mut self, config: &Config) {
        self.watch.configure(config);
        self.events = Chosen::parse(config.get("notify-keyspace-events").unwrap_or_default());
        self.scripts.set_mode(Mode { tells: self.listens(), ..self.scripts.mode() });
        self.memory = MemoryLimits {
            bytes: config.number("maxmemory").unsigned_abs(),
            evicts: config.get("maxmemory-policy") == Some("volatile-ttl"),
        };
        limit_runs(config.number("busy-reply-threshold"));
        self.tracked_max = config.number("tracking-table-max-keys") as u64;
        self.slow_log_length = config.number("slowlog-max-len") as usize;
    }

    /// Somebody publishes a message; returns how many subscriptions of this node it meets. The gateway sends it.
    pub(super) fn publish(&mut self, shard: bool, channel: &Bytes, payload: &Bytes) -> usize {
        let receivers = self.subscriptions.receivers(shard, channel);
        let (channel, payload) = (channel.clone(), payload.clone());
        self.published.push(Publication {
            shard,
            channel,
            payload,
            has_receivers: receivers > 0,
            local: false,
        });
        receivers
    }

    /// Connection `id` caches so from now on, or not any more.
    pub(super) fn track(&mut self, id: u64, tracker: Option<Tracker>) {
        match tracker {
            Some(tracker) => self.tracking.set(id, tracker),
            None => self.tracking.end(id),
        }
        self.scripts.set_mode(Mode { tells: self.listens(), ..self.scripts.mode() });
    }

    /// Whether anybody here wants to know what changes.
    #[inline]
    pub fn listens(&self) -> bool {
        self.tracking.is_any() || self.events.is_any()
    }

    /// Whether there is something for the other nodes, or for subscribers.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.published.is_empty() || self.scripts.has_work()
    }

    /// Publications that the gateway has to send; those of scripts, too.
    pub fn take_published(&mut self) -> Vec<Publication> {
        self.hear_scripts();
        std::mem::take(&mut self.published)
    }

    /// Takes what scripts tell.
    pub fn hear_scripts(&mut self) {
        for news in self.scripts.take_news() {
            match news {
                News::Message { shard, channel, payload } => {
                    self.publish(shard, &channel, &payload);
                }
                News::Read => self.script_has_read = true,
                News::Event { class, name, key } => {
                    self.announce(class, &String::from_utf8_lossy(&name), &key);
                }
            }
        }
    }

    /// The subscribers of this node get a message that was published at node `source`.
    pub fn hand_out(&mut self, publication: &Publication, source: u16) {
        self.subscriptions.hand_out(publication, source, &mut self.mail);
    }

    /// Connection `id` has ended, or was reset: nothing is sent to it any more.
    pub fn forget(&mut self, id: u64) {
        self.subscriptions.forget(id);
        self.track(id, None);
        self.monitors.remove(&id);
        self.mail.retain(|mail| mail.to != id);
        self.watch.monitored = !self.monitors.is_empty();
    }

    /// Connection `id` is sent a line for each command.
    pub(super) fn monitor(&mut self, id: u64) {
        self.monitors.insert(id);
        self.watch.monitored = true;
    }

    /// Shows those who monitor the command that is carried out now, unless it is an administrator's.
    #[cold]
    pub fn show(&mut self, spec: &Spec, now: Micros, client: Option<&Client>) {
        if spec.has("admin") || spec.has("skip_monitor") {
            return;
        }
        let address = client.map_or("", |client| &client.address);
        let line: Rc<str> = self.watch.kept.for_monitor(spec, now, address).into();
        self.mail.extend(self.monitors.iter().map(|to| Mail {
            to: *to,
            message: Message::Line(line.clone()),
            source: None,
        }));
    }

    /// Notes a command that has ended. `client` gives what is known of its connection.
    #[inline]
    pub fn ended<'a>(&mut self, ended: Ended, client: impl FnOnce() -> Option<&'a Client>) {
        self.commands.ran(ended.spec, ended.took_us, self.watch.tracks, ended.failed);
        let Some(took_us) = ended.took_us else { return };
        let is_slow = self.watch.slower_than_us.is_some_and(|limit| took_us >= limit);
        let is_spike = self.watch.latency_ms.is_some_and(|limit| took_us / 1_000 >= limit);
        if is_slow || is_spike {
            self.note_slow(ended, took_us, (is_slow, is_spike), client());
        }
    }

    #[cold]
    fn note_slow(
        &mut self,
        ended: Ended,
        took_us: Micros,
        (is_slow, is_spike): (bool, bool),
        client: Option<&Client>,
    ) {
        let at_s = ended.now / 1_000_000;
        if is_spike {
            let event = if ended.spec.has("fast") { "fast-command" } else { "command" };
            self.latency.add(event, Spike { at_s, took_ms: took_us / 1_000 });
        }
        if is_slow && let Some(arguments) = self.watch.kept.for_slow_log(ended.spec) {
            let text = |of: fn(&Client) -> &String| client.map_or(String::new(), |client| of(client).clone());
            let (address, name) = (text(|client| &client.address), text(|client| &client.name));
            let command = SlowCommand { id: 0, at_s, took_us, arguments, address, name };
            self.slow_log.add(command, self.slow_log_length);
        }
    }

    /// Notes an error reply.
    #[cold]
    pub fn error(&mut self, error: &ErrorReply) {
        self.commands.error(error.bytes());
    }

    /// Notes a command that was refused before it ran.
    #[cold]
    pub fn rejected(&mut self, spec: &'static Spec) {
        self.commands.rejected(spec);
    }
}
