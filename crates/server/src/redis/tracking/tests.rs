use super::*;

fn registry(count: usize) -> ClientRegistry {
    let mut registry = ClientRegistry::default();
    for _ in 0..count {
        let id = registry.register(String::new(), String::new(), 0);
        registry.get_mut(id).expect("it was just added").version = Version::Resp3;
    }
    registry
}

fn key(name: &'static str) -> Bytes {
    Bytes::from_static(name.as_bytes())
}

fn reads(names: &[&'static str]) -> KeysRead {
    KeysRead { keys: names.iter().map(|name| key(name)).collect(), of_scripts: Vec::new() }
}

/// Who is told, and of which keys.
fn told(mail: &mut Vec<Mail>) -> Vec<(u64, Vec<Bytes>)> {
    let keys = |message| match message {
        Message::Invalidate(keys) => keys.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    mail.drain(..).map(|mail| (mail.to, keys(mail.message))).collect()
}

#[test]
fn a_key_is_told_once_to_each_that_has_read_it_since() {
    let (registry, mut tracking, mut mail) = (registry(3), Tracking::default(), Vec::new());
    (1..=2).for_each(|id| tracking.set(id, Tracker::default()));
    for id in [1, 2] {
        tracking.remember(id, &reads(&["k", "l"]));
        tracking.confirm(id, (&reads(&["k", "l"]), false), &registry, &mut mail);
    }
    assert_eq!(tracking.counts(), [2, 2, 4, 0]);
    for _ in 0..2 {
        tracking.changed(&key("k"), By(Some(3)), &registry, &mut mail);
    }
    assert_eq!(told(&mut mail), [(1, vec![key("k")]), (2, vec![key("k")])]);
    assert_eq!(tracking.counts(), [2, 1, 2, 0]);
}

/// The reply may be older or newer than the change: nobody knows, so the client has to be told behind it.
#[test]
fn what_changes_while_it_is_read_is_told_again_behind_the_reply() {
    let (registry, mut tracking, mut mail) = (registry(1), Tracking::default(), Vec::new());
    tracking.set(1, Tracker::default());
    tracking.remember(1, &reads(&["k"]));
    tracking.changed(&key("k"), By(None), &registry, &mut mail);
    assert_eq!(told(&mut mail), [(1, vec![key("k")])]);
    tracking.confirm(1, (&reads(&["k"]), false), &registry, &mut mail);
    assert_eq!(told(&mut mail), [(1, vec![key("k")])]);
}

#[test]
fn keys_of_a_script_count_if_it_has_read() {
    let (registry, mut tracking, mut mail) = (registry(1), Tracking::default(), Vec::new());
    tracking.set(1, Tracker::default());
    let noted = KeysRead { keys: vec![key("k")], of_scripts: vec![key("k"), key("s")] };
    for (has_read, keys) in [(false, 1), (true, 2)] {
        tracking.remember(1, &noted);
        tracking.confirm(1, (&noted, has_read), &registry, &mut mail);
        assert_eq!(tracking.counts()[1..3], [keys, keys], "{has_read}");
    }
}

#[test]
fn prefixes_are_told_together_and_without_own_changes_if_so_chosen() {
    let (registry, mut tracking, mut mail) = (registry(2), Tracking::default(), Vec::new());
    let prefixes = BTreeSet::from([key("a:")]);
    for (id, no_loop) in [(1, true), (2, false)] {
        let mode = Mode::Broadcast;
        tracking.set(id, Tracker { mode, no_loop, prefixes: prefixes.clone(), ..Tracker::default() });
    }
    for (name, by) in [("a:1", Some(1)), ("b:1", Some(2)), ("a:2", Some(2)), ("a:3", Some(1)), ("a:3", None)]
    {
        tracking.changed(&key(name), By(by), &registry, &mut mail);
    }
    assert!(mail.is_empty());
    tracking.broadcast(&registry, &mut mail);
    let (others, all) = (vec![key("a:2"), key("a:3")], vec![key("a:1"), key("a:2"), key("a:3")]);
    assert_eq!(told(&mut mail), [(1, others), (2, all)]);
}

#[test]
fn keys_beyond_the_limit_are_forgotten_and_told() {
    let (registry, mut tracking, mut mail) = (registry(1), Tracking::default(), Vec::new());
    tracking.set(1, Tracker::default());
    tracking.remember(1, &reads(&["a", "b", "c"]));
    tracking.confirm(1, (&reads(&["a", "b", "c"]), false), &registry, &mut mail);
    tracking.limit(1, &registry, &mut mail);
    assert_eq!(told(&mut mail).len(), 2);
    assert_eq!(tracking.counts()[1], 1);
    tracking.limit(0, &registry, &mut mail);
    assert_eq!(tracking.counts()[1], 1, "0 is no limit");
}

#[test]
fn who_redirects_to_a_connection_that_is_gone_is_told_that() {
    let (mut registry, mut tracking, mut mail) = (registry(2), Tracking::default(), Vec::new());
    tracking.set(1, Tracker { redirect: 2, ..Tracker::default() });
    tracking.remember(1, &reads(&["k"]));
    tracking.changed(&key("k"), By(None), &registry, &mut mail);
    assert_eq!(told(&mut mail), [(2, vec![key("k")])]);
    registry.remove(2);
    tracking.flush(By(None), &registry, &mut mail);
    let message = Message::RedirectionBroken(2);
    assert_eq!(mail, [Mail { to: 1, message, source: None }]);
    assert!(tracking.tracker(1).expect("it goes on").broken);
}
