//! The statements of a file with their comparisons, as far as the rule on time reads code: formatted, in Rust or TypeScript.

/// The comment that excuses a statement.
const REASON: &str = "// time: ";

/// A statement, or the head of a block.
pub(super) struct Statement {
    /// The number of its first line.
    pub(super) line: usize,
    /// The spaces before it.
    pub(super) indentation: usize,
    /// Its code on one line.
    pub(super) text: String,
    /// Whether it gives a reason, in itself or in the comment above it.
    pub(super) excused: bool,
}

impl Statement {
    fn new(lines: &[&str], begin: usize, end: usize) -> Self {
        let above = lines[..begin].iter().rev().take_while(|line| line.trim_start().starts_with("//"));
        let own = &lines[begin..=end];
        let code: Vec<&str> =
            own.iter().map(|line| code(line).trim()).filter(|code| !code.is_empty()).collect();
        Self {
            line: begin + 1,
            indentation: indentation(own[0]),
            text: code.join(" "),
            excused: above.chain(own).any(|line| line.contains(REASON)),
        }
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A line without its comment.
fn code(line: &str) -> &str {
    let comment = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
    comment.map_or(line, |(at, _)| &line[..at]).trim_end()
}

/// The statements of these lines from one on. A line that ends a statement or a block ends one.
pub(super) fn statements(lines: &[&str], from: usize) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut begin = from;
    for (at, line) in lines.iter().enumerate().skip(from) {
        let code = code(line);
        let alone = at == begin && (code.is_empty() || code.ends_with(','));
        if alone || line.is_empty() || code.ends_with([';', '{', '}']) {
            found.push(Statement::new(lines, begin, at));
            begin = at + 1;
        }
    }
    found
}

/// Returns the comparisons of a statement: each time what has to be less, and what it has to be less than.
pub(super) fn comparisons(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for sign in [" < ", " <= ", " > ", " >= ", ".contains(&"] {
        for (at, _) in text.match_indices(sign) {
            let (left, right) = (operand_before(&text[..at]), operand_after(&text[at + sign.len()..]));
            found.push(if sign.contains('<') { (left, right) } else { (right, left) });
        }
    }
    found
}

fn operand_before(text: &str) -> &str {
    operand_end(text.char_indices().rev(), ")]", "([").map_or(text, |at| &text[at + 1..]).trim()
}

fn operand_after(text: &str) -> &str {
    let text = text.trim_start_matches('&');
    operand_end(text.char_indices(), "([", ")]").map_or(text, |at| &text[..at]).trim()
}

/// Returns where an operand ends: at what separates operands, or at a parenthesis around it.
fn operand_end(mut letters: impl Iterator<Item = (usize, char)>, open: &str, close: &str) -> Option<usize> {
    let mut depth = 0;
    let end = letters.find(|(_, letter)| {
        depth += i32::from(open.contains(*letter)) - i32::from(close.contains(*letter));
        depth < 0 || depth == 0 && ",;=&|{}".contains(*letter)
    });
    end.map(|(at, _)| at)
}

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The text without what is in its strings: what a string says is nothing that is done. Comments and lines stay.
pub(super) fn without_strings(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_in_a_statement_or_above_it() {
        let excused = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            statements(&lines, 0).last().map(|last| last.excused)
        };
        assert_eq!(excused("a(); // time: a is slow\nb();"), Some(false));
        assert_eq!(excused("// time: b is slow,\n// and may be\nb(\n    c,\n);"), Some(true));
        assert_eq!(excused("a();\nb(\n    // time: c is slow\n    c,\n);"), Some(true));
    }

    #[test]
    fn operands_end_where_others_begin() {
        for (text, found) in [
            ("if a && b.c(d, e) < f * 2 {", ("b.c(d, e)", "f * 2")),
            ("assert_eq!(a >= b(c), d);", ("b(c)", "a")),
            ("let x = |y| &z > &a;", ("a", "z")),
            ("assert!((1..2).contains(&a.b()));", ("a.b()", "(1..2)")),
        ] {
            assert_eq!(comparisons(text), [found]);
        }
        assert!(comparisons("fn a<T>(b: Vec<T>) -> C { D => E }").is_empty());
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
}
