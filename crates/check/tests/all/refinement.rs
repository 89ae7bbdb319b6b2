//! The map of consistency models, against random histories: everything that it says holds on all of them, and
//! everything that it does not say is contradicted by one of them.
//!
//! What one history says is which properties it keeps and which it violates. A property that it says too little about
//! (no last words, no times) is neither, and is evidence of nothing.

use crate::common::mutate::{ask_for_less, mutate};
use crate::common::script;
use crate::common::tiny::tiny;
use crate::common::{Shape, generate, without_versions};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tidemark_check::refinement::{IMPLICATIONS, Implication, Map, Model, closure};
use tidemark_check::{Guarantee, Holds, Options, Properties, Property, check_each, check_with};
use tidemark_core::history::History;

/// How many histories of each kind are judged.
const HISTORIES: u64 = 30_000;

/// How many histories are judged by values, for each model.
const BY_VALUES: u64 = 10_000;

/// A set of properties: a bit for each, in the order of [`Property::ALL`].
type Bits = u16;

const EVERY: Bits = (1 << Property::ALL.len()) - 1;

fn bits(properties: Properties) -> Bits {
    properties.iter().fold(0, |bits, p| bits | 1 << p as u16)
}

fn properties(bits: Bits) -> Properties {
    let these = Property::ALL.into_iter().filter(|p| bits >> *p as u16 & 1 == 1);
    these.fold(Properties::default(), Properties::with)
}

/// What a history says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    kept: Bits,
    violated: Bits,
}

fn said(history: &History, values_only: bool) -> Said {
    let single =
        |property: Property| Guarantee::named(property.name()).expect("each property is a guarantee");
    let verdicts = check_each(history, &Property::ALL.map(single), 1, values_only).verdicts;
    let these = |wanted: Holds| {
        let found = verdicts.iter().enumerate().filter(|(_, verdict)| verdict.verdict == wanted);
        found.fold(0, |bits, (place, _)| bits | 1 << place)
    };
    Said { kept: these(Holds::Holds), violated: these(Holds::Violated) }
}

/// A tiny history, or one of a store to which something was done that the store would not do.
fn history(number: u64) -> History {
    let seed = number / 2;
    if number.is_multiple_of(2) {
        return tiny(seed);
    }
    let mut rng = Rng::with_seed(seed ^ 0x6d61_7073);
    let mut history = generate(seed, Shape { ops: 14, causal: !seed.is_multiple_of(3), ..Shape::SMALL });
    for _ in 0..rng.u32(..3) {
        mutate(&mut history, &mut rng);
    }
    ask_for_less(&mut history, &mut rng);
    history
}

/// All that the histories say, each with how many say it and the first of them.
static EVIDENCE: LazyLock<BTreeMap<Said, (u64, u64)>> = LazyLock::new(|| {
    let mut evidence = BTreeMap::new();
    for number in 0..2 * HISTORIES {
        evidence.entry(said(&history(number), false)).or_insert((0, number)).0 += 1;
    }
    evidence
});

/// Closes `set` under `table`.
fn closed(table: &[Implication], set: Bits) -> Bits {
    let follows = |set: Bits, i: &Implication| i.premises.iter().all(|p| set >> *p as u16 & 1 == 1);
    let step =
        |set: Bits| table.iter().filter(|i| follows(set, i)).fold(set, |s, i| s | 1 << i.conclusion as u16);
    let mut set = set;
    while step(set) != set {
        set = step(set);
    }
    set
}

/// A set of properties and another property that `table` and the histories do not agree on: the histories that keep
/// the set never violate that property, or do, although the table says otherwise. The empty set is no model.
fn disagreement(table: &[Implication]) -> Option<(Bits, Bits)> {
    let kept = |set: Bits| EVIDENCE.keys().filter(move |said| said.kept & set == set);
    let never_violated = |set: Bits| kept(set).fold(EVERY, |all, said| all & !said.violated);
    (1..=EVERY)
        .map(|set| (set, closed(table, set) ^ never_violated(set)))
        .find(|(_, different)| *different != 0)
}

fn names(set: Bits) -> String {
    let of: Vec<&str> = properties(set).iter().map(Property::name).collect();
    of.join(", ")
}

/// Attribute exploration: of each of the 16,383 sets of properties the table derives exactly the properties that no
/// history violates which keeps the set.
#[test]
fn the_table_is_what_the_histories_say_of_every_set_of_properties() {
    if let Some((set, different)) = disagreement(&IMPLICATIONS) {
        panic!("of {} table and histories do not agree on {}", names(set), names(different));
    }
    for set in 0..=EVERY {
        assert_eq!(bits(closure(properties(set))), closed(&IMPLICATIONS, set), "{}", names(set));
    }
}

/// That each implication holds is no accident: many histories keep all that it rests on, and many violate its conclusion.
#[test]
fn every_implication_is_put_to_the_test() {
    for implication in &IMPLICATIONS {
        let premises = implication.premises.iter().fold(0, |bits, p| bits | 1 << *p as u16);
        let conclusion: Bits = 1 << implication.conclusion as u16;
        let count = |of: &dyn Fn(&Said) -> bool| -> u64 {
            EVIDENCE.iter().filter(|(said, _)| of(said)).map(|(_, (count, _))| count).sum()
        };
        let kept = count(&|said| said.kept & premises == premises);
        let broken = count(&|said| said.violated & conclusion != 0);
        let one_only = |p: &Property| {
            let others = premises & !(1 << *p as u16);
            count(&|said| said.kept & others == others && said.violated & conclusion != 0)
        };
        println!("{}: {kept} keep {}, {broken} violate it", implication.conclusion, names(premises));
        assert!(kept > 10_000 && broken > 500, "{implication:?}: {kept} and {broken}");
        assert!(implication.premises.iter().all(|p| one_only(p) > 100), "{implication:?}: a premise is idle");
    }
}

/// Mutants of the table: one implication fewer, and one more. The histories contradict all of them.
#[test]
fn a_wrong_table_is_found_out() {
    for left_out in 0..IMPLICATIONS.len() {
        let mut table = IMPLICATIONS.to_vec();
        let implication = table.remove(left_out);
        assert!(disagreement(&table).is_some(), "without {implication:?}");
    }
    let mut added = 0;
    for premise in &Property::ALL {
        for conclusion in Property::ALL {
            if closed(&IMPLICATIONS, 1 << *premise as u16) >> conclusion as u16 & 1 == 1 {
                continue;
            }
            let mut table = IMPLICATIONS.to_vec();
            let premises = std::slice::from_ref(premise);
            table.push(Implication { premises, conclusion, because: "it was added" });
            assert!(disagreement(&table).is_some(), "{premise} does not imply {conclusion}");
            added += 1;
        }
    }
    // 14 properties, of which each implies itself and but for one well-formedness, and six pairs beside.
    assert_eq!(added, 14 * 14 - 14 - 13 - 6);
}

/// Every pair of models: each history that keeps the stronger one keeps the weaker one, and where the map says nothing,
/// a history keeps the one and violates the other.
#[test]
fn every_pair_of_models_stands_on_the_map_as_the_histories_say() {
    let map = Map::new();
    let (mut implied, mut apart) = (0, 0);
    for stronger in map.models() {
        for weaker in map.models().iter().filter(|weaker| weaker.name != stronger.name) {
            let (has, asks) = (bits(stronger.properties), bits(weaker.properties));
            let counterexample = EVIDENCE.iter().find(|(s, _)| s.kept & has == has && s.violated & asks != 0);
            let (to, from) = (&weaker.name, &stronger.name);
            match (stronger.implies(weaker), counterexample) {
                (true, None) => implied += 1,
                (false, Some(_)) => apart += 1,
                (true, Some((_, (_, number)))) => {
                    panic!("{from} does not imply {to}: {:#?}", history(*number))
                }
                (false, None) => panic!("no history keeps {from} and violates {to}"),
            }
        }
    }
    println!(
        "{implied} pairs are implied, {apart} are not; {} histories, {} kinds",
        2 * HISTORIES,
        EVIDENCE.len()
    );
    assert_eq!(implied + apart, map.models().len() * (map.models().len() - 1));
    assert!(implied > 50 && apart > 100, "{implied} implied, {apart} not");
}

/// The lines of the drawing lead to all that a model implies, none of them is superfluous, and each leads down.
#[test]
fn what_is_implied_directly_leads_to_all_that_is_implied() {
    let map = Map::new();
    for model in 0..map.models().len() {
        let direct = map.directly(model);
        let mut reached = direct.clone();
        let mut next = 0;
        while next < reached.len() {
            let further = map.directly(reached[next]);
            assert!(!further.iter().any(|m| direct.contains(m)), "a line that others replace");
            reached.extend(further);
            next += 1;
        }
        for other in (0..map.models().len()).filter(|other| *other != model) {
            let (stronger, weaker) = (&map.models()[model], &map.models()[other]);
            assert_eq!(
                reached.contains(&other),
                stronger.implies(weaker),
                "{} {}",
                stronger.name,
                weaker.name
            );
            assert!(!reached.contains(&other) || map.level(other) < map.level(model), "{}", stronger.name);
        }
        assert_eq!(map.place(&map.models()[model].name), Some(model), "names are unique");
    }
}

/// The history of `script` violates exactly these.
#[track_caller]
fn violates(script: &str, expected: &[Property]) {
    let found = said(&script::history(script), false).violated;
    assert_eq!(names(found), names(expected.iter().fold(0, |bits, p| bits | 1 << *p as u16)), "{script}");
}

/// The same for people: why the best known of these models are not the same.
#[test]
fn stories_that_keep_the_one_and_violate_the_other() {
    use Property::*;
    // Each session guarantee across keys is one step of causality. Two steps, through a session that never read x, are not.
    violates(
        "c0@A put x a 1
         c1@A get x a 1A
         c1@A put y b 2
         c2@A get y b 2A
         c2@A put z c 3
         c3@B get z c 3A
         c3@B get x -",
        &[Causal],
    );
    // Session guarantees key by key say nothing across keys.
    violates(
        "c0@A put x a 1\nc0@A put y b 2\nc1@B get y b 2A\nc1@B get x -",
        &[MonotonicWritesGlobal, Causal],
    );
    // Who overwrites a write may lose to what was in its past, and not in its own session's: no session guarantee breaks.
    violates("c0@A put x a 9\nc0@A put y b 1\nc1@A get y b 1A\nc1@A put x c 2", &[OverwriteOrder]);
    // Single reads in this order are causal, and so are those of a transaction, but they are no snapshot.
    violates("c0@A put x a 1\nc0@A put y b 2\nc1@B rotx y b 2A, x -", &[Snapshot]);
    // A snapshot need not be atomic where single reads are not causal: GETs tear the transaction.
    let torn = |reads: &str| {
        let mut history = script::history(&format!("c0@A put x a 1\nc0@A put y b 1\n{reads}"));
        history.events[..2].iter_mut().for_each(|event| event.txn = Some(7));
        names(said(&history, false).violated)
    };
    assert_eq!(torn("c1@B get x a 1A\nc1@B get y -"), "causal, atomic-writes");
    assert_eq!(torn("c1@B rotx x a 1A, y -"), "snapshot, atomic-writes");
    // A write that its data centre does not see at once: the last model on the way up.
    violates("10..20 c0@A put x a 1\n21..30 c1@A get x -", &[Immediate]);
    // Immediate visibility is of a data centre, not of a session, which may go elsewhere.
    violates("10..20 c0@A put x a 1\n21..30 c0@B get x -", &[ReadYourWrites, Causal]);
}

/// What the map says of versions holds by values: a history whose writes some order explains so that a model is kept
/// keeps every weaker model.
#[test]
fn by_values_a_stronger_model_keeps_every_weaker_one() {
    let map = Map::new();
    let mut told_apart = 0;
    for number in 0..BY_VALUES {
        let history = without_versions(history(number));
        let keeps = |model: &Model| check_with(&history, Options::new(model.properties)).ok();
        let kept: Vec<bool> = map.models().iter().map(keeps).collect();
        for (a, stronger) in map.models().iter().enumerate() {
            for (b, weaker) in map.models().iter().enumerate() {
                let implied = stronger.implies(weaker);
                let (one, other) = (&stronger.name, &weaker.name);
                assert!(!implied || !kept[a] || kept[b], "{one} and {other}, history {number}: {history:#?}");
                told_apart += u64::from(!implied && kept[a] && !kept[b]);
            }
        }
    }
    assert!(told_apart > 10_000, "{told_apart}");
}
