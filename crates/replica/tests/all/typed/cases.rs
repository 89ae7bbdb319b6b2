//! Cases that are too rare for random schedules.

use super::world::{P0, REGIONS, World, call, config, server};
use std::sync::Arc;
use tidemark_contract::core::{DcId, Key, Update, Verb, Write};
use tidemark_contract::request::Request as Of;
use tidemark_contract::{AskId, Ticket, Topology};
use tidemark_protocols::tidemark::{Past, Request};
use tidemark_replica::{Host, HostConfig, Now, OpenError, Resume, StreamError};
use tidemark_store::Misunderstood;
use tidemark_store::disk::SimDisk;
use tidemark_store::log::Fsync;

fn world() -> World {
    World::new(1)
}

/// Another region has added up what this one had counted, because this one had said that it would begin anew: it has to, although it
/// has forgotten its floor.
#[test]
fn a_counter_begins_anew_after_a_restart_where_others_have_added_it_up() {
    let mut world = world();
    world.ask(0, "n", call(Verb::IncrBy, &["5"]));
    world.settle();
    let unsettled = |world: &World, dc: usize| {
        world.regions[dc].host.store(P0).object(b"n").map(|object| object.unsettled().0)
    };
    assert_eq!(unsettled(&world, 1), Some(0), "it was added up");
    world.crash(0);
    assert_eq!(unsettled(&world, 0), Some(0), "nothing is in the head before somebody looks");
    world.ask(0, "n", call(Verb::IncrBy, &["7"]));
    world.settle();
    for dc in 0..REGIONS {
        assert_eq!(world.read(dc, &["n".into()])["n"], ["\"\" \"12\""], "region {dc}");
    }
}

/// A key that a snapshot holds in several parts, and that is written while the snapshot is.
#[test]
fn a_big_key_is_whole_after_a_restart() {
    let mut world = world();
    let field = |world: &mut World, number: usize| {
        let value = char::from(b'a' + number as u8).to_string().repeat(60_000);
        world.ask(0, "h", call(Verb::HSet, &[&format!("f{number}"), &value]));
        world.sync(0);
    };
    (0..10).for_each(|number| field(&mut world, number));
    world.settle();
    world.regions[0].host.want_snapshot();
    let before = world.regions[0].host.status().replay_from;
    for number in 10..20 {
        world.upkeep(0);
        field(&mut world, number);
        world.ask(0, "h", call(Verb::HDel, &[&format!("f{}", number - 10)]));
        world.ask(0, "h", call(Verb::HIncrBy, &["count", "1"]));
        world.sync(0);
    }
    assert!(world.regions[0].host.status().replay_from > before, "a snapshot was taken");
    let seen = world.read(0, &["h".into()]);
    assert_eq!(seen["h"].len(), 11, "ten fields and the counter");
    world.crash(0);
    assert_eq!(world.read(0, &["h".into()]), seen);
}

/// Who serves clients does not write a key of many elements; the job that does writes it as it was.
#[test]
fn a_key_of_many_elements_is_written_by_a_job_while_it_changes() {
    let mut world = world();
    let members: Vec<String> = (0..3_000).map(|number| format!("m{number}")).collect();
    let add = |members: &[String]| call(Verb::SAdd, &members.iter().map(String::as_str).collect::<Vec<_>>());
    world.ask(0, "s", add(&members[..2_900]));
    world.ask(0, "n", call(Verb::IncrBy, &["5"]));
    world.settle();
    world.regions[0].host.want_snapshot();
    let job = loop {
        if let Some(job) = world.regions[0].host.upkeep() {
            break job;
        }
        world.sync(0);
    };
    assert!(!job.ends(), "it writes the set");
    assert!(world.regions[0].host.upkeep().is_none(), "nothing else is done meanwhile");
    world.ask(0, "s", add(&members[2_900..]));
    world.ask(0, "s", call(Verb::SRem, &["m0"]));
    world.ask(0, "n", call(Verb::IncrBy, &["7"]));
    world.sync(0);
    let before = world.regions[0].host.status().replay_from;
    world.regions[0].host.upkept(job.run());
    for _ in 0..10 {
        world.upkeep(0);
        world.sync(0);
    }
    assert!(world.regions[0].host.status().replay_from > before, "a snapshot was taken");
    world.crash(0);
    let seen = world.read(0, &["s".into(), "n".into()]);
    assert_eq!((seen["s"].len(), &seen["n"][..]), (2_999, &["\"\" \"12\"".to_string()][..]));
}

/// The copies that a job writes are few at a time: all large keys at once could take as much memory again as there is in use.
#[test]
fn many_large_keys_are_written_by_several_jobs() {
    let mut world = world();
    let members: Vec<String> = (0..1_100).map(|number| format!("m{number}")).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let keys: Vec<String> = (0..60).map(|number| format!("s{number}")).collect();
    for key in &keys {
        world.ask(0, key, call(Verb::SAdd, &members));
    }
    world.settle();
    let before = world.regions[0].host.status().replay_from;
    world.regions[0].host.want_snapshot();
    let mut jobs = 0;
    while world.regions[0].host.status().replay_from == before {
        if let Some(job) = world.regions[0].host.upkeep() {
            jobs += usize::from(!job.ends());
            world.regions[0].host.upkept(job.run());
        }
        world.sync(0);
    }
    assert!((2..=keys.len()).contains(&jobs), "{jobs} jobs");
    world.crash(0);
    assert!(world.read(0, &keys).values().all(|seen| seen.len() == 1_100));
}

/// Adding what is there survives a removal elsewhere, so it is written; where there is no elsewhere, it is not.
#[test]
fn the_only_region_does_not_write_what_is_there() {
    let one = HostConfig { topology: Topology::new(1, 1), ..config(0, Fsync::EverySec, 1 << 20) };
    let now = Now { wall: 1_000_000, mono: 1_000_000 };
    let mut host = Host::open(one, Arc::new(SimDisk::new().process()), now).unwrap();
    let mut written = |key: &str, verb: Verb, args: &[&str]| {
        let before = host.written(P0);
        let ticket = Ticket { node: 0, session: 0, ask: AskId(before) };
        let request = Request::Of(Of::Put(Key::from(key), call(verb, args), Past::default()));
        host.request(now, P0, ticket, request, Some(100));
        host.written(P0) - before
    };
    assert_eq!(written("s", Verb::SAdd, &["a"]), 1);
    assert_eq!(written("s", Verb::SAdd, &["a"]), 0);
    assert_eq!(written("s", Verb::SAdd, &["a", "b"]), 1);
    assert_eq!(written("s", Verb::SRem, &["a"]), 1);
    assert_eq!(written("s", Verb::SAdd, &["a"]), 1);
    assert_eq!(written("z", Verb::ZAdd, &["1", "a"]), 1);
    assert_eq!(written("z", Verb::ZAdd, &["1", "a"]), 0);
    assert_eq!(written("z", Verb::ZAdd, &["2", "a"]), 1);
    assert_eq!(written("s", Verb::Expire, &["100"]), 1);
    assert_eq!(written("s", Verb::SAdd, &["a"]), 0);
    let mut world = world();
    assert!(world.ask(0, "s", call(Verb::SAdd, &["a"])).is_some());
    world.settle();
    assert!(world.ask(0, "s", call(Verb::SAdd, &["a"])).is_some(), "another region may have removed it");
}

/// A key with a deadline may have come and gone: elsewhere it may be there yet, so keys that are created say that they are new. The
/// log says so as long as it holds the key, afterwards the snapshot does.
#[test]
fn deadlines_are_remembered_over_a_restart() {
    let mut world = world();
    let is_expiring = |world: &World| world.regions[0].host.store(P0).is_expiring();
    world.ask(0, "h", call(Verb::HSet, &["f", "v"]));
    assert!(!is_expiring(&world));
    world.ask(0, "h", call(Verb::PExpire, &["1"]));
    world.settle();
    world.crash(0);
    world.read(0, &["h".into()]);
    assert!(is_expiring(&world));
    let before = world.regions[0].host.status().replay_from;
    world.regions[0].host.want_snapshot();
    for _ in 0..10 {
        world.upkeep(0);
        world.sync(0);
    }
    assert!(world.regions[0].host.status().replay_from > before, "a snapshot was taken");
    world.crash(0);
    assert!(is_expiring(&world), "nobody has looked at a key");
}

/// Where no key has had a deadline, a restart does not make one suspect: SETs stay plain.
#[test]
fn a_restart_alone_does_not_make_keys_expire() {
    let mut world = world();
    world.ask(0, "h", call(Verb::HSet, &["f", "v"]));
    world.settle();
    world.crash(0);
    world.read(0, &["h".into()]);
    assert!(!world.regions[0].host.store(P0).is_expiring());
}

fn garbage() -> Write {
    Write::Apply(vec![0xFF; 9].into())
}

fn is_garbage(why: &Misunderstood) -> bool {
    matches!(why, Misunderstood::Effect { bytes: 9, .. })
}

#[test]
fn an_effect_that_cannot_be_read_is_refused_when_it_comes() {
    let mut world = world();
    world.ask(0, "k", Update::put(garbage())).expect("nobody looks");
    world.sync(0);
    let resume = world.regions[1].host.resume_point(server(0), P0);
    assert_eq!(resume, Resume::default());
    let incarnation = world.regions[0].host.open_stream(P0, DcId(1), resume).unwrap();
    world.regions[1].host.accept_stream(server(0), P0, incarnation).unwrap();
    let mut items = Vec::new();
    world.regions[0].host.poll_stream(P0, DcId(1), usize::MAX, &mut items).unwrap();
    let (now, host) = (world.time(), &mut world.regions[1].host);
    let refused = host.take_item(now, server(0), P0, items.remove(0)).expect_err("it says nothing");
    assert!(matches!(&refused, StreamError::Meaning { seq: 1, why, .. } if is_garbage(why)), "{refused}");
    assert_eq!((host.store(P0).totals().keys, host.resume_point(server(0), P0).received), (0, 0));
}

#[test]
fn a_log_with_an_effect_that_cannot_be_read_is_not_opened() {
    let mut world = world();
    let group = Write::Group(Arc::new(vec![("k".into(), Write::Remove), ("l".into(), garbage())]));
    world.ask(0, "k", Update::put(group)).expect("nobody looks");
    world.sync(0);
    let region = &world.regions[0];
    region.disk.kill();
    let opened = Host::open(config(0, world.fsync, 1 << 20), Arc::new(region.disk.process()), world.time());
    let error = opened.err().expect("it says nothing");
    assert!(matches!(&error, OpenError::Meaning { kind: 1, seq: 1, .. }), "{error}");
    assert!(error.to_string().contains("the effect of 9 bytes cannot be read"), "{error}");
}
