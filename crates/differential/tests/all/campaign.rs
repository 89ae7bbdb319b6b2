//! The comparison itself: two servers of one kind do not differ, and a difference that is planted is found and made short.

use tidemark_differential::campaign::{Pair, Plan, Report};
use tidemark_differential::shapes::{self, Shape};
use tidemark_differential::side::{Alter, Side};
use tidemark_differential::{line, servers};

/// A redis-server; none if the program is missing or of another version, which is an error where all tests have to run.
fn redis() -> Option<servers::Server> {
    if let Err(error) = servers::check_redis() {
        assert!(std::env::var_os("TIDEMARK_TEST_ALL").is_none(), "environment: {error:#}");
        eprintln!("environment: {error:#}. The test is left out");
        return None;
    }
    Some(servers::redis().unwrap())
}

fn of(groups: &[&str]) -> Vec<Shape> {
    shapes::of(&groups.iter().map(|group| (*group).to_string()).collect::<Vec<_>>()).unwrap()
}

fn plan(commands: usize) -> Plan {
    Plan { seed: 7, commands, sequence: 200, state_every: 50 }
}

/// Two redis-servers; `alter` changes the replies of the second.
fn campaign(protocol: u8, groups: &[&str], commands: usize, alter: Option<Alter>) -> Option<Report> {
    let (one, other) = (redis()?, redis()?);
    let mut ours = Side::connect(other.address, protocol).unwrap();
    if let Some(alter) = alter {
        ours = ours.altered(alter);
    }
    let mut pair = Pair::new(Side::connect(one.address, protocol).unwrap(), ours);
    Some(pair.run(&of(groups), &plan(commands)).unwrap())
}

#[test]
fn two_servers_of_one_kind_do_not_differ() {
    let groups: Vec<&str> = shapes::groups().collect();
    for protocol in [2, 3] {
        let Some(report) = campaign(protocol, &groups, 20_000, None) else { return };
        assert!(report.findings.is_empty(), "RESP{protocol}\n{}", report.text());
        assert!(report.commands > 19_000 && report.unknown.is_empty(), "{}", report.text());
    }
}

#[test]
fn a_wrong_reply_is_found_with_the_shortest_sequence() {
    // The length of what APPEND has made is one too many, if that is three.
    let alter: Alter = Box::new(|words, raw| {
        if words[0].eq_ignore_ascii_case(b"APPEND") && *raw == b":3\r\n" {
            *raw = b":4\r\n".to_vec();
        }
    });
    let Some(report) = campaign(2, &["string"], 4_000, Some(alter)) else { return };
    let [finding] = &report.findings[..] else { panic!("one kind of difference: {}", report.text()) };
    assert_eq!(finding.difference.kind, "APPEND: : / :");
    assert_eq!((&finding.difference.theirs[..], &finding.difference.ours[..]), (":3\\r\\n", ":4\\r\\n"));
    // One APPEND is enough, or one behind a command that makes the value to which it appends.
    assert!(finding.sequence.len() <= 2, "{}", report.text());
    let last = finding.sequence.last().expect("it is not empty");
    assert!(line(last).to_uppercase().starts_with("APPEND ") && last.len() == 3, "{}", report.text());
}

#[test]
fn a_wrong_error_is_found() {
    let alter: Alter = Box::new(|_, raw| {
        if raw.starts_with(b"-WRONGTYPE") {
            *raw = b"-ERR wrong type\r\n".to_vec();
        }
    });
    let Some(report) = campaign(3, &["list", "string"], 4_000, Some(alter)) else { return };
    assert!(!report.findings.is_empty());
    for finding in &report.findings {
        assert!(finding.difference.kind.ends_with(" / ERR wrong type"), "{}", report.text());
        // A key of another type and the command; some types come about in two steps.
        assert!((2..=3).contains(&finding.sequence.len()), "{}", report.text());
    }
}

#[test]
fn a_wrong_random_member_is_found() {
    let alter: Alter = Box::new(|words, raw| {
        if words[0].eq_ignore_ascii_case(b"SRANDMEMBER") && raw.starts_with(b"$2\r\nm") {
            *raw = b"$2\r\nn1\r\n".to_vec();
        }
    });
    let Some(report) = campaign(2, &["set"], 4_000, Some(alter)) else { return };
    assert!(report.findings.iter().any(|finding| finding.difference.kind.starts_with("SRANDMEMBER")));
    assert!(report.findings.iter().all(|finding| finding.sequence.len() <= 2), "{}", report.text());
}

#[test]
fn what_only_the_state_shows_is_found() {
    // Of the commands of the group, none reads a whole hash: only the comparison of all that is held does.
    let alter: Alter = Box::new(|words, raw| {
        if words[0] == b"HGETALL" && words[1] == b"h1" && raw.len() > 30 {
            raw[9] ^= 1;
        }
    });
    let mut shapes = of(&["hash"]);
    shapes.retain(|shape| ["HSET", "HDEL", "HLEN"].contains(&&shape.name[..]));
    let (Some(one), Some(other)) = (redis(), redis()) else { return };
    let ours = Side::connect(other.address, 2).unwrap().altered(alter);
    let mut pair = Pair::new(Side::connect(one.address, 2).unwrap(), ours);
    let report = pair.run(&shapes, &plan(2_000)).unwrap();
    let kinds: Vec<&str> = report.findings.iter().map(|finding| &finding.difference.kind[..]).collect();
    assert_eq!(kinds, ["state: contents (hash)"], "{}", report.text());
    assert!(report.findings[0].sequence.len() <= 2, "{}", report.text());
}

#[test]
fn members_that_one_server_has_popped_leave_the_other_too() {
    let Some(report) = campaign(2, &["set"], 10_000, None) else { return };
    assert!(report.findings.is_empty(), "{}", report.text());
}
