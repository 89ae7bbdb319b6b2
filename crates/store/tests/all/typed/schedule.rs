//! The events of a schedule, in which order; and how it ends: everything arrives, and nothing is left but what readers see.

use super::server::{KEY, hlc};
use super::spec::{Set, Shown};
use super::world::{Slip, World};

/// Plays one schedule.
///
/// # Errors
/// An answer was wrong, or something was left at the end.
pub(crate) fn play(seed: u64, slip: Option<Slip>, tells: bool) -> Result<(), String> {
    let mut world = World::new(seed, slip);
    world.tells = tells;
    world.play(90)
}

impl World {
    fn play(&mut self, events: usize) -> Result<(), String> {
        let deliveries = *self.random.choice(&[30, 22, 14]).expect("some");
        let rounds = self.random.u32(0..3) * 4;
        for _ in 0..events {
            if self.ops.len() >= Set::LIMIT - 4 {
                break;
            }
            self.now += self.random.u64(0..3);
            let dc = self.random.usize(0..self.regions);
            if self.percent(rounds) {
                self.round();
            }
            self.event(dc, deliveries)?;
            for server in &mut self.servers[dc] {
                server.snapshots.iter_mut().for_each(|snapshot| snapshot.left -= 1);
                server.snapshots.retain(|snapshot| snapshot.left > 0);
            }
            self.check(dc)?;
        }
        self.heal()
    }

    fn event(&mut self, dc: usize, deliveries: u32) -> Result<(), String> {
        let (session, partition) = (self.random.usize(0..3), self.random.usize(0..2));
        match self.random.u32(0..100) {
            0..26 => self.update(dc, session)?,
            26..30 => self.read(dc, session),
            30..36 => {
                let writes = self.percent(55);
                self.elsewhere(dc, session, writes);
            }
            roll if roll < 36 + deliveries => {
                let from = self.random.usize(0..self.regions);
                for _ in 0..1 + self.random.usize(0..3) {
                    self.deliver(from, dc, partition);
                }
            }
            36..72 => {
                self.report(dc, partition);
                if self.percent(60) {
                    let partition = self.random.usize(0..2);
                    self.adopt(dc, partition);
                }
            }
            72..80 => self.beat(dc, partition),
            80..84 => self.snapshot(dc),
            84..90 => self.collect(dc),
            90..96 if self.restarts => {
                let roll = self.random.u32(0..3);
                if roll < 2 {
                    self.servers[dc][0].save();
                }
                if roll > 0 {
                    let (overlap, forgets) = (self.random.usize(0..4), self.random.bool());
                    self.tell(|| format!("{dc} starts again"));
                    self.servers[dc][0].restart(overlap, forgets);
                }
            }
            _ => {
                self.exchange(dc);
                self.collect(dc);
            }
        }
        Ok(())
    }

    fn exchange(&mut self, dc: usize) {
        (0..2).for_each(|partition| self.report(dc, partition));
        (0..2).for_each(|partition| self.adopt(dc, partition));
    }

    fn deliver_all(&mut self, except: Option<(usize, usize)>) {
        for from in 0..self.regions {
            for to in 0..self.regions {
                for partition in 0..2 {
                    while from != to
                        && except != Some((from, to))
                        && !self.servers[to][partition].inbox[from].is_empty()
                    {
                        self.deliver(from, to, partition);
                    }
                }
            }
        }
    }

    fn beat_all(&mut self) {
        for dc in 0..self.regions {
            (0..2).for_each(|partition| self.beat(dc, partition));
        }
    }

    /// Everything goes round, but maybe on one feed.
    fn round(&mut self) {
        let pair = (self.random.usize(0..self.regions), self.random.usize(0..self.regions));
        let except = self.percent(25).then_some(pair);
        for _ in 0..2 {
            self.beat_all();
            self.deliver_all(except);
            for dc in 0..self.regions {
                self.exchange(dc);
                if self.percent(60) {
                    self.collect(dc);
                }
            }
        }
    }

    fn heal(&mut self) -> Result<(), String> {
        self.servers.iter_mut().flatten().for_each(|server| server.snapshots.clear());
        for _ in 0..12 {
            self.now += 20;
            self.beat_all();
            self.deliver_all(None);
            for dc in 0..self.regions {
                self.exchange(dc);
                self.collect(dc);
                self.check(dc)?;
            }
        }
        (0..self.regions).try_for_each(|dc| self.check_end(dc))
    }

    /// Nothing is pending, no dot is left, and a key without a value is gone.
    fn check_end(&self, dc: usize) -> Result<(), String> {
        let all = self.visible(dc, |_, _| true);
        let right = self.oracle(&all);
        let Some(object) = self.servers[dc][0].store.object(KEY) else {
            if self.servers[dc][0].store.chain(KEY).next().is_some() {
                return Ok(()); // a register, which the views have been checked of
            }
            let left = right.at(self.now);
            return if left.agrees(&Shown::default()) { Ok(()) } else { Err(format!("{left:?} is gone")) };
        };
        if object.pending().next().is_some() {
            return Err(format!("region {dc} never folded a version"));
        }
        if !object.head().is_settled() {
            return Err(format!("region {dc} keeps a dot: {:?}", object.head()));
        }
        if right.at(self.floor(dc)).kind.is_none() {
            return Err(format!(
                "region {dc} keeps a key that is gone: {:?}, newest {}",
                object.head(),
                object.newest()
            ));
        }
        if object.newest() > hlc(self.now + 100) || !Shown::of(object.head()).agrees(&right) {
            return Err(format!("region {dc} ends with {:?}, and should with {right:?}", object.head()));
        }
        Ok(())
    }
}
