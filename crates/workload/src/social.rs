//! A social network: SocialApp of SwiftCloud (Middleware 2015, section 5.1 and table 1), which is modelled after Walter's.
//!
//! A user has eight objects: a profile and a status (registers), a wall, events, friends, requests that came and requests that were sent
//! (sets), and a counter of visits. A client is one user. Whose wall it looks at is drawn from its friends with the probability
//! `locality`, else from all users.
//!
//! **Deviations** D1 The paper names five operations and says that a transaction has 2 to 5 objects; which these are is ours, after the
//! application that its authors have published. D2 That one's users have seven objects; the paper counts 400,000 of 50,000 users.

use crate::filling::value;
use crate::objects::{Change, Object, Shape, Transaction};
use crate::{Kind, Pattern, Workload};
use bytes::Bytes;
use fastrand::Rng;
use tidemark_core::{Command, Op, Update, Verb};

/// How many objects a user has.
pub(crate) const OBJECTS: u64 = 8;

/// A user, as one client's session.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    user: u64,
    friends: Vec<u64>,
    users: u64,
    /// How much it has written: no two of its messages are the same.
    written: u64,
}

fn profile(user: u64) -> Object {
    Object::new(&format!("user:{user}"), Shape::Register)
}

fn status(user: u64) -> Object {
    Object::new(&format!("user:{user}:status"), Shape::Register)
}

fn wall(user: u64) -> Object {
    Object::new(&format!("user:{user}:wall"), Shape::Set)
}

fn events(user: u64) -> Object {
    Object::new(&format!("user:{user}:events"), Shape::Set)
}

fn friends(user: u64) -> Object {
    Object::new(&format!("user:{user}:friends"), Shape::Set)
}

fn requests_in(user: u64) -> Object {
    Object::new(&format!("user:{user}:in"), Shape::Set)
}

fn requests_out(user: u64) -> Object {
    Object::new(&format!("user:{user}:out"), Shape::Set)
}

fn views(user: u64) -> Object {
    Object::new(&format!("user:{user}:views"), Shape::Counter)
}

/// How a user is called in a set.
fn name(user: u64) -> Bytes {
    format!("user:{user}").into()
}

impl Member {
    /// Some user, with some friends; none if the workload is another.
    pub(crate) fn new(workload: &Workload, rng: &mut Rng) -> Option<Self> {
        let Pattern::Social { friends, .. } = workload.pattern else { return None };
        let users = workload.keys / OBJECTS;
        let user = rng.u64(0..users);
        Some(Self { user, friends: friends_of(user, users, friends, rng), users, written: 0 })
    }

    pub(crate) fn next(&mut self, workload: &Workload, rng: &mut Rng) -> Transaction {
        let Pattern::Social { read_wall, see_friends, message, post_status, views, .. } = workload.pattern
        else {
            unreachable!("only a social network has members");
        };
        let shares = [
            (Kind::ReadWall, read_wall),
            (Kind::SeeFriends, see_friends),
            (Kind::Message, message),
            (Kind::PostStatus, post_status),
        ];
        let (draw, mut below) = (rng.f64(), 0.0);
        let kind = shares.iter().find_map(|(kind, share)| {
            below += share;
            (draw < below).then_some(*kind)
        });
        let kind = kind.unwrap_or(Kind::AddFriend);
        let whose = self.somebody(workload.locality, rng);
        let (reads, changes) = match kind {
            Kind::ReadWall => read_a_wall(whose, views),
            Kind::SeeFriends => (vec![profile(whose), friends(whose)], Vec::new()),
            Kind::Message => self.leave_a_message(whose, workload.value_bytes, rng),
            Kind::PostStatus => self.post_a_status(workload.value_bytes, rng),
            _ => self.befriend(whose),
        };
        Transaction { kind, reads, changes }
    }

    /// A friend, or anybody else.
    fn somebody(&self, locality: f64, rng: &mut Rng) -> u64 {
        if rng.f64() < locality {
            return self.friends[rng.usize(0..self.friends.len())];
        }
        let other = rng.u64(0..self.users - 1);
        other + u64::from(other >= self.user)
    }

    /// What nobody has written before.
    fn text(&mut self, bytes: usize, rng: &mut Rng) -> Bytes {
        self.written += 1;
        let begins = format!("{}.{}:", self.user, self.written);
        let rest = value(rng, bytes.saturating_sub(begins.len()).max(8));
        [begins.as_bytes(), &rest].concat().into()
    }

    fn leave_a_message(&mut self, whose: u64, bytes: usize, rng: &mut Rng) -> Parts {
        let reads = vec![profile(whose), wall(whose), events(self.user)];
        let said = Change::Member(self.text(bytes, rng));
        let done = Change::Member(self.text(bytes, rng));
        (reads, vec![(wall(whose), said), (events(self.user), done)])
    }

    fn post_a_status(&mut self, bytes: usize, rng: &mut Rng) -> Parts {
        let objects = [status(self.user), wall(self.user), events(self.user)];
        let text = self.text(bytes, rng);
        let done = Change::Member(self.text(bytes, rng));
        let changes = [Change::Set(text.clone()), Change::Member(text), done];
        (objects.to_vec(), objects.into_iter().zip(changes).collect())
    }

    fn befriend(&mut self, whose: u64) -> Parts {
        let own = [friends(self.user), requests_out(self.user)];
        let theirs = [friends(whose), requests_in(whose)];
        let reads = [profile(whose)].into_iter().chain(own.clone()).chain(theirs.clone());
        let both = [Change::Member(name(whose)), Change::Member(name(self.user))];
        let pairs = [(own, both[0].clone()), (theirs, both[1].clone())];
        let changes = pairs.into_iter().flat_map(|(sets, who)| sets.map(|set| (set, who.clone())));
        (reads.collect(), changes.collect())
    }
}

type Parts = (Vec<Object>, Vec<(Object, Change)>);

fn read_a_wall(whose: u64, counts: bool) -> Parts {
    let mut reads = vec![profile(whose), wall(whose), events(whose)];
    let mut changes = Vec::new();
    if counts {
        reads.push(views(whose));
        changes.push((views(whose), Change::Add(1)));
    }
    (reads, changes)
}

/// Different users, and not the user.
fn friends_of(user: u64, users: u64, count: u32, rng: &mut Rng) -> Vec<u64> {
    let mut friends: Vec<u64> = Vec::with_capacity(count as usize);
    while friends.len() < count as usize {
        let other = rng.u64(0..users);
        if other != user && !friends.contains(&other) {
            friends.push(other);
        }
    }
    friends
}

/// What is not empty at first: profiles, statuses, and friends.
pub(crate) fn filling(
    workload: &Workload,
    number: usize,
    clients: usize,
    mut rng: Rng,
) -> impl Iterator<Item = Op> + use<> {
    let Pattern::Social { friends: count, .. } = workload.pattern else {
        unreachable!("only a social network has members");
    };
    let (users, bytes) = (workload.keys / OBJECTS, workload.value_bytes);
    (number as u64..users).step_by(clients.max(1)).flat_map(move |user| {
        let mut text = || Change::Set(Bytes::copy_from_slice(&value(&mut rng, bytes)));
        let registers = [profile(user), status(user)].map(|object| text().op(object.key));
        let known = friends_of(user, users, count, &mut rng).into_iter().map(name).collect();
        let update = Update::call(Command::new(Verb::SAdd, known));
        registers.into_iter().chain([Op::Put { key: friends(user).key, update }])
    })
}
