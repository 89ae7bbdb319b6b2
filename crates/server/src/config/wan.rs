//! Delays between regions: the papers' presets, and matrices of one's own.
//!
//! A WAN on one machine is emulated where links send: each message is held back by half the round-trip time
//! of its pair, plus a random part of the jitter, without changing the order.

use super::file::{RegionTable, WanTable};
use super::problem::{Problem, nearest};
use std::time::Duration;
use tidemark_core::DcId;

/// Delays between regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wan {
    rtt: Vec<Vec<Duration>>,
    /// Each message is late by up to this much more.
    pub jitter: Duration,
}

impl Wan {
    /// The round-trip time between two regions; zero within one.
    pub fn rtt(&self, from: DcId, to: DcId) -> Duration {
        self.rtt[from.index()][to.index()]
    }

    /// How long a message from one region to another is held back, without jitter.
    pub fn one_way(&self, from: DcId, to: DcId) -> Duration {
        self.rtt(from, to) / 2
    }
}

/// The round-trip times that a paper measured.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What to write after `preset =`.
    pub name: &'static str,
    /// Where the numbers come from.
    pub source: &'static str,
    /// The sites, in the order in which regions are taken from them.
    pub sites: &'static [&'static str],
    pairs: &'static [(&'static str, &'static str, u64)],
    /// The site through which pairs that the paper does not give are reckoned.
    hub: &'static str,
}

/// Every preset with delays; `none` has none.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "gentlerain",
        source: "GentleRain, section 6: Amazon EC2, three regions",
        sites: &["virginia", "oregon", "ireland"],
        pairs: &[("virginia", "oregon", 81), ("oregon", "ireland", 166), ("ireland", "virginia", 88)],
        hub: "",
    },
    Preset {
        name: "spartan",
        source: "CausalSpartanX, table 5.1: Amazon EC2 from California; other pairs by way of California",
        sites: &["california", "oregon", "virginia", "ireland", "sydney", "singapore"],
        pairs: &[
            ("california", "oregon", 22),
            ("california", "virginia", 67),
            ("california", "ireland", 138),
            ("california", "sydney", 159),
            ("california", "singapore", 176),
        ],
        hub: "california",
    },
    Preset {
        name: "nukv",
        source: "NuKV: Phoenix and Salt Lake City",
        sites: &["phoenix", "salt-lake-city"],
        pairs: &[("phoenix", "salt-lake-city", 15)],
        hub: "",
    },
    Preset {
        name: "swiftcloud",
        source: "SwiftCloud, section 5.2: Amazon EC2, three regions",
        sites: &["europe", "virginia", "oregon"],
        pairs: &[("europe", "virginia", 80), ("virginia", "oregon", 60), ("europe", "oregon", 177)],
        hub: "",
    },
];

impl Preset {
    /// The preset called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The round-trip time between two sites in milliseconds.
    pub fn rtt_ms(&self, a: &str, b: &str) -> u64 {
        let given = |a: &str, b: &str| {
            let pair = self.pairs.iter().find(|(x, y, _)| (*x == a && *y == b) || (*x == b && *y == a));
            pair.map_or(0, |(_, _, ms)| *ms)
        };
        match given(a, b) {
            0 if a != b => given(a, self.hub) + given(self.hub, b),
            ms => ms,
        }
    }

    /// The site of each region: by name if the regions are called so, else in order.
    fn place(&self, regions: &[RegionTable]) -> Result<Vec<&'static str>, Problem> {
        let site = |region: &RegionTable| self.sites.iter().find(|site| **site == region.name).copied();
        let named = regions.iter().filter(|region| site(region).is_some()).count();
        let sites = self.sites.join(", ");
        if named == regions.len() {
            return Ok(regions.iter().filter_map(site).collect());
        }
        if regions.len() > self.sites.len() {
            let (has, asked) = (self.sites.len(), regions.len());
            let what =
                format!("preset {:?} has {has} sites ({sites}), but there are {asked} regions", self.name);
            return Err(Problem::new(
                "wan.preset",
                what,
                "take a larger preset, or write the delays into [wan.rtt]",
            ));
        }
        if named > 0 {
            let stranger =
                regions.iter().find(|region| site(region).is_none()).map_or("", |region| &region.name);
            let what = format!("preset {:?} has no site {stranger:?}: it has {sites}", self.name);
            let remedy = "name all regions after its sites, or none: then they are taken in order";
            return Err(Problem::new("wan.preset", what, remedy));
        }
        Ok(self.sites[..regions.len()].to_vec())
    }
}

/// The delays that `table` asks for between `regions`; all that is wrong is added to `problems`.
pub(super) fn resolve(table: &WanTable, regions: &[RegionTable], problems: &mut Vec<Problem>) -> Option<Wan> {
    let count = regions.len();
    let jitter = table.jitter.map_or(Duration::ZERO, |span| span.0);
    let mut rtt: Vec<Vec<Option<Duration>>> = vec![vec![None; count]; count];
    match table.preset.as_deref() {
        None => {}
        Some("none") if table.rtt.is_empty() && table.default_rtt.is_none() => return None,
        Some(name) => match Preset::find(name) {
            Some(preset) => match preset.place(regions) {
                Ok(sites) => each_pair(count, |i, j| {
                    set(&mut rtt, i, j, Duration::from_millis(preset.rtt_ms(sites[i], sites[j])));
                }),
                Err(problem) => {
                    problems.push(problem);
                    return None;
                }
            },
            None => problems.push(unknown_preset(name)),
        },
    }
    listed(table, regions, &mut rtt, problems);
    if let Some(default) = table.default_rtt {
        each_pair(count, |i, j| {
            if rtt[i][j].is_none() {
                set(&mut rtt, i, j, default.0);
            }
        });
    }
    let mut missing = Vec::new();
    each_pair(count, |i, j| {
        if rtt[i][j].is_none() {
            missing.push(format!("{}–{}", regions[i].name, regions[j].name));
        }
    });
    if !missing.is_empty() && problems.is_empty() {
        let what = format!("no round-trip time for {}", missing.join(", "));
        problems.push(Problem::new("wan", what, "write it into [wan.rtt], or give default_rtt"));
    }
    let fill = |row: Vec<Option<Duration>>| row.into_iter().map(Option::unwrap_or_default).collect();
    Some(Wan { rtt: rtt.into_iter().map(fill).collect(), jitter })
}

/// Enters what `[wan.rtt]` lists.
fn listed(
    table: &WanTable,
    regions: &[RegionTable],
    rtt: &mut [Vec<Option<Duration>>],
    problems: &mut Vec<Problem>,
) {
    let mut seen = Vec::new();
    for (from, row) in &table.rtt {
        for (to, span) in row {
            let place = format!("wan.rtt.{from}.{to}");
            let index = |name: &str| regions.iter().position(|region| region.name == name);
            let (Some(i), Some(j)) = (index(from), index(to)) else {
                let names: Vec<&str> = regions.iter().map(|region| region.name.as_str()).collect();
                let stranger = if index(from).is_none() { from } else { to };
                let what = format!("there is no region {stranger:?}");
                problems.push(Problem::new(place, what, format!("the regions are {}", names.join(", "))));
                continue;
            };
            if i == j {
                problems.push(Problem::new(place, "a region is no distance from itself", "remove it"));
            } else if seen.contains(&(i.min(j), i.max(j))) && rtt[i][j] != Some(span.0) {
                let what = format!("{from}–{to} is given twice, differently");
                problems.push(Problem::new(place, what, "a round trip is the same both ways: keep one"));
            }
            seen.push((i.min(j), i.max(j)));
            set(rtt, i, j, span.0);
        }
    }
}

fn set(rtt: &mut [Vec<Option<Duration>>], i: usize, j: usize, time: Duration) {
    rtt[i][j] = Some(time);
    rtt[j][i] = Some(time);
}

fn each_pair(count: usize, mut visit: impl FnMut(usize, usize)) {
    for i in 0..count {
        for j in i + 1..count {
            visit(i, j);
        }
    }
}

fn unknown_preset(name: &str) -> Problem {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).chain(["none"]).collect();
    let meant =
        nearest(name, names.iter().copied()).map_or(String::new(), |near| format!("did you mean {near:?}? "));
    let remedy = format!("{meant}the presets are {}", names.join(", "));
    Problem::new("wan.preset", format!("no preset is called {name:?}"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(names: &[&str]) -> Vec<RegionTable> {
        names.iter().map(|name| RegionTable { name: name.to_string() }).collect()
    }

    fn wan(toml: &str, names: &[&str]) -> Result<Option<Wan>, String> {
        let mut problems = Vec::new();
        let wan = resolve(&toml::from_str(toml).expect("valid"), &regions(names), &mut problems);
        if problems.is_empty() { Ok(wan) } else { Err(problems[0].what.clone() + "; " + &problems[0].remedy) }
    }

    fn ms(wan: &Wan, from: u8, to: u8) -> u128 {
        wan.rtt(DcId(from), DcId(to)).as_millis()
    }

    #[test]
    fn a_preset_goes_by_name_or_in_order() {
        let by_name = wan("preset = 'gentlerain'", &["ireland", "oregon", "virginia"]).unwrap().unwrap();
        assert_eq!((ms(&by_name, 0, 1), ms(&by_name, 0, 2), ms(&by_name, 2, 1)), (166, 88, 81));
        let in_order = wan("preset = 'gentlerain'", &["a", "b"]).unwrap().unwrap();
        assert_eq!((ms(&in_order, 0, 1), ms(&in_order, 1, 1)), (81, 0));
        assert_eq!(in_order.one_way(DcId(1), DcId(0)), Duration::from_micros(40_500)); // time: nothing waits
    }

    #[test]
    fn what_the_paper_does_not_give_goes_by_way_of_its_hub() {
        let names = ["california", "oregon", "virginia", "ireland", "sydney", "singapore"];
        let wan = wan("preset = 'spartan'", &names).unwrap().unwrap();
        assert_eq!((ms(&wan, 0, 5), ms(&wan, 1, 2), ms(&wan, 5, 4)), (176, 89, 335));
    }

    #[test]
    fn a_preset_too_small_or_unknown_says_so() {
        let small = wan("preset = 'nukv'", &["a", "b", "c"]).unwrap_err();
        assert!(small.contains("2 sites") && small.contains("3 regions"), "{small}");
        let unknown = wan("preset = 'spartam'", &["a", "b"]).unwrap_err();
        assert!(unknown.contains("did you mean \"spartan\""), "{unknown}");
        let mixed = wan("preset = 'gentlerain'", &["virginia", "mars"]).unwrap_err();
        assert!(mixed.contains("no site \"mars\""), "{mixed}");
    }

    #[test]
    fn a_matrix_names_every_pair_once() {
        let abc = &["a", "b", "c"];
        let all = wan("jitter = '1ms'\n[rtt]\na = { b = '10ms', c = '20ms' }\nb = { c = '30ms' }", abc);
        let all = all.unwrap().unwrap();
        assert_eq!((ms(&all, 2, 1), all.jitter.as_millis()), (30, 1));
        assert!(wan("[rtt]\na = { b = '10ms' }", abc).unwrap_err().contains("a–c, b–c"));
        let twice = wan("[rtt]\na = { b = '10ms' }\nb = { a = '9ms' }", &["a", "b"]).unwrap_err();
        assert!(twice.contains("given twice"), "{twice}");
        assert!(wan("[rtt]\na = { x = '1ms' }", abc).unwrap_err().contains("no region \"x\""));
        let default = wan("default_rtt = '7ms'\n[rtt]\na = { b = '10ms' }", abc).unwrap().unwrap();
        assert_eq!((ms(&default, 0, 1), ms(&default, 0, 2)), (10, 7));
        assert_eq!(wan("preset = 'none'", abc), Ok(None));
    }
}
