//! Who decides: told now and then what was seen, it says which checking groups are to come and go, and why.

use crate::Settings;
use crate::account::Change;
use crate::delays::Delays;
use crate::model::{Cost, Groups, User, cost, worst};
use crate::observation::{Observation, SeenGroup};
use crate::search::{Known, Step};
use crate::watch::{Touched, UseReport};
use crate::words::{list, ms};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tidemark_contract::grouping::{GroupStage, Regrouping};
use tidemark_core::{Micros, ServerId};

/// What the controller calls its groups, with a number.
const NAME: &str = "auto-";
/// A group that is new has formed, and sessions have found it, after so many observations: what comes next is held against
/// what was promised.
const FORMS: u64 = 1;
/// A group goes when nobody has used it for so many observations, or when it has cost more than it saves.
const UNUSED: u64 = 3;
/// What did not pay is tried again after so many observations, and after twice as many each time that it does not.
const AGAIN: u64 = 16;
/// How many changes are remembered.
const CHANGES: usize = 16;

/// What the controller knows of one of its groups.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) servers: Touched,
    /// The observation after which it came.
    since: u64,
    /// The last that saw somebody use it.
    used: u64,
    /// The last at which those who use it would not have been better off without it.
    paid: u64,
    pub(crate) why: String,
    /// What each read cost those whom it was made for, before.
    before: BTreeMap<Touched, Cost>,
    /// What it was to save them, in microseconds of waiting a read.
    pub(crate) promised: f64,
    /// What it did save, once that is known.
    pub(crate) saved: Option<f64>,
}

/// A set of servers that did not pay as a group.
#[derive(Clone, Copy, Debug)]
struct Failed {
    times: u32,
    until: u64,
}

/// Decides which checking groups there are.
#[derive(Debug)]
pub struct Controller {
    pub(crate) settings: Settings,
    pub(crate) observed: u64,
    pub(crate) at: Micros,
    counted: BTreeMap<String, Vec<UseReport>>,
    delays: Delays,
    pub(crate) users: BTreeMap<Touched, User>,
    groups: Groups,
    pub(crate) kept: BTreeMap<String, Kept>,
    failed: BTreeMap<Touched, Failed>,
    named: u64,
    pub(crate) changed: u64,
    pub(crate) changes: VecDeque<Change>,
}

impl Controller {
    /// One that has seen nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            observed: 0,
            at: 0,
            counted: BTreeMap::new(),
            delays: Delays::default(),
            users: BTreeMap::new(),
            groups: Groups::default(),
            kept: BTreeMap::new(),
            failed: BTreeMap::new(),
            named: 0,
            changed: 0,
            changes: VecDeque::new(),
        }
    }

    /// Takes what was seen, and says what is to change. The first time it only learns what there is.
    pub fn observe(&mut self, seen: &Observation) -> Vec<Regrouping> {
        if seen.groups.is_empty() {
            return Vec::new(); // Nobody was heard.
        }
        self.observed += 1;
        let seconds = seen.at.saturating_sub(self.at) as f64 / 1e6;
        self.at = seen.at;
        self.delays.sample(&seen.behind);
        self.have(&seen.groups);
        let first = self.counted.is_empty();
        self.count(&seen.nodes, seconds);
        if first || seconds == 0.0 {
            return Vec::new();
        }
        self.learn(&seen.groups);
        let mut orders = self.judge();
        // What is new shows what it is worth before anything else changes.
        if orders.is_empty() && self.kept.values().all(|kept| kept.saved.is_some()) {
            orders = self.improve();
        }
        orders
    }

    /// These are the groups now: some of the controller's may have gone, or be those of one before it.
    fn have(&mut self, seen: &[SeenGroup]) {
        let there = || seen.iter().filter(|group| group.stage != GroupStage::Retiring);
        let is_ours = |group: &SeenGroup| group.added && group.name.starts_with(NAME);
        let named = seen.iter().filter_map(|group| group.name.strip_prefix(NAME)?.parse::<u64>().ok());
        self.named = named.fold(self.named, u64::max);
        let others = there().filter(|group| group.added && !is_ours(group));
        self.groups = Groups {
            founded: there().filter(|group| !group.added).map(|group| group.servers.clone()).collect(),
            added: there()
                .filter(|group| is_ours(group))
                .map(|group| (group.name.clone(), group.servers.clone()))
                .collect(),
            others: others.map(|group| group.servers.clone()).collect(),
        };
        let observed = self.observed;
        self.kept.retain(|name, kept| {
            // Not all have heard of it yet.
            kept.since == observed - 1 || self.groups.added.iter().any(|(added, _)| added == name)
        });
        for (name, servers) in &self.groups.added {
            self.kept.entry(name.clone()).or_insert_with(|| Kept {
                servers: servers.clone(),
                since: observed,
                used: observed,
                paid: observed,
                why: "it was there before".to_string(),
                before: BTreeMap::new(),
                promised: 0.0,
                saved: Some(0.0),
            });
        }
    }

    /// What sessions did since the last time. A node that counts from the beginning has started again.
    fn count(&mut self, nodes: &BTreeMap<String, Vec<UseReport>>, seconds: f64) {
        let mut users: BTreeMap<Touched, User> = BTreeMap::new();
        for (node, reports) in nodes {
            let before = self.counted.get(node);
            for report in reports {
                let old = before.and_then(|reports| reports.iter().find(|old| old.id == report.id));
                let old = old.filter(|old| old.servers == report.servers);
                let user = users.entry(report.servers.clone()).or_default();
                for visit in &report.visits {
                    let way = (visit.from, visit.to);
                    let old = old.and_then(|old| old.visits.iter().find(|old| (old.from, old.to) == way));
                    let old = old.filter(|old| old.reads <= visit.reads && old.waited_us <= visit.waited_us);
                    let (reads, waited) = old.map_or((0, 0), |old| (old.reads, old.waited_us));
                    *user.visits.entry(way).or_default() += (visit.reads - reads) as f64 / seconds.max(1e-6);
                    user.waited += (visit.waited_us - waited) as f64 / seconds.max(1e-6);
                }
                user.visits.retain(|_, rate| *rate > 0.0);
            }
        }
        users.retain(|_, user| !user.visits.is_empty());
        for (touched, user) in &mut users {
            user.share = self.users.get(touched).and_then(|user| user.share);
        }
        self.users = users;
        // Who is not heard of now may be again.
        self.counted.extend(nodes.iter().map(|(node, reports)| (node.clone(), reports.clone())));
    }

    /// How much of the longest wait there is, for those whose groups have not just changed; and which groups are used.
    fn learn(&mut self, seen: &[SeenGroup]) {
        for (touched, user) in &mut self.users {
            let given = self.groups.given(touched);
            let new = |kept: &&Kept| Some(&kept.servers[..]) == given && kept.since + FORMS >= self.observed;
            let forms = seen.iter().any(|group| {
                Some(&group.servers[..]) == given && group.added && group.stage != GroupStage::Active
            });
            if forms || self.kept.values().find(new).is_some() {
                continue;
            }
            let most = worst(touched, user, &self.groups, &self.delays).waits;
            if most > 0.0 {
                user.share = Some((user.waited / most).min(1.0));
            }
        }
        for kept in self.kept.values_mut() {
            let is_it = |touched: &Touched| self.groups.given(touched) == Some(&kept.servers[..]);
            if self.users.keys().any(is_it) {
                kept.used = self.observed;
            }
        }
    }

    /// What the reads of `touched` cost now: they wait as long as was seen, and what they show is as old as delays say.
    pub(crate) fn paid(&self, touched: &Touched, user: &User) -> Cost {
        let reckoned = cost(touched, user, &self.groups, &self.delays);
        Cost { waits: user.waited, ..reckoned }.each(user.reads())
    }

    /// Those who use the group `servers`.
    pub(crate) fn users_of<'a>(
        &'a self,
        servers: &'a [ServerId],
    ) -> impl Iterator<Item = (&'a Touched, &'a User)> {
        self.users.iter().filter(move |(touched, _)| self.groups.given(touched) == Some(servers))
    }

    /// Holds groups against what was promised, and takes back those that do not pay, or that nobody uses any more.
    fn judge(&mut self) -> Vec<Regrouping> {
        let look = |(name, kept): (&String, &Kept)| {
            let saves = self.shows(kept).then(|| self.saved(kept));
            (name.clone(), saves, self.pays(name))
        };
        let looks: Vec<(String, Option<f64>, bool)> = self.kept.iter().map(look).collect();
        let (observed, mut gone) = (self.observed, Vec::new());
        for (name, saves, pays) in looks {
            let Some(kept) = self.kept.get_mut(&name) else { continue };
            if pays {
                kept.paid = observed;
            }
            let broken = saves.filter(|saves| kept.saved.is_none() && *saves < kept.promised / 2.0);
            let why = if observed - kept.used >= UNUSED {
                Some(format!("nobody has read at {} alone for a while", list(&kept.servers)))
            } else if let Some(saves) = broken {
                let (promised, saves) = (ms(kept.promised), ms(saves.max(0.0)));
                Some(format!("it was to save {promised} a read, and saves {saves}"))
            } else if observed - kept.paid >= UNUSED {
                let why =
                    "what it saves in waiting is less by now than what is lost by reading what is older";
                Some(why.to_string())
            } else {
                None
            };
            if saves.is_some() && !kept.before.is_empty() {
                kept.saved = saves;
            }
            gone.extend(why.map(|why| (name, why, broken.is_some())));
        }
        gone.into_iter().map(|(name, why, failed)| self.remove(name, &why, failed)).collect()
    }

    /// Whether those who use the group `name` would not be better off without it.
    fn pays(&self, name: &str) -> bool {
        let mut without = self.groups.clone();
        without.added.retain(|(added, _)| added != name);
        let Some(kept) = self.kept.get(name) else { return true };
        let total = |groups: &Groups| -> f64 {
            let users = self.users_of(&kept.servers);
            let one = |(touched, user): (&Touched, &User)| cost(touched, user, groups, &self.delays);
            users.map(one).map(|cost| cost.total(&self.settings)).sum()
        };
        total(&self.groups) <= total(&without)
    }

    /// Whether what was seen last tells what a group is worth.
    fn shows(&self, kept: &Kept) -> bool {
        kept.used == self.observed && self.observed > kept.since + FORMS
    }

    /// What a group saves each read of those whom it was made for, in microseconds of waiting.
    fn saved(&self, kept: &Kept) -> f64 {
        let (mut saved, mut reads) = (0.0, 0.0);
        for (touched, user) in self.users_of(&kept.servers) {
            if let Some(before) = kept.before.get(touched) {
                let each = before.total(&self.settings) - self.paid(touched, user).total(&self.settings);
                saved += each * user.reads();
                reads += user.reads();
            }
        }
        if reads > 0.0 { saved / reads } else { 0.0 }
    }

    /// Looks for groups that pay.
    fn improve(&mut self) -> Vec<Regrouping> {
        let banned: BTreeSet<Touched> = self
            .failed
            .iter()
            .filter(|(_, failed)| failed.until > self.observed)
            .map(|(set, _)| set.clone())
            .collect();
        let (users, delays, settings) = (&self.users, &self.delays, &self.settings);
        let steps = Known { users, delays, settings, banned: &banned }.search(&self.groups);
        let mut orders = Vec::new();
        for Step { remove, add, gain } in steps {
            for name in remove {
                let why = format!("there has to be room for {}, which saves more", list(&add));
                orders.push(self.remove(name, &why, false));
            }
            orders.push(self.add(add, gain));
        }
        orders
    }

    fn add(&mut self, servers: Touched, gain: f64) -> Regrouping {
        let mut after = self.groups.clone();
        after.added.push((String::new(), servers.clone()));
        let (mut before, mut reads, mut now, mut then) =
            (BTreeMap::new(), 0.0, Cost::default(), Cost::default());
        for (touched, user) in &self.users {
            if after.given(touched) == Some(&servers[..]) {
                let paid = self.paid(touched, user);
                reads += user.reads();
                now += cost(touched, user, &self.groups, &self.delays);
                then += cost(touched, user, &after, &self.delays);
                before.insert(touched.clone(), paid);
            }
        }
        let (now, then) = (now.each(reads), then.each(reads));
        let why = format!(
            "{reads:.0} reads a second are at {} alone: they wait {} each, and would {}; what they read would be {} {}",
            list(&servers),
            ms(now.waits),
            ms(then.waits),
            ms((then.older - now.older).abs()),
            if then.older > now.older { "older" } else { "newer" },
        );
        self.named += 1;
        let name = format!("{NAME}{}", self.named);
        let promised = gain / reads.max(1e-6);
        self.note(format!("{name} comes, with {}: {why}", list(&servers)));
        let since = self.observed;
        let kept = Kept {
            servers: servers.clone(),
            since,
            used: since,
            paid: since,
            why,
            before,
            promised,
            saved: None,
        };
        self.kept.insert(name.clone(), kept);
        self.groups.added.push((name.clone(), servers.clone()));
        Regrouping::Add { name, servers: servers.into_iter().map(Into::into).collect() }
    }

    fn remove(&mut self, name: String, why: &str, failed: bool) -> Regrouping {
        if let Some(kept) = self.kept.remove(&name)
            && failed
        {
            let failed = self.failed.entry(kept.servers).or_insert(Failed { times: 0, until: 0 });
            failed.until = self.observed + (AGAIN << failed.times.min(8));
            failed.times += 1;
            let observed = self.observed;
            self.failed.retain(|_, failed| failed.until + (AGAIN << 8) > observed);
        }
        self.groups.added.retain(|(added, _)| *added != name);
        self.note(format!("{name} goes: {why}"));
        Regrouping::Remove { name }
    }

    fn note(&mut self, what: String) {
        if self.changes.len() == CHANGES {
            self.changes.pop_front();
        }
        self.changed += 1;
        self.changes.push_back(Change { at: self.at, what });
    }
}
