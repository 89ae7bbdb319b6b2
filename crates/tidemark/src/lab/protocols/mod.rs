//! The tables of `tidemark protocols` that take the simulator or the checker.

mod bounded;
mod map;
mod measured;
mod papers;

use crate::Usage;
use crate::commands::protocols::Protocols;
use crate::output::{print, print_json};
use tidemark_protocols::{CAUSAL, Protocol, with_protocol};
use tidemark_sim::{Bound, Measurement};
use tidemark_simulators::simulator;

/// Prints the table that was asked for, of the protocols of these names.
pub(crate) fn tables(asked: &Protocols, names: &[&str]) -> anyhow::Result<()> {
    if asked.map {
        let placed: Vec<_> = names.iter().filter_map(|name| placed(name)).collect();
        map::show(&placed, asked.json, asked.svg.as_deref())
    } else if asked.bound {
        bounded(asked, names)
    } else {
        measured(asked, names)
    }
}

fn measured(asked: &Protocols, names: &[&str]) -> anyhow::Result<()> {
    let Protocols { dcs, partitions, sessions, ops, write_transactions, seed, .. } = *asked;
    let usual = Measurement::default();
    let what = Measurement { dcs, partitions, sessions, ops, write_transactions, seed, ..usual };
    what.validate_shape().map_err(Usage)?;
    let mut simulators: Vec<_> = names.iter().filter_map(|name| simulator(name)).collect();
    if asked.names.is_empty() {
        simulators.retain(|simulator| simulator.validate_measurement(&what).is_ok());
    }
    let row = |simulator| measured::row_of(simulator, &what).map_err(Usage);
    let rows = simulators.into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
    if asked.json {
        return print_json(&serde_json::json!({ "measurement": what, "protocols": rows }));
    }
    print(&measured::tables(&rows, &what));
    Ok(())
}

fn bounded(asked: &Protocols, names: &[&str]) -> anyhow::Result<()> {
    let what = Bound { readers: asked.readers, skew_us: asked.skew_us, ..Bound::default() };
    what.validate().map_err(Usage)?;
    let rows = names.iter().map(|name| bounded::row_of(name, &asked.without, &what));
    let rows: Vec<_> = rows.collect::<Result<Vec<_>, _>>().map_err(Usage)?;
    let rows: Vec<_> = rows.into_iter().flatten().collect();
    if asked.json {
        return print_json(&serde_json::json!({ "bound": what, "protocols": rows }));
    }
    print(&bounded::text(&rows, &what));
    Ok(())
}

fn placed(name: &str) -> Option<map::Placed> {
    with_protocol!(name, P => Some(map::Placed {
        name: P::INFO.name,
        promise: P::INFO.promise,
        default: P::INFO.name == CAUSAL,
    }), otherwise None)
}
