//! Nothing in tests fails for time. They wait with `tidemark_patience`, and compare no time that has passed with a limit; in TypeScript, with
//! `clients/edge-js/test/until.ts`. A test whose subject is time says so: `// time: REASON`, on the statement or above it. The same holds for
//! the programs that run tests.
//!
//! A name that a file binds to a time that has passed, or to a short duration, is read as if it were spelled out.
//!
//! Pauses are counted: a test waits for a condition instead.

mod language;
mod names;
mod text;

use super::{Finding, source::Source};
use crate::run::{command, output, root};
use anyhow::Result;
use language::{Language, PATIENCE_S, PAUSES, RUST, SCRIPT};
use names::Names;
use text::{comparisons, statements, without_strings};

/// Calls of `sleep` in tests in Rust. The limit may only fall.
const SLEEPS: usize = 27;

/// Pauses in tests in TypeScript. The limit may only fall.
const SCRIPT_PAUSES: usize = 49;

const HERE: &str = "xtask/src/tidy/time/mod.rs";

/// Where tests in TypeScript wait.
const UNTIL: &str = "clients/edge-js/test/until.ts";

/// Programs that run tests.
const TOOLS: [&str; 2] = ["xtask/src/", "crates/differential/src/"];

pub(super) fn check(sources: &[Source]) -> Result<Vec<Finding>> {
    let mut findings: Vec<Finding> = sources.iter().flat_map(rust).collect();
    let (mut sleeps, mut pauses) = (0, 0);
    for source in sources.iter().filter(|source| source.is_test()) {
        sleeps += source.text.matches("sleep(").count();
    }
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "*.ts", "*.tsx", "*.mjs", "*.js"];
    for path in output(&mut command("git", &list))?.lines().filter(|path| is_script_test(path)) {
        if let Ok(text) = std::fs::read_to_string(root().join(path)) {
            findings.extend(script(path, &text));
            pauses += PAUSES.iter().map(|pause| text.matches(pause).count()).sum::<usize>();
        }
    }
    findings.extend(within("calls of sleep", sleeps, SLEEPS));
    findings.extend(within("pauses in TypeScript", pauses, SCRIPT_PAUSES));
    Ok(findings)
}

fn within(what: &str, count: usize, limit: usize) -> Option<Finding> {
    match count {
        count if count > limit => {
            Some(format!("tests: {count} {what}, more than {limit}: wait for a condition ({HERE})"))
        }
        count if count < limit => Some(format!("tests: {count} {what}: lower the limit in {HERE}")),
        _ => None,
    }
}

fn rust(source: &Source) -> Vec<Finding> {
    let code = without_strings(&source.text);
    let lines: Vec<&str> = code.lines().collect();
    let begin = if source.is_test() || TOOLS.iter().any(|tools| source.path.starts_with(tools)) {
        0
    } else {
        lines.iter().position(|line| line.starts_with("#[cfg(test)]")).unwrap_or(lines.len())
    };
    read(&RUST, &source.path, &lines, begin)
}

/// Whether a file in TypeScript or JavaScript is a test, or runs tests.
fn is_script_test(path: &str) -> bool {
    path != UNTIL && (path.contains("/test/") || path.contains("/tests/") || path.ends_with("check.mjs"))
}

fn script(path: &str, text: &str) -> Vec<Finding> {
    read(&SCRIPT, path, &text.lines().collect::<Vec<_>>(), 0)
}

/// Returns the findings in these lines from one on.
fn read(language: &Language, path: &str, lines: &[&str], begin: usize) -> Vec<Finding> {
    let (mut findings, mut names) = (Vec::new(), Names::default());
    let waiter = language.waiter;
    for statement in statements(lines, begin).iter().filter(|statement| !statement.text.is_empty()) {
        names.reach(statement);
        let found = if statement.excused {
            None
        } else if limits_time(&statement.text, &names, language) {
            Some(format!("compares the time that has passed: wait with {waiter}"))
        } else if (language.waits)(&statement.text, &names) {
            Some(format!("waits for less than {PATIENCE_S} s: use {waiter}"))
        } else {
            None
        };
        names.note(statement, language, statement.excused || found.is_some());
        let finding = |what| format!("{path}:{}: {what}, or say why: // time: REASON", statement.line);
        findings.extend(found.map(finding));
    }
    findings
}

/// Whether a statement asks if a time that has passed, or the time now, is below a limit, or else if it is above one.
///
/// A least time is no limit: no slow machine falls below it.
fn limits_time(text: &str, names: &Names, language: &Language) -> bool {
    let now = |part: &str| language.clocks.iter().any(|clock| part.contains(clock));
    let passed = |part: &str| names.passed(part, language);
    let above = |part: &str| now(part) || passed(part) && text.contains("if ");
    comparisons(text)
        .into_iter()
        .any(|(less, limit)| now(less) || passed(less) || above(limit) && !text.contains("assert"))
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
            "assert!(Instant::now().duration_since(b) < limit);",
            "assert!(clock.since(b) < limit);",
            "if began.elapsed() > limit {",
            "assert_eq!(seen(f()) < Duration::from_millis(50), true);",
            "assert!((a..Duration::from_millis(50)).contains(&seen));",
            "tokio::time::timeout(Duration::from_secs(5), f()).await.unwrap();",
            "timeout(\n    // so long\n    Duration::from_secs(5),\n    f(),\n).await;",
            "rx.recv_timeout(Duration::from_secs_f64(0.5)).unwrap();",
            "rx.recv_timeout(Duration::from_secs_f32(1.5)).unwrap();",
            "rx.recv_timeout(Duration::from_mins(1)).unwrap();",
            "rx.recv_timeout(Duration::new(5, 0)).unwrap();",
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
            "assert!(seen(f()) >= Duration::from_millis(50));",
            "tokio::time::timeout(PATIENCE, f()).await.unwrap();",
            "rx.recv_timeout(Duration::from_mins(2)).unwrap();",
            "found.is_some_and(|delay| since.elapsed() >= delay) }",
            "let said = \"assert!(begun.elapsed() < LIMIT); \\\" const A: Duration = Duration::from_secs(1);\";",
            "let said = r#\"if \"Instant::now() > end {\"#;",
        ] {
            assert_eq!(found(fine), 0, "{fine}");
        }
    }

    #[test]
    fn names_are_read_as_what_they_are_bound_to() {
        for bad in [
            "let took = began.elapsed();\nassert!(took.as_millis() < 50);",
            "let took: Duration = began.elapsed();\nassert!(took.as_secs() < 3);",
            "let (_, mut took) = (1, began.elapsed().as_secs_f64());\nassert!(took < 0.5);",
            "let took = began.elapsed();\nif took > Duration::from_secs(1) { panic!() }",
            "let took = Instant::now() - began;\nlet ms = took.as_millis();\nassert!((0..50).contains(&ms));",
            "let took = began.elapsed();\nassert_eq!(took < limit, true);",
            "let took = {\n    f();\n    began.elapsed()\n};\nassert!(took < limit);",
            "fn took() -> Duration {\n    f();\n    began.elapsed()\n}\nfn g() {\n    assert!(took() < limit);\n}",
            "let limit = Duration::from_secs(5);\nrx.recv_timeout(limit).unwrap();",
            "let limit = Some(std::time::Duration::from_secs(5));\nstream.set_read_timeout(limit);",
            "let end = Instant::now() + Duration::from_secs(5);\ntimeout_at(end, f());",
            "let limit = Duration::from_secs(5);\nassert!(seen(f()) < limit);",
            "static LIMIT: Duration = Duration::from_secs(3);\nfn f() {\n    thread::park_timeout(LIMIT);\n}",
        ] {
            assert_eq!(found(bad), 1, "{bad}");
        }
    }

    #[test]
    fn names_of_other_things_are_not() {
        for fine in [
            "// time: a slow link\nlet limit = Duration::from_secs(5);\nrx.recv_timeout(limit).unwrap();",
            "let limit = Duration::from_secs(120);\nrx.recv_timeout(limit).unwrap();",
            "let limit = Duration::from_secs(5);\nlet limit = PATIENCE;\nrx.recv_timeout(limit).unwrap();",
            "fn f() {\n    let limit = Duration::from_secs(5);\n}\nfn g() {\n    rx.recv_timeout(limit);\n}",
            "let fault = open(Duration::from_secs(5));\nrx.recv_timeout(PATIENCE, fault);",
            "let step = Duration::from_millis(5);\nassert_eq!(sim.due(), Some(start + step));",
            "let step = Duration::from_millis(5);\nlet mut sim = Sim::new(step);",
            "let took = began.elapsed();\nassert!(took >= Duration::from_millis(50), \"{took:?}\");",
            "let took = began.elapsed();\nassert!(least <= took);",
            "let took = began.elapsed();\nlet took = sim.time();\nassert!(took < limit);",
            "let took = {\n    print(began.elapsed());\n    sim.time()\n};\nassert!(took < limit);",
            "let now = SystemTime::now().duration_since(UNIX_EPOCH);\nfind(|it| it.stable >= now);",
        ] {
            assert_eq!(found(fine), 0, "{fine}");
        }
    }

    #[test]
    fn programs_that_run_tests_are_read_as_a_whole() {
        for (path, count) in
            [("xtask/src/a.rs", 1), ("crates/differential/src/b.rs", 1), ("crates/patience/src/lib.rs", 0)]
        {
            let text = "while began.elapsed() < LIMIT {".to_string();
            assert_eq!(rust(&Source { path: path.into(), text }).len(), count);
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
    fn scripts_have_names_races_and_pauses_too() {
        let found = |text: &str| script("clients/edge-js/test/a.ts", text).len();
        for bad in [
            "const took = Date.now() - began;\nassert.ok(took < 500);",
            "const took = (performance.now() - began) / 1000;\nif (took > 5) throw new Error();",
            "async function took() {\n  await f();\n  return Date.now() - began;\n}\nassert.ok((await took()) < 500);",
            "await Promise.race([f(), new Promise((_, no) => setTimeout(no, 1000))]);",
            "await Promise.race([\n  f(),\n  sleep(1000),\n]);",
            "setTimeout(() => reject(new Error()), 1000);",
            "for (let i = 0; i < 100; i++) await sleep(50);",
            "await page.waitForTimeout(300);",
            "context.setDefaultTimeout(5_000); // for what hangs",
            "const limit = 5_000;\nawait page.goto(\"http://x\", { timeout: limit });",
            "const ago = Date.now();\nassert.ok((await time()) - ago < 60_000);",
        ] {
            assert_eq!(found(bad), 1, "{bad}");
            assert_eq!(found(&format!("// time: so\n{}", bad.replace('\n', "\n// time: so\n"))), 0, "{bad}");
        }
        for fine in [
            "const took = Date.now() - began;\nconsole.log(took);",
            "const took = Date.now() - began;\nassert.ok(took >= 500);",
            "const ago = Date.now();\nassert.ok(ago + 5 <= (await time()) - shift);",
            "const count = 5;\nassert.ok(seen < count);",
            "const limit = 180_000;\nawait page.goto(\"http://x\", { timeout: limit });",
            "await Promise.race([f(), g()]);",
            "for (let i = 0; i < 100; i++) await f();",
            "await new Promise((resolve) => setTimeout(resolve, 50));",
        ] {
            assert_eq!(found(fine), 0, "{fine}");
        }
    }

    #[test]
    fn pauses_may_only_become_fewer() {
        assert_eq!(
            [SLEEPS - 1, SLEEPS, SLEEPS + 1].map(|count| within("calls", count, SLEEPS).is_some()),
            [true, false, true]
        );
    }
}
