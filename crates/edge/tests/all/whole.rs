//! The client and the gateway over the default protocol: all of it is what runs in production but for sockets and disks.
//!
//! Schedules are drawn: clients commit and read, connections break, frames are lost with them, gateways and clients restart, regions
//! deliver to each other what they like, servers restart. Whatever a client sees is one point of the past with its own
//! transactions on top, and as many regions have it as the client asks for: pairs that are written together are equal, and what a
//! transaction had seen is there. In the end all is there, once.

mod app;
mod region;

use app::{App, CLIENTS};
use fastrand::Rng;
use region::{RETAIN_US, Regions};
use tidemark_contract::core::{DcId, Outcome, ServerId};
use tidemark_contract::lab::server;
use tidemark_edge::frames::Base;
use tidemark_protocols::tidemark::Timer;

struct World {
    rng: Rng,
    regions: Regions,
    apps: Vec<App>,
    /// The base and K of each client that were looked at last.
    checked: Vec<(Base, usize)>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let dcs = 2 + rng.u8(..2);
        let regions = Regions::new(dcs);
        let apps = (0..CLIENTS).map(|n| App::new(n, dcs, &mut rng)).collect();
        Self { rng, regions, apps, checked: vec![(Base::default(), 0); CLIENTS] }
    }

    fn any_server(&mut self) -> ServerId {
        server(self.rng.u8(..self.regions.dcs), self.rng.u16(..2))
    }

    fn step(&mut self) -> Result<(), String> {
        let n = self.rng.usize(..self.apps.len());
        match self.rng.u8(..40) {
            0..4 => self.apps[n].commit(&self.regions, &mut self.rng),
            4..10 => self.apps[n].write_one(&self.regions, &mut self.rng),
            10..18 => self.apps[n].exchange(&mut self.regions, &mut self.rng),
            18 if self.rng.u8(..3) == 0 => self.apps[n].disconnect(&mut self.regions, &mut self.rng),
            19 if self.rng.u8(..6) == 0 => self.apps[n].crash(&mut self.regions, &mut self.rng),
            20 if self.rng.u8(..8) == 0 => {
                let dc = self.rng.u8(..self.regions.dcs);
                self.regions.restart_gateway(dc);
                self.apps.iter_mut().for_each(|app| app.gateway_is_gone(dc, &self.regions, &mut self.rng));
            }
            21..26 => {
                let us = self.rng.u64(..40_000);
                self.regions.pass(us);
                self.apps.iter_mut().for_each(|app| app.time(&self.regions, &mut self.rng));
                let at = self.any_server();
                self.regions.fire(at, if self.rng.bool() { Timer::Theta } else { Timer::Delta });
            }
            26..33 => {
                let (from, to) = (self.any_server(), self.any_server());
                let some = self.rng.u8(..8);
                self.regions.deliver(from, to, some);
            }
            33..35 => self.regions.lab.deliver_within(DcId(self.rng.u8(..self.regions.dcs))),
            35 if self.rng.u8(..12) == 0 => {
                let at = self.any_server();
                self.regions.lab.restart(at);
            }
            36..38 => {
                let dc = self.rng.u8(..self.regions.dcs);
                self.regions.tick(dc);
            }
            38 => self.round(),
            _ => {}
        }
        self.apps.iter_mut().try_for_each(App::check)?;
        self.bases_are_had()
    }

    /// As many regions have the base of a client as it asks for.
    fn bases_are_had(&mut self) -> Result<(), String> {
        for (app, checked) in self.apps.iter().zip(&mut self.checked) {
            let now = (app.base(), app.base_regions());
            if *checked == now {
                continue;
            }
            let (base, most) = &now;
            let having = self.regions.having(base);
            if having < *most {
                return Err(format!("{base:?} should be in {most} regions, and is in {having}"));
            }
            *checked = now;
        }
        Ok(())
    }

    /// Everybody hears of everything.
    fn round(&mut self) {
        self.regions.round();
        for app in &mut self.apps {
            app.time(&self.regions, &mut self.rng);
        }
    }

    fn end(&mut self) -> Result<(), String> {
        let mut quiet = 0;
        for _ in 0..900 {
            self.round();
            for app in &mut self.apps {
                for _ in 0..6 {
                    app.write_one(&self.regions, &mut self.rng);
                    app.exchange(&mut self.regions, &mut self.rng);
                }
                app.check()?;
            }
            quiet = if self.apps.iter().all(App::is_done) { quiet + 1 } else { 0 };
            if quiet > 150 {
                break; // idle clients were told of the newest base, too
            }
        }
        let committed: u64 = self.apps.iter().map(|app| app.committed).sum();
        for app in &self.apps {
            app.ended(committed)?;
        }
        for dc in 0..self.regions.dcs {
            let found = self.regions.get(dc, "n");
            if found != (committed > 0).then(|| committed.to_string()) {
                return Err(format!("region {dc} counts {found:?}, not {committed}"));
            }
        }
        Ok(())
    }
}

/// What is wrong in this schedule.
fn play(seed: u64) -> Result<u64, String> {
    let mut world = World::new(seed);
    for _ in 0..600 {
        world.step()?;
    }
    world.end()?;
    Ok(world.apps.iter().map(|app| app.committed).sum())
}

#[test]
fn clients_see_one_point_of_the_past_and_everything_arrives_once() {
    let mut committed = 0;
    for seed in tidemark_patience::drawn(0..60) {
        committed += play(seed).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
    println!("{committed} transactions");
    assert!(committed > 0);
}

/// A Missing told the client that its new time was taken, when the Ack had passed unheard: then it obeyed no other Retime, and sent for ever.
#[test]
fn a_missing_ends_a_new_time_as_an_ack_does() {
    play(822).unwrap();
}

/// Weeks offline, so far as regions are concerned: what was never sent, and what was sent and lost, arrives in order and once.
#[test]
fn what_was_lost_on_its_way_long_ago_arrives_once() {
    let mut world = World::new(1);
    let mut rng = Rng::with_seed(7);
    for _ in 0..20 {
        world.round();
        world.apps[0].write_one(&world.regions, &mut rng);
        world.apps[0].exchange(&mut world.regions, &mut rng);
    }
    for _ in 0..3 {
        world.apps[0].commit(&world.regions, &mut rng);
        (0..3).for_each(|_| world.apps[0].write_one(&world.regions, &mut rng));
    }
    world.apps[0].lose_frames();
    world.apps[0].disconnect(&mut world.regions, &mut rng);
    for _ in 0..3 {
        world.apps[0].commit(&world.regions, &mut rng);
        world.apps[0].write_one(&world.regions, &mut rng);
    }
    world.regions.pass(20 * RETAIN_US);
    (0..8).for_each(|_| world.round());
    world.end().unwrap();
    assert_eq!(world.apps[0].committed, 6);
    assert!(
        matches!(world.regions.outcome(0, "n"), Outcome::Found(found) if found.value.as_deref() == Some(b"6"))
    );
}
