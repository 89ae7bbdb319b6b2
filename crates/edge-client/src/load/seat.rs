//! One client of a load, and what it measures.

use super::Plan;
use super::report::Tally;
use crate::{Driver, Setup, Traffic, draw_secret};
use bytes::Bytes;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;
use tidemark_edge::client::{Effect, Event, Report, Status};
use tidemark_edge::durable::Durable;
use tidemark_edge::frames::{OperationKind, Value};
use tokio::sync::mpsc;

pub(super) struct Seat {
    driver: Driver<Durable>,
    key: Bytes,
    tally: Rc<RefCell<Tally>>,
    /// When its connection was asked for.
    began: Instant,
    /// Once it has been live with all its values.
    loaded: bool,
    /// When it lost its connection.
    lost: Option<Instant>,
    /// Its updates that are not acknowledged: their numbers.
    unsent: Vec<u64>,
    /// The last update that it has seen.
    seen: Option<u64>,
    counted: Traffic,
}

impl Seat {
    pub(super) fn new(plan: &Plan, group: usize, tally: Rc<RefCell<Tally>>) -> Self {
        let mut disk = Durable::new(draw_secret());
        disk.regions = plan.regions;
        let (endpoints, token) = (plan.endpoints.clone(), plan.token.clone());
        let mut driver = Driver::new(disk, Setup { endpoints, token, lowers: false, keep_values: false });
        let key = Bytes::from(format!("{}{group}", plan.prefix));
        driver.tell(Event::Watch { key: key.clone() });
        driver.tell(Event::Start);
        tally.borrow_mut().comes(group);
        Self {
            driver,
            key,
            tally,
            began: Instant::now(),
            loaded: false,
            lost: None,
            unsent: Vec::new(),
            seen: None,
            counted: Traffic::default(),
        }
    }

    /// Runs as long as there may be updates to write, given by their numbers.
    pub(super) async fn sit(mut self, mut updates: mpsc::UnboundedReceiver<u64>) {
        loop {
            tokio::select! {
                update = updates.recv() => match update {
                    Some(number) => self.write(number),
                    None => return,
                },
                () = self.driver.step() => {}
            }
            self.look();
        }
    }

    fn write(&mut self, number: u64) {
        let mut transaction = self.driver.client().begin();
        transaction.push(self.key.clone(), OperationKind::Set(number.to_string().into()));
        let began = Instant::now();
        self.driver.commit(transaction);
        self.unsent.push(number);
        self.seen = Some(number);
        self.tally.borrow_mut().written(number, began.elapsed());
    }

    /// Notes what has happened.
    fn look(&mut self) {
        for effect in self.driver.news() {
            match effect {
                Effect::Changed { .. } => self.read(),
                Effect::Status(status) => self.on_status(status),
                Effect::Report(Report::Error { code, text }) => {
                    let (code, text) = (String::from_utf8_lossy(&code), String::from_utf8_lossy(&text));
                    self.tally.borrow_mut().fails(format!("{code}: {text}"));
                }
                Effect::CommitFailed { why, .. } => self.tally.borrow_mut().fails(why.to_string()),
                _ => {}
            }
        }
        if !self.unsent.is_empty() && self.driver.client().unsent() == 0 {
            let now = Instant::now();
            self.unsent.drain(..).for_each(|number| self.tally.borrow_mut().acknowledged(number, now));
        }
        let traffic = self.driver.traffic();
        self.tally.borrow_mut().passes(self.counted, traffic);
        self.counted = traffic;
    }

    fn read(&mut self) {
        let began = Instant::now();
        let value = self.driver.client().read(&self.key);
        let (now, mut tally) = (Instant::now(), self.tally.borrow_mut());
        tally.cached_reads.add(now - began);
        if !self.loaded && value.is_some() {
            self.loaded = true;
            tally.loads(now - self.began);
        }
        let Some(Value::String(written)) = value else { return };
        let number = std::str::from_utf8(&written.bytes).ok().and_then(|text| text.parse().ok());
        if let Some(number) = number
            && self.seen != Some(number)
        {
            self.seen = Some(number);
            tally.seen(number, now);
        }
    }

    fn on_status(&mut self, status: Status) {
        match status {
            Status::Offline if self.loaded && self.lost.is_none() => {
                self.lost = Some(Instant::now());
                self.tally.borrow_mut().loses();
            }
            Status::Live => {
                if let Some(lost) = self.lost.take() {
                    self.tally.borrow_mut().fails_over(lost.elapsed());
                }
            }
            _ => {}
        }
    }
}
