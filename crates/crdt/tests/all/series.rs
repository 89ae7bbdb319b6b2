//! A series of commands in one version comes to what the same commands come to one by one.

mod commands;
mod keys;

use commands::{Line, draw};
use keys::{Keys, shown};
use tidemark_core::{Command, DcId, Hlc, Key, Reply, Stamp, Verb, without};
use tidemark_crdt::series::rule;
use tidemark_crdt::{Effect, Moment, Series, State};

/// How many series are tried.
const SEEDS: u64 = 20_000;
/// The time of the first command.
const BEGIN: u64 = 1_700_000_000_000_000;

/// Keys with a past of two regions, a part of which has settled, and the time and the floor that they have come to.
fn past(random: &mut fastrand::Rng, theme: usize) -> (Keys, u64, Hlc) {
    let (mut keys, mut time) = (Keys::default(), BEGIN);
    for _ in 0..random.usize(..12) {
        time += random.u64(1..2_000);
        let floor = Hlc::at(time - 1_500);
        let moment = moment(time, random.u8(..2), floor);
        keys.run(&draw(random, theme), moment, Stamp::new(moment.time, moment.origin));
        if random.bool() {
            keys.settle(floor.prev());
        }
    }
    let time = time + random.u64(1..2_000);
    (keys, time, Hlc::at(time - 1_500))
}

fn moment(time: u64, origin: u8, floor: Hlc) -> Moment {
    Moment {
        time: Hlc::at(time),
        origin: DcId(origin),
        floor,
        expiring: true,
        alone: false,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    }
}

/// How the two differ, if they do.
fn compare(seed: u64) -> Result<(), String> {
    let random = &mut fastrand::Rng::with_seed(seed);
    let theme = random.usize(..commands::THEMES);
    let (base, time, floor) = past(random, theme);
    let moment = moment(time, 0, floor);
    let lines: Vec<Line> = (0..random.usize(1..9)).map(|_| draw(random, theme)).collect();
    let (mut single, mut together) = (base.clone(), base.clone());
    let replies: Vec<_> = (0..)
        .zip(&lines)
        .map(|(nth, line)| single.run(line, moment, Stamp { seq: nth, ..Stamp::new(moment.time, DcId(0)) }))
        .collect();
    let (series, effects) = base.series(&lines, moment);
    let same = |what: &str, one: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug| {
        let (one, other) = (format!("{one:?}"), format!("{other:?}"));
        let told = format!("seed {seed}, {what}\n{lines:#?}\nsingle   {one}\ntogether {other}");
        if one == other { Ok(()) } else { Err(told) }
    };
    same("replies", &replies, &series)?;
    let stamp = Stamp::new(moment.time, DcId(0));
    together.apply(stamp, &effects);
    same("afterwards", &shown(&single, moment), &shown(&together, moment))?;
    // Whoever has not seen it: either order comes to the same.
    let elsewhere = Moment { origin: DcId(1), ..moment };
    let line = draw(random, theme);
    let (_, other) = base.series(std::slice::from_ref(&line), elsewhere);
    let other_stamp = Stamp::new(Hlc::at(time + 1), DcId(1));
    let (mut one, mut two) = (base.clone(), base);
    one.apply(stamp, &effects);
    one.apply(other_stamp, &other);
    two.apply(other_stamp, &other);
    two.apply(stamp, &effects);
    same(&format!("with {line:?} elsewhere"), &shown(&one, moment), &shown(&two, moment))?;
    // What comes later finds the same.
    for nth in 1..6 {
        let line = draw(random, theme);
        let later = Moment { time: Hlc::at(time + 10 * nth), origin: DcId(random.u8(..2)), ..moment };
        if line.draws() {
            continue;
        }
        let stamp = Stamp::new(later.time, later.origin);
        let (one, two) = (single.run(&line, later, stamp), together.run(&line, later, stamp));
        same(&format!("{line:?} later"), &sorted(one), &sorted(two))?;
        same(&format!("after {line:?}"), &shown(&single, later), &shown(&together, later))?;
    }
    Ok(())
}

/// Sets and hashes have no order, though they show one.
fn sorted(reply: Reply) -> Reply {
    match reply {
        Reply::Set(mut all) => {
            all.sort_by_key(|one| format!("{one:?}"));
            Reply::Set(all)
        }
        Reply::Map(mut all) => {
            all.sort_by_key(|one| format!("{one:?}"));
            Reply::Map(all)
        }
        reply => reply,
    }
}

#[test]
fn a_series_comes_to_what_its_commands_come_to_one_by_one() {
    for seed in 0..SEEDS {
        compare(seed).unwrap_or_else(|difference| panic!("{difference}"));
    }
}

#[test]
fn a_series_that_forgets_a_rule_is_found_out() {
    for rule in rule::RULES {
        let found = without(&[*rule], || (0..SEEDS).find(|seed| compare(*seed).is_err()));
        assert!(found.is_some(), "nothing notices that {rule} is not kept");
    }
}

#[test]
fn what_cancels_out_changes_nothing() {
    let moment = moment(BEGIN, 0, Hlc::ZERO);
    let mut keys = Keys::default();
    keys.run(&Line::of("SADD a x"), moment, Stamp::new(moment.time, DcId(0)));
    let lines = [Line::of("SADD a y"), Line::of("SREM a y")];
    let (_, effects) = keys.series(&lines, moment);
    assert_eq!(effects.iter().map(|(_, effect)| effect.changes.len()).sum::<usize>(), 0);
}

#[test]
fn an_effect_of_a_series_survives_the_wire_and_names_no_trial() {
    let moment = moment(BEGIN, 0, Hlc::ZERO);
    let lines = ["XGROUP|CREATE a a g $ MKSTREAM", "XADD a 1-1 f v", "XREADGROUP a a GROUP g c STREAMS >"];
    let lines: Vec<Line> = lines.iter().map(|line| Line::of(line)).collect();
    let (_, effects) = Keys::default().series(&lines, moment);
    for (_, effect) in effects {
        assert_eq!(Effect::decode(&effect.encode()).expect("it was just written"), effect);
        let mut state = State::default();
        state.apply(Stamp::new(moment.time, DcId(0)), &effect, None);
        let trial = u64::MAX.to_be_bytes();
        let names = state.elements();
        assert!(names.iter().all(|(element, _)| !element.name.windows(6).any(|part| *part == trial[..6])));
    }
}

/// All that the commands of a series write counts together, overwritten or not, and so does what they make strings longer by.
#[test]
fn a_series_writes_no_more_than_a_version_may_have() {
    let longest = 100_000;
    let moment = Moment { longest, ..moment(BEGIN, 0, Hlc::ZERO) };
    let limit = tidemark_core::Limit::of_values(longest);
    let value = bytes::Bytes::from(vec![b'v'; longest]);
    let append = |value: &bytes::Bytes| Command::new(Verb::Append, vec![value.clone()]);
    let grow = Command::new(Verb::SetRange, vec!["99990".into(), "x".into()]);
    for (command, each) in [(append(&value), longest), (grow, 99_990)] {
        let mut series = Series::new(moment);
        let written = (0..100).take_while(|nth| {
            let key = Key::from(format!("k{nth}").as_str());
            series.add(key.clone(), State::default());
            let (reply, wrote) = series.run(&key, &command).unwrap();
            assert_eq!(wrote, !matches!(reply, Reply::Error(_)), "{reply:?}");
            wrote
        });
        assert_eq!(written.count(), limit.written() / (each + 100), "{:?}", command.verb);
        let changed = series.finish().changes;
        let bytes: usize = changed
            .iter()
            .map(|(_, changes)| Effect { floor: Hlc::ZERO, changes: changes.clone() }.encode().len())
            .sum();
        assert!(bytes <= limit.written());
    }
}
