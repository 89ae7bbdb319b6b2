//! Lists that clients at the edge and Redis clients edit together.

use super::{App, started};
use crate::support::{Client, eventually};
use crate::transactions::ask;
use tidemark_edge::client::Report;
use tidemark_edge::frames::OperationKind::ListSet;
use tidemark_edge::position::Hand;

fn delivered(app: &mut App) {
    app.until("it is delivered", |app| app.client().pending() == 0);
}

fn everywhere(redis: &mut [Client], expected: &str) {
    for client in redis {
        eventually(format!("it is {expected}"), || ask(client, "LRANGE todo 0 -1") == expected);
    }
}

#[test]
fn lists_of_edge_clients_are_those_of_redis_clients() {
    let (cluster, mut redis) = started(2);
    assert_eq!(ask(&mut redis[0], "RPUSH todo milk bread eggs"), "3");
    let mut app = App::new(&cluster, &[1, 2, 0], 2);
    app.load(&["todo"]);
    app.until("Redis's elements are there", |app| app.list("todo") == "[milk bread eggs]");
    app.transact(|transaction| {
        transaction.insert("todo", 1, "butter").unwrap();
        transaction.push_back("todo", "tea");
        transaction.set_at("todo", 0, "oat-milk").unwrap();
        transaction.remove_at("todo", 2).unwrap();
    });
    let edited = "[oat-milk butter eggs tea]";
    assert_eq!(app.list("todo"), edited, "its own edits are there at once");
    delivered(&mut app);
    everywhere(&mut redis, edited);
    // Redis clients go on between and behind what the client has put there.
    assert_eq!(ask(&mut redis[1], "LINSERT todo AFTER butter jam"), "5");
    assert_eq!(ask(&mut redis[1], "RPUSH todo rice"), "6");
    assert_eq!(ask(&mut redis[1], "LPUSH todo first"), "7");
    assert_eq!(ask(&mut redis[1], "LREM todo 1 eggs"), "1");
    let all = "[first oat-milk butter jam tea rice]";
    everywhere(&mut redis, all);
    app.until("what Redis clients did is there", |app| app.list("todo") == all);
    app.transact(|transaction| (0..6).for_each(|_| transaction.remove_at("todo", 0).unwrap()));
    delivered(&mut app);
    eventually("it is gone", || ask(&mut redis[0], "EXISTS todo") == "0");
    // A queue: Redis clients wait for what edge clients push.
    app.transact(|transaction| transaction.push_back("todo", "job"));
    delivered(&mut app);
    eventually("it was taken", || ask(&mut redis[2], "LPOP todo") == "job");
}

#[test]
fn runs_of_two_clients_that_are_offline_stand_one_behind_the_other() {
    let (cluster, mut redis) = started(1);
    assert_eq!(ask(&mut redis[0], "RPUSH todo begin end"), "2");
    let mut apps = [App::new(&cluster, &[0], 1), App::new(&cluster, &[1], 1)];
    for app in &mut apps {
        app.load(&["todo"]);
        app.until("the list is there", |app| app.list("todo") == "[begin end]");
        app.offline();
    }
    for n in 1..=3 {
        // One writes forwards, the other backwards.
        apps[0].transact(|transaction| transaction.insert("todo", n, format!("a{n}")).unwrap());
        apps[1].transact(|transaction| transaction.insert("todo", 1, format!("b{n}")).unwrap());
    }
    assert_eq!(apps[0].list("todo"), "[begin a1 a2 a3 end]");
    assert_eq!(apps[1].list("todo"), "[begin b3 b2 b1 end]");
    apps.iter_mut().for_each(App::online);
    apps.iter_mut().for_each(delivered);
    let [one, other] = ["[begin a1 a2 a3 b3 b2 b1 end]", "[begin b3 b2 b1 a1 a2 a3 end]"];
    for app in &mut apps {
        app.until("both runs are there", |app| [one, other].contains(&app.list("todo").as_str()));
    }
    let both = apps[0].list("todo");
    assert_eq!(apps[1].list("todo"), both);
    everywhere(&mut redis, &both);
    // A removal takes what its client has seen: not the value that another one sets meanwhile.
    apps.iter_mut().for_each(App::offline);
    apps[0].transact(|transaction| transaction.remove_at("todo", 0).unwrap());
    apps[1].transact(|transaction| transaction.set_at("todo", 0, "start").unwrap());
    apps.iter_mut().for_each(App::online);
    apps.iter_mut().for_each(delivered);
    let kept = both.replace("begin", "start");
    for app in &mut apps {
        app.until("it stays", |app| app.list("todo") == kept);
    }
    everywhere(&mut redis, &kept);
}

/// What no client of ours would send.
#[test]
fn a_forged_position_is_refused() {
    let (cluster, mut redis) = started(1);
    let mut app = App::new(&cluster, &[0], 1);
    app.load(&["todo"]);
    let first = Hand { author: 300, time_us: 1, nth: 0 }.between(None, None);
    let long = [first[..first.len() - 1].repeat(2_000), first].concat();
    for forged in [Vec::new(), vec![255; 40], long] {
        app.commit(&[("todo", ListSet(forged.into(), "x".into()))]);
    }
    app.until("they are refused", |app| {
        let refused = app.reports.iter().filter(
            |report| matches!(report, Report::Refused { text, .. } if text.starts_with(b"no client can")),
        );
        refused.count() == 3
    });
    delivered(&mut app);
    assert_eq!(ask(&mut redis[0], "EXISTS todo"), "0");
}
