//! The circles of demands on the versions of one key, and their stories.

use super::super::super::{monotonic_writes_global, writes_follow_reads_global};
use super::super::graph::{Circle, Graph, cyclic};
use crate::hash::Map;
use crate::index::{Index, Ref};
use crate::property::{Properties, Property};
use crate::report::{Link, Step, Violation};
use crate::story::{last_word, read_words};

/// Why the version that an edge leads to is not older than where it comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    /// It leads to a node that stands for this version, or these, among others.
    Among,
    /// A property demands it of an event.
    Demands(Property, u32),
    /// In the end every replica returns it.
    Last,
}

/// That one version is not newer than another, and why.
pub(super) type Demand = (u32, u32, Why);

/// How many versions of a component are tried as the start of a shortest circle.
const TRIED: usize = 16;

/// The shortest circle of each set of versions of `key` that are demanded of each other in a circle.
pub(super) fn circles(
    index: &Index<'_>,
    key: u32,
    several: usize,
    mut edges: Vec<Demand>,
) -> Vec<Vec<Demand>> {
    let (own, all) = (index.versions_of(key), index.versions.len() as u32);
    // In the graph of one key, its versions come first.
    let versions = own.len() as u32;
    let place = |node: u32| match node.checked_sub(all) {
        Some(several) => versions + several,
        None => own.partition_point(|v| *v < node) as u32,
    };
    for (from, to, _) in &mut edges {
        (*from, *to) = (place(*from), place(*to));
    }
    let graph = Graph::new(own.len() + several, edges);
    let component = graph.components();
    let mut circles = Vec::new();
    for members in cyclic(&component) {
        let real: Vec<u32> = members.into_iter().filter(|node| *node < versions).collect();
        if real.len() > 1 {
            let inside = |node: u32| component[node as usize] == component[real[0] as usize];
            let round = real.iter().take(TRIED).filter_map(|start| circle(&graph, *start, &inside, versions));
            circles.extend(round.min_by_key(Vec::len));
        }
    }
    let version = |node: u32| own[node as usize];
    for (from, to, _) in circles.iter_mut().flatten() {
        (*from, *to) = (version(*from), version(*to));
    }
    circles
}

/// The shortest circle of demands from `start` through some other version.
fn circle(
    graph: &Graph<Why>,
    start: u32,
    inside: &impl Fn(u32) -> bool,
    versions: u32,
) -> Option<Vec<Demand>> {
    // A state is a node, and whether another version was met on the way there.
    type State = (u32, bool);
    let mut came: Map<State, (State, Why)> = Map::default();
    let mut queue = std::collections::VecDeque::from([(start, false)]);
    while let Some(at) = queue.pop_front() {
        for (next, why) in graph.of(at.0).iter().filter(|(next, _)| inside(*next)) {
            if *next == start {
                if at.1 {
                    let mut path: Circle<Why> = vec![(at.0, *why)];
                    let mut back = at;
                    while let Some((from, why)) = came.get(&back) {
                        path.push((from.0, *why));
                        back = *from;
                    }
                    path.reverse();
                    return Some(demands(&path, start, versions));
                }
                continue;
            }
            let state = (*next, at.1 || *next < versions);
            if !came.contains_key(&state) {
                came.insert(state, (at, *why));
                queue.push_back(state);
            }
        }
    }
    None
}

/// A circle without the nodes that stand for several.
fn demands(circle: &Circle<Why>, start: u32, versions: u32) -> Vec<Demand> {
    let ends = circle[1..].iter().map(|(node, _)| *node).chain([start]);
    let mut from = start;
    let mut demands = Vec::new();
    for ((_, why), to) in circle.iter().zip(ends) {
        if to < versions {
            demands.push((from, to, *why));
            from = to;
        }
    }
    demands
}

fn properties(demands: &[Demand]) -> Properties {
    demands.iter().fold(Properties::default(), |all, (_, _, why)| match why {
        Why::Demands(property, _) => all.with(*property),
        Why::Last => all.with(Property::Convergence),
        Why::Among => all,
    })
}

/// What rests on last words violates convergence; otherwise the first of the properties is named.
pub(super) fn property_of(demands: &[Demand]) -> Property {
    let all = properties(demands);
    if all.contains(Property::Convergence) {
        return Property::Convergence;
    }
    all.iter().next().expect("a circle rests on some property")
}

pub(super) fn tell(index: &Index<'_>, property: Property, demands: &[Demand]) -> Violation {
    let key = index.key_words(index.version(demands[0].0).key);
    let names: Vec<&str> = properties(demands).iter().map(Property::name).collect();
    let reasons: Vec<String> = demands.iter().map(|demand| reason(index, demand)).collect();
    let explanation =
        format!("no order of the writes of {key} keeps {}: {}", names.join(" and "), reasons.join("; "));
    let mut steps: Vec<Step> = Vec::new();
    let shown = |demand: &Demand| {
        let mut steps = story(index, demand);
        steps.last_mut().into_iter().for_each(|step| step.shows = true);
        steps
    };
    for step in demands.iter().flat_map(shown) {
        match steps.last_mut() {
            Some(last) if last.event.is_some() && last.event == step.event => last.shows |= step.shows,
            _ => steps.push(step),
        }
    }
    Violation { property, explanation, steps }
}

fn reason(index: &Index<'_>, (from, to, why): &Demand) -> String {
    let read = read_words(index, Ref { key: index.version(*to).key, version: *to });
    let owed = index.version_words(*from);
    let Why::Demands(property, e) = why else { return format!("in the end {read}, and {owed} was written") };
    let what = match property {
        Property::ReadYourWrites => format!("reads {read} after its own write of {owed}"),
        Property::MonotonicReads => format!("reads {read} after it had read {owed}"),
        Property::MonotonicWrites => format!("writes {read} after its own write of {owed}"),
        Property::WritesFollowReads => format!("writes {read} after it had read {owed}"),
        Property::MonotonicWritesGlobal => {
            format!("reads {read} after a write whose session had written {owed} before")
        }
        Property::WritesFollowReadsGlobal => {
            format!("reads {read} after a write whose session had read {owed} before")
        }
        _ => format!("reads {read} after {owed} was acknowledged there"),
    };
    format!("{} (#{e}) {what}", index.actor(*e))
}

/// The events behind one demand.
fn story(index: &Index<'_>, (from, to, why): &Demand) -> Vec<Step> {
    let wrote = index.version(*from).writer;
    let Why::Demands(property, e) = why else {
        let version = |last: &Ref| last.version == *to;
        let at = index.finals.iter().position(version).map(|at| last_word(&index.history.finals[at]));
        return index.story([(wrote, Link::Beside)]).into_iter().chain(at).collect();
    };
    let own = |first: Option<u32>| index.story(index.own_story(first.unwrap_or(*e), *e));
    let across = match property {
        Property::MonotonicReads | Property::WritesFollowReads => return own(index.earlier_read(*e, *from)),
        Property::MonotonicWritesGlobal => monotonic_writes_global::witness(index, *e, *from),
        Property::WritesFollowReadsGlobal => writes_follow_reads_global::witness(index, *e, *from),
        Property::Immediate => return index.story([(wrote, Link::Beside), (*e, Link::Later)]),
        _ => None,
    };
    across.unwrap_or_else(|| own(Some(wrote)))
}
