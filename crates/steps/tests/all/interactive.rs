//! Interactive transactions (PROTOCOLS §19.1: T13), of every protocol that has them: what they see, what others see of them, and what
//! holds their snapshots.

use tidemark_contract::core::{
    Command, Condition, DcId, Failure, Key, Micros, Op, Outcome, PartitionId, Reply, Update, Verb, Write,
};
use tidemark_contract::lab::{put, server};
use tidemark_contract::stabilised::{HOLDS_SNAPSHOTS, StableTime, TRANSACTION_LIMIT_US, Timers};
use tidemark_contract::transaction::{Carried, Place, Transaction};
use tidemark_contract::{Lab, Protocol, without};
use tidemark_protocols::{CausalSpartanX, Cure, Tidemark, Wren};

fn lab<P: Protocol>(dcs: usize) -> (Lab<P>, Key, Key) {
    let lab = Lab::new(dcs, 2, P::Params::default());
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    (lab, x, y)
}

/// Heartbeats everywhere, then θ, a few times.
fn stabilise<P: StableTime>(lab: &mut Lab<P>, from: Micros) {
    for n in 0..4 {
        lab.round(from + n * 1_000, &[P::Timer::DELTA, P::Timer::THETA]);
    }
}

/// A transaction of `client`, whose snapshot the server of partition 0 holds.
fn begin<P: Protocol>(lab: &mut Lab<P>, client: usize) -> Transaction {
    let outcome = lab.run(client, Transaction::begin(PartitionId(0)));
    let Outcome::Begun(snapshot) = outcome else { panic!("{outcome:?}") };
    let place = Place { dc: DcId(0), alone: false, types: P::EXTENSIONS.types.is_some() };
    Transaction::new(snapshot, place, 1_000)
}

fn carry<P: Protocol>(lab: &mut Lab<P>, client: usize, open: &mut Transaction, op: Op) -> Outcome {
    match open.carry(op) {
        Carried::Ended(outcome) => outcome,
        Carried::Asks(op) => {
            let outcome = lab.run(client, op);
            open.found(outcome)
        }
    }
}

fn get<P: Protocol>(lab: &mut Lab<P>, client: usize, open: &mut Transaction, key: &Key) -> String {
    match carry(lab, client, open, Op::Get { key: key.clone() }) {
        Outcome::Found(found) => {
            found.value.map_or("-".into(), |value| String::from_utf8_lossy(&value).into_owned())
        }
        other => panic!("{other:?}"),
    }
}

fn commit<P: Protocol>(lab: &mut Lab<P>, client: usize, mut open: Transaction, check: bool) -> Outcome {
    let outcome = match open.commit(check) {
        Some(op) => {
            lab.begin(client, op);
            lab.finish(client)
        }
        None => Outcome::Written { stamp: None, previous: None },
    };
    lab.run(client, open.end());
    outcome
}

fn is_written(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Written { stamp: Some(_), previous: None })
}

fn put_both<P: Protocol>(lab: &mut Lab<P>, client: usize, (x, y): (&Key, &Key), value: &str) {
    lab.put(client, x, value);
    lab.put(client, y, value);
}

/// It reads what was there when it began, and what it has written itself; others see all of that at once.
fn reads_one_snapshot_and_writes_at_once<P: StableTime>() {
    let (mut lab, x, y) = lab::<P>(2);
    let (s, t) = (lab.client(0), lab.client(0));
    put_both(&mut lab, t, (&x, &y), "1");
    lab.deliver_all();
    stabilise(&mut lab, 10_000);
    let mut open = begin(&mut lab, s);
    assert_eq!(get(&mut lab, s, &mut open, &x), "1");
    lab.set_clocks(20_000);
    put_both(&mut lab, t, (&x, &y), "2");
    lab.deliver_all();
    stabilise(&mut lab, 30_000);
    assert_eq!(get(&mut lab, s, &mut open, &y), "1", "it depends on what was written later");
    for key in [&x, &y] {
        assert!(is_written(&carry(&mut lab, s, &mut open, put(key, "mine"))));
    }
    assert_eq!(get(&mut lab, s, &mut open, &x), "mine");
    stabilise(&mut lab, 40_000);
    assert_eq!((lab.get(t, &x), lab.get(t, &y)), ("2".into(), "2".into()), "nobody else sees that");
    assert!(is_written(&commit(&mut lab, s, open, false)));
    assert_eq!(lab.rotx(s, &[&x, &y]), "mine mine");
    lab.deliver_all();
    stabilise(&mut lab, 60_000);
    let far = lab.client(1);
    assert_eq!((lab.rotx(t, &[&x, &y]), lab.rotx(far, &[&x, &y])), ("mine mine".into(), "mine mine".into()));
}

/// What it reads is kept as long as it is open, and no longer; the server that holds its snapshot knows nothing of it after a restart.
fn what_it_reads_is_kept<P: StableTime>() {
    fn read<P: StableTime>(until: Micros) -> Result<String, Failure> {
        let (mut lab, x, y) = lab::<P>(1);
        let (s, t) = (lab.client(0), lab.client(0));
        put_both(&mut lab, t, (&x, &y), "1");
        stabilise(&mut lab, 10_000);
        let mut open = begin(&mut lab, s);
        assert_eq!(get(&mut lab, s, &mut open, &x), "1");
        lab.set_clocks(20_000);
        put_both(&mut lab, t, (&x, &y), "2");
        stabilise(&mut lab, until);
        stabilise(&mut lab, until + 2_000_000);
        match carry(&mut lab, s, &mut open, Op::Get { key: y }) {
            Outcome::Found(found) => {
                Ok(String::from_utf8_lossy(&found.value.unwrap_or_default()).into_owned())
            }
            Outcome::Failed(why) => Err(why),
            other => panic!("{other:?}"),
        }
    }
    let soon = TRANSACTION_LIMIT_US / 2;
    assert_eq!(read::<P>(soon), Ok("1".into()));
    assert_ne!(without(&[HOLDS_SNAPSHOTS], || read::<P>(soon)), Ok("1".into()), "the version is collected");
    let late = read::<P>(2 * TRANSACTION_LIMIT_US);
    assert!(matches!(&late, Err(Failure::Unavailable(why)) if why.contains("has ended")), "{late:?}");
}

fn a_restart_ends_it<P: StableTime>() {
    let (mut lab, x, _) = lab::<P>(1);
    let s = lab.client(0);
    let mut open = begin(&mut lab, s);
    lab.restart(server(0, 0));
    let read = carry(&mut lab, s, &mut open, Op::Get { key: x });
    assert!(
        matches!(&read, Outcome::Failed(Failure::Unavailable(why)) if why.contains("has ended")),
        "{read:?}"
    );
}

macro_rules! of_each {
    ($($name:ident $protocol:ty),*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn t13_it_reads_one_snapshot_and_writes_at_once() {
                reads_one_snapshot_and_writes_at_once::<$protocol>();
            }

            #[test]
            fn t13_its_snapshot_is_held_for_a_while() {
                what_it_reads_is_kept::<$protocol>();
            }

            #[test]
            fn t13_a_restart_of_who_holds_the_snapshot_ends_it() {
                a_restart_ends_it::<$protocol>();
            }
        }
    )*};
}

of_each! { tidemark Tidemark, cure Cure, wren Wren }

#[test]
fn others_refuse_by_name() {
    let (mut lab, ..) = lab::<CausalSpartanX>(1);
    let s = lab.client(0);
    let refused = lab.run(s, Transaction::begin(PartitionId(0)));
    let why = "causal-spartan-x has no interactive transactions";
    assert!(matches!(&refused, Outcome::Failed(Failure::Refused(said)) if said == why), "{refused:?}");
}

#[test]
fn cure_and_wren_check_nothing_at_the_commit() {
    fn checks<P: Protocol>() -> Outcome {
        let (mut lab, x, _) = lab::<P>(1);
        let s = lab.client(0);
        let watched = vec![(x, Default::default())];
        let step = tidemark_contract::core::Transact::Commit { writes: Vec::new(), watched };
        lab.run(s, Op::Transact(Box::new(step)))
    }
    for outcome in [checks::<Cure>(), checks::<Wren>()] {
        assert!(
            matches!(&outcome, Outcome::Failed(Failure::Refused(why)) if why.contains("check")),
            "{outcome:?}"
        );
    }
}

fn call(key: &Key, verb: Verb, args: &[&str]) -> Op {
    let args = args.iter().map(|argument| argument.to_string().into()).collect();
    Op::Put { key: key.clone(), update: Update::call(Command::new(verb, args)) }
}

fn reply(outcome: &Outcome) -> Reply {
    match outcome {
        Outcome::Written { previous: Some(found), .. } => *found.reply.clone().expect("it is a command"),
        other => panic!("{other:?}"),
    }
}

/// What the others have done meanwhile is merged, type by type.
#[test]
fn t13_data_types_are_read_in_the_snapshot_and_merge() {
    let (mut lab, x, y) = lab::<Tidemark>(2);
    let (s, t, far) = (lab.client(0), lab.client(0), lab.client(1));
    lab.run(t, call(&x, Verb::IncrBy, &["5"]));
    lab.run(t, call(&y, Verb::SAdd, &["a"]));
    stabilise(&mut lab, 10_000);
    let mut open = begin(&mut lab, s);
    assert_eq!(reply(&carry(&mut lab, s, &mut open, call(&x, Verb::IncrBy, &["1"]))), Reply::Int(6));
    lab.set_clocks(20_000);
    lab.run(t, call(&x, Verb::IncrBy, &["100"]));
    lab.run(t, call(&y, Verb::SAdd, &["b"]));
    assert_eq!(reply(&carry(&mut lab, s, &mut open, call(&x, Verb::IncrBy, &["1"]))), Reply::Int(7));
    assert_eq!(reply(&carry(&mut lab, s, &mut open, call(&y, Verb::SCard, &[]))), Reply::Int(1));
    carry(&mut lab, s, &mut open, call(&y, Verb::SRem, &["a"]));
    assert!(is_written(&commit(&mut lab, s, open, false)));
    lab.deliver_all();
    stabilise(&mut lab, 40_000);
    for client in [t, far] {
        assert_eq!(lab.get(client, &x), "107");
        assert_eq!(reply(&lab.run(client, call(&y, Verb::SIsMember, &["a"]))), Reply::Int(0));
        assert_eq!(reply(&lab.run(client, call(&y, Verb::SIsMember, &["b"]))), Reply::Int(1));
    }
}

/// One that reads `y` and writes `x`, while somebody does `meanwhile`; what was committed, if anything was.
fn checked(meanwhile: impl FnOnce(&mut Lab<Tidemark>, usize, &Key)) -> (Outcome, String) {
    let (mut lab, x, y) = lab::<Tidemark>(1);
    let (s, t) = (lab.client(0), lab.client(0));
    lab.put(t, &y, "1");
    stabilise(&mut lab, 10_000);
    let mut open = begin(&mut lab, s);
    assert_eq!(get(&mut lab, s, &mut open, &y), "1");
    carry(&mut lab, s, &mut open, put(&x, "mine"));
    lab.set_clocks(20_000);
    meanwhile(&mut lab, t, &y);
    let outcome = commit(&mut lab, s, open, true);
    (outcome, lab.get(t, &x))
}

#[test]
fn t13_commit_check_writes_nothing_if_what_was_read_has_changed() {
    let (outcome, x) = checked(|_, _, _| ());
    assert!(is_written(&outcome) && x == "mine", "{outcome:?}");
    let (outcome, x) = checked(|lab, t, y| _ = lab.put(t, y, "2"));
    assert_eq!((reply(&outcome), x.as_str()), (Reply::NullArray, "-"));
    let (outcome, x) = checked(|lab, t, y| _ = lab.run(t, call(y, Verb::IncrBy, &["1"])));
    assert_eq!((reply(&outcome), x.as_str()), (Reply::NullArray, "-"));
}

/// What depends on something that was written after it had read that is not in its snapshot: then the check cannot succeed.
#[test]
fn t13_commit_check_fails_if_the_snapshot_was_old_when_it_was_read() {
    let (mut lab, x, y) = lab::<Tidemark>(1);
    let (s, t) = (lab.client(0), lab.client(0));
    lab.put(t, &y, "1");
    stabilise(&mut lab, 10_000);
    let mut open = begin(&mut lab, s);
    let z = lab.key("z", 0);
    get(&mut lab, s, &mut open, &z);
    lab.set_clocks(20_000);
    lab.put(t, &z, "2");
    lab.put(t, &y, "2");
    assert_eq!(get(&mut lab, s, &mut open, &y), "1");
    carry(&mut lab, s, &mut open, put(&x, "mine"));
    assert_eq!(reply(&commit(&mut lab, s, open, true)), Reply::NullArray);
}

#[test]
fn conditions_are_judged_in_the_snapshot_and_what_overwrites_reads_nothing() {
    let (mut lab, x, y) = lab::<Cure>(1);
    let s = lab.client(0);
    lab.put(s, &x, "1");
    lab.set_clocks(5_000);
    let mut open = begin(&mut lab, s);
    let set_new = |key: &Key| Op::Put {
        key: key.clone(),
        update: Update { condition: Condition::IfAbsent, ..Update::put(Write::Assign((*b"new").into())) },
    };
    let refused = carry(&mut lab, s, &mut open, set_new(&x));
    assert!(matches!(refused, Outcome::Written { stamp: None, .. }), "{refused:?}");
    assert!(matches!(open.carry(put(&y, "2")), Carried::Ended(_)), "nothing is asked");
    let refused = carry(&mut lab, s, &mut open, set_new(&y));
    assert!(matches!(refused, Outcome::Written { stamp: None, .. }), "its own write is there: {refused:?}");
    assert!(is_written(&commit(&mut lab, s, open, false)));
    assert_eq!(lab.rotx(s, &[&x, &y]), "1 2");
}

#[test]
fn what_it_cannot_do_is_refused() {
    let (mut lab, x, _) = lab::<Tidemark>(1);
    let s = lab.client(0);
    let mut open = begin(&mut lab, s);
    for op in [
        Op::Count { partition: PartitionId(0) },
        call(&x, Verb::Eval, &["return 1"]),
        call(&x, Verb::BCounterDecrBy, &["1"]),
    ] {
        let outcome = carry(&mut lab, s, &mut open, op);
        assert!(matches!(outcome, Outcome::Failed(Failure::Refused(_))), "{outcome:?}");
    }
}

#[test]
fn it_holds_no_more_than_so_much() {
    let (mut lab, x, y) = lab::<Tidemark>(1);
    let s = lab.client(0);
    let mut open = begin(&mut lab, s);
    let large = "v".repeat(40 << 20);
    assert!(is_written(&carry(&mut lab, s, &mut open, put(&x, &large))));
    let refused = carry(&mut lab, s, &mut open, put(&y, &large));
    assert!(matches!(&refused, Outcome::Failed(Failure::Refused(why)) if why.contains("limited")));
    assert!(is_written(&carry(&mut lab, s, &mut open, put(&y, "v"))));
    assert!(is_written(&commit(&mut lab, s, open, false)));
}
