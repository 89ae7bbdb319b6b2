//! The operator: does without a data centre and takes it back, order by order (see [`Removal`]), has groups change, and cuts
//! links. Orders and answers are late and get lost, and are sent again; what cannot be prepared in time is released.
//!
//! [`Removal`]: tidemark_contract::removal::Removal

use super::{Cluster, Event, Stage};
use crate::outcome::ProblemKind;
use crate::plan::Trouble;
use crate::rng::mix;
use crate::trace::Happening;
use std::collections::BTreeMap;
use tidemark_contract::order::Order as ProtocolOrder;
use tidemark_contract::removal::{Exclusion, Standing, Step};
use tidemark_core::{DcId, Micros, ServerId};
use tidemark_node::cuts::CutOrder;
use tidemark_node::{Order, OrderId};

/// How often an order is sent before what it prepares is given up, or before nobody is asked any more.
pub(super) const TRIES: u32 = 12;

/// What the operator is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doing {
    #[default]
    Nothing,
    Holding,
    Releasing,
    Cutting,
    Excluding,
    /// The data centre is away.
    Away,
    Recalling,
    Readmitting,
}

/// What a node answers.
type Answer = Result<Vec<(ServerId, Standing)>, String>;

/// Something of the operator's that is under way.
pub(super) enum Errand {
    /// An order of that number, to whoever leads a group.
    Excludes { group: usize, number: u64, order: Exclusion },
    /// The answer.
    Answers { group: usize, number: u64, answer: Answer },
    /// It is time to send the order of that number again.
    Reminds(u64),
    /// An order to change groups, by the number of the fault, which was sent so often.
    Regroups { fault: usize, tries: u32 },
    /// An order to cut or heal.
    Cuts { process: usize, order: CutOrder },
}

/// An order that a node has and has not answered.
struct Open {
    /// In which epoch the node was when it was given the order.
    serves: Option<u64>,
    what: Asked,
}

pub(super) enum Asked {
    Exclusion { group: usize, number: u64 },
    Regroups { fault: usize, tries: u32 },
    Cut,
}

#[derive(Default)]
pub(super) struct Operator {
    doing: Doing,
    /// Whether the data centre is to be away.
    wanted: bool,
    order: Option<Exclusion>,
    /// Tells the answers to the orders of now from late ones.
    number: u64,
    tries: u32,
    answers: BTreeMap<ServerId, Standing>,
    /// Which data centre is lost for good.
    lost: Option<DcId>,
    /// By the name of the order.
    open: BTreeMap<u64, Open>,
    given: u64,
}

impl Operator {
    pub(super) fn lost(&self) -> Option<DcId> {
        self.lost
    }
}

impl Cluster<'_> {
    /// A data centre is lost for good: from now on it is no fault that nobody hears of it.
    pub(super) fn is_gone(&mut self, dc: DcId) {
        self.operator.lost = Some(dc);
    }

    /// A data centre that is lost is to be excluded.
    pub(super) fn want_gone(&mut self, dc: DcId) {
        self.give(Doing::Holding, dc, true, Step::Hold);
    }

    /// A data centre is to be away, or not any more. One at a time: for others there is no time.
    pub(super) fn want_away(&mut self, dc: DcId, away: bool) {
        let operator = &mut self.operator;
        let busy = operator.doing != Doing::Nothing;
        if busy && (away || operator.order.as_ref().is_none_or(|order| order.dc != dc)) {
            return;
        }
        operator.wanted = away;
        match operator.doing {
            Doing::Nothing if away => self.give(Doing::Holding, dc, true, Step::Hold),
            Doing::Holding => self.give(Doing::Releasing, dc, false, Step::Release),
            Doing::Away => self.give(Doing::Recalling, dc, true, Step::Hold),
            _ => {}
        }
    }

    /// What the operator has not finished, if anything.
    pub(super) fn operator_busy(&self) -> Option<String> {
        let doing = self.operator.doing;
        (doing != Doing::Nothing).then(|| format!("the operator is {doing:?}"))
    }

    fn members(&self, group: usize) -> std::ops::Range<usize> {
        group * self.plan.replicas..(group + 1) * self.plan.replicas
    }

    fn servers_of(&self, group: usize) -> impl Iterator<Item = ServerId> + '_ {
        let process = &self.processes[group * self.plan.replicas];
        process.partitions.iter().map(|partition| ServerId::new(process.dc, *partition))
    }

    /// The groups of all data centres but one.
    fn survivors(&self, dc: DcId) -> Vec<usize> {
        let groups = 0..self.servers / self.plan.replicas;
        groups.filter(|group| self.processes[group * self.plan.replicas].dc != dc).collect()
    }

    /// Gives an order to every survivor.
    fn give(&mut self, doing: Doing, dc: DcId, new_round: bool, step: Step) {
        let operator = &mut self.operator;
        let round = operator.order.as_ref().map_or(0, |order| order.round) + u64::from(new_round);
        let said = format!("operator, {dc}: {step:?}");
        let order = Exclusion { dc, round, step };
        (operator.doing, operator.order, operator.tries) = (doing, Some(order), 0);
        operator.number += 1;
        operator.answers.clear();
        self.trace(|| Happening::Trouble(said));
        self.remind(self.operator.number);
    }

    /// Sends the order to those who have not answered.
    fn remind(&mut self, number: u64) {
        let Some(order) = self.current(number) else { return };
        if self.operator.doing == Doing::Holding && self.operator.tries == TRIES {
            return self.give(Doing::Releasing, order.dc, false, Step::Release);
        }
        self.operator.tries += 1;
        for group in self.survivors(order.dc) {
            if !self.servers_of(group).all(|server| self.operator.answers.contains_key(&server)) {
                let at = self.on_the_way(number << 8 | u64::from(self.operator.tries), group);
                self.send_errand(at, Errand::Excludes { group, number, order: order.clone() });
            }
        }
        self.send_errand(self.now + self.plan.config.farthest_us() * 2, Errand::Reminds(number));
    }

    /// What is ordered now, unless that is not order `number`, or was done by all.
    fn current(&self, number: u64) -> Option<Exclusion> {
        let idle = matches!(self.operator.doing, Doing::Nothing | Doing::Away);
        self.operator.order.clone().filter(|_| number == self.operator.number && !idle)
    }

    /// When an order to `whom`, or its answer, arrives: after a round trip at most, mostly much sooner.
    fn on_the_way(&self, of: u64, whom: usize) -> Micros {
        let (lan, far) = (self.plan.config.lan_us, self.plan.config.farthest_us());
        self.now + lan + ((far * 2) >> (mix(self.plan.seed ^ of, whom as u64) % 8))
    }

    pub(super) fn send_errand(&mut self, at: Micros, errand: Errand) {
        self.queue.push(at, Event::Operator(Box::new(errand)));
    }

    pub(super) fn errand(&mut self, errand: Errand) {
        match errand {
            Errand::Excludes { group, number, order } => {
                if let Some(at) = self.some_leader(group, number) {
                    self.order(
                        at,
                        Order::Protocol(ProtocolOrder::Exclusion(order)),
                        Asked::Exclusion { group, number },
                    );
                }
            }
            Errand::Answers { group, number, answer } => self.answered_exclusion(group, number, answer),
            Errand::Reminds(number) => self.remind(number),
            Errand::Regroups { fault, tries } => self.regroup(fault, tries),
            // Orders that are late when everything has healed are lost.
            Errand::Cuts { process, order } if self.stage == Stage::Work => {
                self.order(process, Order::Cut(order), Asked::Cut);
            }
            Errand::Cuts { .. } => {}
        }
    }

    /// A process that leads a group, or thinks so.
    pub(super) fn some_leader(&self, group: usize, chance: u64) -> Option<usize> {
        let serves = |process: &usize| {
            self.processes[*process].node.as_ref().is_some_and(|node| node.serves().is_some())
        };
        let leading: Vec<usize> = self.members(group).filter(serves).collect();
        let chosen = mix(chance, self.now) as usize % leading.len().max(1);
        leading.get(chosen).copied()
    }

    /// An order arrives at a process, unless that is down.
    pub(super) fn order(&mut self, at: usize, order: Order, what: Asked) {
        self.operator.given += 1;
        let id = self.operator.given;
        let serves = self.input(at, |node, _| node.serves());
        let Some(serves) = serves else { return };
        self.operator.open.insert(id, Open { serves, what });
        self.input(at, |node, now| node.order(now, OrderId(id), order));
        self.turn(at);
    }

    /// A node says what became of an order, durably.
    pub(super) fn ordered(&mut self, at: usize, id: OrderId, answer: tidemark_node::OrderAnswer) {
        let Some(Open { serves, what }) = self.operator.open.remove(&id.0) else { return };
        let still = self.processes[at].node.as_ref().is_some_and(|node| node.serves() == serves);
        if answer.is_err() && !still {
            // It was replaced meanwhile: the order may be carried out or not, and is sent again.
            if let Asked::Regroups { fault, tries } = what {
                self.regroup_again(fault, tries);
            }
            return;
        }
        match what {
            Asked::Exclusion { group, number } => {
                let dc = self.processes[at].dc;
                let named = |(partition, standing)| (ServerId::new(dc, partition), standing);
                let answer = answer.map(|all| all.into_iter().map(named).collect());
                let at = self.on_the_way(!number, group);
                self.send_errand(at, Errand::Answers { group, number, answer });
            }
            Asked::Regroups { .. } => self.regrouped(answer),
            Asked::Cut => match answer {
                Ok(_) => self.stats.operator_cuts += 1,
                Err(why) => self.problem(ProblemKind::Liveness, format!("nothing is cut: {why}")),
            },
        }
    }

    fn answered_exclusion(&mut self, group: usize, number: u64, answer: Answer) {
        let Some(order) = self.current(number) else { return };
        let told: Vec<(ServerId, Standing)> = match (answer, self.operator.doing) {
            (Ok(told), _) => told,
            (Err(_), Doing::Holding) => return self.give(Doing::Releasing, order.dc, false, Step::Release),
            (Err(_), Doing::Releasing) => {
                self.servers_of(group).map(|server| (server, Standing::default())).collect()
            }
            // Some server has learnt of more that is stable.
            (Err(_), Doing::Cutting) if self.operator.lost.is_some() => {
                return self.give(Doing::Releasing, order.dc, false, Step::Release);
            }
            (Err(_), Doing::Excluding) => return, // something is missing there yet: it will be asked again
            (Err(why), _) => {
                let text = format!("n{group} refuses {:?}: {why}", order.step);
                return self.problem(ProblemKind::Liveness, text);
            }
        };
        self.operator.answers.extend(told);
        let survivors = self.survivors(order.dc);
        let all = survivors.into_iter().map(|group| self.servers_of(group).count()).sum::<usize>();
        if self.operator.answers.len() == all {
            self.go_on(order.dc);
        }
    }

    /// All have answered.
    fn go_on(&mut self, dc: DcId) {
        let answers = &self.operator.answers;
        match self.operator.doing {
            Doing::Holding => match Standing::cut(answers) {
                Some(cut) => self.give(Doing::Cutting, dc, false, cut),
                None => self.give(Doing::Releasing, dc, false, Step::Release),
            },
            Doing::Cutting => self.give(Doing::Excluding, dc, false, Step::Exclude),
            Doing::Excluding => {
                self.stats.exclusions += 1;
                self.operator.doing = if self.operator.lost.is_some() { Doing::Nothing } else { Doing::Away };
                if self.operator.lost.is_some() {
                    return;
                }
                if !self.operator.wanted {
                    self.want_away(dc, false);
                }
            }
            Doing::Recalling => {
                let from = Standing::from(answers);
                self.give(Doing::Readmitting, dc, false, Step::Readmit { from });
            }
            Doing::Readmitting => {
                self.stats.readmissions += 1;
                self.operator.doing = Doing::Nothing;
            }
            Doing::Releasing if self.operator.lost.is_some() => self.want_gone(dc),
            Doing::Releasing => self.operator.doing = Doing::Nothing,
            Doing::Nothing | Doing::Away => {}
        }
    }

    /// The operator tells nodes of a cut, or that it is over. Not every node hears of a cut.
    pub(super) fn tell_cut(&mut self, order: CutOrder, chance: u64) {
        for process in 0..self.processes.len() {
            let heard = !mix(chance, process as u64).is_multiple_of(4);
            if heard || !matches!(order, CutOrder::Cut(..)) {
                self.send_errand(self.on_the_way(chance, process), Errand::Cuts { process, order });
            }
        }
    }

    /// Nothing is cut any more: every node knows that.
    pub(super) fn heal_cuts(&mut self) {
        let cuts = |trouble: &Trouble| matches!(trouble, Trouble::OperatorCuts { .. });
        if self.plan.faults.iter().any(|fault| cuts(&fault.what)) {
            for process in 0..self.processes.len() {
                self.order(process, Order::Cut(CutOrder::HealAll), Asked::Cut);
            }
        }
    }
}
