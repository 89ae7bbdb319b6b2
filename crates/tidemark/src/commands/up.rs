//! `tidemark up`

use crate::Usage;
use crate::output::{print, row, table};
use crate::running::Registered;
use crate::supervisor::api::Running;
use crate::supervisor::control::{Token, router};
use crate::supervisor::plan::Wish;
use crate::supervisor::prepare::{Directory, ports_are_free};
use crate::supervisor::{Event, Supervisor};
use anyhow::Context;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tidemark_protocols::{Protocol, with_protocol};
use tidemark_server::config::{
    AdaptTable, Cluster, Elsewhere, Fsync, MemoryPolicy, PlacementTable, SessionScope, Size,
};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

const EXAMPLES: &str = "\
Examples:
  tidemark up
  tidemark up --latency gentlerain             Virginia, Oregon and Ireland, with their real latencies
  tidemark up --regions 2 --protocol eventual
  tidemark up --regions 2 --replicas 3         each region survives the loss of one of its nodes
  tidemark up --protocol gentlerain --param alpha=20ms --param fan_out=4
  tidemark up --protocol accf --adapt          checking groups adapt to clients
  tidemark up --place eu:=b,c                  regions b and c hold keys with the prefix eu:, a forwards
  tidemark up --dir ~/shop                     keeps the data for the next run

From another terminal: tidemark status, cut, heal, slow, skew, exclude, readmit, kill, restart,
and with --replicas: remove, replace.

A file for --latency names the regions and the round-trip times between them:
  jitter = \"1ms\"
  [rtt]
  rome = { oslo = \"40ms\", oporto = \"45ms\" }
  oslo = { oporto = \"60ms\" }";

/// Run a whole cluster on this machine: a process for each node, and emulated latencies between regions.
///
/// When all regions serve, a table with their ports is printed, and then the line `ready`. Ctrl-C stops the
/// cluster; its processes never outlive it.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Up {
    /// How many regions [default: 3, or as many as --latency names].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=64))]
    regions: Option<u8>,
    /// How many nodes each region has: its partitions are spread over them [default: as many as --replicas].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=64))]
    nodes: Option<u8>,
    /// How many replicas each partition has in its region, by Raft: 3 or 5. A partition is available as long as a
    /// quorum of them runs [default: 1].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=9))]
    replicas: Option<u8>,
    /// Into how many partitions each region divides its keys [default: 2].
    #[arg(long, value_name = "COUNT")]
    partitions: Option<u16>,
    /// The consistency protocol; see `tidemark protocols` [default: causal].
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// A parameter of the protocol, as in the [protocol] table of a configuration; may be repeated.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = param)]
    params: Vec<(String, toml::Value)>,
    /// Place keys in some regions only: a prefix, or slots, and regions, such as eu:=b,c or slots:0-8191=a; may be
    /// repeated, and the first rule that matches a key decides.
    #[arg(long = "place", value_name = "KEYS=REGIONS", value_parser = placement)]
    placement: Vec<PlacementTable>,
    /// What a region does with keys that it does not hold: forward, or refuse [default: forward].
    #[arg(long, value_name = "WHAT", value_parser = elsewhere)]
    elsewhere: Option<Elsewhere>,
    /// Adapt checking groups to clients (accf): a controller adds groups that would save them time, and removes groups
    /// that do not; `tidemark groups` shows its changes.
    #[arg(long)]
    adapt: bool,
    /// A parameter of the controller, as in the [adapt] table of a configuration: every=5s, budget=4, freshness=0.05 or least=250us; may be
    /// repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = param, requires = "adapt")]
    adapt_set: Vec<(String, toml::Value)>,
    /// When a write is made durable: always, everysec or no [default: everysec].
    #[arg(long, value_name = "POLICY")]
    fsync: Option<Fsync>,
    /// Which connections to a node share one causal past: connection, client-name or gateway [default: connection].
    #[arg(long, value_name = "SCOPE")]
    session_scope: Option<SessionScope>,
    /// How much memory each node may use before it refuses commands that may add data, such as 1GiB [default: no limit].
    #[arg(long, value_name = "SIZE")]
    max_memory: Option<Size>,
    /// Whether nodes evict keys with deadlines before that: noeviction or volatile-ttl [default: noeviction].
    #[arg(long, value_name = "POLICY")]
    max_memory_policy: Option<MemoryPolicy>,
    /// Latencies between regions: none, gentlerain, spartan, nukv, swiftcloud, or a file [default: none].
    #[arg(long, value_name = "PRESET|FILE")]
    latency: Option<String>,
    /// Where the cluster is kept; used as it is if there is one. Otherwise a temporary directory, removed at the end.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The first region's port for Redis clients; the next ones follow; 0 for any free ones [default: 7001].
    #[arg(long, value_name = "PORT")]
    base_port: Option<u16>,
    /// The first region's port for HTTP; the next ones follow [default: 8001].
    #[arg(long, value_name = "PORT")]
    http_port: Option<u16>,
    /// Serve edge clients, by WebSocket: the first region's port; the next ones follow [default with --edge alone: 9001].
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "9001")]
    edge: Option<u16>,
}

impl Up {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let wish = Wish {
            regions: self.regions,
            nodes: self.nodes,
            replicas: self.replicas,
            partitions: self.partitions,
            protocol: self.protocol,
            params: self.params.into_iter().collect(),
            placement: self.placement,
            elsewhere: self.elsewhere,
            adapt: self.adapt.then(|| adapt_table(self.adapt_set)).transpose()?,
            fsync: self.fsync,
            session_scope: self.session_scope,
            max_memory: self.max_memory,
            max_memory_policy: self.max_memory_policy,
            latency: self.latency,
            base_port: self.base_port,
            http_port: self.http_port,
            edge_port: self.edge,
        };
        let directory = Directory::take(self.dir)?;
        let cluster = directory.cluster(&wish)?;
        ports_are_free(&cluster)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(supervise(cluster, &directory))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A number, or a table in JSON, or else a word.
fn param(text: &str) -> Result<(String, toml::Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as fan_out=3")?;
    let value = match value.starts_with('{') {
        true => {
            serde_json::from_str(value).map_err(|error| format!("{value} is no table in JSON: {error}"))?
        }
        false => value.parse::<i64>().map_or_else(|_| value.into(), toml::Value::Integer),
    };
    Ok((name.to_string(), value))
}

/// `[adapt]`
fn adapt_table(settings: Vec<(String, toml::Value)>) -> anyhow::Result<AdaptTable> {
    let number = |(name, value): (String, toml::Value)| {
        let fraction = value.as_str().and_then(|text| text.parse().ok());
        (name, fraction.map_or(value, toml::Value::Float))
    };
    let table: toml::Table = settings.into_iter().map(number).collect();
    table.try_into().map_err(|error| Usage(format!("--adapt-set: {error}")).into())
}

/// Which regions hold some keys.
fn placement(text: &str) -> Result<PlacementTable, String> {
    let (keys, regions) = text.rsplit_once('=').ok_or("write KEYS=REGIONS, such as eu:=b,c")?;
    let slots = keys.strip_prefix("slots:").map(String::from);
    let prefix = slots.is_none().then(|| keys.to_string());
    Ok(PlacementTable { prefix, slots, regions: regions.split(',').map(String::from).collect() })
}

fn elsewhere(text: &str) -> Result<Elsewhere, String> {
    match text {
        "forward" => Ok(Elsewhere::Forward),
        "refuse" => Ok(Elsewhere::Refuse),
        _ => Err("choose forward or refuse".to_string()),
    }
}

/// Runs the cluster until a signal ends it.
async fn supervise(cluster: Cluster, directory: &Directory) -> anyhow::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hang_up = signal(SignalKind::hangup())?;
    let stop = async move {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {}, _ = hang_up.recv() => {} }
        interrupt
    };
    tokio::pin!(stop);
    let (sender, mut events) = mpsc::unbounded_channel();
    let supervisor = Supervisor::new(cluster.clone(), directory.path.clone(), sender)?;
    print(&heading(&cluster, directory));
    let faults = supervisor.faults_in_words();
    if !faults.is_empty() {
        print(&format!(
            "Faults of the last run go on; `tidemark heal` ends them:\n  {}\n",
            faults.join("\n  ")
        ));
    }
    // Before the nodes serve, so that `tidemark status` shows how far they are.
    let _registered = register(&supervisor, directory).await?;
    let started = {
        let start = supervisor.start_all();
        tokio::pin!(start);
        loop {
            tokio::select! {
                started = &mut start => break started,
                Some(event) = events.recv() => tell(&event),
                _ = &mut stop => {
                    supervisor.stop_all().await;
                    return Ok(());
                }
            }
        }
    };
    if let Err(error) = started {
        supervisor.stop_all().await;
        return Err(error);
    }
    print(&format!("{}\nready\n", addresses(&cluster)));
    if let Some(adapt) = cluster.adapt {
        tokio::spawn(Arc::clone(&supervisor).adapt(adapt.every));
    }
    let mut interrupt = loop {
        tokio::select! {
            interrupt = &mut stop => break interrupt,
            Some(event) = events.recv() => tell(&event),
        }
    };
    print("stopping\n");
    tokio::select! {
        () = supervisor.stop_all() => print("stopped\n"),
        _ = interrupt.recv() => print("stopped by force\n"), // The pipes end with this process, and so do the children.
    }
    Ok(())
}

/// Listens for other terminals, and leaves word where.
async fn register(supervisor: &Arc<Supervisor>, directory: &Directory) -> anyhow::Result<Registered> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on loopback")?;
    let token = Token::random()?;
    let running = Running {
        pid: std::process::id(),
        control: listener.local_addr()?.to_string(),
        token: token.0.to_string(),
        dir: directory.path.clone(),
    };
    let routes = router(Arc::clone(supervisor), token);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Registered::new(&running)
}

fn tell(event: &Event) {
    match event {
        Event::Done(what) => print(&format!("{what}\n")),
        Event::Logged { node, line } => print(&format!("{node} | {line}\n")),
        Event::Slow { node } => print(&format!("{node} is reading its log, and serves when this is done\n")),
        Event::Died { node, how } => {
            print(&format!("{node} died: {how}; `tidemark restart {node}` starts it again\n"));
        }
    }
}

fn heading(cluster: &Cluster, directory: &Directory) -> String {
    let promise = with_protocol!(cluster.protocol, P => P::INFO.promise.description(), otherwise "");
    let kept = if directory.is_temporary() { ", removed at the end (--dir keeps it)" } else { "" };
    let (regions, partitions) = (cluster.regions.len(), cluster.topology.partitions);
    let replicas = match cluster.replicas {
        1 => String::new(),
        several => format!(" in {several} replicas"),
    };
    let many = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    format!(
        "Tidemark: {}, {} each{replicas}, fsync {}\nProtocol {}: {promise}\nDirectory {}{kept}\n",
        many(regions, "region"),
        many(partitions, "partition"),
        cluster.fsync,
        cluster.protocol,
        directory.path.display(),
    )
}

fn addresses(cluster: &Cluster) -> String {
    let mut rows = vec![row(["REGION", "NODE", "REDIS", "ADMIN", "TRY"])];
    for node in &cluster.nodes {
        let region = format!("{} {}", node.region, cluster.regions[node.region.index()]);
        let host =
            if node.listen.host == "127.0.0.1" { String::new() } else { format!("-h {} ", node.listen.host) };
        let attempt = format!("redis-cli {host}-p {}", node.listen.port);
        let admin = format!("http://{}", node.admin_listen);
        rows.push(row([&region, &node.name, &node.listen.to_string(), &admin, &attempt]));
    }
    let edge = |node: &tidemark_server::config::Node| {
        node.edge_listen.as_ref().map(|listen| format!("ws://{listen}/edge"))
    };
    let edge: Vec<String> = cluster.nodes.iter().filter_map(edge).collect();
    let edge = if edge.is_empty() { String::new() } else { format!("\nEdge clients: {}\n", edge.join(" ")) };
    format!("\n{}{edge}", table(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_the_protocol_is_a_number_a_table_or_a_word() {
        let read = |text: &str| param(text).map(|(name, value)| format!("{name}: {value}"));
        assert_eq!(read("fan_out=3").unwrap(), "fan_out: 3");
        assert_eq!(read("tracking=server").unwrap(), "tracking: \"server\"");
        assert_eq!(read(r#"checking={"left": ["A/0"]}"#).unwrap(), r#"checking: { left = ["A/0"] }"#);
        assert!(read("checking={left}").unwrap_err().contains("no table in JSON"));
        assert!(read("checking").is_err());
    }
}
