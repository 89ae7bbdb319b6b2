//! Histories in the shorthand of a paper's trace, one event a line:
//!
//! `c1@B put z v0 1` writes version `1@B`; without the number the version is not known. `c0@A get y v1 2B`
//! reads it, `c0@A get z -` finds nothing, `c0@A get z gone 3A` a tombstone. `rotx` and `snap` take several,
//! divided by commas. `del z 4` deletes. `?put` got no answer, `!put` failed. `nx z v 5 saw -` writes if
//! absent. `adopt c1 2` adopts. `final A x v1 2B` is a last word, and
//! `lost A 10 20 x,y` a loss of a node that holds these keys, or any. `10..20` before the rest gives times, and `| read=eventual`
//! after it what was asked for.

use super::value;
use tidemark_core::history::{Action, Event, Fate, Final, History, Lost, Read, ReadKind, SessionId};
use tidemark_core::{DcId, Found, Hlc, Key, Stamp};

fn dc(letter: char) -> DcId {
    DcId(letter as u8 - b'A')
}

fn stamp(text: &str) -> Stamp {
    let (ts, origin) = text.split_at(text.len() - 1);
    Stamp::new(Hlc(ts.parse().expect("a number before the letter")), dc(origin.chars().next().unwrap()))
}

fn found(words: &[&str]) -> Found {
    match words {
        ["-"] => Found::default(),
        ["gone", version] => Found::new(Some(stamp(version)), None),
        [text] => Found::new(None, value(text)),
        [text, version] => Found::new(Some(stamp(version)), value(text)),
        _ => panic!("not something found: {words:?}"),
    }
}

fn reads(words: &[&str]) -> Vec<Read> {
    let read = |w: &[&str]| Read::new(Key::from(w[0]), found(&w[1..]));
    words.split(|w| *w == ",").map(read).collect()
}

/// The history that `script` tells.
pub(crate) fn history(script: &str) -> History {
    let mut history = History::default();
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (line, asked) = line.split_once('|').unwrap_or((line, ""));
        let line = line.replace(',', " , ");
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let times = words[0].split_once("..").map(|(a, b)| (a.parse().unwrap(), b.parse().ok()));
        if times.is_some() {
            words.remove(0);
        }
        if let ["final", at, k, rest @ ..] = &words[..] {
            let dc = dc(at.chars().next().unwrap());
            history.finals.push(Final { dc, key: Key::from(*k), found: found(rest) });
            continue;
        }
        if let ["lost", at, from_us, to_us, keys @ ..] = &words[..] {
            let (from_us, to_us) = (from_us.parse().unwrap(), to_us.parse().unwrap());
            let keys = keys.iter().filter(|word| **word != ",").map(|key| Key::from(*key)).collect();
            let dc = dc(at.chars().next().unwrap());
            history.lost.push(Lost { dc, node: None, from_us, to_us, keys });
            continue;
        }
        let (who, at) = words[0].split_once('@').unwrap_or_else(|| panic!("who, in {line:?}"));
        let session = SessionId(who[1..].parse().unwrap());
        let event = action(session, dc(at.chars().next().unwrap()), &words[1..]);
        let mut event = event.asking(asked.parse().expect("levels"));
        if let Some((start, end)) = times {
            (event.start_us, event.end_us) = (Some(start), end);
        }
        history.events.push(event);
    }
    history
}

fn action(session: SessionId, dc: DcId, words: &[&str]) -> Event {
    let own = |ts: &str| Some(Stamp::new(Hlc(ts.parse().unwrap()), dc));
    let put = |k: &str, v: Option<&str>, ts: &[&str]| {
        Event::put(session, dc, Key::from(k), v.and_then(value), ts.first().and_then(|ts| own(ts)))
    };
    match words {
        ["put", k, v, ts @ ..] => put(k, Some(v), ts),
        ["?put", k, v, ts @ ..] => put(k, Some(v), ts).with_fate(Fate::Unknown),
        ["!put", k, v] => put(k, Some(v), &[]).with_fate(Fate::Failed),
        ["del", k, ts @ ..] => put(k, None, ts),
        ["?del", k] => put(k, None, &[]).with_fate(Fate::Unknown),
        ["nx", k, v, ts, "saw", rest @ ..] => {
            let mut event = put(k, Some(v), &[ts]);
            if let Action::Write { observed, .. } = &mut event.action {
                *observed = Some(found(rest));
            }
            event
        }
        ["get", rest @ ..] => Event::read(session, dc, ReadKind::Get, reads(rest)),
        ["rotx", rest @ ..] => Event::read(session, dc, ReadKind::Rotx, reads(rest)),
        ["snap", rest @ ..] => Event::read(session, dc, ReadKind::Snapshot, reads(rest)),
        ["adopt", from, n] => {
            Event::adopt(session, dc, SessionId(from[1..].parse().unwrap()), n.parse().unwrap())
        }
        _ => panic!("not an operation: {words:?}"),
    }
}
