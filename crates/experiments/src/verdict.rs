//! Whether what a paper claims holds of what was measured.

use crate::file::{Check, Experiment};
use crate::query::Reader;
use crate::scope;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A check, and the number that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The claim.
    pub says: String,
    /// What the number must be, in words; nothing if it is only told.
    pub bound: Option<String>,
    /// The number, if there is one.
    pub value: Option<f64>,
    /// Whether it is what it must be; nothing if it is only told, or could not be measured.
    pub holds: Option<bool>,
    /// Why there is no number.
    pub why: Option<String>,
}

/// What came out of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every check that could be made holds, and there was one.
    Holds,
    /// A check does not hold.
    DoesNotHold,
    /// Numbers are told; there is nothing that they must be.
    Reported,
    /// Points could not be measured, or nothing could be checked.
    Incomplete,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Reported => "reported",
            Self::Incomplete => "incomplete",
        })
    }
}

impl Verdict {
    /// Whether it is good news.
    pub fn ok(self) -> bool {
        matches!(self, Self::Holds | Self::Reported)
    }
}

/// Makes a check over the views of `reader`, which must have been created.
pub(crate) fn judge(experiment: &Experiment, check: &Check, reader: &Reader) -> Judged {
    let judged =
        Judged { says: check.says.clone(), bound: check.bound(), value: None, holds: None, why: None };
    match scope::number(&reader.connection, &check.sql) {
        Ok(Some(value)) => {
            let holds = (!check.report).then(|| check.holds(value));
            Judged { value: Some(value), holds, ..judged }
        }
        Ok(None) => {
            let holds = (!check.report).then_some(false);
            Judged { holds, why: Some("the query gives no number: are there rows for it?".into()), ..judged }
        }
        Err(error) => {
            let why = error.to_string();
            let missing = why.strip_prefix("no such table: ").and_then(|name| experiment.part(name));
            match missing {
                Some(run) => Judged { why: Some(format!("not measured: {}", run.name)), ..judged },
                None => Judged { holds: Some(false), why: Some(why), ..judged },
            }
        }
    }
}

/// What several checks come to, if `failed` points could not be measured.
pub(crate) fn verdict(checks: &[Judged], failed: usize) -> Verdict {
    let any = |wanted: bool| checks.iter().any(|check| check.holds == Some(wanted));
    let told = checks.iter().all(|check| check.bound.is_none());
    match () {
        () if any(false) => Verdict::DoesNotHold,
        () if failed > 0 => Verdict::Incomplete,
        () if told => Verdict::Reported,
        () if any(true) => Verdict::Holds,
        () => Verdict::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broken_check_decides_and_what_was_not_measured_does_not() {
        let check = |bound: bool, holds: Option<bool>| Judged {
            says: String::new(),
            bound: bound.then(|| "≥ 1".into()),
            value: None,
            holds,
            why: None,
        };
        let (good, bad) = (check(true, Some(true)), check(true, Some(false)));
        let (told, unknown) = (check(false, None), check(true, None));
        let of = |checks: &[&Judged], failed| {
            verdict(&checks.iter().map(|c| (*c).clone()).collect::<Vec<_>>(), failed)
        };
        assert_eq!(of(&[&good, &told, &unknown], 0), Verdict::Holds);
        assert_eq!(of(&[&good, &bad], 0), Verdict::DoesNotHold);
        assert_eq!(of(&[&good], 1), Verdict::Incomplete);
        assert_eq!(of(&[&bad], 1), Verdict::DoesNotHold);
        assert_eq!(of(&[&told], 0), Verdict::Reported);
        assert_eq!(of(&[], 0), Verdict::Reported);
        assert_eq!(of(&[&unknown, &told], 0), Verdict::Incomplete);
    }
}
