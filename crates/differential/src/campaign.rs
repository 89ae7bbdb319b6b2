//! A campaign: sequences of random commands on both servers, and each kind of difference with its shortest sequence.

use crate::generate::{Command, Generator};
use crate::shapes::Shape;
use crate::side::Side;
use crate::{Words, compare, intended, shrink, state};
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet};

/// What a campaign is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The same seed gives the same commands.
    pub seed: u64,
    /// How many commands are sent.
    pub commands: usize,
    /// The length of a sequence, each of which begins with empty servers.
    pub sequence: usize,
    /// After how many commands everything that the servers hold is compared.
    pub state_every: usize,
}

/// How two servers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What was compared.
    pub what: String,
    /// Of redis-server.
    pub theirs: String,
    /// Of Tidemark.
    pub ours: String,
    /// What is the same for differences of one kind.
    pub kind: String,
}

impl Difference {
    /// A difference between replies to `words`.
    fn of_reply(words: &Words, theirs: &str, ours: &str) -> Self {
        let name = String::from_utf8_lossy(&words[0]).to_ascii_uppercase();
        let encoding = words.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"ENCODING"));
        let class = if encoding { String::from } else { class };
        let kind = format!("{name}: {} / {}", class(theirs), class(ours));
        Self { what: "reply".into(), theirs: theirs.into(), ours: ours.into(), kind }
    }

    /// A difference between what the servers hold.
    pub fn of_state(what: &str, theirs: &str, ours: &str) -> Self {
        let kind = what.split(" of ").next().unwrap_or_default();
        Self { what: what.into(), theirs: theirs.into(), ours: ours.into(), kind: format!("state: {kind}") }
    }
}

/// A kind of difference, and the shortest sequence that shows it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How often it was found.
    pub count: usize,
    /// The sequence, from empty servers on.
    pub sequence: Vec<Words>,
    /// What differs after the sequence.
    pub difference: Difference,
}

/// What a campaign has found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many commands both servers have executed.
    pub commands: usize,
    /// How often all that the servers hold was compared.
    pub states: usize,
    /// Commands of the table that Tidemark does not know: they were left out.
    pub unknown: BTreeSet<String>,
    /// Replies with which Tidemark refuses what it does not support, each with a command.
    pub refused: BTreeMap<String, String>,
    /// Differences that are meant, by their reason.
    pub intended: BTreeMap<&'static str, usize>,
    /// All others, the shortest first.
    pub findings: Vec<Finding>,
}

/// What a command showed.
enum Step {
    Same,
    /// Tidemark refuses it, and the other server has not seen it.
    Refused(String),
    /// It is meant.
    Meant(&'static str),
    Differ(Difference),
}

/// Sequences of this kind are made short; later ones are only counted.
const SHRUNK_MAX: usize = 3;

/// Both servers.
pub struct Pair {
    /// redis-server.
    pub theirs: Side,
    /// Tidemark.
    pub ours: Side,
}

impl Pair {
    /// Sends commands of `shapes` as `plan` says.
    pub fn run(&mut self, shapes: &[Shape], plan: &Plan) -> Result<Report> {
        let mut report = Report::default();
        let shapes = self.known(shapes, &mut report)?;
        if shapes.is_empty() {
            bail!("no command of these groups is known to both servers");
        }
        let (mut tried, mut shrunk) = (0, BTreeMap::<String, usize>::new());
        while tried < plan.commands {
            let seed = plan.seed.wrapping_add(tried as u64);
            let length = plan.sequence.min(plan.commands - tried);
            let mut generator = Generator::new(seed, &shapes);
            let commands: Vec<Command> = (0..length).map(|_| generator.command()).collect();
            tried += length;
            let Some((at, difference)) = self.replay(&commands, plan.state_every, Some(&mut report))? else {
                continue;
            };
            let times = shrunk.entry(difference.kind.clone()).or_default();
            *times += 1;
            if *times > SHRUNK_MAX {
                report.count(&difference.kind);
                continue;
            }
            let finding = self.shortest(&commands[..=at], difference)?;
            report.add(finding);
        }
        report.findings.sort_by_key(|finding| finding.sequence.len());
        Ok(report)
    }

    /// The shapes of commands that both servers know.
    fn known(&mut self, shapes: &[Shape], report: &mut Report) -> Result<Vec<Shape>> {
        let mut known = Vec::new();
        for shape in shapes {
            if report.unknown.contains(&shape.name) {
                continue;
            }
            if !self.theirs.knows(&shape.name)? {
                bail!("redis-server does not know {}: correct the table", shape.name);
            }
            if self.ours.knows(&shape.name)? {
                known.push(shape.clone());
            } else {
                report.unknown.insert(shape.name.clone());
            }
        }
        Ok(known)
    }

    /// Executes commands on empty servers: the first difference, and the command at which it showed.
    fn replay(
        &mut self,
        commands: &[Command],
        state_every: usize,
        mut report: Option<&mut Report>,
    ) -> Result<Option<(usize, Difference)>> {
        self.theirs.reset()?;
        self.ours.reset()?;
        for (at, command) in commands.iter().enumerate() {
            match self.step(command)? {
                Step::Same => {}
                Step::Refused(error) => {
                    if let Some(report) = &mut report {
                        report.refused.entry(error).or_insert_with(|| crate::line(&command.words));
                    }
                    continue;
                }
                Step::Meant(reason) => {
                    if let Some(report) = &mut report {
                        *report.intended.entry(reason).or_default() += 1;
                    }
                    // The sequence goes on if it was only the reply.
                    if state::difference(&mut self.theirs, &mut self.ours)?.is_some() {
                        return Ok(None);
                    }
                }
                Step::Differ(difference) => return Ok(Some((at, difference))),
            }
            if let Some(report) = &mut report {
                report.commands += 1;
            }
            if (at + 1) % state_every == 0 || at + 1 == commands.len() {
                if let Some(report) = &mut report {
                    report.states += 1;
                }
                if let Some(difference) = state::difference(&mut self.theirs, &mut self.ours)? {
                    return Ok(Some((at, difference)));
                }
            }
        }
        Ok(None)
    }

    fn step(&mut self, command: &Command) -> Result<Step> {
        let mut wrong = None;
        for words in &command.before {
            let (ours, theirs) = (self.ours.ask(words)?, self.theirs.ask(words)?);
            if ours.raw != theirs.raw {
                wrong.get_or_insert((words, theirs, ours));
            }
        }
        let ours = self.ours.ask(&command.words)?;
        // Nothing has happened on this side, and nothing may happen on the other.
        if let Some(error) = ours.error().filter(|error| is_refusal(error)) {
            return Ok(Step::Refused(error));
        }
        let theirs = self.theirs.ask(&command.words)?;
        let same = compare::same(command, &mut self.theirs, &mut self.ours, &theirs, &ours)?;
        let (words, theirs, ours) = match wrong {
            Some(wrong) => wrong,
            None if same => return Ok(Step::Same),
            None => (&command.words, theirs, ours),
        };
        Ok(match intended::reason(words, &theirs.raw, &ours.raw) {
            Some(reason) => Step::Meant(reason),
            None => Step::Differ(Difference::of_reply(words, &theirs.shown(), &ours.shown())),
        })
    }

    /// The shortest sequence that shows a difference of the same kind.
    fn shortest(&mut self, commands: &[Command], difference: Difference) -> Result<Finding> {
        let kind = difference.kind.clone();
        let mut last = difference;
        let mut shows = |some: &[Command]| {
            let found = self.replay(some, usize::MAX, None)?.filter(|(_, found)| found.kind == kind);
            Ok(found.map(|(_, found)| last = found).is_some())
        };
        let mut sequence = shrink::shrink(commands, &mut shows)?;
        // Then what is sent before a command, and the commands, word by word.
        for at in 0..sequence.len() {
            let queued = sequence[at].before.get(1..).unwrap_or_default().to_vec();
            if !queued.is_empty() {
                let queued = shrink::shrink(&queued, |some| {
                    let mut shorter = sequence.clone();
                    shorter[at].before.splice(1.., some.iter().cloned());
                    shows(&shorter)
                })?;
                sequence[at].before.splice(1.., queued);
            }
            let words = shrink::shrink(&sequence[at].words.clone(), |some| {
                let mut shorter = sequence.clone();
                shorter[at].words = some.to_vec();
                shows(&shorter)
            })?;
            sequence[at].words = words;
        }
        Ok(Finding {
            count: 1,
            sequence: sequence
                .into_iter()
                .flat_map(|command| command.before.into_iter().chain([command.words]))
                .collect(),
            difference: last,
        })
    }
}

impl Report {
    fn count(&mut self, kind: &str) {
        if let Some(finding) = self.findings.iter_mut().find(|finding| finding.difference.kind == kind) {
            finding.count += 1;
        }
    }

    /// Of one kind and one last command the shortest sequence is kept.
    fn add(&mut self, finding: Finding) {
        let name = |finding: &Finding| finding.sequence.last().map(|words| words[0].to_ascii_uppercase());
        let same = |other: &&mut Finding| {
            other.difference.kind == finding.difference.kind && name(other) == name(&finding)
        };
        match self.findings.iter_mut().find(same) {
            None => self.findings.push(finding),
            Some(other) => {
                let count = other.count + 1;
                if finding.sequence.len() < other.sequence.len() {
                    *other = finding;
                }
                other.count = count;
            }
        }
    }

    /// The findings with their sequences, as redis-cli can read them, and all that was left out.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let difference = &finding.difference;
            text.push_str(&format!("--- {} ({} times)\n", difference.kind, finding.count));
            for words in &finding.sequence {
                text.push_str(&format!("{}\n", crate::line(words)));
            }
            let (what, theirs, ours) = (&difference.what, &difference.theirs, &difference.ours);
            text.push_str(&format!("    {what}\n    redis-server {theirs}\n    tidemark     {ours}\n"));
        }
        for (reason, count) in &self.intended {
            text.push_str(&format!("meant, {count} times: {reason}\n"));
        }
        for (error, command) in &self.refused {
            text.push_str(&format!("refused: {command}: {error}\n"));
        }
        if !self.unknown.is_empty() {
            let unknown: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
            text.push_str(&format!("left out, because Tidemark does not know them: {}\n", unknown.join(" ")));
        }
        text.push_str(&format!(
            "{} commands, all that is held compared {} times, {} kinds of differences\n",
            self.commands,
            self.states,
            self.findings.len()
        ));
        text
    }
}

/// Whether Tidemark refuses a command altogether. Some errors of Redis hold the same words.
fn is_refusal(error: &str) -> bool {
    const ENDS: [&str; 2] = ["not supported yet", "not supported here"];
    ENDS.iter().any(|end| error.ends_with(end)) || error.contains(" is not supported: ")
}

/// What kind of reply it is: its type, or the beginning of an error without its numbers.
fn class(reply: &str) -> String {
    if let Some(error) = reply.strip_prefix('-') {
        let words = error.trim_end_matches("\\r\\n").split_whitespace().take(5);
        return words.collect::<Vec<_>>().join(" ").replace(|letter: char| letter.is_ascii_digit(), "#");
    }
    let null = ["$-1", "*-1", "_"].iter().any(|null| reply.starts_with(null));
    if null { "null".into() } else { reply.chars().take(1).collect() }
}
