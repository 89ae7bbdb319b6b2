//! `tidemark sim calibrate`: what events cost the core of a server, measured on the server itself.
//!
//! Real nodes of this binary are given work of one kind at a time, and the processor time that they use is divided by what
//! they did. Whatever is shared by all that happens in a turn is told apart from what each event costs by doing the same
//! with one client and with many: turns are then long or short, and the servers count them. What a protocol does with
//! its lists is measured in the simulator, whose handlers are those of the server.

mod clients;
mod lists;

use crate::lab::metering;
use crate::live::Live;
use anyhow::bail;
pub(crate) use clients::{Clients, Command};
use std::collections::BTreeMap;
use std::time::Duration;
use tidemark_bench::{Limit, Phase, Plan, Region, Stop};
use tidemark_contract::Topology;
use tidemark_contract::core::Key;
use tidemark_sim::{Calibration, Costs};
use tidemark_workload::Workload;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How often everything is measured; of each figure the one in the middle is taken, for machines drift.
    rounds: usize,
    /// How long each measurement takes.
    span: Duration,
    /// Of so many the least is taken: whatever disturbs only adds.
    times: usize,
    /// How long the simulator works, in virtual time.
    simulated_us: u64,
}

impl Effort {
    /// For figures that are to be used.
    pub(crate) const FULL: Self =
        Self { rounds: 7, span: Duration::from_millis(200), times: 3, simulated_us: 60_000 };
    /// For comparisons of servers.
    pub(crate) const CAPACITY: Self =
        Self { rounds: 1, span: Duration::from_millis(250), times: 12, simulated_us: 0 };
    /// For a rough idea.
    pub(crate) const BRIEF: Self =
        Self { rounds: 1, span: Duration::from_millis(40), times: 1, simulated_us: 3_000 };
}

/// Many clients.
const MANY: usize = 32;
const VALUE_BYTES: usize = 64;
const LONG_VALUE_BYTES: usize = 16 << 10;

/// The figures that this binary was built with.
pub(crate) fn kept() -> Calibration {
    serde_json::from_str(include_str!("costs.json")).expect("a test reads it")
}

/// What a node used for each request of the clients.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) cpu_ns: f64,
    pub(crate) turns: f64,
    sleeps: f64,
}

impl Spent {
    /// Without what turns and sleeping cost.
    fn beside(self, costs: &Costs) -> f64 {
        self.cpu_ns - self.turns * costs.turn_ns - self.sleeps * costs.wake_ns
    }
}

/// Measures everything, telling `say` what comes next.
pub(crate) fn calibrate(effort: Effort, say: &mut dyn FnMut(&str)) -> anyhow::Result<Calibration> {
    let mut all = Vec::new();
    for number in 1..=effort.rounds {
        let mut say = |what: &str| say(&format!("{number}/{}: {what}", effort.rounds));
        all.push(round(effort, &mut say)?);
    }
    let metadata_byte_ns = all[0].1.keys().map(|protocol| {
        let of_protocol = all.iter().filter_map(|(_, lists)| lists.get(protocol).copied());
        (protocol.clone(), middle(of_protocol.collect()))
    });
    let metadata_byte_ns = metadata_byte_ns.collect();
    let costs = all.into_iter().map(|(costs, _)| costs).collect::<Vec<Costs>>();
    Ok(Calibration { machine: machine(), costs: middle_of(&costs)?, metadata_byte_ns })
}

/// Measures everything once: what events cost, and a byte of metadata where that differs.
fn round(effort: Effort, say: &mut dyn FnMut(&str)) -> anyhow::Result<(Costs, BTreeMap<String, f64>)> {
    say("reads and writes at one node");
    let mut costs = single(effort, Costs::NONE)?;
    say("messages between two nodes of a region");
    costs = siblings(effort, costs)?;
    say("versions from one region to another");
    costs = regions(effort, costs)?;
    say("the load generator");
    costs = generator(effort, costs)?;
    say("how long a process that sleeps takes to wake up");
    costs = idle(effort, costs)?;
    say("what protocols do with their lists, and at their timers");
    let (typical_ns, metadata_byte_ns) = lists::measure(effort.simulated_us);
    costs.metadata_byte_ns = typical_ns;
    costs.timer_ns = lists::timer_ns(effort.simulated_us);
    // What links cost hides what a message does; it is no less than what its handler takes.
    costs.send_ns = costs.send_ns.max(costs.timer_ns);
    costs.receive_ns = costs.receive_ns.max(costs.timer_ns);
    Ok((costs, metadata_byte_ns))
}

/// Numbers of clients with whom a server sleeps after every answer, seldom, and hardly at all.
const CROWDS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// One node, alone: sleep, turns, questions, answers, writes, bytes.
fn single(effort: Effort, costs: Costs) -> anyhow::Result<Costs> {
    let live = up(&["--regions", "1", "--partitions", "1"])?;
    let get =
        |clients| spent(effort, &live, 0, &mut Clients::new(&live, 0, clients, Command::Get, VALUE_BYTES)?);
    let set = |bytes| spent(effort, &live, 0, &mut Clients::new(&live, 0, MANY, Command::Set, bytes)?);
    let all = CROWDS.into_iter().map(get).collect::<anyhow::Result<Vec<Spent>>>()?;
    let [both, turn_ns, wake_ns] = fit(&all, None);
    let costs = Costs { turn_ns, wake_ns, request_ns: both / 2.0, reply_ns: both / 2.0, ..costs };
    let (short, long) = (set(VALUE_BYTES)?.beside(&costs), set(LONG_VALUE_BYTES)?.beside(&costs));
    let byte_ns = (long - short) / (LONG_VALUE_BYTES - VALUE_BYTES) as f64;
    Ok(Costs { write_ns: (short - both).max(0.0), byte_ns: byte_ns.max(0.0), ..costs })
}

/// Two nodes of a region: a key that the other one holds.
fn siblings(effort: Effort, costs: Costs) -> anyhow::Result<Costs> {
    let live = up(&["--regions", "1", "--partitions", "2", "--nodes", "2"])?;
    let topology = Topology::new(1, 2);
    let mut names = (0..).map(|n| Key::from(format!("k{n}").as_str()));
    let key = names.find(|key| topology.partition_of(key).index() == 1).expect("half of all names");
    let about = (&key, VALUE_BYTES);
    let asked =
        |clients| spent(effort, &live, 1, &mut Clients::about(&live, 0, clients, Command::Get, about)?);
    // Every turn of this node reads from the link and writes to it.
    let all = CROWDS.into_iter().map(asked).collect::<anyhow::Result<Vec<Spent>>>()?;
    let [messages, turns, _] = fit(&all, Some(costs.wake_ns));
    let links = (turns - costs.turn_ns).max(0.0);
    Ok(Costs {
        link_ns: links / 2.0,
        arrival_ns: links / 2.0,
        send_ns: messages / 2.0,
        receive_ns: messages / 2.0,
        ..costs
    })
}

/// Two regions: what a version costs there where it is written, and there where it is received.
fn regions(effort: Effort, costs: Costs) -> anyhow::Result<Costs> {
    let live = up(&["--regions", "2", "--partitions", "1"])?;
    let set =
        |node| spent(effort, &live, node, &mut Clients::new(&live, 0, MANY, Command::Set, VALUE_BYTES)?);
    let (origin, copy) = (set(0)?, set(1)?);
    let known = costs.request_ns + costs.reply_ns + costs.write_ns;
    Ok(Costs {
        stream_ns: (origin.beside(&costs) - origin.turns * costs.link_ns - known).max(0.0),
        apply_ns: (copy.beside(&costs) - copy.turns * costs.arrival_ns).max(0.0),
        ..costs
    })
}

/// The load generator itself: an operation, and sleep.
fn generator(effort: Effort, costs: Costs) -> anyhow::Result<Costs> {
    let live = up(&["--regions", "1", "--partitions", "1"])?;
    let generating = |clients| anyhow::Ok(generating(effort, &live, clients)?.0);
    let all = CROWDS.into_iter().map(generating).collect::<anyhow::Result<Vec<Spent>>>()?;
    let [client_ns, _, client_wake_ns] = fit(&all, None);
    Ok(Costs { client_ns, client_wake_ns, ..costs })
}

/// What a lone client waits for beyond all work: its server has to wake up, and then the load generator has.
fn idle(effort: Effort, costs: Costs) -> anyhow::Result<Costs> {
    let live = up(&["--regions", "1", "--partitions", "1"])?;
    let (_, waited_ns) = generating(effort, &live, 1)?;
    let server_ns = costs.turn_ns + costs.wake_ns + costs.request_ns + costs.reply_ns;
    let client_ns = costs.client_wake_ns + costs.client_ns;
    Ok(Costs { idle_ns: ((waited_ns - server_ns - client_ns) / 2.0).max(0.0), ..costs })
}

/// What the load generator spends on each operation, here, and how long the median of them takes: it is this process.
fn generating(effort: Effort, live: &Live, clients: usize) -> anyhow::Result<(Spent, f64)> {
    let region = Region { name: "r0".into(), addresses: vec![live.nodes[0].redis.clone()] };
    let settings = [("keys", 1_000), ("value-bytes", VALUE_BYTES)].map(|(name, n)| (name.into(), n.into()));
    let plan = Plan {
        fill: true,
        connections: clients,
        threads: 1,
        warm_up: effort.span,
        limit: Limit::Time((effort.span * effort.times as u32).max(FEW_TICKS)),
        ..Plan::new(vec![region], Workload::named("ycsb-c")?.with(settings)?)
    };
    let me = std::process::id();
    let (mut first, mut last) = (None, None);
    let report = tidemark_bench::run(&plan, &Stop::default(), &mut |tick| {
        // Threads that have ended are counted no more: what they did is the difference between two looks at them.
        if tick.phase == Phase::Measure
            && let (Ok(cpu_ns), Ok(sleeps)) = (metering::cpu_ns(me), metering::sleeps(me))
        {
            last = Some([cpu_ns, sleeps, tick.operations]);
            first = first.or(last);
        }
    })?;
    let (Some(first), Some(last)) = (first, last) else { bail!("the load was over before it began") };
    let [cpu_ns, sleeps, operations] = [0, 1, 2].map(|n| (last[n] - first[n]) as f64);
    let operations = operations.max(1.0);
    let spent = Spent { cpu_ns: (cpu_ns / operations).max(1.0), turns: 0.0, sleeps: sleeps / operations };
    let get = report.summary.operations.get("get");
    Ok((spent, get.map_or(0.0, |get| get.p50_us as f64 * 1_000.0)))
}

/// A load that is looked at a few times.
const FEW_TICKS: Duration = Duration::from_millis(350);

const TURNS: &str = "tidemark_turns_total";

fn up(arguments: &[&str]) -> anyhow::Result<Live> {
    let common = ["--base-port", "0", "--fsync", "no", "--protocol", "eventual"];
    let protocol = if arguments.contains(&"--protocol") { &common[..4] } else { &common[..] };
    Live::start(&[arguments, protocol].concat())
}

/// What `node` spends on each request of the clients, undisturbed.
pub(crate) fn spent(
    effort: Effort,
    live: &Live,
    node: usize,
    clients: &mut Clients,
) -> anyhow::Result<Spent> {
    clients.work(effort.span / 4)?;
    let mut least = Spent { cpu_ns: f64::INFINITY, ..Spent::default() };
    for _ in 0..effort.times {
        let counts = || anyhow::Ok([live.cpu_ns(node)?, live.counter(node, TURNS)?, live.sleeps(node)?]);
        let before = counts()?;
        let requests = clients.work(effort.span)? as f64;
        let after = counts()?;
        let [cpu_ns, turns, sleeps] = [0, 1, 2].map(|n| (after[n] - before[n]) as f64 / requests);
        if cpu_ns < least.cpu_ns {
            least = Spent { cpu_ns, turns, sleeps };
        }
    }
    Ok(least)
}

/// What a request, a turn and a sleep cost, so that the sum of squares of relative errors is least; none below 0. What a sleep costs
/// may be known.
fn fit(all: &[Spent], wake_ns: Option<f64>) -> [f64; 3] {
    let row = |spent: &Spent| [1.0, spent.turns, spent.sleeps].map(|count| count / spent.cpu_ns);
    let mut found = [0.0, 0.0, wake_ns.unwrap_or(0.0)];
    let sought = if wake_ns.is_some() { 2 } else { 3 };
    // Coordinate descent: each in turn is what fits best beside the others. Three numbers need no more.
    for _ in 0..20_000 {
        for n in 0..sought {
            let (mut above, mut below) = (0.0, 0.0);
            for row in all.iter().map(row) {
                let others: f64 =
                    (0..3).filter(|other| *other != n).map(|other| row[other] * found[other]).sum();
                above += row[n] * (1.0 - others);
                below += row[n] * row[n];
            }
            found[n] = (above / below.max(f64::MIN_POSITIVE)).max(0.0);
        }
    }
    found
}

/// Of each figure the one in the middle: whole nanoseconds, and hundredths where there are few.
fn middle_of(all: &[Costs]) -> anyhow::Result<Costs> {
    let all = all.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    let mut figures = serde_json::to_value(Costs::NONE)?;
    for (name, figure) in figures.as_object_mut().into_iter().flatten() {
        let ns = middle(all.iter().filter_map(|costs| costs[name].as_f64()).collect());
        *figure = if ns < 100.0 { (ns * 100.0).round() / 100.0 } else { ns.round() }.into();
    }
    Ok(serde_json::from_value(figures)?)
}

/// The one in the middle, of an odd number.
fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// What the figures were measured on.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model).to_string();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{model}, {cores} cores, Linux {}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_that_are_kept_can_be_read() {
        let kept = kept();
        assert!(kept.costs.request_ns > 0.0 && kept.costs.wake_ns > 0.0, "{kept:?}");
    }

    #[test]
    fn costs_are_found_in_what_they_add_up_to() {
        let of = |turns: f64, sleeps: f64| Spent {
            cpu_ns: 5_000.0 + 3_000.0 * turns + 12_000.0 * sleeps,
            turns,
            sleeps,
        };
        let all = [of(1.0, 1.0), of(0.6, 0.5), of(0.3, 0.1), of(0.1, 0.02), of(0.05, 0.0)];
        for (found, wanted) in fit(&all, None).into_iter().zip([5_000.0, 3_000.0, 12_000.0]) {
            assert!((found / wanted - 1.0).abs() < 0.02, "{:?}", fit(&all, None));
        }
        let known = fit(&all, Some(6_000.0));
        assert!(
            known[2] == 6_000.0 && known[1] > 3_500.0,
            "the turn before a sleep costs the rest: {known:?}"
        );
    }

    #[test]
    fn of_several_rounds_each_figure_is_the_one_in_the_middle() {
        let round = |byte_ns, turn_ns| Costs { byte_ns, turn_ns, ..Costs::NONE };
        let found = middle_of(&[round(9.0, 0.0), round(0.12345, 1234.5678), round(0.1, 9e9)]).unwrap();
        assert_eq!(found, round(0.12, 1235.0));
    }
}
