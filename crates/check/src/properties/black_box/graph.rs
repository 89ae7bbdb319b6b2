//! A directed graph of events: strongly connected components (Tarjan, without recursion) and short cycles.

/// Its edges say why one node comes before another: `E`.
pub(super) struct Graph<E> {
    /// Per node: where its edges start.
    start: Vec<u32>,
    edges: Vec<(u32, E)>,
}

/// Nodes in a circle, each with the edge that leaves it.
pub(super) type Circle<E> = Vec<(u32, E)>;

/// How many edges of a component are tried as the start of a shortest cycle.
const TRIED: usize = 32;

impl<E: Copy> Graph<E> {
    pub(super) fn new(nodes: usize, list: Vec<(u32, u32, E)>) -> Self {
        let mut start = vec![0u32; nodes + 1];
        for (from, _, _) in &list {
            start[*from as usize + 1] += 1;
        }
        for i in 0..nodes {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let Some((_, _, any)) = list.first().copied() else { return Self { start, edges: Vec::new() } };
        let mut edges = vec![(0, any); list.len()];
        for (from, to, edge) in list {
            edges[next[from as usize] as usize] = (to, edge);
            next[from as usize] += 1;
        }
        Self { start, edges }
    }

    pub(super) fn of(&self, node: u32) -> &[(u32, E)] {
        &self.edges[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }

    /// One short cycle of each component that has one, with as few `inferred` edges as can be.
    pub(super) fn shortest_cycles(&self, inferred: impl Fn(&E) -> bool) -> Vec<Circle<E>> {
        let component = self.components();
        let cyclic = cyclic(&component);
        let mut cycles: Vec<_> =
            cyclic.iter().filter_map(|m| self.shortest_cycle(m, &component, &inferred)).collect();
        cycles.sort_by_key(|cycle| cycle.iter().map(|(node, _)| *node).min());
        cycles
    }

    /// The shortest of the cycles through some inferred edges; with the fewest such edges among equals.
    fn shortest_cycle(
        &self,
        members: &[u32],
        component: &[u32],
        is_inferred: &impl Fn(&E) -> bool,
    ) -> Option<Circle<E>> {
        let inside = |to: u32| component[to as usize] == component[members[0] as usize];
        let inferred = members.iter().flat_map(|from| {
            let inferred = self.of(*from).iter().filter(|(to, e)| inside(*to) && is_inferred(e));
            inferred.map(|(to, edge)| (*from, *to, *edge))
        });
        let cycle = |(from, to, edge): (u32, u32, E)| {
            let mut path = self.path(to, from, &inside)?;
            path.insert(0, (from, edge));
            Some(path)
        };
        let few = |path: &Circle<E>| path.iter().filter(|(_, e)| is_inferred(e)).count();
        inferred.take(TRIED).filter_map(cycle).min_by_key(|path| (few(path), path.len()))
    }

    /// A path with the fewest edges, as nodes with the edge that leaves each.
    fn path(&self, from: u32, to: u32, inside: &impl Fn(u32) -> bool) -> Option<Circle<E>> {
        let mut came: crate::hash::Map<u32, (u32, E)> = Default::default();
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                let mut path = Vec::new();
                let mut at = to;
                while at != from {
                    let (previous, edge) = came[&at];
                    path.push((previous, edge));
                    at = previous;
                }
                path.reverse();
                return Some(path);
            }
            for (next, edge) in self.of(node) {
                if inside(*next) && *next != from && !came.contains_key(next) {
                    came.insert(*next, (node, *edge));
                    queue.push_back(*next);
                }
            }
        }
        None
    }

    /// Per node: the number of its component.
    pub(super) fn components(&self) -> Vec<u32> {
        const UNSEEN: u32 = u32::MAX;
        let nodes = self.start.len() - 1;
        let (mut order, mut low) = (vec![UNSEEN; nodes], vec![0u32; nodes]);
        let mut component = vec![UNSEEN; nodes];
        let (mut open, mut stack): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
        let (mut seen, mut found) = (0, 0);
        for root in 0..nodes as u32 {
            if order[root as usize] != UNSEEN {
                continue;
            }
            stack.push((root, 0));
            while let Some((node, edge)) = stack.pop() {
                let n = node as usize;
                if edge == 0 {
                    (order[n], low[n]) = (seen, seen);
                    seen += 1;
                    open.push(node);
                }
                if let Some((next, _)) = self.of(node).get(edge as usize) {
                    stack.push((node, edge + 1));
                    if order[*next as usize] == UNSEEN {
                        stack.push((*next, 0));
                    } else if component[*next as usize] == UNSEEN {
                        low[n] = low[n].min(order[*next as usize]);
                    }
                    continue;
                }
                if low[n] == order[n] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = found;
                        if member == node {
                            break;
                        }
                    }
                    found += 1;
                }
                if let Some((parent, _)) = stack.last() {
                    low[*parent as usize] = low[*parent as usize].min(low[n]);
                }
            }
        }
        component
    }
}

/// The members of each component that has several.
pub(super) fn cyclic(component: &[u32]) -> Vec<Vec<u32>> {
    let mut members: Vec<u32> = (0..component.len() as u32).collect();
    members.sort_by_key(|node| component[*node as usize]);
    let same = |a: &u32, b: &u32| component[*a as usize] == component[*b as usize];
    members.chunk_by(same).filter(|members| members.len() > 1).map(<[u32]>::to_vec).collect()
}
