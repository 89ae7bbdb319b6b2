//! The runner `lines`: how long a protocol is.

use crate::embedded;
use crate::{Point, Row, Runner};
use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

/// Counts the lines of code of the protocol that a point names (`protocol`, with `-` or `_`), server and session
/// together: lines that are neither blank nor comments, without tests. `lines` is the number.
pub struct Lines;

impl Runner for Lines {
    fn run(&self, point: &Point<'_>, _: &dyn Fn(&str)) -> Result<Vec<Row>> {
        let protocol = point.get("protocol").and_then(Value::as_str).context("a point needs a protocol")?;
        let stem = protocol.replace('-', "_");
        let found = embedded::PROTOCOLS.iter().find(|(name, _)| *name == stem && *name != "lib");
        let (_, source) = found.ok_or_else(|| {
            let names = embedded::PROTOCOLS.iter().map(|(name, _)| *name).filter(|name| *name != "lib");
            let names: Vec<String> = names.map(|name| name.replace('_', "-")).collect();
            anyhow!("there is no protocol {protocol:?}, but {}", names.join(", "))
        })?;
        Ok(vec![Row::from([("lines".to_string(), json!(code_lines(source)))])])
    }

    fn parallel(&self) -> bool {
        true
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn columns(&self) -> Option<Vec<String>> {
        Some(vec!["protocol".into(), "lines".into()])
    }
}

/// Lines that hold something besides spaces and comments, up to the first module of tests.
fn code_lines(source: &str) -> usize {
    let mut lines = 0;
    let mut comment = false;
    for line in source.lines().map(str::trim) {
        if line == "#[cfg(test)]" {
            break;
        }
        if !comment && !line.starts_with("//") && !line.is_empty() && !line.starts_with("/*") {
            lines += 1;
        }
        comment = (comment || line.starts_with("/*")) && !line.ends_with("*/");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(protocol: &str) -> Result<u64> {
        let point = Row::from([("protocol".to_string(), json!(protocol))]);
        let rows = Lines.run(&Point { values: &point, labels: &[] }, &|_| ())?;
        rows[0]["lines"].as_u64().context("a number")
    }

    #[test]
    fn blank_lines_comments_and_tests_do_not_count() {
        let source = "//! What it is.\n\n/// A thing.\nfn a() {\n    // why\n    b(); // too\n}\n/* not\nthis */\n\
                      #[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(code_lines(source), 3);
    }

    #[test]
    fn protocols_are_counted_by_the_names_that_users_give() {
        let eventual = count("eventual").expect("it is there");
        let spartan = count("causal-spartan-x").expect("it is there");
        assert!((50..400).contains(&eventual) && spartan > eventual, "{eventual}, {spartan}");
        let error = count("causal-spartan").expect_err("there is none").to_string();
        assert!(error.contains("causal-spartan-x"), "{error}");
        assert!(count("lib").is_err());
    }

    /// A protocol that is divided among files is as long as all of them.
    #[test]
    fn what_stands_in_a_folder_of_its_name_counts() {
        let (_, whole) = embedded::PROTOCOLS.iter().find(|(name, _)| *name == "nukv").expect("it is there");
        let parts = [
            include_str!("../../protocols/src/nukv.rs"),
            include_str!("../../protocols/src/nukv/dated.rs"),
            include_str!("../../protocols/src/nukv/params.rs"),
            include_str!("../../protocols/src/nukv/past.rs"),
            include_str!("../../protocols/src/nukv/reads.rs"),
        ];
        assert_eq!(whole.len(), parts.iter().map(|part| part.len()).sum::<usize>());
        assert_eq!(count("nukv").unwrap(), parts.map(code_lines).iter().sum::<usize>() as u64);
    }
}
