//! The checking groups that a server is in, and what it knows of each: `SVV_i^cg`.

use super::{NEVER, Params, Peer, Rules, Server};
use tidemark_contract::core::{CheckingGroup, DcId, Hlc, ServerId, TrackingGroup, Vector};
use tidemark_contract::{Checking, Cx, Members, Report, Stabilisation, Topology, Tree};

struct Group {
    id: CheckingGroup,
    servers: Vec<ServerId>,
    svv: Vector,
    stabilisation: Stabilisation,
}

/// The checking groups of one server, at least one.
pub(super) struct Groups {
    groups: Vec<Group>,
    /// The tracking groups that hold servers of each data centre.
    writers: Vec<(DcId, TrackingGroup)>,
}

impl Groups {
    /// C(`me`). REQUIRES: `params` were checked. `stable` is what every group of this server's had before it restarted: of a
    /// tracking group that a member of today hears of, it is not to say that nothing will ever come.
    pub(super) fn of(
        me: ServerId,
        params: &Params,
        topology: &Topology,
        stable: &Vector,
        tracked: impl Fn(ServerId) -> TrackingGroup,
    ) -> Self {
        let all = params.checking.groups(topology).expect("it was checked");
        let mine = (0..).map(CheckingGroup).zip(all).filter(|(_, group)| group.servers.contains(&me));
        let group = |(id, Members { servers, .. }): (CheckingGroup, Members)| {
            let mut svv = stable.clone();
            let heard = servers.iter().flat_map(|server| topology.sharing(*server).chain([*server]));
            for group in heard.map(&tracked) {
                if svv[group] == NEVER {
                    svv[group] = Hlc::ZERO;
                }
            }
            let stabilisation = Stabilisation::among(me, &servers, params.fan_out);
            Group { id, servers, svv, stabilisation }
        };
        let groups = mine.map(group).collect();
        let mut writers: Vec<(DcId, TrackingGroup)> =
            topology.servers().map(|j| (j.dc, tracked(j))).collect();
        writers.sort();
        writers.dedup();
        Self { groups, writers }
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
        let mut groups = self.groups.iter();
        let mut least = groups.next().map_or_else(Vector::default, |group| group.svv.clone());
        groups.for_each(|group| least.meet(&group.svv));
        least
    }

    /// The same by data centre: of each one's servers, up to when every group has what they wrote.
    pub(super) fn least_by_dc(&self) -> Vector {
        let dcs = self.writers.last().map_or(0, |(dc, _)| dc.index() + 1);
        let (least, mut by_dc) = (self.least(), Vector::from_entries((0..dcs).map(|_| NEVER)));
        for (dc, group) in &self.writers {
            by_dc[*dc] = by_dc[*dc].min(least[*group]);
        }
        by_dc
    }

    /// Passes on, in every group, that this server has received `vv`.
    pub(super) fn tick<R: Rules>(&mut self, vv: Vector, cx: &mut Cx<'_, Server<R>>) {
        for Group { id, svv, stabilisation, .. } in &mut self.groups {
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
        let Some(group) = self.groups.iter_mut().find(|group| group.id == id) else { return };
        let wrap = |tree| Peer::Tree(id, tree);
        let stable = group.stabilisation.on_message((from, message), report(vv), wrap, cx);
        stable.into_iter().for_each(|stable| group.svv.merge(&stable));
    }

    fn asked(&self, asked: &Checking) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(move |group| asked.is_empty() || asked.contains(&group.id))
    }
}

/// Collection has its own way (D8).
fn report(vv: Vector) -> Report {
    Report { stable: vv, safe: Vector::default() }
}
