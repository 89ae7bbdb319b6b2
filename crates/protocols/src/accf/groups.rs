//! The checking groups that a server is in, and what it knows of each: `SVV_i^cg`.

use super::{Params, Peer, Rules, Server};
use tidemark_contract::core::{CheckingGroup, ServerId, Vector};
use tidemark_contract::{Checking, Cx, Members, Report, Stabilisation, Topology, Tree};

struct Group {
    id: CheckingGroup,
    servers: Vec<ServerId>,
    svv: Vector,
    stabilisation: Stabilisation,
}

/// The checking groups of one server, at least one.
pub(super) struct Groups(Vec<Group>);

impl Groups {
    /// C(`me`). REQUIRES: `params` were checked. `stable` is what every group of this server's once had.
    pub(super) fn of(me: ServerId, params: &Params, topology: &Topology, stable: &Vector) -> Self {
        let all = params.checking.groups(topology).expect("it was checked");
        let mine = (0..).map(CheckingGroup).zip(all).filter(|(_, group)| group.servers.contains(&me));
        let group = |(id, Members { servers, .. }): (CheckingGroup, Members)| {
            let stabilisation = Stabilisation::among(me, &servers, params.fan_out);
            Group { id, servers, svv: stable.clone(), stabilisation }
        };
        Self(mine.map(group).collect())
    }

    /// What all of the groups that are asked for have, or the first of them if none is (D6). A server that is alone in one, or in
    /// none that is asked for, checks itself: by its `vv`, and what it had before it restarted.
    pub(super) fn svv(&self, asked: &Checking, vv: impl Fn() -> Vector) -> Vector {
        let with_vv = |mut svv: Vector| {
            svv.merge(&vv());
            svv
        };
        let of = |Group { servers, svv, .. }: &Group| match servers.len() {
            1 => with_vv(svv.clone()),
            _ => svv.clone(),
        };
        let mut groups = self.asked(asked);
        let Some(first) = groups.next() else { return with_vv(self.least()) };
        let mut svv = of(first);
        if !asked.is_empty() {
            groups.for_each(|group| svv.meet(&of(group)));
        }
        svv
    }

    /// What one of the groups that are asked for has that holds all of `servers`, if one does.
    pub(super) fn holding(&self, servers: &[ServerId], asked: &Checking) -> Option<&Vector> {
        let holds = |group: &&Group| servers.iter().all(|server| group.servers.contains(server));
        self.asked(asked).find(holds).map(|group| &group.svv)
    }

    /// What all groups have.
    pub(super) fn least(&self) -> Vector {
        let mut groups = self.0.iter();
        let mut least = groups.next().map_or_else(Vector::default, |group| group.svv.clone());
        groups.for_each(|group| least.meet(&group.svv));
        least
    }

    /// Passes on, in every group, that this server has received `vv`.
    pub(super) fn tick<R: Rules>(&mut self, vv: Vector, cx: &mut Cx<'_, Server<R>>) {
        for Group { id, svv, stabilisation, .. } in &mut self.0 {
            let stable = stabilisation.tick(report(vv.clone()), |tree| Peer::Tree(*id, tree), cx);
            stable.into_iter().for_each(|stable| svv.merge(&stable));
        }
    }

    /// Takes what `from` says to group `id`.
    pub(super) fn on_message<R: Rules>(
        &mut self,
        (from, id, message): (ServerId, CheckingGroup, Tree),
        vv: Vector,
        cx: &mut Cx<'_, Server<R>>,
    ) {
        let Some(group) = self.0.iter_mut().find(|group| group.id == id) else { return };
        let wrap = |tree| Peer::Tree(id, tree);
        let stable = group.stabilisation.on_message((from, message), report(vv), wrap, cx);
        stable.into_iter().for_each(|stable| group.svv.merge(&stable));
    }

    fn asked(&self, asked: &Checking) -> impl Iterator<Item = &Group> {
        self.0.iter().filter(move |group| asked.is_empty() || asked.contains(&group.id))
    }
}

/// Collection has its own way (D8).
fn report(vv: Vector) -> Report {
    Report { stable: vv, safe: Vector::default() }
}
