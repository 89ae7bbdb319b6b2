//! Documents: what READ gives, what its tokens cover, and what COMPACT takes.

use crate::harness::{Desk, Version, show};
use bytes::Bytes;
use tidemark_core::Reply;

/// What READ answers: the token, and the updates.
fn read(desk: &mut Desk, since: Option<&Bytes>) -> (Bytes, Vec<String>) {
    let since = since.map_or(String::new(), |token| format!(" since {}", String::from_utf8_lossy(token)));
    let reply = desk.run(&format!("tide.doc|read k{since}"));
    let Reply::Array(parts) = reply else { panic!("READ answers {reply:?}") };
    let [Reply::Bulk(token), Reply::Array(updates)] = &parts[..] else { panic!("READ answers {parts:?}") };
    (token.clone(), updates.iter().map(|update| show(update, 2).replace('"', "")).collect())
}

fn write(desk: &mut Desk, line: &str) -> Version {
    desk.tell(line).1.unwrap_or_else(|| panic!("{line} writes"))
}

fn two() -> [Desk; 2] {
    [Desk::new(0, false), Desk::new(1, false)]
}

#[test]
fn a_reader_is_given_what_its_token_does_not_cover() {
    let mut desk = Desk::new(0, false);
    assert_eq!(read(&mut desk, None).1, [""; 0]);
    for line in ["tide.doc|put k one", "tide.doc|put k two three", "tide.doc|put k one"] {
        assert_eq!(show(&desk.run(line), 2), "+OK");
    }
    let (token, all) = read(&mut desk, None);
    assert_eq!(all, ["one", "two", "three", "one"], "in the order of their versions");
    let (token, none) = read(&mut desk, Some(&token));
    assert_eq!(none, [""; 0]);
    desk.run("tide.doc|put k four");
    let (token, new) = read(&mut desk, Some(&token));
    assert_eq!(new, ["four"]);
    // A token stays good when dots are dropped.
    desk.settle(50_000);
    assert_eq!(read(desk.at(60_000), Some(&token)).1, [""; 0]);
    desk.run("tide.doc|put k five");
    assert_eq!(read(&mut desk, Some(&token)).1, ["five"]);
    assert_eq!(show(&desk.run("type k"), 2), "+tide-doc");
}

#[test]
fn an_update_that_becomes_visible_late_is_given_though_a_newer_one_of_its_region_was() {
    let [mut here, mut there] = two();
    let first = write(&mut there, "tide.doc|put k older");
    let second = write(&mut there, "tide.doc|put k newer");
    here.receive("k", &second);
    let (token, all) = read(&mut here, None);
    assert_eq!(all, ["newer"]);
    here.receive("k", &first);
    assert_eq!(read(&mut here, Some(&token)).1, ["older"]);
}

#[test]
fn a_reader_may_go_on_in_another_region() {
    let [mut here, mut there] = two();
    let first = write(&mut here, "tide.doc|put k one");
    let (token, _) = read(&mut here, None);
    write(&mut there, "tide.doc|put k other");
    let (token, new) = read(&mut there, Some(&token));
    assert_eq!(new, ["other"]);
    there.receive("k", &first);
    assert_eq!(read(&mut there, Some(&token)).1, [""; 0], "it was given that in the first region");
}

#[test]
fn compaction_takes_what_its_token_covers() {
    let mut desk = Desk::new(0, false);
    desk.run("tide.doc|put k a");
    desk.run("tide.doc|put k b");
    let (token, _) = read(&mut desk, None);
    desk.run("tide.doc|put k c");
    let compact = format!("tide.doc|compact k ab upto {}", String::from_utf8_lossy(&token));
    assert_eq!(show(&desk.run(&compact), 2), ":2");
    assert_eq!(read(&mut desk, None).1, ["c", "ab"]);
    assert_eq!(read(&mut desk, Some(&token)).1, ["c", "ab"], "the old token covers neither");
    assert_eq!(desk.tell(&compact), (Reply::Int(0), None), "there is nothing left to take the place of");
    assert_eq!(show(&desk.run("tide.doc|compact k abc upto *"), 2), ":2");
    assert_eq!(read(&mut desk, None).1, ["abc"]);
    desk.run("del k");
    assert_eq!(
        desk.tell("tide.doc|compact k abc upto *"),
        (Reply::Int(0), None),
        "a deleted document stays deleted"
    );
}

#[test]
fn a_compaction_of_all_that_is_old_is_small() {
    let mut desk = Desk::new(0, true);
    (0..1000).for_each(|n| assert_eq!(desk.run(&format!("tide.doc|put k update-{n}")), Reply::Ok));
    let (_, effect) = write(&mut desk, "tide.doc|compact k merged upto *");
    assert!(effect.encode().len() < 100, "{} bytes", effect.encode().len());
    assert_eq!(read(&mut desk, None).1, ["merged"]);
}

#[test]
fn updates_and_compactions_of_two_regions_merge() {
    for (times, order) in [([100_000, 200_000], ["new", "ab"]), ([200_000, 100_000], ["ab", "new"])] {
        let [mut one, mut other] = two();
        let start = [write(&mut one, "tide.doc|put k a"), write(&mut one, "tide.doc|put k b")];
        start.iter().for_each(|version| other.receive("k", version));
        let put = write(other.at(times[0]), "tide.doc|put k new");
        let compacted = write(one.at(times[1]), "tide.doc|compact k ab upto *");
        one.receive("k", &put);
        other.receive("k", &compacted);
        assert_eq!(one.inside("k"), other.inside("k"));
        assert_eq!(read(one.at(300_000), None).1, order);
        // Both compact: each result stays, and holds the same.
        let both = [
            write(one.at(400_000), "tide.doc|compact k ab1 upto *"),
            write(other.at(500_000), "tide.doc|compact k ab2 upto *"),
        ];
        one.receive("k", &both[1]);
        other.receive("k", &both[0]);
        assert_eq!(
            (read(&mut one, None).1, one.inside("k")),
            (vec!["ab1".into(), "ab2".into()], other.inside("k"))
        );
    }
}

#[test]
fn a_copy_is_new_to_those_who_have_read_the_original() {
    let mut desk = Desk::new(0, false);
    desk.run("tide.doc|put k a");
    desk.run("tide.doc|put k b");
    let (token, _) = read(&mut desk, None);
    desk.settle(50_000);
    let Reply::Bulk(payload) = desk.at(60_000).run("dump k") else { panic!("a payload") };
    let restore = [Bytes::from("restore"), "k".into(), "0".into(), payload.clone(), "replace".into()];
    assert_eq!(desk.tell_words(restore.to_vec()).0, Reply::Ok);
    assert_eq!(read(&mut desk, Some(&token)).1, ["a", "b"]);
    // As Redis writes the value of a module: its name in 54 bits, then strings.
    assert_eq!(payload[..2], [7, 0x81]);
    assert_eq!(payload[10..payload.len() - 10], [5, 1, b'a', 5, 1, b'b', 0]);
    let mut torn = payload.to_vec();
    torn[2] ^= 1;
    let restore = [Bytes::from("restore"), "k".into(), "0".into(), torn.into(), "replace".into()];
    assert!(matches!(desk.tell_words(restore.to_vec()).0, Reply::Error(_)));
}

#[test]
fn a_document_that_expires_and_comes_back_was_not_given() {
    let [mut here, mut there] = two();
    let put = write(&mut there, "tide.doc|put k a");
    let short = write(&mut there, "pexpire k 50");
    let long = write(there.at(40_000), "persist k");
    here.receive("k", &put);
    here.receive("k", &short);
    let (token, none) = read(here.at(60_000), None);
    assert_eq!(none, [""; 0]);
    here.receive("k", &long);
    assert_eq!(read(&mut here, Some(&token)).1, ["a"]);
}

#[test]
fn what_is_wrong_is_said() {
    let mut desk = Desk::new(0, false);
    desk.run("set text v");
    desk.run("tide.doc|put k a");
    for (line, error) in [
        ("tide.doc|put k", "ERR wrong number of arguments for 'tide.doc|put' command"),
        ("tide.doc|put text a", "WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("tide.doc|read text", "WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("tide.doc|read k since td1-0", "ERR that is not a token of TIDE.DOC READ"),
        ("tide.doc|read k upto x", "ERR syntax error"),
        ("tide.doc|compact k merged", "ERR syntax error"),
        ("tide.doc|compact k merged upto tm1.x", "ERR that is not a token of TIDE.DOC READ"),
        ("append k a", "WRONGTYPE Operation against a key holding the wrong kind of value"),
    ] {
        assert_eq!(desk.tell(line), (Reply::error(error), None), "{line}");
    }
}
