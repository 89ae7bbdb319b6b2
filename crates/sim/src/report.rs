//! What is told of a violation: the shortest trace that was found, why it is one, and how to see it again.

use crate::outcome::RunOutcome;
use crate::run::Simulation;
use serde::Serialize;
use std::fmt;
use tidemark_check::Violation;

/// A violation, for people.
#[derive(Clone, Debug, Serialize)]
pub struct Counterexample {
    /// The protocol.
    pub protocol: String,
    /// The seed.
    pub seed: u64,
    /// The property, or the kind of problem.
    pub verdict: String,
    /// Why it is a violation.
    pub explanation: String,
    /// The schedule as it was: its steps.
    pub steps: usize,
    /// The schedule as it was shrunk: its steps.
    pub shrunk_steps: usize,
    /// How many schedules were tried to shrink it.
    pub runs: u32,
    /// What happens in the shrunk schedule.
    pub timeline: String,
    /// What its history violates, if it is a matter of histories.
    pub violation: Option<Violation>,
    /// The command that shows all this again.
    pub replay: String,
}

impl Simulation {
    /// The command that runs one seed again.
    pub fn replay_command(&self, seed: u64) -> String {
        let (protocol, mut options) = (self.name(), self.options.clone());
        if protocol != self.factory.name() {
            options.without.clear(); // its name says it
        }
        format!("tidemark sim --protocol {protocol} --seeds {seed}..{}{options}", seed + 1)
    }

    /// Shrinks a violation and explains it; none if there is none.
    pub fn counterexample(&self, outcome: &RunOutcome) -> Option<Counterexample> {
        if outcome.ok() {
            return None;
        }
        let shrunk = self.shrink(outcome);
        Some(Counterexample {
            protocol: self.name().into(),
            seed: outcome.seed,
            verdict: outcome.verdict().to_string(),
            explanation: explanation(&shrunk.outcome),
            steps: self.plan(outcome.seed).all_steps(),
            shrunk_steps: shrunk.plan.all_steps(),
            runs: shrunk.runs,
            timeline: shrunk.timeline,
            violation: shrunk.outcome.report.and_then(|report| report.violations.into_iter().next()),
            replay: self.replay_command(outcome.seed),
        })
    }
}

fn explanation(outcome: &RunOutcome) -> String {
    let mut lines = Vec::new();
    if let Some(report) = &outcome.report {
        lines.extend(report.violations.iter().take(1).map(|violation| violation.to_string()));
    }
    if lines.is_empty() {
        lines.extend(outcome.problems.iter().map(|problem| format!("{}: {}", problem.kind, problem.text)));
    }
    lines.join("\n")
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} violates its promise at seed {}: {}", self.protocol, self.seed, self.verdict)?;
        writeln!(f)?;
        writeln!(f, "{}", self.explanation.trim_end())?;
        writeln!(f)?;
        writeln!(
            f,
            "The shortest schedule that shows it has {} of {} steps ({} were tried):",
            self.shrunk_steps, self.steps, self.runs
        )?;
        f.write_str(&self.timeline)?;
        writeln!(f)?;
        write!(f, "To see it again:\n  {}", self.replay)
    }
}
