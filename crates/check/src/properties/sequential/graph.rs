//! A directed graph, and one short cycle of each of its tangles.

use crate::hash::Map;
use std::collections::VecDeque;

/// A graph of nodes 0 to n-1.
#[derive(Default)]
pub(super) struct Graph {
    /// Until the graph is closed: pairs of a node and one that comes after it. Then sorted.
    edges: Vec<(u32, u32)>,
    /// Per node: where its edges begin; one more than there are nodes.
    start: Vec<u32>,
}

impl Graph {
    pub(super) fn edge(&mut self, before: u32, after: u32) {
        self.edges.push((before, after));
    }

    /// The graph is complete, and has `nodes` nodes.
    pub(super) fn close(&mut self, nodes: usize) {
        self.edges.sort_unstable();
        self.edges.dedup();
        self.start = vec![0; nodes + 1];
        self.edges.iter().for_each(|(before, _)| self.start[*before as usize + 1] += 1);
        (0..nodes).for_each(|n| self.start[n + 1] += self.start[n]);
    }

    fn after(&self, node: u32) -> &[(u32, u32)] {
        &self.edges[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }

    /// One cycle of each strongly connected component that has any. Among those through the component's first nodes, a
    /// shortest.
    pub(super) fn cycles(&self) -> Vec<Vec<u32>> {
        /// From how many nodes of a component a shortest cycle is searched.
        const STARTS: usize = 16;
        let component = self.components();
        let mut members: Vec<u32> = (0..component.len() as u32).collect();
        members.sort_by_key(|node| component[*node as usize]);
        let tangles = members.chunk_by(|a, b| component[*a as usize] == component[*b as usize]);
        let shortest = |nodes: &[u32]| {
            let found = nodes.iter().take(STARTS).filter_map(|node| self.cycle(*node, &component));
            found.min_by_key(Vec::len)
        };
        tangles.filter_map(shortest).collect()
    }

    /// A shortest cycle through `node`.
    fn cycle(&self, node: u32, component: &[u32]) -> Option<Vec<u32>> {
        let same = |other: u32| component[other as usize] == component[node as usize];
        let mut from: Map<u32, u32> = Map::default();
        let mut queue = VecDeque::from([node]);
        while let Some(at) = queue.pop_front() {
            for (_, next) in self.after(at).iter().filter(|(_, next)| same(*next)) {
                if *next == node {
                    let mut cycle: Vec<u32> =
                        std::iter::successors(Some(at), |at| from.get(at).copied()).collect();
                    cycle.reverse();
                    return Some(cycle);
                }
                from.entry(*next).or_insert_with(|| {
                    queue.push_back(*next);
                    at
                });
            }
        }
        None
    }

    /// Per node: the number of its strongly connected component (R. Tarjan, SIAM J. Comput. 1972).
    fn components(&self) -> Vec<u32> {
        const NEW: u32 = u32::MAX;
        let nodes = self.start.len() - 1;
        let (mut found, mut low) = (vec![NEW; nodes], vec![0; nodes]);
        let mut component = vec![NEW; nodes];
        let (mut count, mut components) = (0, 0);
        let mut open: Vec<u32> = Vec::new();
        // The nodes that are being visited, each with the next of its edges.
        let mut visits: Vec<(u32, usize)> = Vec::new();
        for root in 0..nodes as u32 {
            if found[root as usize] == NEW {
                visits.push((root, 0));
            }
            while let Some((node, edge)) = visits.last_mut() {
                let at = *node as usize;
                if *edge == 0 && found[at] == NEW {
                    (found[at], low[at]) = (count, count);
                    count += 1;
                    open.push(*node);
                }
                if let Some((_, next)) = self.after(*node).get(*edge) {
                    *edge += 1;
                    if found[*next as usize] == NEW {
                        visits.push((*next, 0));
                    } else if component[*next as usize] == NEW {
                        low[at] = low[at].min(found[*next as usize]);
                    }
                    continue;
                }
                visits.pop();
                if let Some((parent, _)) = visits.last() {
                    low[*parent as usize] = low[*parent as usize].min(low[at]);
                }
                if low[at] == found[at] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = components;
                        if member as usize == at {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component
    }
}
