//! Which statements of a paper hold of what was measured, and what they come to.

use crate::conclude::Part;
use crate::file::{Experiment, Statement};
use crate::query::Reader;
use crate::scope;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A statement, the number that was measured, and what follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The statement.
    pub says: String,
    /// What the number must be, in words; nothing if it is only told.
    pub bound: Option<String>,
    /// Why the bound is that.
    pub because: Option<String>,
    /// The number, if there is one.
    pub value: Option<f64>,
    /// Whether the number is within the bound, whatever that is worth; nothing if there is no number or no bound.
    pub within: Option<bool>,
    /// What follows; nothing if no paper states it, and the number is only told.
    pub verdict: Option<Verdict>,
    /// Why it is not measured.
    pub why: Option<String>,
    /// Whether it is ours, and no paper's.
    #[serde(default)]
    pub ours: bool,
}

/// What is known of a statement, or of a claim, which is all statements of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was measured in full, at the scale of the paper, and is so. A claim: every statement holds.
    Holds,
    /// Of a claim only: neither all of its statements hold nor none.
    PartlyHolds,
    /// It was measured in full, and is not so. A claim: no statement holds, and at least one does not.
    DoesNotHold,
    /// It was not measured, or in a quick run, or at a smaller scale than the paper's, or some points failed.
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::PartlyHolds => "partly holds",
            Self::DoesNotHold => "does not hold",
            Self::NotMeasured => "not measured",
        })
    }
}

impl Verdict {
    /// What several of them do.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Holds => "hold",
            Self::PartlyHolds => "partly hold",
            Self::DoesNotHold => "do not hold",
            Self::NotMeasured => "not measured",
        }
    }
}

/// Judges a statement by the views of `reader`, which must have been created of `parts`.
pub(crate) fn judge(
    experiment: &Experiment,
    statement: &Statement,
    parts: &[Part],
    reader: &Reader,
) -> Judged {
    let (value, why) = match scope::number(&reader.connection, &statement.sql) {
        Ok(Some(value)) => (Some(value), weak(experiment, statement, parts)),
        Ok(None) => (None, Some("the query gives no number: are there rows for it?".to_string())),
        Err(error) => {
            let why = error.to_string();
            let missing = why.strip_prefix("no such table: ").and_then(|name| experiment.part(name));
            (None, Some(missing.map_or(why, |run| format!("{} was not measured", run.name))))
        }
    };
    let within = value.and_then(|value| statement.holds(value));
    let verdict = (!statement.told).then_some(match (within, &why) {
        (Some(true), None) => Verdict::Holds,
        (Some(false), None) => Verdict::DoesNotHold,
        _ => Verdict::NotMeasured,
    });
    let (bound, because) = (statement.bound(), statement.why.clone());
    Judged { says: statement.says.clone(), bound, because, value, within, verdict, why, ours: statement.ours }
}

impl Statement {
    /// Whether it is about a part of that name: its query names the part, or all rows.
    pub(crate) fn concerns(&self, part: &str) -> bool {
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        self.sql.split(|c| !letters(c)).any(|word| word == "rows" || word == part)
    }
}

/// Why what was measured is no evidence for a statement, if it is not.
fn weak(experiment: &Experiment, statement: &Statement, parts: &[Part]) -> Option<String> {
    parts.iter().filter(|part| statement.concerns(&part.name)).find_map(|part| {
        let Part { name, full, failed, .. } = part;
        match experiment.part(name).and_then(|run| run.smaller.as_ref()) {
            _ if !full => Some(format!("{name} was a quick run")),
            _ if !failed.is_empty() => Some(format!("{} points of {name} failed", failed.len())),
            smaller => smaller.map(|how| format!("{name} is smaller than the paper's: {how}")),
        }
    })
}

/// What the claim consists of: the paper's statements, or ours if it is a claim of our own. Of each the verdict.
pub(crate) fn stated(statements: &[Judged]) -> Vec<Verdict> {
    let own = !statements.iter().any(|one| one.verdict.is_some() && !one.ours);
    statements.iter().filter(|one| own || !one.ours).filter_map(|one| one.verdict).collect()
}

/// What several statements come to.
pub(crate) fn verdict(statements: &[Judged]) -> Verdict {
    let stated = stated(statements);
    let any = |wanted: Verdict| stated.contains(&wanted);
    match (any(Verdict::Holds), any(Verdict::DoesNotHold), any(Verdict::NotMeasured)) {
        (true, false, false) => Verdict::Holds,
        (true, ..) => Verdict::PartlyHolds,
        (false, true, _) => Verdict::DoesNotHold,
        (false, false, _) => Verdict::NotMeasured,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_as_good_as_its_statements() {
        use Verdict::{DoesNotHold, Holds, NotMeasured, PartlyHolds};
        let one = |verdict: Option<Verdict>| Judged {
            says: String::new(),
            bound: None,
            because: None,
            value: None,
            within: None,
            verdict,
            why: None,
            ours: false,
        };
        let of = |verdicts: &[Option<Verdict>]| {
            verdict(&verdicts.iter().map(|verdict| one(*verdict)).collect::<Vec<_>>())
        };
        let [good, bad, unknown] = [Some(Holds), Some(DoesNotHold), Some(NotMeasured)];
        assert_eq!(of(&[good, None, good]), Holds);
        assert_eq!(of(&[good, bad]), PartlyHolds);
        assert_eq!(of(&[good, unknown]), PartlyHolds, "a statement that was not measured may not hold");
        assert_eq!(of(&[bad, unknown, None]), DoesNotHold);
        assert_eq!(of(&[unknown, None]), NotMeasured);
        assert_eq!(of(&[None]), NotMeasured, "nothing was stated");
        assert_eq!(of(&[]), NotMeasured);
        let ours = |verdict| Judged { ours: true, ..one(Some(verdict)) };
        assert_eq!(verdict(&[one(good), ours(DoesNotHold)]), Holds, "the paper does not state it");
        assert_eq!(verdict(&[one(None), ours(DoesNotHold)]), DoesNotHold, "a claim of our own");
    }
}
