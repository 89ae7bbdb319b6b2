//! Runs commands on keys of one region, and shows replies as text; [`redis`] asks a real server the same.

pub(crate) mod redis;

use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use tidemark_core::{Command, DcId, Hlc, Key, Reply, Stamp, Verb};
use tidemark_crdt::number::show_double;
use tidemark_crdt::{Effect, Moment, Prepared, State, evaluate, evaluate_many};

/// The time of the first command, in microseconds since 1970.
const BEGIN: u64 = 1_700_000_000_000_000;

/// The words of a line; quotes hold blanks together, or nothing.
pub(crate) fn words(line: &str) -> Vec<Bytes> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None, false);
    for letter in line.chars() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_with(String::new);
            }
            ' ' if !quoted => words.extend(word.take()),
            letter => word.get_or_insert_with(String::new).push(letter),
        }
    }
    words.extend(word);
    words.into_iter().map(Bytes::from).collect()
}

/// The effect of a command, with the stamp of its region.
pub(crate) type Version = (Stamp, Effect);

/// The keys of one region.
pub(crate) struct Desk {
    keys: BTreeMap<Bytes, State>,
    region: DcId,
    time: u64,
    floor: Hlc,
    /// Whether everything is settled before the next command.
    settles: bool,
}

impl Desk {
    /// Without keys. If it `settles`, every command finds only elements without dots.
    pub(crate) fn new(region: u8, settles: bool) -> Self {
        Self { keys: BTreeMap::new(), region: DcId(region), time: BEGIN, floor: Hlc::ZERO, settles }
    }

    /// Evaluates a command and applies what it writes.
    pub(crate) fn run(&mut self, line: &str) -> Reply {
        self.tell(line).0
    }

    /// The same, and what it writes, if it writes.
    pub(crate) fn tell(&mut self, line: &str) -> (Reply, Option<Version>) {
        self.tell_words(words(line))
    }

    /// The same of a command in words.
    pub(crate) fn tell_words(&mut self, words: Vec<Bytes>) -> (Reply, Option<Version>) {
        let name = String::from_utf8_lossy(&words[0]).to_lowercase();
        let verb = Verb::ALL.iter().find(|verb| verb.name() == name).expect("a command");
        self.time += 1000;
        let now = Hlc::at(self.time);
        if self.settles {
            self.settle(self.time - 1 - BEGIN);
        }
        let (floor, state) = (self.floor, self.keys.entry(words[1].clone()).or_default());
        let command = Command { seed: self.time, ..Command::new(*verb, words[2..].to_vec()) };
        let moment = Moment {
            time: now,
            origin: self.region,
            floor,
            expiring: false,
            alone: false,
            past: None,
            longest: tidemark_core::Limit::VALUE_BYTES,
        };
        let prepared = if verb.takes_keys() {
            let (reply, mut changes) = evaluate_many(&command, &[&Key(words[1].clone())], &[state], moment);
            Prepared { reply, changes: changes.remove(0) }
        } else {
            evaluate(&command, state, moment)
        };
        if prepared.changes.is_empty() {
            return (prepared.reply, None);
        }
        assert!(verb.writes(), "{name} wrote");
        let effect = Effect { floor, changes: prepared.changes };
        let effect = Effect::decode(&effect.encode()).expect("it was just encoded");
        let stamp = Stamp::new(now, self.region);
        state.apply(stamp, &effect, None);
        (prepared.reply, Some((stamp, effect)))
    }

    /// From now on, everything up to this time, in microseconds after the beginning, has been observed by all.
    pub(crate) fn settle(&mut self, upto: u64) {
        self.floor = Hlc::at(BEGIN + upto);
        self.keys.values_mut().for_each(|state| state.settle(self.floor, usize::MAX));
    }

    /// Sets the time of the last command, in microseconds after the beginning.
    pub(crate) fn at(&mut self, time: u64) -> &mut Self {
        self.time = BEGIN + time;
        self
    }

    /// Applies what another region wrote.
    pub(crate) fn receive(&mut self, key: &str, (stamp, effect): &Version) {
        self.keys.entry(Bytes::copy_from_slice(key.as_bytes())).or_default().apply(*stamp, effect, None);
    }

    /// Everything that merging knows of a key, as text.
    pub(crate) fn inside(&self, key: &str) -> String {
        format!("{:?}", self.keys.get(key.as_bytes()).map(State::elements))
    }
}

/// A reply in one line, as the protocol with this number tells it: `:1` is an integer, `,1` a double, `"1"` a string, `_` null,
/// `*_` a null array.
pub(crate) fn show(reply: &Reply, protocol: u8) -> String {
    let list =
        |replies: &[Reply]| replies.iter().map(|reply| show(reply, protocol)).collect::<Vec<_>>().join(" ");
    let pair = |(a, b): &(Reply, Reply)| format!("{} {}", show(a, protocol), show(b, protocol));
    match reply {
        Reply::Noted(reply) => show(reply, protocol),
        Reply::Null => "_".to_string(),
        Reply::NullArray => if protocol == 3 { "_" } else { "*_" }.to_string(),
        Reply::Ok => "+OK".to_string(),
        Reply::Simple(text) => format!("+{text}"),
        Reply::Int(number) => format!(":{number}"),
        Reply::Double(number) if protocol == 3 => format!(",{}", show_double(*number)),
        Reply::Double(number) => format!("\"{}\"", show_double(*number)),
        Reply::Decimal(digits) if protocol == 3 => format!(",{}", String::from_utf8_lossy(digits)),
        Reply::Bulk(bytes) | Reply::Decimal(bytes) => format!("\"{}\"", String::from_utf8_lossy(bytes)),
        Reply::Error(text) => format!("-{text}"),
        Reply::Set(all) if protocol == 3 => format!("~[{}]", list(all)),
        Reply::Array(all) | Reply::Set(all) => format!("[{}]", list(all)),
        Reply::Strings(all) => format!("[{}]", list(&all.iter().map(Reply::bulk).collect::<Vec<_>>())),
        Reply::Pairs(all) if protocol == 3 => {
            let pairs: Vec<String> = all.iter().map(|both| format!("[{}]", pair(both))).collect();
            format!("[{}]", pairs.join(" "))
        }
        Reply::Map(all) if protocol == 3 => {
            format!("{{{}}}", all.iter().map(pair).collect::<Vec<_>>().join(" "))
        }
        Reply::Pairs(all) | Reply::Map(all) => {
            format!("[{}]", all.iter().map(pair).collect::<Vec<_>>().join(" "))
        }
        Reply::Bool(_) | Reply::BigNumber(_) | Reply::Verbatim(..) => panic!("only scripts answer {reply:?}"),
    }
}

/// A reply in both protocols, the second after a bar if it differs.
fn both(two: String, three: String) -> String {
    if two == three { two } else { format!("{two} | {three}") }
}

/// Runs commands in two ways, with dots and without, and on the real server if there is one: the replies are the same.
pub(crate) fn compare(commands: impl Iterator<Item = String>) {
    let mut server = redis::Server::connect();
    let mut desks = [Desk::new(1, false), Desk::new(1, true)];
    for command in commands {
        let [hot, settled] = desks.each_mut().map(|desk| desk.run(&command));
        assert_eq!(hot, settled, "{command}");
        if let Some(server) = &mut server {
            let replies = (show(&hot, 2), show(&hot, 3));
            assert_eq!(replies, server.ask(&command), "{command}");
        }
    }
}

/// Goes through a transcript: lines of `command => reply`, comments after `#`. The replies are those of Redis. With
/// `TIDEMARK_REDIS=address` a real server is asked, too, and with `TIDEMARK_BLESS=1` its replies are written into the file.
/// Bless only if you understand why they differ.
pub(crate) fn transcript(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts").join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).expect("the transcript is there");
    let mut server = redis::Server::connect();
    let blesses = std::env::var_os("TIDEMARK_BLESS").is_some() && server.is_some();
    let mut desks = [Desk::new(1, false), Desk::new(1, true)];
    let (mut blessed, mut wrong) = (String::new(), Vec::new());
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            writeln!(blessed, "{line}").expect("a string takes everything");
            continue;
        }
        let (command, expected) = line.split_once(" => ").unwrap_or((line, ""));
        let mut expected = expected.to_string();
        if let Some(server) = &mut server {
            let (two, three) = server.ask(command);
            let real = both(two, three);
            writeln!(blessed, "{command} => {real}").expect("a string takes everything");
            if real != expected && !blesses {
                wrong.push(format!("{command}\n  Redis: {real}\n  there: {expected}"));
            }
            expected = real;
        }
        for desk in &mut desks {
            let reply = desk.run(command);
            let shown = both(show(&reply, 2), show(&reply, 3));
            if shown != expected {
                wrong.push(format!("{command}\n  is:     {shown}\n  should: {expected}"));
            }
        }
    }
    if blesses {
        std::fs::write(path, blessed).expect("the transcript can be written");
    }
    assert!(wrong.is_empty(), "{name}\n{}", wrong.join("\n"));
}
