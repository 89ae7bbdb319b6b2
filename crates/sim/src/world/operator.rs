//! The operator: does without a data centre and takes it back, order by order (see [`Absence`]). Orders and answers are
//! late and get lost, and are sent again; what cannot be prepared in time is released.
//!
//! [`Absence`]: tidemark_contract::absence::Absence

use super::{Event, World, server_number};
use crate::outcome::ProblemKind;
use crate::rng::mix;
use crate::trace::Happening;
use std::collections::BTreeMap;
use tidemark_contract::Protocol;
use tidemark_contract::absence::{Exclusion, Standing, Step};
use tidemark_contract::order::Order;
use tidemark_core::{DcId, ServerId};

/// How often an order is sent before what it prepares is given up.
const TRIES: u32 = 12;

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
}

impl<P: Protocol> World<'_, P> {
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

    fn survivors(&self, dc: DcId) -> Vec<ServerId> {
        let all = self.nodes.iter().flat_map(|node| node.servers());
        all.filter(|server| server.dc != dc).collect()
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
    pub(super) fn remind(&mut self, number: u64) {
        let Some(order) = self.current(number) else { return };
        if self.operator.doing == Doing::Holding && self.operator.tries == TRIES {
            return self.give(Doing::Releasing, order.dc, false, Step::Release);
        }
        self.operator.tries += 1;
        for to in self.survivors(order.dc) {
            if !self.operator.answers.contains_key(&to) {
                let at = self.now + self.on_the_way(number << 8 | u64::from(self.operator.tries), to);
                self.queue.push(at, Event::Order { to, number, order: Order::Exclusion(order.clone()) });
            }
        }
        let again = self.now + self.plan.config.farthest_us() * 2;
        self.queue.push(again, Event::Remind(number));
    }

    /// What is ordered now, unless that is not order `number`, or was done by all.
    fn current(&self, number: u64) -> Option<Exclusion> {
        let idle = matches!(self.operator.doing, Doing::Nothing | Doing::Away);
        self.operator.order.clone().filter(|_| number == self.operator.number && !idle)
    }

    /// How long an order to `server`, or its answer, is on its way: at most a round trip, mostly much less.
    fn on_the_way(&self, of: u64, server: ServerId) -> u64 {
        let (lan, far) = (self.plan.config.lan_us, self.plan.config.farthest_us());
        lan + ((far * 2) >> (mix(self.plan.seed ^ of, server_number(server)) % 8))
    }

    /// An order arrives, unless its server is down.
    pub(super) fn order(&mut self, to: ServerId, number: u64, order: &Order) {
        if let Order::Regrouping(order) = order {
            let said = format!("operator, at {to}: {order:?}");
            self.trace(|| Happening::Trouble(said));
        }
        let node = self.node_of(to);
        self.turn(node, false, |host, now| host.order(now, to.partition, number, order));
    }

    /// A server answers; what it says is durable.
    pub(super) fn answer_order(&mut self, number: u64, from: ServerId, answer: Result<Standing, String>) {
        let at = self.now + self.on_the_way(!number, from);
        self.queue.push(at, Event::Ordered { number, from, answer });
    }

    pub(super) fn ordered(&mut self, number: u64, from: ServerId, answer: Result<Standing, String>) {
        let Some(order) = self.current(number) else { return };
        let told = match (answer, self.operator.doing) {
            (Ok(told), _) => told,
            (Err(_), Doing::Holding) => return self.give(Doing::Releasing, order.dc, false, Step::Release),
            (Err(_), Doing::Releasing) => Standing::default(),
            (Err(_), Doing::Excluding) => return, // something is missing there yet: it will be asked again
            (Err(why), _) => {
                let text = format!("{from} refuses {:?}: {why}", order.step);
                return self.problem(ProblemKind::Liveness, text);
            }
        };
        self.operator.answers.insert(from, told);
        if self.operator.answers.len() == self.survivors(order.dc).len() {
            self.go_on(order.dc);
        }
    }

    /// All have answered.
    fn go_on(&mut self, dc: DcId) {
        let answers = &self.operator.answers;
        match self.operator.doing {
            Doing::Holding => match Standing::least(answers) {
                Some(least) => self.give(Doing::Cutting, dc, false, Step::Cut { least }),
                None => self.give(Doing::Releasing, dc, false, Step::Release),
            },
            Doing::Cutting => self.give(Doing::Excluding, dc, false, Step::Exclude),
            Doing::Excluding => {
                self.operator.doing = Doing::Away;
                if !self.operator.wanted {
                    self.want_away(dc, false);
                }
            }
            Doing::Recalling => {
                let from = Standing::from(answers);
                self.give(Doing::Readmitting, dc, false, Step::Readmit { from });
            }
            Doing::Releasing | Doing::Readmitting => self.operator.doing = Doing::Nothing,
            Doing::Nothing | Doing::Away => {}
        }
    }
}
