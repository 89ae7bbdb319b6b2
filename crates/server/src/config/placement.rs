//! Which regions hold which keys.

use super::file::{ClusterFile, Elsewhere, PlacementTable};
use super::problem::{Problem, nearest};
use super::wan::Wan;
use tidemark_contract::placement::{Keys, Placement};
use tidemark_core::{DcId, Regions, SLOTS};

/// What `[[placement]]` says; all that is wrong is added to `problems`. A region turns to the nearest one by `wan`.
pub(super) fn resolve(
    file: &ClusterFile,
    protocol: &str,
    wan: Option<&Wan>,
    problems: &mut Vec<Problem>,
) -> Placement {
    if file.placement.is_empty() {
        return Placement::default();
    }
    if tidemark_registry::by_name(protocol).is_some_and(|protocol| !protocol.info().partial) {
        let what = format!(
            "{protocol} looks for each dependency, or counts each record: also those that a region is never to hold"
        );
        let remedy =
            "choose a protocol by stable times, such as \"causal\", or let every region hold all keys";
        problems.push(Problem::new("placement[0]", what, remedy));
    }
    let mut rules = Vec::new();
    for (index, table) in file.placement.iter().enumerate() {
        let place = format!("placement[{index}]");
        match (keys(table, &place), regions(table, file, &place)) {
            (Ok(keys), Ok(regions)) => rules.push((keys, regions)),
            (keys, regions) => problems.extend(keys.err().into_iter().chain(regions.err())),
        }
    }
    let near = wan.map(|wan| near(wan, file.regions.len())).unwrap_or_default();
    Placement { rules, near, refuses: file.cluster.elsewhere == Elsewhere::Refuse }
}

fn keys(table: &PlacementTable, place: &str) -> Result<Keys, Problem> {
    match (&table.prefix, &table.slots) {
        (Some(prefix), None) if !prefix.is_empty() => Ok(Keys::Prefix(prefix.as_bytes().to_vec())),
        (Some(_), None) => Err(Problem::new(
            format!("{place}.prefix"),
            "an empty prefix is that of every key",
            "write slots = \"0-16383\", if you mean all",
        )),
        (None, Some(slots)) => {
            let range = slots.split_once('-').unwrap_or((slots, slots));
            let number = |text: &str| text.trim().parse::<u16>().ok().filter(|slot| *slot < SLOTS);
            match (number(range.0), number(range.1)) {
                (Some(first), Some(last)) if first <= last => Ok(Keys::Slots(first, last)),
                _ => Err(Problem::new(
                    format!("{place}.slots"),
                    format!("{slots:?} are no slots"),
                    format!("write the first and the last, such as \"0-{}\"", SLOTS - 1),
                )),
            }
        }
        _ => Err(Problem::new(
            place,
            "a rule is about the keys of a prefix, or about slots",
            "write one of them: prefix = \"eu:\", or slots = \"0-8191\"",
        )),
    }
}

fn regions(table: &PlacementTable, file: &ClusterFile, place: &str) -> Result<Regions, Problem> {
    let place = format!("{place}.regions");
    if table.regions.is_empty() {
        return Err(Problem::new(place, "no region would hold these keys", "name one at least"));
    }
    let mut all = Regions::NONE;
    for name in &table.regions {
        let names = || file.regions.iter().map(|region| region.name.as_str());
        let Some(index) = names().position(|region| region.eq_ignore_ascii_case(name)) else {
            let meant = nearest(name, names()).map_or(String::new(), |near| format!("did you mean {near}? "));
            let remedy = format!("{meant}the regions are {}", names().collect::<Vec<_>>().join(", "));
            return Err(Problem::new(place, format!("there is no region {name:?}"), remedy));
        };
        all = all.with(DcId(index as u8));
    }
    Ok(all)
}

/// For each of so many regions the others, the nearest first.
fn near(wan: &Wan, count: usize) -> Vec<Vec<DcId>> {
    let all = || (0..count as u8).map(DcId);
    let of = |home: DcId| {
        let mut others: Vec<DcId> = all().filter(|dc| *dc != home).collect();
        others.sort_by_key(|dc| wan.rtt(home, *dc));
        others
    };
    all().map(of).collect()
}
