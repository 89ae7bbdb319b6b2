//! When requests begin: after an answer and some thought, or by a clock that waits for nobody.

use crate::{Arrivals, Pace, Plan};
use fastrand::Rng;
use futures_timer::Delay;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Decides when a lane of a connection (one request at a time) begins its next request.
#[derive(Debug)]
pub(crate) enum Pacer {
    /// Lanes rest until they have thought.
    Closed { resting: BinaryHeap<Reverse<(Instant, usize)>> },
    /// Requests arrive; whichever lane is free takes them.
    Open { free: Vec<usize>, arrivals: Steps },
}

/// The arrivals of one connection.
#[derive(Debug)]
pub(crate) struct Steps {
    next: Instant,
    mean: Duration,
    arrivals: Arrivals,
    rng: Rng,
}

impl Steps {
    fn step(&mut self) {
        self.next += match self.arrivals {
            Arrivals::Fixed => self.mean,
            // The gaps of a Poisson process are exponential.
            Arrivals::Poisson => self.mean.mul_f64(-(1.0 - self.rng.f64()).ln()),
        };
    }
}

impl Pacer {
    /// The pacer of connection `number` of `plan`, from `start` on, for `lanes` lanes.
    pub(crate) fn new(plan: &Plan, number: usize, lanes: usize, start: Instant) -> Self {
        match plan.pace {
            Pace::Closed => Self::Closed { resting: (0..lanes).map(|lane| Reverse((start, lane))).collect() },
            Pace::Open { per_second, arrivals } => {
                let mut rng = Rng::with_seed(plan.seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let mean = Duration::from_secs_f64(plan.connections as f64 / per_second);
                // Connections take turns, so that together they are as even as asked.
                let phase = mean.mul_f64(number as f64 / plan.connections as f64);
                let mut steps = Steps { next: start + phase, mean, arrivals, rng: rng.fork() };
                if arrivals == Arrivals::Poisson {
                    steps.next = start;
                    steps.step();
                }
                Self::Open { free: (0..lanes).rev().collect(), arrivals: steps }
            }
        }
    }

    /// When the next request can begin; none as long as all lanes are busy.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            Self::Closed { resting } => resting.peek().map(|Reverse((at, _))| *at),
            Self::Open { free, arrivals } => (!free.is_empty()).then_some(arrivals.next),
        }
    }

    /// The lane that begins a request now, and the moment from which its latency counts: now in a closed loop, else
    /// the moment of arrival, which may have passed.
    pub(crate) fn take(&mut self, now: Instant) -> Option<(usize, Instant)> {
        if self.due()? > now {
            return None;
        }
        match self {
            Self::Closed { resting } => resting.pop().map(|Reverse((_, lane))| (lane, now)),
            Self::Open { free, arrivals } => {
                let (lane, arrived) = (free.pop()?, arrivals.next);
                arrivals.step();
                Some((lane, arrived))
            }
        }
    }

    /// `lane` has been answered, at `now`, and its client thinks for `think`.
    pub(crate) fn rest(&mut self, lane: usize, now: Instant, think: Duration) {
        match self {
            Self::Closed { resting } => resting.push(Reverse((now + think, lane))),
            Self::Open { free, .. } => free.push(lane),
        }
    }

    /// How many requests have arrived before `end` that no lane has taken.
    pub(crate) fn waiting(&mut self, end: Instant) -> u64 {
        let Self::Open { arrivals, .. } = self else { return 0 };
        let mut waiting = 0;
        while arrivals.next < end {
            arrivals.step();
            waiting += 1;
        }
        waiting
    }
}

/// A timer for moments, not for milliseconds: those of tokio would add up to one to every latency of an open loop.
#[derive(Debug)]
pub(crate) struct Alarm {
    delay: Delay,
    armed: Option<Instant>,
}

impl Alarm {
    pub(crate) fn new() -> Self {
        Self { delay: Delay::new(Duration::ZERO), armed: None }
    }

    /// Waits until `at`.
    pub(crate) fn until(&mut self, at: Instant) -> Until<'_> {
        Until { alarm: self, at }
    }
}

/// Waiting for a moment.
pub(crate) struct Until<'a> {
    alarm: &'a mut Alarm,
    at: Instant,
}

impl Future for Until<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let at = self.at;
        let alarm = &mut *self.alarm;
        loop {
            let now = Instant::now();
            if now >= at {
                return Poll::Ready(());
            }
            if alarm.armed != Some(at) {
                alarm.delay.reset(at - now);
                alarm.armed = Some(at);
            }
            match Pin::new(&mut alarm.delay).poll(context) {
                Poll::Pending => return Poll::Pending,
                // It rang for a moment that has passed, or early: again.
                Poll::Ready(()) => alarm.armed = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_workload::Workload;

    fn plan(pace: Pace) -> Plan {
        let mut plan = Plan::new(vec!["a=h:1".parse().unwrap()], Workload::named("ycsb-a").unwrap());
        plan.pace = pace;
        plan
    }

    #[test]
    fn arrivals_of_all_connections_together_come_at_the_rate_asked() {
        for arrivals in [Arrivals::Poisson, Arrivals::Fixed] {
            let plan = plan(Pace::Open { per_second: 5000.0, arrivals });
            let start = Instant::now();
            let arrived: u64 = (0..plan.connections)
                .map(|number| Pacer::new(&plan, number, 1, start).waiting(start + Duration::from_secs(4)))
                .sum();
            let deviation = if arrivals == Arrivals::Fixed { 0 } else { 6 * 142 };
            assert!(arrived.abs_diff(20_000) <= deviation, "{arrivals:?}: {arrived}");
        }
    }

    #[test]
    fn an_open_loop_counts_from_the_arrival_and_a_closed_one_from_the_request() {
        let start = Instant::now();
        let late = start + Duration::from_millis(100);
        let mut open =
            Pacer::new(&plan(Pace::Open { per_second: 50_000.0, arrivals: Arrivals::Fixed }), 0, 2, start);
        assert_eq!(open.take(late), Some((0, start)));
        assert_eq!(open.take(late), Some((1, start + Duration::from_millis(1))));
        assert_eq!((open.take(late), open.due()), (None, None), "all lanes are busy");
        open.rest(0, late, Duration::from_secs(1));
        assert_eq!(open.take(late), Some((0, start + Duration::from_millis(2))));
        assert_eq!(open.waiting(start + Duration::from_millis(10)), 7);
        let mut closed = Pacer::new(&plan(Pace::Closed), 0, 1, start);
        assert_eq!(closed.take(late), Some((0, late)));
        closed.rest(0, late, Duration::from_millis(5));
        assert_eq!((closed.take(late), closed.due()), (None, Some(late + Duration::from_millis(5))));
        assert_eq!(closed.waiting(late), 0);
    }

    #[test]
    fn an_alarm_rings_when_it_should_and_can_be_set_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut alarm, start) = (Alarm::new(), Instant::now());
            for us in [300, 700, 5000] {
                let at = start + Duration::from_micros(us);
                alarm.until(at).await;
                assert!(Instant::now() >= at);
            }
            alarm.until(start).await;
        });
    }
}
