//! Transactions of edge clients (D17 to D19).

mod drawn;
mod loss;
mod rules;

use super::*;
use tidemark_contract::core::{
    Acceptance, ClientId, Command, EdgeTransaction, Failure, Found, Op, Stamp, Transact, Verb, guard_of,
};
use tidemark_protocols::tidemark::{BASES_ARE_HERE, CHANGES_ARE_KNOWN, DEP_IS_COVERED};

/// How long a transaction can be accepted here, in microseconds.
const RETAIN: u64 = 400_000;

fn edge(dcs: usize) -> Lab<Tidemark> {
    let params = Params { base_regions: dcs, tell_us: 1, edge_retain_us: RETAIN, ..Params::default() };
    Lab::new(dcs, 2, params)
}

/// Δ and θ everywhere, a few times: everything is told.
fn settle(lab: &mut Lab<Tidemark>, from: u64) {
    (0..4).for_each(|n| lab.round(from + n * 50_000, &[Timer::Delta, Timer::Theta]));
}

pub(super) fn set(key: &Key, value: &str) -> (Key, Vec<(u32, Update)>) {
    (key.clone(), vec![(0, Update::put(Write::Assign(value.as_bytes().into())))])
}

pub(super) fn command(key: &Key, verb: Verb, args: &[&str]) -> (Key, Vec<(u32, Update)>) {
    let args = args.iter().map(|arg| (*arg).to_string().into()).collect();
    (
        key.clone(),
        vec![(0, Update { command: Some(Box::new(Command::new(verb, args))), ..Update::put(Write::Remove) })],
    )
}

/// An edge client, as far as regions can see.
#[derive(Clone)]
pub(super) struct Client {
    id: ClientId,
    pub(super) base: Vector,
    pub(super) log: Vec<EdgeTransaction>,
    last: u64,
    h: Hlc,
    digest: [u8; 32],
    digests: u64,
}

impl Client {
    pub(super) fn new(number: u8) -> Self {
        let (id, digest) = (ClientId([number; 16]), [0; 32]);
        Self { id, base: Vector::default(), log: Vec::new(), last: 0, h: Hlc::ZERO, digest, digests: 0 }
    }

    fn next_digest(&mut self) -> [u8; 32] {
        self.digests += 1;
        let mut digest = [self.id.0[0]; 32];
        digest[..8].copy_from_slice(&(self.digests * 0x9E37_79B9).to_be_bytes());
        digest
    }

    /// Commits a transaction at the time `now`, in microseconds.
    pub(super) fn commit(&mut self, now: u64, updates: Vec<(Key, Vec<(u32, Update)>)>) -> EdgeTransaction {
        (self.last, self.h) = (self.last + 1, self.h.max(self.base.max()).max(at(now)).next());
        let (before, digest) = (self.digest, self.next_digest());
        self.digest = digest;
        let (client, k, h, dep) = (self.id, self.last, self.h, self.base.clone());
        let (new, after_loss) = (false, false);
        self.log.push(EdgeTransaction { client, k, h, dep, before, digest, new, after_loss, updates });
        self.log.last().expect("just pushed").clone()
    }

    /// Gives transaction `k` and those after it new times, and has them depend on the base of now.
    pub(super) fn retime(&mut self, k: u64, now: u64) {
        let Some(mut before) = self.log.iter().find(|one| one.k == k).map(|one| one.before) else { return };
        self.h = self.log.iter().filter(|one| one.k < k).map(|one| one.h).max().unwrap_or_default();
        for place in 0..self.log.len() {
            if self.log[place].k < k {
                continue;
            }
            let digest = self.next_digest();
            let one = &mut self.log[place];
            one.dep = self.base.clone();
            self.h = self.h.max(one.dep.max()).max(at(now)).next();
            (one.h, one.before, one.digest) = (self.h, before, digest);
            before = digest;
        }
        self.digest = before;
    }
}

pub(super) type Told = Result<Acceptance, Failure>;

pub(super) fn accept(lab: &mut Lab<Tidemark>, session: usize, one: EdgeTransaction) -> Told {
    match lab.run(session, Op::Transact(Box::new(Transact::Accept(Box::new(one))))) {
        Outcome::Accepted(what) => Ok(*what),
        Outcome::Failed(why) => Err(why),
        other => panic!("{other:?}"),
    }
}

/// As one that was sent to nobody else.
pub(super) fn new(one: &EdgeTransaction) -> EdgeTransaction {
    EdgeTransaction { new: true, ..one.clone() }
}

pub(super) fn taken() -> Result<Acceptance, Failure> {
    Ok(Acceptance::Taken(Vec::new()))
}

/// The base of so many regions, as a session learns it.
pub(super) fn base_of(lab: &mut Lab<Tidemark>, session: usize, regions: usize) -> Option<Vector> {
    match lab.run(session, Op::Transact(Box::new(Transact::Bases))) {
        Outcome::Bases(bases, _) => bases.get(regions - 1).cloned(),
        _ => None,
    }
}

pub(super) fn read_base(
    lab: &mut Lab<Tidemark>,
    session: usize,
    base: &Vector,
    keys: &[Key],
) -> Option<Vec<Found>> {
    let read = Transact::ReadBase { base: base.clone(), keys: keys.to_vec(), command: None };
    match lab.run(session, Op::Transact(Box::new(read))) {
        Outcome::FoundAll(all) => Some(all),
        _ => None,
    }
}

pub(super) fn value(found: &Found) -> Option<String> {
    found.value.as_ref().map(|value| String::from_utf8_lossy(value).into_owned())
}

#[test]
fn d17_a_transaction_is_written_once_whoever_it_is_sent_to() {
    let mut lab = edge(2);
    let (x, n) = (lab.key("x", 0), lab.key("n", 1));
    let (a, b) = (lab.client(0), lab.client(1));
    let mut client = Client::new(1);
    let one = client.commit(200_000, vec![set(&x, "1"), command(&n, Verb::IncrBy, &["5"])]);
    lab.set_clocks(250_000);
    assert_eq!(accept(&mut lab, a, one.clone()), taken());
    assert_eq!(accept(&mut lab, a, one.clone()), Ok(Acceptance::Known));
    assert_eq!(accept(&mut lab, b, one.clone()), taken(), "B does not know of it");
    settle(&mut lab, 300_000);
    for session in [a, b] {
        assert_eq!((lab.get(session, &x), lab.get(session, &n)), ("1".into(), "5".into()));
        assert_eq!(accept(&mut lab, session, one.clone()), Ok(Acceptance::Known));
    }
    let stored = lab.store(server(0, 0)).chain(&x).next().expect("it is there").clone();
    assert_eq!(stored.stamp, one.stamp());
    assert_eq!(stored.meta.edge.expect("it is one").others.len(), 1);
}

#[test]
fn d17_transactions_are_accepted_in_the_order_of_their_client() {
    let mut lab = edge(2);
    let x = lab.key("x", 0);
    let (a, b) = (lab.client(0), lab.client(1));
    let mut client = Client::new(1);
    let [one, two] = ["1", "2"].map(|value| client.commit(200_000, vec![set(&x, value)]));
    lab.set_clocks(250_000);
    assert_eq!(accept(&mut lab, a, two.clone()), Ok(Acceptance::Missing(0)));
    assert_eq!(accept(&mut lab, a, one.clone()), taken());
    assert_eq!(accept(&mut lab, a, two.clone()), taken());
    assert_eq!(accept(&mut lab, a, one.clone()), Ok(Acceptance::Known));
    let other = EdgeTransaction { digest: [9; 32], ..two.clone() };
    assert_eq!(accept(&mut lab, a, other), Ok(Acceptance::Forked(2)));
    let third = EdgeTransaction { k: 3, h: two.h.next(), before: [9; 32], ..two.clone() };
    assert_eq!(accept(&mut lab, a, third), Ok(Acceptance::Forked(2)));
    settle(&mut lab, 300_000);
    assert_eq!(accept(&mut lab, b, two), Ok(Acceptance::Known));
    assert_eq!(lab.get(b, &x), "2");
}

#[test]
fn d17_a_version_shows_by_any_of_its_copies() {
    let mut lab = edge(3);
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    let (a, b, c) = (lab.client(0), lab.client(1), lab.client(2));
    let mut client = Client::new(1);
    let one = client.commit(200_000, vec![set(&x, "1"), set(&y, "1")]);
    lab.set_clocks(250_000);
    assert_eq!(accept(&mut lab, a, one.clone()), taken());
    while lab.deliver(server(0, 0), server(2, 0)) {} // half of it, and A is gone
    assert_eq!(accept(&mut lab, b, one), taken());
    for _ in 0..3 {
        for dc in [1, 2] {
            for partition in [0, 1] {
                lab.fire(server(dc, partition), Timer::Delta);
                lab.fire(server(dc, partition), Timer::Theta);
            }
        }
        lab.deliver_between(1, 2);
        lab.deliver_within(DcId(2));
    }
    assert_eq!((lab.get(c, &x), lab.get(c, &y)), ("1".into(), "1".into()), "by the copy of B");
    // Who has read it does not depend on the copy of A, which is not here.
    assert_eq!(lab.token(c).past.ds[DcId(0)], Hlc::ZERO);
    settle(&mut lab, 400_000);
    assert_eq!(lab.rotx(a, &[&x, &y]), "1 1");
}

/// A transaction that depends on a PUT in A is sent to B, which lacks it: what B says, and then has of the effect and of its cause.
fn sent_to_who_lacks_its_cause() -> (Lab<Tidemark>, EdgeTransaction, Result<Acceptance, Failure>, [String; 2])
{
    let mut lab = edge(2);
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    let (a, b) = (lab.client(0), lab.client(1));
    lab.put(a, &x, "cause");
    let mut client = Client::new(1);
    client.base = v(&[210_000, 0]);
    let one = client.commit(220_000, vec![set(&y, "effect")]);
    lab.set_clocks(250_000);
    let said = accept(&mut lab, b, one.clone());
    let found = [lab.get(b, &y), lab.get(b, &x)];
    (lab, one, said, found)
}

#[test]
fn d17_a_region_that_lacks_its_causes_does_not_accept_it() {
    let (mut lab, one, said, _) = sent_to_who_lacks_its_cause();
    assert_eq!(said, Ok(Acceptance::Behind));
    settle(&mut lab, 260_000);
    assert_eq!(accept(&mut lab, 1, one), taken());
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    assert_eq!((lab.get(1, &x), lab.get(1, &y)), ("cause".into(), "effect".into()));
    let (_, _, said, found) = without(&[DEP_IS_COVERED], sent_to_who_lacks_its_cause);
    assert_eq!((said, found), (taken(), ["effect".into(), "-".into()]), "this is what it is for");
}

#[test]
fn d17_times_are_above_causes_and_not_far_ahead() {
    let mut lab = edge(2);
    let x = lab.key("x", 0);
    let a = lab.client(0);
    lab.set_max_skew(100_000);
    lab.set_clocks(250_000);
    let one = Client::new(1).commit(900_000, vec![set(&x, "1")]);
    assert_eq!(accept(&mut lab, a, one.clone()), Ok(Acceptance::Later(650_000)));
    let low = EdgeTransaction { h: at(200_000), dep: v(&[210_000, 0]), ..one };
    lab.set_clocks(300_000);
    settle(&mut lab, 310_000);
    let why = format!("{:?}", accept(&mut lab, a, low).expect_err("its time is below its cause"));
    assert!(why.contains("above everything that it depends on"), "{why}");
}

#[test]
fn d18_what_came_too_late_everywhere_is_asked_for_with_another_time() {
    let mut lab = edge(2);
    let x = lab.key("x", 0);
    let (a, b) = (lab.client(0), lab.client(1));
    let mut client = Client::new(1);
    let one = client.commit(200_000, vec![set(&x, "1")]);
    assert_eq!(accept(&mut lab, b, one.clone()), taken()); // the answer is lost, and B cut off
    lab.set_clocks(200_000 + 2 * RETAIN);
    for partition in [0, 1] {
        lab.fire(server(0, partition), Timer::Delta);
        lab.fire(server(0, partition), Timer::Theta);
    }
    lab.deliver_within(DcId(0));
    assert_eq!(accept(&mut lab, a, one.clone()), Ok(Acceptance::Behind), "B may have accepted it");
    assert_eq!(accept(&mut lab, a, new(&one)), Ok(Acceptance::Retime), "if B were never asked");
    settle(&mut lab, 200_000 + 2 * RETAIN);
    assert_eq!(accept(&mut lab, a, one), Ok(Acceptance::Known));
    let two = client.commit(200_000, vec![set(&x, "2")]);
    assert_eq!(accept(&mut lab, a, two), Ok(Acceptance::Retime));
    client.retime(2, 200_000 + 2 * RETAIN);
    assert_eq!(accept(&mut lab, a, client.log[1].clone()), taken());
    assert_eq!(lab.get(a, &x), "2");
}

#[test]
fn d18_versions_and_what_is_above_them_stay_for_as_long_as_a_copy_may_come() {
    let mut lab = edge(2);
    let s = lab.key("s", 0);
    let (a, b) = (lab.client(0), lab.client(1));
    let mut client = Client::new(1);
    let one = client.commit(200_000, vec![command(&s, Verb::SAdd, &["m"])]);
    assert_eq!(accept(&mut lab, a, one.clone()), taken());
    settle(&mut lab, 250_000);
    let remove = command(&s, Verb::SRem, &["m"]).1.remove(0).1;
    lab.run(b, Op::Put { key: s.clone(), update: remove });
    settle(&mut lab, 450_000);
    let kept = |lab: &Lab<Tidemark>| lab.store(server(0, 0)).chain(&s).count();
    assert_eq!(kept(&lab), 2, "another copy may come");
    (0..6).for_each(|n| settle(&mut lab, 700_000 + n * 200_000));
    assert_eq!(kept(&lab), 0);
}

#[test]
fn d19_updates_have_seen_what_their_client_had() {
    let mut lab = edge(2);
    let (s, x) = (lab.key("s", 0), lab.key("x", 1));
    let (a, b) = (lab.client(0), lab.client(1));
    let add = |lab: &mut Lab<Tidemark>, session, member| {
        let update = command(&s, Verb::SAdd, &[member]).1.remove(0).1;
        lab.run(session, Op::Put { key: s.clone(), update });
    };
    add(&mut lab, a, "seen");
    settle(&mut lab, 200_000);
    let mut client = Client::new(1);
    client.base = base_of(&mut lab, b, 2).expect("there is one");
    lab.set_clocks(410_000);
    add(&mut lab, a, "seen");
    add(&mut lab, a, "unseen");
    let own = client.commit(400_000, vec![command(&s, Verb::SAdd, &["own"])]);
    let remove =
        client.commit(400_000, vec![command(&s, Verb::SRem, &["seen", "unseen", "own"]), set(&x, "done")]);
    assert_eq!([own, remove].map(|one| accept(&mut lab, a, one)), [taken(), taken()]);
    settle(&mut lab, 450_000);
    let card =
        Op::Query { keys: vec![s.clone()], command: Box::new(Command::new(Verb::SMembers, Vec::new())) };
    let Outcome::FoundAll(found) = lab.run(b, card) else { panic!("it is a set") };
    let members = format!("{:?}", found[0].reply);
    assert!(members.contains("unseen") && !members.contains("own"), "{members}");
    assert!(members.matches("seen").count() == 2, "what was added again has not been seen: {members}");
}

#[test]
fn d19_what_has_no_effect_is_told_and_the_rest_is_written() {
    let mut lab = edge(2);
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    let a = lab.client(0);
    lab.put(a, &x, "text");
    let mut client = Client::new(1);
    let mut updates = vec![command(&x, Verb::HSet, &["f", "1"]), set(&y, "1")];
    updates[0].1[0].0 = 7;
    settle(&mut lab, 200_000);
    client.base = base_of(&mut lab, a, 2).expect("there is one");
    let one = client.commit(400_000, updates);
    let Ok(Acceptance::Taken(without)) = accept(&mut lab, a, one) else { panic!("it is accepted") };
    assert!(without.len() == 1 && without[0].0 == 7 && without[0].1.starts_with("WRONGTYPE"), "{without:?}");
    assert_eq!((lab.get(a, &x), lab.get(a, &y)), ("text".into(), "1".into()));
}

#[test]
fn without_parameters_nothing_is_accepted() {
    let mut lab = sound(2, 2);
    let x = lab.key("x", 0);
    let a = lab.client(0);
    let one = Client::new(1).commit(200_000, vec![set(&x, "1")]);
    let why = format!("{:?}", accept(&mut lab, a, one).expect_err("nothing is"));
    assert!(why.contains("base_regions and edge_retain_us"), "{why}");
}

fn changed(lab: &mut Lab<Tidemark>, session: usize, from: &Vector, to: &Vector) -> Option<Vec<String>> {
    let step = Transact::Changed { from: from.clone(), to: to.clone() };
    match lab.run(session, Op::Transact(Box::new(step))) {
        Outcome::Changed(keys) => Some(keys?.iter().map(Key::to_string).collect()),
        other => panic!("{other:?}"),
    }
}

/// What has changed between two bases, told before and after a server of x has restarted, and without the rule.
#[test]
fn d20_changes_are_told_as_long_as_they_are_remembered() {
    let mut lab = edge(2);
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    let a = lab.client(0);
    lab.run(a, transactions::put_all(&[&x, &y], "1"));
    settle(&mut lab, 200_000);
    let from = base_of(&mut lab, a, 1).expect("there is one");
    lab.set_clocks(450_000);
    lab.put(a, &x, "2");
    settle(&mut lab, 500_000);
    let to = base_of(&mut lab, a, 1).expect("there is one");
    assert_eq!(changed(&mut lab, a, &from, &to), Some(vec![x.to_string()]));
    assert_eq!(changed(&mut lab, a, &to, &to), Some(Vec::new()));
    lab.restart(server(0, 0));
    settle(&mut lab, 700_000);
    assert_eq!(changed(&mut lab, a, &from, &to), None, "it may be anything");
    let without = without(&[CHANGES_ARE_KNOWN, BASES_ARE_HERE], || changed(&mut lab, a, &from, &to));
    assert_eq!(without, Some(Vec::new()), "this is what it is for");
}

/// A base that is not here, or of which something was collected, is not read.
#[test]
fn d16_a_base_is_read_where_it_is_whole() {
    let mut lab = edge(2);
    let keys = &[lab.key("x", 0)];
    let (a, b) = (lab.client(0), lab.client(1));
    settle(&mut lab, 200_000);
    lab.set_clocks(400_000);
    lab.put(b, &keys[0], "1");
    let at = |us| v(&[us, us]);
    assert_eq!(read_base(&mut lab, a, &at(410_000), keys), None, "A has not got it");
    let torn = without(&[BASES_ARE_HERE], || read_base(&mut lab, a, &at(410_000), keys));
    assert_eq!(torn.map(|found| value(&found[0])), Some(None), "this is what it is for");
    for n in 0..20 {
        settle(&mut lab, 500_000 + n * 200_000);
        lab.put(b, &keys[0], "later");
    }
    assert_eq!(read_base(&mut lab, a, &at(410_000), keys), None, "it is collected");
    let base = base_of(&mut lab, a, 2).expect("there is one");
    assert_eq!(read_base(&mut lab, a, &base, keys).map(|found| value(&found[0])), Some(Some("later".into())));
}
