//! What INFO says of this node, and the context in which a connection answers by itself.

use super::machine;
use super::memory::Memory;
use crate::Ready;
use crate::redis::{Context, Facts, ServerInfo, Spec};
use crate::run::shard::Engine;
use crate::stats::Stats;
use std::path::Path;
use tidemark_contract::grouping::NamedGroup;
use tidemark_core::Micros;
use tidemark_node::{About, Finding, Node, SessionId};
use tidemark_replica::{Now, PartitionStatus};
use tidemark_wire::resp::Encoder;

/// What does not change while the node runs.
pub(crate) struct Identity {
    /// 40 hexadecimal digits, new at each start.
    run_id: String,
    /// When the node started.
    pub(crate) started_at: Micros,
    /// The port for Redis clients.
    port: u16,
    /// The node's name.
    pub(crate) node: String,
    /// The name of its region.
    pub(crate) region: String,
}

impl Identity {
    /// Of a node that starts now, and will be `ready`.
    pub(crate) fn new(ready: &Ready, now: Micros) -> Self {
        Self {
            run_id: (0..5).map(|_| format!("{:08x}", fastrand::u32(..))).collect(),
            started_at: now,
            port: ready.redis.port(),
            node: ready.node.clone(),
            region: ready.region.clone(),
        }
    }
}

/// The figures, made when somebody asks.
struct Info<'a> {
    node: &'a mut dyn Node,
    session: SessionId,
    now: Now,
    about: &'a About,
    stats: &'a mut Stats,
    identity: &'a Identity,
    data_dir: &'a Path,
    memory: &'a mut Memory,
    exported: &'a mut Vec<SessionId>,
    mute: bool,
}

/// Runs `answer` with what a connection needs to answer `spec` by itself, if its session is `session`. The reply goes
/// to `out`.
pub(crate) fn with_context<R>(
    engine: &mut Engine,
    session: SessionId,
    spec: &'static Spec,
    out: Encoder<'_>,
    answer: impl FnOnce(&mut Context<'_>) -> R,
) -> R {
    let before = engine.redis.password().map(str::to_string);
    let mut info = Info {
        node: &mut *engine.node,
        session,
        now: engine.now,
        about: &engine.about,
        stats: &mut engine.stats,
        identity: &engine.identity,
        data_dir: &engine.config.data_dir,
        memory: &mut engine.memory,
        exported: &mut engine.exported,
        mute: engine.mute.is_some(),
    };
    let mut cx = Context {
        spec,
        now: engine.now.wall,
        config: &mut engine.redis,
        registry: &mut engine.registry,
        shared: &mut engine.shared,
        info: &mut info,
        out,
    };
    let result = answer(&mut cx);
    // Who can reach the port must go on needing a password.
    if let Some(password) = before
        && engine.redis.password().is_none()
        && !engine.config.redis_listen.ip().is_loopback()
    {
        engine.redis.preset("requirepass", password);
    }
    result
}

impl ServerInfo for Info<'_> {
    fn facts(&mut self) -> Facts {
        let status = self.node.status(self.now);
        let (findings, log_is_good) = (status.findings, status.writes_refused.is_none());
        let status = status.host;
        let commands_per_second = self.stats.rate(self.now.mono);
        let (stats, about, identity) = (&*self.stats, self.about, self.identity);
        let line = |key: &str, value: String| (key.to_string(), value);
        let mut tidemark = vec![
            line("node", identity.node.clone()),
            line("region", identity.region.clone()),
            line("protocol", about.protocol.to_string()),
            line("promise", about.promise.clone()),
            line("log_bytes", status.log_bytes.to_string()),
        ];
        for partition in &status.partitions {
            for peer in &partition.peers {
                let state = if peer.needs_seeding {
                    "needs_seeding"
                } else if peer.streaming {
                    "streaming"
                } else {
                    "absent"
                };
                let key = format!("partition_{}_peer_{}", partition.partition, peer.dc);
                tidemark.push((key, format!("state={state},behind={}", peer.behind)));
            }
        }
        tidemark.push(line("tidemark_findings", findings.len().to_string()));
        tidemark.extend(
            findings.iter().enumerate().map(|(at, found)| line(&format!("finding_{at}"), of_finding(found))),
        );
        let (resident, _) = machine::memory();
        let sum = |of: fn(&PartitionStatus) -> u64| status.partitions.iter().map(of).sum::<u64>();
        let started_s = identity.started_at / 1_000_000;
        Facts {
            run_id: identity.run_id.clone(),
            process_id: std::process::id(),
            tcp_port: identity.port,
            started_at: identity.started_at,
            loading: self.mute,
            used_memory_bytes: self.memory.used(),
            used_memory_peak_bytes: self.memory.peak.max(self.memory.used()),
            resident_memory_bytes: resident,
            dataset_bytes: sum(|partition| partition.bytes),
            system_memory_bytes: machine::system_memory(),
            log_is_good,
            log_bytes: status.log_bytes,
            snapshot_is_running: status.taking_snapshot,
            snapshot_failed: status.snapshot_failure.is_some(),
            last_snapshot_s: machine::last_snapshot(self.data_dir).unwrap_or(started_s).max(started_s),
            cpu_seconds: machine::processor_time(),
            connections_received: stats.connections,
            connections_rejected: stats.refused,
            commands_processed: stats.total(),
            commands_per_second,
            input_bytes: stats.input_bytes,
            output_bytes: stats.output_bytes,
            keyspace_hits: stats.hits,
            keyspace_misses: stats.misses,
            keys: sum(|partition| partition.keys),
            keys_with_deadlines: sum(|partition| partition.with_deadlines),
            expired_keys: sum(|partition| partition.expired),
            evicted_keys: self.memory.evicted,
            tidemark,
        }
    }

    fn begin_snapshot(&mut self) -> Result<(), &'static str> {
        self.node.want_snapshot()
    }

    fn reset_statistics(&mut self) {
        *self.stats = Stats::default();
    }

    fn protocol(&self) -> &'static str {
        self.about.protocol
    }

    fn has_types(&self) -> bool {
        self.about.types
    }

    fn has_guarantees(&self) -> bool {
        self.about.guarantees
    }

    fn checking_groups(&mut self) -> &[NamedGroup] {
        self.node.checking_groups(self.now)
    }

    fn session_token(&mut self) -> String {
        self.exported.push(self.session);
        self.node.export(self.now, self.session)
    }
}

/// A finding as one value of INFO: clients read fields between commas, each with one equals sign.
fn of_finding(finding: &Finding) -> String {
    let text = |text: &str| text.replace(',', ";").replace('=', ":").replace(['\r', '\n'], " ");
    let Finding { code, place, grade, since_us, what, waits_for, remedy } = finding;
    format!(
        "code={code},grade={grade},place={},since={},what={},waits_for={},remedy={}",
        text(place),
        since_us / 1_000_000,
        text(what),
        text(waits_for),
        text(remedy)
    )
}
