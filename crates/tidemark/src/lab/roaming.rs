//! Clients that migrate between regions under a cut, and the cost of each way to serve them.

use crate::output::{print, print_json, row, table};
use std::process::ExitCode;
use tidemark_protocols::{CausalSpartanX, Contrarian, GentleRain, Protocol, Tidemark};
use tidemark_sim::roaming::{Costs, Remedy, Spread, roam};
use tidemark_simulators::simulator;

const STORY: &str = "\
A and B are cut off from each other for half of the time. In A a client writes k1 and then k2. A migrating client reads
the new k2 there, moves to B, and reads k1, which B may not have received. No store is available, causal, and shows local
writes immediately, to clients that may migrate (dissertation, chapter 6): one of the three must be given up.
";

const MEANING: &str = "
WAIT is how long clients waited that were accepted. STALE is for how long the values that migrating clients read had been
overwritten: at home in that region (0 means immediate), away in any region (under the cut no region can know).
";

pub(crate) fn play(seed: u64, json: bool) -> anyhow::Result<ExitCode> {
    let of = |protocol: &str| simulator(protocol).expect("it is built in").factory();
    let played = [
        roam(of(CausalSpartanX::INFO.name), Remedy::None, seed),
        roam(of(CausalSpartanX::INFO.name), Remedy::Wait, seed),
        roam(of(CausalSpartanX::INFO.name), Remedy::Refuse, seed),
        roam(of(Tidemark::INFO.name), Remedy::Wait, seed),
        roam(of(Contrarian::INFO.name), Remedy::Wait, seed),
        roam(of(GentleRain::INFO.name), Remedy::StableReads, seed),
    ];
    let all = played.into_iter().collect::<Result<Vec<Costs>, String>>().map_err(anyhow::Error::msg)?;
    if json {
        print_json(&all)?;
    } else {
        print(&format!("{STORY}\n{}{MEANING}", rows(&all)));
        if let Some(violation) = all.iter().find_map(|costs| costs.violation.as_ref()) {
            print(&format!(
                "\nServed at once, a migrating client sees an effect without its cause:\n\n{violation}"
            ));
        }
    }
    let broken = all.iter().any(|costs| (costs.violations > 0) != (costs.remedy == Remedy::None));
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn rows(all: &[Costs]) -> String {
    let heading = [
        "GIVES UP",
        "REMEDY",
        "PROTOCOL",
        "MOVES",
        "VIOLATIONS",
        "REFUSED",
        "WAIT p50/p99",
        "STALE AT HOME",
        "AWAY",
    ];
    let mut rows = vec![row(heading)];
    for costs in all {
        let numbers = [costs.moves.to_string(), costs.violations.to_string(), costs.refused.to_string()];
        let spreads = [costs.wait, costs.stale_at_home, costs.stale_away].map(milliseconds);
        let words = [costs.remedy.gives(), costs.remedy.does(), costs.protocol].map(str::to_string);
        rows.push(words.into_iter().chain(numbers).chain(spreads).collect());
    }
    table(&rows)
}

fn milliseconds(spread: Spread) -> String {
    let shown = |us: u64| match us {
        0 => "0".to_string(),
        1..1_000 => format!("{:.1}", us as f64 / 1_000.0),
        _ => format!("{}", us / 1_000),
    };
    format!("{} / {} ms", shown(spread.p50_us), shown(spread.p99_us))
}
