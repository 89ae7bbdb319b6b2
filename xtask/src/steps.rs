//! Steps that are all run, even if one fails; each is timed, and a page says how they went.

use crate::environment;
use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Instant;

/// A step that has ended.
struct Done {
    name: String,
    minutes: f64,
    /// Of all processes that the step has waited for.
    cpu_minutes: f64,
    /// A few words about it; the reason if it failed.
    said: Result<String>,
}

pub(crate) struct Steps {
    title: String,
    done: Vec<Done>,
}

impl Steps {
    /// No step yet; `title` is the command that the user gave.
    pub(crate) fn new(title: &str) -> Self {
        Self { title: title.to_string(), done: Vec::new() }
    }

    /// Runs a step, which returns a few words for the page. Whether it passed.
    pub(crate) fn step(&mut self, name: &str, step: impl FnOnce() -> Result<String>) -> bool {
        println!("\n=== {name}");
        let (began, cpu) = (Instant::now(), cpu_seconds());
        let said = step();
        if let Err(error) = &said {
            println!("{name}: {error:#}");
        }
        let passed = said.is_ok();
        let cpu_minutes = (cpu_seconds() - cpu) / 60.0;
        let minutes = began.elapsed().as_secs_f64() / 60.0;
        self.done.push(Done { name: name.to_string(), minutes, cpu_minutes, said });
        passed
    }

    /// Whether the step that has ended last failed for the environment.
    pub(crate) fn blames_environment(&self) -> bool {
        self.done.last().and_then(|done| done.said.as_ref().err()).is_some_and(environment::is_to_blame)
    }

    /// The step that has ended last, for [`ended_before`](Self::ended_before).
    pub(crate) fn last(&self) -> Value {
        let Some(Done { minutes, cpu_minutes, said, .. }) = self.done.last() else { return Value::Null };
        let error = said.as_ref().err().map(|error| format!("{error:#}"));
        json!({"minutes": minutes, "cpu_minutes": cpu_minutes, "said": said.as_ref().ok(), "error": error})
    }

    /// Adds a step that an earlier run has ended.
    pub(crate) fn ended_before(&mut self, name: &str, last: &Value) {
        let said = match last["error"].as_str() {
            Some(error) => Err(anyhow!("{error}")),
            None => Ok(last["said"].as_str().unwrap_or_default().to_string()),
        };
        let number = |field: &str| last[field].as_f64().unwrap_or_default();
        let (minutes, cpu_minutes) = (number("minutes"), number("cpu_minutes"));
        self.done.push(Done { name: name.to_string(), minutes, cpu_minutes, said });
    }

    /// Prints the page.
    ///
    /// # Errors
    /// A step failed. If nothing but the environment is to blame, its error.
    pub(crate) fn finish(self) -> Result<()> {
        print!("\n{}", self.page());
        let all = self.done.len();
        let errors: Vec<_> = self.done.into_iter().filter_map(|done| done.said.err()).collect();
        if errors.iter().all(environment::is_to_blame) {
            return errors.into_iter().next().map_or(Ok(()), Err);
        }
        bail!("{} of {all} steps failed", errors.len())
    }

    /// The results, a line a step.
    pub(crate) fn page(&self) -> String {
        let failed = self.done.iter().any(|done| done.said.is_err());
        let minutes: f64 = self.done.iter().map(|done| done.minutes).sum();
        let verdict = if failed { "FAILED" } else { "passed" };
        let mut page = format!("=== {}: {verdict}, {minutes:.1} minutes\n", self.title);
        let _ = writeln!(page, "{:22} {:>8} {:>12}", "step", "minutes", "CPU minutes");
        for done in &self.done {
            let said = match &done.said {
                Ok(said) => said.clone(),
                Err(error) if environment::is_to_blame(error) => format!("{error:#}"),
                Err(error) => format!("FAILED: {error:#}"),
            };
            let _ = writeln!(page, "{:22} {:8.1} {:12.1}  {said}", done.name, done.minutes, done.cpu_minutes);
        }
        page
    }
}

/// The processor time of all processes that this one has waited for, and of those that they have waited for, in seconds; 0 where the
/// system does not say.
fn cpu_seconds() -> f64 {
    // Fields 16 and 17, in hundredths of a second; the second field is a name in parentheses, which may hold spaces.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<f64> = after_name.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    fields.get(13..15).map_or(0.0, |times| times.iter().sum::<f64>() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use std::process::Command;

    #[test]
    fn a_page_has_a_line_for_each_step_and_says_what_failed() {
        let mut steps = Steps::new("./x try");
        assert!(steps.step("good", || Ok("3 tests".to_string())));
        assert!(!steps.step("bad", || bail!("it broke")));
        let page = steps.page();
        assert!(page.starts_with("=== ./x try: FAILED, 0.0 minutes\n"), "{page}");
        assert!(
            page.contains("good ") && page.contains("  3 tests\n") && page.contains("  FAILED: it broke\n"),
            "{page}"
        );
        assert_eq!(steps.finish().unwrap_err().to_string(), "1 of 2 steps failed");
    }

    #[test]
    fn a_step_of_an_earlier_run_is_on_the_page_as_it_was() {
        for how in [Ok("3 tests".to_string()), Err(anyhow!("it broke"))] {
            let (mut before, mut after) = (Steps::new("x"), Steps::new("x"));
            before.step("part", || how);
            after.ended_before("part", &before.last());
            assert_eq!(before.page(), after.page());
        }
    }

    #[test]
    fn a_step_that_failed_outweighs_the_environment() {
        let finish = |results: Vec<Result<String>>| {
            let mut steps = Steps::new("x");
            for result in results {
                steps.step("a step", || result);
            }
            steps.finish()
        };
        let to_blame = || {
            let (program, advice) = ("tclsh".to_string(), String::new());
            Err(Environment::Missing { program, advice }.into())
        };
        let failed = || Err(anyhow!("a test"));
        let error = finish(vec![Ok(String::new()), to_blame()]).unwrap_err();
        assert!(environment::is_to_blame(&error) && error.to_string().contains("tclsh"), "{error}");
        let error = finish(vec![to_blame(), failed()]).unwrap_err();
        assert_eq!(error.to_string(), "2 of 2 steps failed");
        assert!(!environment::is_to_blame(&error));
    }

    #[test]
    fn processor_time_of_ended_processes_counts() {
        let before = cpu_seconds();
        let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", busy]).status().unwrap().success());
        assert!(cpu_seconds() > before);
    }
}
