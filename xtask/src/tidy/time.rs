//! Nothing in tests fails for time. They wait with `tidemark_patience`, and compare no time that has passed with a limit; in TypeScript, with
//! `clients/edge-js/test/until.ts`. A test whose subject is time says so: `// time: REASON`, on the statement or above it.
//!
//! Pauses are counted: a test waits for a condition instead.

use super::{Finding, source::Source};
use crate::run::{command, output, root};
use anyhow::Result;

/// The least time that a test may wait for something, in seconds.
const PATIENCE_S: f64 = 120.0;

/// Calls of `sleep` in tests in Rust. The limit may only fall.
const SLEEPS: usize = 28;

/// Words of statements that wait, or that judge.
///
/// `assert_eq!` is none: an equality with a duration is no limit.
const WAITERS: [&str; 7] =
    ["wait_for(", "until(", "eventually(", "settled(", "terminate(", "_timeout(", "assert!("];

const HERE: &str = "xtask/src/tidy/time.rs";

/// Where tests in TypeScript wait.
const UNTIL: &str = "clients/edge-js/test/until.ts";

pub(super) fn check(sources: &[Source]) -> Result<Vec<Finding>> {
    let mut findings: Vec<Finding> = sources.iter().flat_map(rust).collect();
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "*.ts", "*.mjs", "*.js"];
    for path in output(&mut command("git", &list))?.lines().filter(|path| is_script_test(path)) {
        if let Ok(text) = std::fs::read_to_string(root().join(path)) {
            findings.extend(script(path, &text));
        }
    }
    let sleeps =
        sources.iter().filter(|source| source.is_test()).map(|source| source.text.matches("sleep(").count());
    findings.extend(sleeps_within(sleeps.sum()));
    Ok(findings)
}

fn sleeps_within(count: usize) -> Option<Finding> {
    match count {
        count if count > SLEEPS => {
            Some(format!("tests: {count} calls of sleep, more than {SLEEPS}: wait for a condition ({HERE})"))
        }
        count if count < SLEEPS => Some(format!("tests: {count} calls of sleep: lower the limit in {HERE}")),
        _ => None,
    }
}

/// A statement, or the head of a block, with the number of its first line.
struct Statement<'a> {
    line: usize,
    lines: &'a [&'a str],
}

impl Statement<'_> {
    /// Its code on one line.
    fn text(&self) -> String {
        let code = self.lines.iter().map(|line| line.split_once("//").map_or(*line, |(code, _)| code).trim());
        code.collect::<Vec<_>>().join(" ")
    }
}

/// The statements of some lines. A line that ends a statement or a block ends one.
fn statements<'a>(lines: &'a [&'a str]) -> Vec<Statement<'a>> {
    let mut found = Vec::new();
    let mut begin = 0;
    for (at, line) in lines.iter().enumerate() {
        let code = line.split_once("//").map_or(*line, |(code, _)| code).trim_end();
        if code.is_empty()
            || code.ends_with([';', '{', '}', ',']) && at == begin
            || code.ends_with([';', '{', '}'])
        {
            found.push(Statement { line: begin + 1, lines: &lines[begin..=at] });
            begin = at + 1;
        }
    }
    found
}

/// The text without what is in its strings: what a string says is nothing that is done. Comments and lines stay.
fn without_strings(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let (before, after) = rest.split_at(at);
        code.push_str(before);
        let end = match after.as_bytes()[0] {
            b'/' if after.starts_with("//") => after.find('\n').unwrap_or(after.len()),
            b'/' => 1,
            b'"' => string(&code, after),
            _ => character(after),
        };
        let (token, others) = after.split_at(end);
        if token.starts_with('"') {
            let lines = token.matches('\n').count();
            code.push_str(&format!("\"{}\"", "\n".repeat(lines)));
        } else if !token.starts_with('\'') || end == 1 {
            code.push_str(token);
        }
        rest = others;
    }
    code + rest
}

/// Returns the length of the string with which `text` begins, after this code.
fn string(code: &str, text: &str) -> usize {
    let opened = code.trim_end_matches('#');
    if opened.ends_with('r') {
        let end = format!("\"{}", "#".repeat(code.len() - opened.len()));
        return text[1..].find(&end).map_or(text.len(), |at| at + 2);
    }
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |at| at + 2)
}

/// Returns the length of the character with which `text` begins; 1 of a lifetime.
fn character(text: &str) -> usize {
    let mut after = text.char_indices().skip(1);
    let (escaped, end) = match after.next() {
        Some((_, '\\')) => (true, text.get(3..).and_then(|rest| rest.find('\'')).map(|at| at + 4)),
        _ => (false, after.next().filter(|(_, mark)| *mark == '\'').map(|(at, _)| at + 1)),
    };
    end.unwrap_or(1 + usize::from(escaped))
}

fn rust(source: &Source) -> Vec<Finding> {
    let code = without_strings(&source.text);
    let lines: Vec<&str> = code.lines().collect();
    let begin = if source.is_test() {
        0
    } else {
        lines.iter().position(|line| line.starts_with("#[cfg(test)]")).unwrap_or(lines.len())
    };
    let mut findings = Vec::new();
    for statement in statements(&lines[begin..]) {
        let first = begin + statement.line;
        let above = lines[..first - 1].last().into_iter();
        if statement.lines.iter().chain(above).any(|line| line.contains("// time: ")) {
            continue;
        }
        let text = statement.text();
        let place = format!("{}:{first}", source.path);
        if compares_time(&text) {
            findings.push(format!("{place}: compares the time that has passed: wait with tidemark_patience, or say why: // time: REASON"));
        }
        let waits = WAITERS.iter().any(|word| text.contains(word))
            || text.contains("const ") && text.contains(": Duration");
        if waits && durations(&text).iter().any(|seconds| *seconds < PATIENCE_S) {
            findings.push(format!("{place}: waits for less than {PATIENCE_S} s: use tidemark_patience, or say why: // time: REASON"));
        }
    }
    findings
}

/// Whether the statement asks if a time that has passed, or the time now, is below or above something.
fn compares_time(text: &str) -> bool {
    ["elapsed()", "Instant::now()"].iter().any(|clock| {
        text.match_indices(clock).any(|(at, _)| {
            let mut after = &text[at + clock.len()..];
            while let Some(rest) = after.strip_prefix(".as_") {
                after = rest.split_once("()").map_or("", |(_, rest)| rest);
            }
            let before =
                text[..at].trim_end_matches(|c: char| c.is_alphanumeric() || "_.:".contains(c)).trim_end();
            // A least time is none that a slow machine exceeds.
            let above = after.trim_start().starts_with('>')
                && *clock == "Instant::now()"
                && !text.contains("assert!(");
            after.trim_start().starts_with('<')
                || above
                || before.ends_with('>') && !before.ends_with("->") && !before.ends_with("=>")
        })
    })
}

/// The durations that the statement spells out, in seconds.
fn durations(text: &str) -> Vec<f64> {
    let units = [("from_secs(", 1.0), ("from_millis(", 1e-3), ("from_micros(", 1e-6), ("from_nanos(", 1e-9)];
    let mut found = Vec::new();
    for (word, unit) in units {
        for (at, _) in text.match_indices(word) {
            let number = text[at + word.len()..].split(')').next().unwrap_or_default().replace('_', "");
            found.extend(number.parse::<f64>().ok().map(|number| number * unit));
        }
    }
    found
}

/// Whether a file in TypeScript or JavaScript is a test, or runs tests.
fn is_script_test(path: &str) -> bool {
    path != UNTIL && (path.contains("/test/") || path.contains("/tests/") || path.ends_with("check.mjs"))
}

fn script(path: &str, text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let mut findings = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.contains("// time: ") || at > 0 && lines[at - 1].contains("// time: ") {
            continue;
        }
        let place = format!("{path}:{}", at + 1);
        let clock = line.contains("Date.now()") || line.contains("performance.now()");
        if clock
            && (line.contains(" < ")
                || line.contains(" > ")
                || line.contains(" <= ")
                || line.contains(" >= "))
        {
            findings
                .push(format!("{place}: compares the time: wait with {UNTIL}, or say why: // time: REASON"));
        }
        let short = |rest: &str| {
            let digits: String =
                rest.trim_start().chars().filter(|c| *c != '_').take_while(char::is_ascii_digit).collect();
            digits.parse::<f64>().is_ok_and(|ms| ms < PATIENCE_S * 1e3)
        };
        if line.split("timeout: ").skip(1).any(short) {
            findings
                .push(format!("{place}: waits for less than {PATIENCE_S} s, or say why: // time: REASON"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        rust(&Source { path: "crates/x/tests/all/y.rs".into(), text: text.into() }).len()
    }

    #[test]
    fn limits_on_time_are_found() {
        for bad in [
            "assert!(begun.elapsed() < LIMIT);",
            "assert!(start.elapsed().as_millis() <= 150);",
            "while !seen && begun.elapsed() < LIMIT {",
            "assert!(LIMIT > begun.elapsed());",
            "if Instant::now() > end {",
            "const PATIENCE: Duration = Duration::from_secs(30);",
            "wait_for(\"it\", Duration::from_secs(10), look);",
            "let found = wait_for(\"it\", Duration::from_secs(10), || {",
            "wait_for(\n    \"it\",\n    Duration::from_millis(5_000),\n    look,\n);",
            "stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();",
            "assert!(seen < Duration::from_secs(1), \"late\");",
            "let quote = '\"'; const SHORT: Duration = Duration::from_secs(1);",
        ] {
            assert_eq!(found(bad), 1, "{bad}");
            assert_eq!(found(&format!("// time: it is about that\n{bad}")), 0, "{bad}");
            let inside =
                Source { path: "crates/x/src/y.rs".into(), text: format!("{bad}\n#[cfg(test)]\n{bad}\n") };
            assert_eq!(rust(&inside).len(), 1, "{bad}");
        }
    }

    #[test]
    fn patience_pauses_and_least_times_are_not() {
        for fine in [
            "wait_for(\"it\", look);",
            "wait_for(\"it\", Duration::from_secs(120), look);",
            "assert!(start.elapsed() >= Duration::from_secs(150));",
            "let age = began.elapsed();",
            "thread::sleep(Duration::from_millis(20));",
            "match x { A => began.elapsed(), }",
            "fn since(&self) -> Duration { self.began.elapsed() }",
            "// wait_for(\"it\", Duration::from_secs(10))",
            "assert_eq!(pacer.due(), Some(start + Duration::from_millis(5)));",
            "assert!(Instant::now() >= at);",
            "let said = \"assert!(begun.elapsed() < LIMIT); \\\" const A: Duration = Duration::from_secs(1);\";",
            "let said = r#\"if \"Instant::now() > end {\"#;",
        ] {
            assert_eq!(found(fine), 0, "{fine}");
        }
    }

    #[test]
    fn strings_are_left_out_and_lines_stay() {
        for (text, code) in [
            ("a(\"b // c\", 'd'); // \"e\nf", "a(\"\", ); // \"e\nf"),
            ("let x: &'a str = \"\\\"\\n\\\n  y\"; z / 2", "let x: &'a str = \"\n\"; z / 2"),
            ("br##\"\"#\n\"## '\"' '\\'' '\\u{e9}' 'é' b", "br##\"\n\"##     b"),
        ] {
            assert_eq!(without_strings(text), code);
        }
    }

    #[test]
    fn scripts_have_the_same_rules() {
        let found = |line: &str| script("clients/edge-js/test/a.ts", line).len();
        assert_eq!(found("for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {"), 1);
        assert_eq!(found("await page.waitForFunction(f, value, { timeout: 30_000 });"), 1);
        assert_eq!(
            found("// time: a page's own limit\nawait page.waitForFunction(f, value, { timeout: 30_000 });"),
            0
        );
        assert_eq!(found("await page.waitForFunction(f, value, { timeout: 180_000 });"), 0);
        assert_eq!(found("const began = Date.now();"), 0);
        assert!(is_script_test("examples/board/test/board.test.ts") && !is_script_test(UNTIL));
    }

    #[test]
    fn pauses_may_only_become_fewer() {
        assert_eq!(
            [SLEEPS - 1, SLEEPS, SLEEPS + 1].map(|count| sleeps_within(count).is_some()),
            [true, false, true]
        );
    }
}
