//! Regions that execute commands given as words, and answers as text.

use bytes::Bytes;
use tidemark_core::{Command, DcId, Hlc, Reply, Stamp, Verb};
use tidemark_crdt::{Effect, Moment, State, evaluate};

/// A key in one region.
#[derive(Clone)]
pub(crate) struct Region {
    pub(crate) state: State,
    pub(crate) origin: DcId,
    pub(crate) clock: u64,
    pub(crate) floor: Hlc,
}

impl Region {
    pub(crate) fn new(origin: u8) -> Self {
        // A time like those of real clocks, so that positions are as long as there.
        Self { state: State::default(), origin: DcId(origin), clock: 1_700_000_000_000_000, floor: Hlc::ZERO }
    }

    /// The answer and the effect of a command, with the stamp that its version gets. Nothing is applied.
    pub(crate) fn prepare(&mut self, words: &str) -> (String, Stamp, Effect) {
        let mut words = words.split_whitespace().map(|word| if word == "\"\"" { "" } else { word });
        let name = words.next().expect("a command has a name").to_lowercase();
        let verb = Verb::ALL.iter().find(|verb| verb.name() == name).expect("a known command");
        let args = words.skip(1).map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
        self.prepare_bytes(*verb, args)
    }

    /// The same of a command whose arguments are no text.
    pub(crate) fn prepare_bytes(&mut self, verb: Verb, args: Vec<Bytes>) -> (String, Stamp, Effect) {
        let (time, floor) = (Hlc::at(self.clock), self.floor);
        let moment = Moment {
            time,
            origin: self.origin,
            floor,
            expiring: false,
            alone: false,
            past: None,
            longest: tidemark_core::Limit::VALUE_BYTES,
        };
        let prepared = evaluate(&Command::new(verb, args), &self.state, moment);
        self.clock += 1 + self.clock % 3;
        let stamp = Stamp::new(Hlc::at(self.clock), self.origin);
        let effect = Effect { floor, changes: prepared.changes };
        let effect = Effect::decode(&effect.encode()).expect("it was just written");
        (text(&prepared.reply), stamp, effect)
    }

    /// Executes a command.
    pub(crate) fn run(&mut self, words: &str) -> String {
        let prepared = self.prepare(words);
        self.apply(prepared)
    }

    /// The same of a command whose arguments are no text.
    pub(crate) fn run_bytes(&mut self, verb: Verb, args: Vec<Bytes>) -> String {
        let prepared = self.prepare_bytes(verb, args);
        self.apply(prepared)
    }

    fn apply(&mut self, (reply, stamp, effect): (String, Stamp, Effect)) -> String {
        self.state.apply(stamp, &effect, None);
        reply
    }

    /// The values.
    pub(crate) fn list(&mut self) -> Vec<String> {
        let all = self.prepare("LRANGE k 0 -1").0;
        all.trim_matches(['[', ']']).split_whitespace().map(str::to_string).collect()
    }
}

/// An answer as text: strings are quoted, and the two kinds of null are told apart.
pub(crate) fn text(reply: &Reply) -> String {
    match reply {
        Reply::Null => "nil".into(),
        Reply::NullArray => "nil-array".into(),
        Reply::Ok => "OK".into(),
        Reply::Simple(text) | Reply::Error(text) => text.to_string(),
        Reply::Int(int) => int.to_string(),
        Reply::Bulk(bytes) => format!("'{}'", String::from_utf8_lossy(bytes)),
        Reply::Array(all) => format!("[{}]", all.iter().map(text).collect::<Vec<_>>().join(" ")),
        Reply::Strings(all) => {
            format!("[{}]", all.iter().map(|one| text(&Reply::bulk(one))).collect::<Vec<_>>().join(" "))
        }
        other => panic!("no command of lists answers {other:?}"),
    }
}

/// Plays lines of the form `command => answer`.
pub(crate) fn play(script: &str) {
    let mut region = Region::new(0);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (command, expected) = line.split_once(" => ").expect("a command and its answer");
        assert_eq!(region.run(command), expected, "{command}");
    }
}
