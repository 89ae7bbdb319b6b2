//! Sessions that go where their keys are held, under CausalSpartanX: waiting there is its D3.

use crate::at;
use tidemark_contract::core::{DcId, Failure, Key, Op, Outcome, Regions};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::placement::{Keys, Placement};
use tidemark_contract::{Lab, Topology};
use tidemark_protocols::causal_spartan_x::{CausalSpartanX, Params, Timer};

/// Three data centres of one partition: A and B hold `ab`, C alone `c`, all of them the rest.
fn lab(refuses: bool) -> Lab<CausalSpartanX> {
    let regions = |list: &[u8]| list.iter().map(|dc| DcId(*dc)).fold(Regions::NONE, Regions::with);
    let rule = |prefix: &str, list: &[u8]| (Keys::Prefix(prefix.into()), regions(list));
    let rules = vec![rule("ab", &[0, 1]), rule("c", &[2])];
    let mut topology = Topology::new(3, 1);
    topology.placement = Placement { rules, near: Vec::new(), refuses };
    Lab::of(topology, Params::default())
}

fn get(key: &str) -> Op {
    Op::Get { key: Key::from(key) }
}

fn stabilise(lab: &mut Lab<CausalSpartanX>, us: u64) {
    lab.round(us, &[Timer::Delta, Timer::Delta, Timer::Theta]);
}

#[test]
fn a_version_goes_to_those_that_hold_its_key_and_to_no_other() {
    let mut lab = lab(false);
    let s = lab.client(0);
    lab.put(s, &Key::from("ab"), "1");
    lab.deliver_all();
    let held = |lab: &Lab<CausalSpartanX>| [0, 1, 2].map(|dc| lab.store(server(dc, 0)).totals().keys);
    assert_eq!(held(&lab), [1, 1, 0]);
    lab.put(s, &Key::from("all"), "1");
    lab.deliver_all();
    assert_eq!(held(&lab), [2, 2, 1]);
}

#[test]
fn an_operation_goes_to_the_nearest_that_holds_its_key_and_the_session_comes_back() {
    let mut lab = lab(false);
    let s = lab.client(0);
    assert_eq!(text(&lab.run(s, put(&Key::from("c"), "1"))), "1000@C");
    assert_eq!(lab.store(server(2, 0)).totals().keys, 1);
    lab.begin(s, get("all"));
    assert!(lab.outcome(s).is_none(), "A has not heard that it has all of C up to then");
    stabilise(&mut lab, 9_000);
    assert_eq!(text(&lab.finish(s)), "-");
    let last = lab.transcript.lines().rfind(|line| line.contains("-> s0 ")).expect("an answer");
    assert!(last.starts_with("A/0 -> s0 Answer(Found(nothing)"), "{last}");
}

/// The effect is held by all, its cause by C alone.
#[test]
fn an_effect_has_its_cause_wherever_it_is_held() {
    let mut lab = lab(false);
    let (writer, reader) = (lab.client(1), lab.client(0));
    lab.put(writer, &Key::from("c"), "cause");
    lab.set_clocks(2_000);
    lab.begin(writer, put(&Key::from("all"), "effect"));
    stabilise(&mut lab, 9_000); // B lets its session in again
    assert!(text(&lab.finish(writer)).ends_with("@B"));
    stabilise(&mut lab, 19_000);
    assert_eq!(lab.get(reader, &Key::from("all")), "effect");
    lab.begin(reader, get("c"));
    lab.deliver_all();
    stabilise(&mut lab, 29_000);
    assert_eq!(text(&lab.finish(reader)), "cause");
}

#[test]
fn a_transaction_goes_to_a_data_centre_that_holds_all_of_its_keys() {
    let mut lab = lab(false);
    let s = lab.client(2);
    let (ab, all) = (Key::from("ab"), Key::from("all"));
    lab.begin(s, rotx(&[&ab, &all]));
    lab.deliver_all();
    assert_eq!(text(&lab.finish(s)), "- -");
    assert!(lab.transcript.contains("A/0 <- s0 Rotx"), "the next after C is A");
}

/// C alone holds the one, A and B the other. Each part is read where it is held, and knows what the part before has seen.
#[test]
fn a_transaction_on_keys_that_no_data_centre_holds_together_is_divided() {
    let mut lab = lab(false);
    let (writer, reader) = (lab.client(1), lab.client(0));
    let (ab, all, c) = (Key::from("ab"), Key::from("all"), Key::from("c"));
    lab.put(writer, &c, "cause");
    lab.set_clocks(2_000);
    lab.begin(writer, put(&ab, "effect"));
    stabilise(&mut lab, 9_000);
    assert!(text(&lab.finish(writer)).ends_with("@B"));
    stabilise(&mut lab, 19_000);
    lab.begin(reader, rotx(&[&ab, &c, &all, &c]));
    lab.deliver_all();
    stabilise(&mut lab, 29_000);
    assert_eq!(text(&lab.finish(reader)), "effect cause - cause", "in the order of the keys");
    let asked = |from: &str| lab.transcript.lines().filter(|line| line.starts_with(from)).count();
    assert_eq!((asked("A/0 <- s1 Rotx"), asked("C/0 <- s1 Rotx")), (1, 1));
    assert_eq!(lab.get(reader, &ab), "effect", "it has come back");
}

/// The second part is lost: so is the whole, and the session goes on.
#[test]
fn a_divided_transaction_fails_as_a_whole() {
    let mut lab = lab(false);
    let s = lab.client(0);
    lab.set_clock(server(0, 0), 5_000);
    lab.put(s, &Key::from("all"), "1");
    lab.begin(s, rotx(&[&Key::from("ab"), &Key::from("c")]));
    lab.deliver_within(DcId(0));
    lab.set_clocks(3_000_000);
    lab.fire(server(2, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(s)), "stale session", "C does not let it in");
    assert_eq!(lab.get(s, &Key::from("all")), "1");
}

#[test]
fn a_data_centre_may_refuse_what_it_does_not_hold() {
    let mut lab = lab(true);
    let s = lab.client(2);
    lab.begin(s, get("ab"));
    assert_eq!(lab.outcome(s), Some(Outcome::Failed(Failure::Elsewhere(vec![DcId(0), DcId(1)]))));
    lab.begin(s, rotx(&[&Key::from("ab"), &Key::from("c")]));
    assert_eq!(lab.outcome(s), Some(Outcome::Failed(Failure::Elsewhere(Vec::new()))));
    assert_eq!(text(&lab.run(s, get("c"))), "-");
}

/// Whoever is not let in is where it was, with all that it remembers.
#[test]
fn a_session_that_is_not_let_in_stays_where_it_was() {
    let mut lab = lab(false);
    let s = lab.client(0);
    lab.set_clock(server(0, 0), 5_000);
    assert_eq!(lab.put(s, &Key::from("all"), "1"), at(5_000));
    let before = lab.token(s);
    lab.begin(s, get("c"));
    lab.set_clocks(3_000_000);
    lab.fire(server(2, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(s)), "stale session");
    assert_eq!((lab.token(s).home, lab.token(s).past), (before.home, before.past));
    assert_eq!(lab.get(s, &Key::from("all")), "1", "and reads what it wrote");
}

#[test]
fn a_past_is_taken_over_at_home() {
    let mut lab = lab(false);
    let (s, other) = (lab.client(0), lab.client(1));
    lab.put(s, &Key::from("c"), "1"); // s is in C now
    lab.put(other, &Key::from("ab"), "2");
    let token = lab.token(other);
    lab.adopt(s, token);
    assert!(lab.outcome(s).is_none());
    stabilise(&mut lab, 9_000);
    stabilise(&mut lab, 19_000);
    assert_eq!(lab.finish(s), Outcome::Adopted);
    assert_eq!(lab.token(s).home, DcId(0));
    assert_eq!(lab.get(s, &Key::from("ab")), "2");
}
