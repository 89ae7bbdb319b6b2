//! A campaign: sequences of random commands on both servers, and each kind of difference with its shortest sequence.

use crate::generate::{Command, Generator};
use crate::intended::Watch;
pub use crate::report::{Difference, Finding, Report};
use crate::shapes::Shape;
use crate::side::{Answer, Side};
use crate::{Words, compare, intended, shrink, state};
use anyhow::{Result, bail};
use std::collections::BTreeMap;

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

/// What a command showed.
enum Step {
    Same,
    /// Tidemark refuses it, and the other server has not seen it.
    Refused(String),
    /// redis-server draws lots for the reply: no server has seen it.
    Random,
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
    watch: Watch,
}

impl Pair {
    /// Two servers.
    pub fn new(theirs: Side, ours: Side) -> Self {
        Self { theirs, ours, watch: Watch::default() }
    }

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
        self.watch = Watch::default();
        for (at, command) in commands.iter().enumerate() {
            match self.step(command)? {
                Step::Same => {}
                Step::Refused(error) => {
                    if let Some(report) = &mut report {
                        report.refused.entry(error).or_insert_with(|| crate::line(&command.words));
                    }
                    continue;
                }
                Step::Random => {
                    if let Some(report) = &mut report {
                        report.random += 1;
                    }
                    continue;
                }
                Step::Meant(reason) => {
                    if let Some(report) = &mut report {
                        *report.intended.entry(reason).or_default() += 1;
                    }
                    // The sequence goes on if it was only the reply: of a transaction more may differ than what is held.
                    if command.words[0] == b"EXEC"
                        || state::difference(&mut self.theirs, &mut self.ours)?.is_some()
                    {
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
        if compare::is_random(command, &mut self.theirs)? {
            return Ok(Step::Random);
        }
        self.note(command)?;
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
        let wrong = match wrong {
            Some((words, theirs, ours)) => vec![(words, theirs, ours)],
            None if same => return Ok(Step::Same),
            None => parts(command, theirs, ours)?,
        };
        let mut meant = None;
        for (words, theirs, ours) in wrong {
            let of_exec = || self.watch.reason(&theirs, &ours).filter(|_| words[0] == b"EXEC");
            match intended::reason(words, &theirs.raw, &ours.raw).or_else(of_exec) {
                Some(reason) => meant = Some(reason),
                None => {
                    let difference = Difference::of_reply(words, &theirs.shown(), &ours.shown());
                    return Ok(Step::Differ(difference));
                }
            }
        }
        Ok(meant.map_or(Step::Same, Step::Meant))
    }

    /// Notes what tells later whether a watched key has changed.
    fn note(&mut self, command: &Command) -> Result<()> {
        // The transaction before has ended the watch.
        if std::mem::replace(&mut self.watch.ended, !command.before.is_empty()) {
            self.watch = Watch { ended: self.watch.ended, ..Watch::default() };
        }
        match &command.words[0].to_ascii_uppercase()[..] {
            b"WATCH" => {
                for key in &command.words[1..] {
                    let found = self.ours.ask(&[b"EXISTS".to_vec(), key.clone()])?;
                    if found.reply.integer() == Some(0) {
                        self.watch.absent.push(key.clone());
                    }
                }
            }
            b"UNWATCH" if command.words.len() == 1 => self.watch = Watch::default(),
            _ => self.watch.commands.push(command.called.as_ref().unwrap_or(&command.words).clone()),
        }
        Ok(())
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

/// What differs between two replies that differ: of a transaction each command, and of a script the command that it calls.
fn parts(command: &Command, theirs: Answer, ours: Answer) -> Result<Vec<(&Words, Answer, Answer)>> {
    let queued = command.before.get(1..).unwrap_or_default();
    if let (Some(expected), Some(found)) = (theirs.items()?, ours.items()?)
        && expected.len() == queued.len()
        && found.len() == queued.len()
    {
        let all = queued.iter().zip(expected).zip(found).map(|((words, theirs), ours)| (words, theirs, ours));
        let parts: Vec<_> = all.filter(|(_, theirs, ours)| !compare::same_bytes(theirs, ours)).collect();
        return Ok(parts);
    }
    Ok(vec![(command.called.as_ref().unwrap_or(&command.words), theirs, ours)])
}

/// Whether Tidemark refuses a command altogether. Some errors of Redis hold the same words.
fn is_refusal(error: &str) -> bool {
    const ENDS: [&str; 2] = ["not supported yet", "not supported here"];
    ENDS.iter().any(|end| error.ends_with(end)) || error.contains(" is not supported: ")
}
