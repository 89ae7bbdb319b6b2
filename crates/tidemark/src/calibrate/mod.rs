//! `tidemark sim calibrate`: what events cost the core of a server, measured on the server itself.
//!
//! Real nodes of this binary are given work of one kind at a time, and the processor time that they use is divided by what
//! they did. Whatever is shared by all that happens in a turn is told apart from what each event costs by doing the same
//! with one client and with many: turns are then long or short, and the servers count them. What a protocol does with
//! its lists is measured in the simulator, whose handlers are those of the server.

mod clients;
mod lists;

use crate::live::Live;
pub(crate) use clients::{Clients, Command};
use std::time::Duration;
use tidemark_contract::Topology;
use tidemark_contract::core::Key;
use tidemark_sim::{Calibration, Costs};

/// How long each measurement takes.
const SPAN: Duration = Duration::from_millis(700);
/// Of so many the median is taken.
const TIMES: usize = 3;
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
}

/// Measures everything, telling `say` what comes next.
pub(crate) fn calibrate(say: &mut dyn FnMut(&str)) -> anyhow::Result<Calibration> {
    say("reads and writes at one node");
    let mut costs = single(Costs::NONE)?;
    say("messages between two nodes of a region");
    costs = siblings(costs)?;
    say("versions from one region to another");
    costs = regions(costs)?;
    say("timers");
    costs.timer_ns = timers(&costs)?;
    say("what protocols do with their lists");
    let metadata_byte_ns = lists::measure();
    let mut typical: Vec<f64> = metadata_byte_ns.values().copied().collect();
    typical.sort_by(f64::total_cmp);
    costs.metadata_byte_ns = typical[typical.len() / 2];
    Ok(Calibration { machine: machine(), costs: rounded(costs), metadata_byte_ns })
}

/// One node, alone: turns, questions, answers, writes, bytes.
fn single(costs: Costs) -> anyhow::Result<Costs> {
    let live = up(&["--regions", "1", "--partitions", "1"])?;
    let get = |clients| spent(&live, 0, &mut Clients::new(&live, 0, clients, Command::Get, VALUE_BYTES)?);
    let set = |bytes| spent(&live, 0, &mut Clients::new(&live, 0, MANY, Command::Set, bytes)?);
    let (alone, many) = (get(1)?, get(MANY)?);
    let turn_ns = per_turn(alone, many);
    let both = many.cpu_ns - many.turns * turn_ns;
    let (short, long) = (set(VALUE_BYTES)?, set(LONG_VALUE_BYTES)?);
    let write_ns = short.cpu_ns - short.turns * turn_ns - both;
    let byte_ns = (long.cpu_ns - short.cpu_ns) / (LONG_VALUE_BYTES - VALUE_BYTES) as f64;
    Ok(Costs { turn_ns, request_ns: both / 2.0, reply_ns: both / 2.0, write_ns, byte_ns, ..costs })
}

/// Two nodes of a region: a key that the other one holds.
fn siblings(costs: Costs) -> anyhow::Result<Costs> {
    let live = up(&["--regions", "1", "--partitions", "2", "--nodes", "2"])?;
    let topology = Topology::new(1, 2);
    let mut names = (0..).map(|n| Key::from(format!("k{n}").as_str()));
    let key = names.find(|key| topology.partition_of(key).index() == 1).expect("half of all names");
    let about = (&key, VALUE_BYTES);
    let asked = |clients| spent(&live, 1, &mut Clients::about(&live, 0, clients, Command::Get, about)?);
    let without = |spent: Spent| Spent { cpu_ns: spent.cpu_ns - spent.turns * costs.turn_ns, ..spent };
    let (alone, many) = (without(asked(1)?), without(asked(MANY)?));
    let links = per_turn(alone, many);
    let messages = many.cpu_ns - many.turns * links;
    Ok(Costs {
        link_ns: links / 2.0,
        arrival_ns: links / 2.0,
        send_ns: (messages / 2.0).max(0.0),
        receive_ns: (messages / 2.0).max(0.0),
        ..costs
    })
}

/// Two regions: what a version costs there where it is written, and there where it is received.
fn regions(costs: Costs) -> anyhow::Result<Costs> {
    let live = up(&["--regions", "2", "--partitions", "1"])?;
    let set = |node| spent(&live, node, &mut Clients::new(&live, 0, MANY, Command::Set, VALUE_BYTES)?);
    let (origin, copy) = (set(0)?, set(1)?);
    let a_turn = |more_ns: f64| costs.turn_ns + more_ns;
    let known = costs.request_ns + costs.reply_ns + costs.write_ns;
    Ok(Costs {
        feed_ns: (origin.cpu_ns - origin.turns * a_turn(costs.link_ns) - known).max(0.0),
        apply_ns: (copy.cpu_ns - copy.turns * a_turn(costs.arrival_ns)).max(0.0),
        ..costs
    })
}

/// A region of two nodes where nobody asks anything: what is left of its processor time, for each timer.
fn timers(costs: &Costs) -> anyhow::Result<f64> {
    let live = up(&["--regions", "1", "--partitions", "2", "--nodes", "2", "--protocol", "gentlerain"])?;
    let before = [live.cpu_ns(0)?, live.counter(0, TURNS)?, live.counter(0, MESSAGES)?];
    std::thread::sleep(2 * SPAN);
    let after = [live.cpu_ns(0)?, live.counter(0, TURNS)?, live.counter(0, MESSAGES)?];
    let [cpu_ns, turns, messages] = [0, 1, 2].map(|n| (after[n] - before[n]) as f64);
    let one_way = costs.send_ns + costs.receive_ns + costs.link_ns + costs.arrival_ns;
    let fired = (2.0 * SPAN.as_secs_f64() / 0.005) * 2.0; // θ and Δ, every 5 ms each
    Ok(((cpu_ns - turns * costs.turn_ns - messages * one_way) / fired).max(0.0))
}

const TURNS: &str = "tidemark_turns_total";
const MESSAGES: &str = "tidemark_messages_received_total";

fn up(arguments: &[&str]) -> anyhow::Result<Live> {
    let common = ["--base-port", "0", "--fsync", "no", "--protocol", "eventual"];
    let protocol = if arguments.contains(&"--protocol") { &common[..4] } else { &common[..] };
    Live::start(&[arguments, protocol].concat())
}

/// What `node` spends on each request of the clients: of several measurements the one in the middle.
pub(crate) fn spent(live: &Live, node: usize, clients: &mut Clients) -> anyhow::Result<Spent> {
    clients.work(SPAN / 4)?;
    let mut all = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let before = (live.cpu_ns(node)?, live.counter(node, TURNS)?);
        let requests = clients.work(SPAN)? as f64;
        let turns = (live.counter(node, TURNS)? - before.1) as f64 / requests;
        all.push(Spent { cpu_ns: (live.cpu_ns(node)? - before.0) as f64 / requests, turns });
    }
    all.sort_by(|a, b| a.cpu_ns.total_cmp(&b.cpu_ns));
    Ok(all[TIMES / 2])
}

/// What each turn adds, from the same work in more and in fewer turns.
fn per_turn(alone: Spent, many: Spent) -> f64 {
    ((alone.cpu_ns - many.cpu_ns) / (alone.turns - many.turns)).max(0.0)
}

/// Whole nanoseconds, and hundredths where there are few.
fn rounded(costs: Costs) -> Costs {
    let all = serde_json::to_value(costs).ok();
    let round = |ns: f64| if ns < 100.0 { (ns * 100.0).round() / 100.0 } else { ns.round() };
    let rounded = all.and_then(|mut all| {
        for value in all.as_object_mut()?.values_mut() {
            *value = round(value.as_f64()?).into();
        }
        serde_json::from_value(all).ok()
    });
    rounded.unwrap_or(costs)
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
        assert!(kept.costs.request_ns > 0.0 && kept.costs.turn_ns > 0.0, "{kept:?}");
    }

    #[test]
    fn what_a_turn_adds_follows_from_two_numbers_of_turns() {
        let (alone, many) = (Spent { cpu_ns: 9_000.0, turns: 1.0 }, Spent { cpu_ns: 5_000.0, turns: 0.2 });
        assert_eq!(per_turn(alone, many), 5_000.0);
        assert_eq!(rounded(Costs { byte_ns: 0.12345, turn_ns: 1234.5678, ..Costs::NONE }).byte_ns, 0.12);
    }
}
