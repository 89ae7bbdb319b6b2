//! Rules of D17, each on its own: what happens without it.

use super::*;
use tidemark_protocols::tidemark::{
    COPIES_ARE_LATER, DEP_IS_A_CAUSE, DIGESTS_TELL_APART, GUARDS_ARE_CAUSES, GUARDS_SHOW,
    ONE_STAMP_EVERYWHERE,
};

/// A client's disk is put back, and what it commits then has a number that a region has. What that region says, and shows.
fn said_of_another_branch() -> (Told, String) {
    let mut lab = edge(2);
    let x = lab.key("x", 0);
    let a = lab.client(0);
    let before = Client::new(1);
    let mut client = before.clone();
    let one = client.commit(200_000, vec![set(&x, "1")]);
    lab.set_clocks(250_000);
    assert_eq!(accept(&mut lab, a, one), taken());
    let other = EdgeTransaction { digest: [9; 32], ..before.clone().commit(240_000, vec![set(&x, "2")]) };
    let said = accept(&mut lab, a, other);
    settle(&mut lab, 300_000);
    (said, lab.get(a, &x))
}

#[test]
fn d17_a_number_of_another_branch_is_not_taken_for_a_transaction() {
    assert_eq!(said_of_another_branch().0, Ok(Acceptance::Forked(1)));
    let lost = without(&[DIGESTS_TELL_APART], said_of_another_branch);
    assert_eq!(lost, (Ok(Acceptance::Known), "1".into()), "its client would take it for delivered");
}

/// A region takes a transaction of a client whose clock is ahead of its own. Another client sees it in a base, and writes the same key: what the
/// other one has seen, and what there is then.
fn seen_and_overwritten() -> [Option<String>; 2] {
    let mut lab = edge(2);
    let x = lab.key("x", 0);
    let a = lab.client(0);
    lab.set_clocks(250_000);
    let one = Client::new(1).commit(300_000, vec![set(&x, "seen")]);
    assert_eq!(accept(&mut lab, a, one), taken());
    (1..4).for_each(|n| lab.round(250_000 + n * 10_000, &[Timer::Delta, Timer::Theta]));
    let mut other = Client::new(2);
    other.base = base_of(&mut lab, a, 2).expect("there is one");
    let seen = read_base(&mut lab, a, &other.base, std::slice::from_ref(&x)).expect("it is here");
    let two = other.commit(0, vec![set(&x, "written")]);
    assert_eq!(accept(&mut lab, a, two), taken());
    settle(&mut lab, 400_000);
    [value(&seen[0]), Some(lab.get(a, &x))]
}

#[test]
fn d17_who_overwrites_what_it_has_seen_wins() {
    let both = |one: &str, other: &str| [Some(one.to_string()), Some(other.to_string())];
    assert_eq!(seen_and_overwritten(), both("seen", "written"));
    let lost = without(&[COPIES_ARE_LATER], seen_and_overwritten);
    assert_eq!(lost, both("seen", "seen"), "this is what it is for");
}

/// Two regions take a transaction that adds 5.
fn added_twice() -> String {
    let mut lab = edge(2);
    let n = lab.key("n", 1);
    let (a, b) = (lab.client(0), lab.client(1));
    let one = Client::new(1).commit(200_000, vec![command(&n, Verb::IncrBy, &["5"])]);
    lab.set_clocks(250_000);
    assert_eq!([a, b].map(|at| accept(&mut lab, at, one.clone())), [taken(), taken()]);
    settle(&mut lab, 300_000);
    lab.get(a, &n)
}

#[test]
fn d17_copies_have_one_stamp() {
    assert_eq!(added_twice(), "5");
    assert_eq!(without(&[ONE_STAMP_EVERYWHERE], added_twice), "10", "this is what it is for");
}

/// What is said in one region reaches another one, and shows there; the third one hears nothing.
fn tell(lab: &mut Lab<Tidemark>, from: u8, to: u8) {
    for _ in 0..3 {
        for dc in [from, to] {
            for partition in [0, 1] {
                lab.fire(server(dc, partition), Timer::Delta);
                lab.fire(server(dc, partition), Timer::Theta);
            }
            lab.deliver_within(DcId(dc));
        }
        lab.deliver_between(from, to);
        lab.deliver_within(DcId(to));
    }
}

/// A region has half of a transaction of another one, which is lost, and is sent the transaction: what it says and shows, for each half.
fn said_of_what_half_arrived() -> [(Told, String); 2] {
    [0, 1].map(|half| {
        let mut lab = edge(2);
        let (x, y) = (lab.key("x", 0), lab.key("y", 1));
        let (a, b) = (lab.client(0), lab.client(1));
        let one = Client::new(1).commit(200_000, vec![set(&x, "1"), set(&y, "1")]);
        lab.set_clocks(250_000);
        assert_eq!(accept(&mut lab, a, one.clone()), taken());
        while lab.deliver(server(0, half), server(1, half)) {}
        let said = accept(&mut lab, b, one);
        (said, lab.get(b, &x))
    })
}

#[test]
fn d17_what_has_arrived_and_does_not_show_is_not_known() {
    assert_eq!(said_of_what_half_arrived(), [(taken(), "1".into()), (taken(), "1".into())]);
    let said = without(&[GUARDS_SHOW], said_of_what_half_arrived);
    let lost = (Ok(Acceptance::Known), "-".into());
    assert!(said.contains(&lost), "its client would wait for it for ever: {said:?}");
}

/// B has the cause from A, and accepts the effect. C hears of B, and not of A: what it shows of the effect and of the cause.
fn shown_where_the_cause_is_not(cause: impl Fn(&mut Lab<Tidemark>, &mut Client, &Key)) -> [String; 2] {
    let mut lab = edge(3);
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    let (b, c) = (lab.client(1), lab.client(2));
    let mut client = Client::new(1);
    lab.set_clocks(200_000);
    cause(&mut lab, &mut client, &x);
    lab.set_clocks(250_000);
    tell(&mut lab, 0, 1);
    let effect = client.commit(260_000, vec![set(&y, "effect")]);
    assert_eq!(accept(&mut lab, b, effect), taken());
    tell(&mut lab, 1, 2);
    [lab.get(c, &y), lab.get(c, &x)]
}

#[test]
fn d17_a_transaction_depends_on_its_base_and_on_the_one_before() {
    let seen = |lab: &mut Lab<Tidemark>, client: &mut Client, x: &Key| {
        let a = lab.client(0);
        lab.put(a, x, "cause");
        client.base = v(&[210_000, 0, 0]);
    };
    let own = |lab: &mut Lab<Tidemark>, client: &mut Client, x: &Key| {
        let (a, one) = (lab.client(0), client.commit(150_000, vec![set(x, "cause")]));
        assert_eq!(accept(lab, a, one), taken());
    };
    let torn = ["effect", "-"];
    assert_eq!(shown_where_the_cause_is_not(seen), ["-", "-"]);
    assert_eq!(without(&[DEP_IS_A_CAUSE], || shown_where_the_cause_is_not(seen)), torn);
    assert_eq!(shown_where_the_cause_is_not(own), ["-", "-"]);
    assert_eq!(without(&[GUARDS_ARE_CAUSES], || shown_where_the_cause_is_not(own)), torn);
}

/// What is said of a key at a base, now and when later writes were folded.
fn said_at_a_base_of_long_ago() -> [Option<Option<String>>; 2] {
    let mut lab = edge(2);
    let keys = &[lab.key("x", 0)];
    let a = lab.client(0);
    lab.put(a, &keys[0], "then");
    settle(&mut lab, 200_000);
    let base = base_of(&mut lab, a, 2).expect("there is one");
    let said = |lab: &mut Lab<Tidemark>| read_base(lab, a, &base, keys).map(|found| value(&found[0]));
    let then = said(&mut lab);
    for n in 0..20 {
        settle(&mut lab, 500_000 + n * 200_000);
        lab.put(a, &keys[0], "later");
    }
    [then, said(&mut lab)]
}

#[test]
fn d16_a_base_of_which_something_is_folded_is_not_read() {
    let then = Some(Some("then".into()));
    assert_eq!(said_at_a_base_of_long_ago(), [then.clone(), None]);
    let said = without(&[BASES_ARE_HERE], said_at_a_base_of_long_ago);
    assert_eq!(said, [then, Some(None)], "it would be another point of the past");
}
