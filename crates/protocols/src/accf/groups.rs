//! The checking groups that a server is in, and what it knows of each: `SVV_i^cg`.

use super::changes::Changes;
use super::rules::{FLOOR_HOLDS, FORMING_GROUP_IS_SILENT};
use super::tracks::Tracks;
use super::{Accf, Params, Peer};
use tidemark_contract::core::{Hlc, Micros, ServerId, Vector};
use tidemark_contract::grouping::tracked::{NEVER, Reached, everywhere};
use tidemark_contract::grouping::{Checking, CheckingGroup, GroupStage, Members, Tracking, TrackingGroup};
use tidemark_contract::{Cx, Report, Stabilisation, Topology, Tree};

struct Group {
    id: CheckingGroup,
    servers: Vec<ServerId>,
    /// None while not all have told what they have: then nobody is answered by it.
    svv: Option<Vector>,
    stabilisation: Stabilisation,
    retired: bool,
    asked: u64,
    asked_at: Micros,
}

/// The checking groups of one server, at least one.
pub(super) struct Groups {
    me: ServerId,
    groups: Vec<Group>,
    /// Nobody is shown less: below it versions may be gone (D11).
    floor: Vector,
    fan_out: usize,
}

impl Groups {
    /// C(`me`), as it was founded. REQUIRES: `params` were checked. `stable` is what every group of this server's had before it
    /// restarted: of a tracking group that a member of today hears of, it is not to say that nothing will ever come.
    pub(super) fn of(
        me: ServerId,
        params: &Params,
        topology: &Topology,
        stable: &Vector,
        tracks: &Tracks,
    ) -> Self {
        let all = params.checking.groups(topology).expect("it was checked");
        let mine = (0..).map(CheckingGroup).zip(all).filter(|(_, group)| group.servers.contains(&me));
        let mut groups = Self { me, groups: Vec::new(), floor: Vector::default(), fan_out: params.fan_out };
        for (id, Members { servers, .. }) in mine {
            let mut svv = everywhere(Hlc::ZERO, tracks.count);
            svv.merge(stable);
            let heard = servers.iter().flat_map(|server| topology.sharing(*server).chain([*server]));
            for group in heard.map(|server| tracks.of(server)) {
                if svv[group] == NEVER {
                    svv[group] = Hlc::ZERO;
                }
            }
            groups.begin(id, servers, Some(svv));
        }
        groups
    }

    fn begin(&mut self, id: CheckingGroup, servers: Vec<ServerId>, svv: Option<Vector>) {
        let stabilisation = Stabilisation::among(self.me, &servers, self.fan_out);
        self.groups.push(Group { id, servers, svv, stabilisation, retired: false, asked: 0, asked_at: 0 });
    }

    /// Groups have come or gone (D10).
    pub(super) fn change(&mut self, changes: &Changes, now: Micros) {
        let me = self.me;
        for (id, added) in changes.checking.iter().filter(|(_, added)| added.servers.contains(&me)) {
            if !self.groups.iter().any(|group| group.id == *id) {
                self.begin(*id, added.servers.clone(), None);
            }
            let group = self.groups.iter_mut().find(|group| group.id == *id).expect("just begun");
            if added.retired && !group.retired {
                (group.retired, group.asked_at) = (true, now);
            }
        }
        self.groups.retain(|group| !group.added() || changes.checking.contains_key(&group.id));
    }

    /// Groups that are to go and that nobody has asked for since `before`.
    pub(super) fn idle(&self, before: Micros) -> impl Iterator<Item = CheckingGroup> {
        self.groups
            .iter()
            .filter(move |group| group.retired && group.asked_at <= before)
            .map(|group| group.id)
    }

    /// Servers share entries in another way from now on: what was stable is so up to the least time of all, and what nobody is
    /// shown less than goes up to the greatest (D11).
    pub(super) fn retrack(&mut self, from: Tracking, tracks: &Tracks) {
        let by = |upto: Vector| Reached { by: from, upto };
        self.keep(&self.least());
        self.floor = by(std::mem::take(&mut self.floor)).at_most(tracks.by, tracks.count);
        for group in &mut self.groups {
            let svv = group.svv.take();
            group.svv = svv.map(|svv| by(svv).at_least(tracks.by, tracks.count));
            // What others have said is by what was before.
            group.stabilisation = Stabilisation::among(self.me, &group.servers, self.fan_out);
        }
    }

    /// From now on nobody is shown less than `stable`, which may be collected.
    pub(super) fn keep(&mut self, stable: &Vector) {
        self.floor.merge(&heard_of(stable.clone()));
    }

    /// Below this versions may be gone.
    pub(super) fn floor(&self) -> &Vector {
        &self.floor
    }

    /// What all of the groups that are asked for have, or the first of them if none is (D6). A server that is alone in one, or in
    /// none that is asked for, checks itself: by its `vv`, and what it had before it restarted.
    pub(super) fn svv(&mut self, asked: &Checking, now: Micros, vv: impl Fn() -> Vector) -> Vector {
        let of = |group: &Group| {
            let mut svv = match (&group.svv, FORMING_GROUP_IS_SILENT.kept()) {
                (Some(svv), _) => svv.clone(),
                (None, true) => return None,
                (None, false) => Vector::default(),
            };
            if group.servers.len() == 1 {
                svv.merge(&vv());
            }
            Some(svv)
        };
        let mut all: Option<Vector> = None;
        if asked.is_empty() {
            all = self.groups.iter().find_map(of);
        }
        for group in self.groups.iter_mut().filter(|group| asked.contains(&group.id)) {
            (group.asked, group.asked_at) = (group.asked + 1, now);
            match (&mut all, of(group)) {
                (Some(all), Some(svv)) => all.meet(&svv),
                (all, svv) => *all = all.take().or(svv),
            }
        }
        let mut svv = all.unwrap_or_else(|| {
            let mut alone = self.least();
            alone.merge(&vv());
            alone
        });
        if FLOOR_HOLDS.kept() {
            svv.merge(&self.floor); // D11
        }
        svv
    }

    /// What one of the groups that are asked for has that holds all of `servers`, if one does.
    pub(super) fn holding(&self, servers: &[ServerId], asked: &Checking) -> Option<Vector> {
        let may = |group: &&Group| asked.is_empty() || asked.contains(&group.id);
        let holds = |group: &&Group| servers.iter().all(|server| group.servers.contains(server));
        let mut svv = self.groups.iter().filter(may).filter(holds).find_map(|group| group.svv.clone())?;
        svv.merge(&self.floor);
        Some(svv)
    }

    /// What all groups have. Those that are to go hold nobody up.
    pub(super) fn least(&self) -> Vector {
        let mut all =
            self.groups.iter().filter(|group| !group.retired).filter_map(|group| group.svv.as_ref());
        let mut least = all.next().cloned().unwrap_or_default();
        all.for_each(|svv| least.meet(svv));
        least
    }

    /// Passes on, in every group, that this server has received `vv`.
    pub(super) fn tick(&mut self, vv: &Reached, cx: &mut Cx<'_, Accf>) {
        for Group { id, stabilisation, .. } in &mut self.groups {
            let wrap = |tree| Peer::Tree(*id, vv.by, tree);
            stabilisation.tick(report(vv.upto.clone()), wrap, cx);
        }
    }

    /// Takes what `from` says to group `id`, by the tracking that it has.
    pub(super) fn on_message(
        &mut self,
        (from, id, by, message): (ServerId, CheckingGroup, Tracking, Tree),
        vv: &Reached,
        cx: &mut Cx<'_, Accf>,
    ) {
        let Some(group) = self.groups.iter_mut().find(|group| group.id == id) else { return };
        let here = |Report { stable, safe }: Report| Report {
            stable: Reached { by, upto: stable }.at_least(vv.by, vv.upto.entries().len()),
            safe,
        };
        let message = match message {
            Tree::Up(report) => Tree::Up(here(report)),
            Tree::Down(report) => Tree::Down(here(report)),
            Tree::Across(report) => Tree::Across(here(report)),
        };
        let wrap = |tree| Peer::Tree(id, vv.by, tree);
        note(
            &mut group.svv,
            group.stabilisation.on_message((from, message), report(vv.upto.clone()), wrap, cx),
        );
    }

    /// How a group stands here, and how many requests named it.
    pub(super) fn standing(&self, id: CheckingGroup) -> (GroupStage, u64) {
        let Some(group) = self.groups.iter().find(|group| group.id == id) else {
            return (GroupStage::Elsewhere, 0);
        };
        let stage = match group {
            Group { retired: true, .. } => GroupStage::Retiring,
            Group { svv: None, .. } => GroupStage::Forming,
            Group { .. } => GroupStage::Active,
        };
        (stage, group.asked)
    }
}

impl Group {
    /// It came while the system ran.
    fn added(&self) -> bool {
        super::changes::came_later(self.id)
    }
}

/// What is stable in a group has risen, if it was said.
fn note(svv: &mut Option<Vector>, stable: Option<Vector>) {
    match (svv, stable) {
        (Some(svv), Some(stable)) => svv.merge(&stable),
        (svv @ None, stable) => *svv = stable,
        (Some(_), None) => {}
    }
}

/// Collection has its own way (D8).
fn report(vv: Vector) -> Report {
    Report { stable: vv, safe: Vector::default() }
}

/// Of groups that this server hears nothing of, others may: what they have told by then cannot be known here, and no more is
/// taken for granted than of the group that is farthest behind. Who needs more is refused, and told how much.
pub(super) fn heard_of(mut stable: Vector) -> Vector {
    let heard = stable.entries().iter().copied().filter(|ts| *ts != NEVER).min().unwrap_or_default();
    let groups = stable.entries().len() as u16;
    for group in (0..groups).map(TrackingGroup) {
        if stable[group] == NEVER {
            stable[group] = heard;
        }
    }
    stable
}
