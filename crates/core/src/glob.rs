//! Glob patterns as KEYS, SCAN MATCH and CONFIG GET use them: `*`, `?`, `[a-z]`, `[^a]`, `\` before a special
//! character.
//!
//! The oddities are those of Redis, compared with redis-server 7.0 through KEYS: a class that is never closed ends
//! with the pattern, a range may be written backwards, and a `\` at the very end means itself.
//!
//! I1: time is at most the product of the lengths: only the last `*` is ever gone back to, which loses no match,
//! since what stands before it was matched by the shortest text possible.

/// Whether all of `text` matches `pattern`. With `ignore_case`, ASCII letters match in either case.
pub fn glob_matches(pattern: &[u8], text: &[u8], ignore_case: bool) -> bool {
    let fold = |byte: u8| if ignore_case { byte.to_ascii_lowercase() } else { byte };
    let (mut p, mut t) = (0, 0);
    // Behind the last star, and where in the text it stopped.
    let mut retry = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            retry = Some((p, t));
            continue;
        }
        let Some(&byte) = text.get(t) else { return p == pattern.len() };
        let (matched, after) = element(&pattern[p..], byte, &fold);
        if matched {
            (p, t) = (p + after, t + 1);
        } else if let Some((behind, stopped)) = retry {
            (p, t) = (behind, stopped + 1);
            retry = Some((behind, t));
        } else {
            return false;
        }
    }
}

/// Whether the first element of `pattern` matches `byte`, and how long the element is. An empty pattern matches
/// nothing.
fn element(pattern: &[u8], byte: u8, fold: &impl Fn(u8) -> u8) -> (bool, usize) {
    match pattern {
        [] => (false, 0),
        [b'?', ..] => (true, 1),
        [b'[', class @ ..] => {
            let (matched, length) = in_class(class, byte, fold);
            (matched, 1 + length)
        }
        [b'\\', escaped, ..] => (fold(*escaped) == fold(byte), 2),
        [literal, ..] => (fold(*literal) == fold(byte), 1),
    }
}

/// Whether the class, whose text begins behind `[`, holds `byte`; and how long it is, `]` included.
fn in_class(class: &[u8], byte: u8, fold: &impl Fn(u8) -> u8) -> (bool, usize) {
    let negated = class.first() == Some(&b'^');
    let mut at = usize::from(negated);
    let mut found = false;
    loop {
        match &class[at..] {
            [] => return (found != negated, at),
            [b']', ..] => return (found != negated, at + 1),
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                at += 2;
            }
            [from, b'-', to, ..] => {
                let (low, high) = (fold(*from.min(to)), fold(*from.max(to)));
                found |= (low..=high).contains(&fold(byte));
                at += 3;
            }
            [literal, ..] => {
                found |= fold(*literal) == fold(byte);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        glob_matches(pattern.as_bytes(), text.as_bytes(), false)
    }

    /// Answers of redis-server 7.0 (KEYS) to the same patterns and keys.
    #[test]
    fn agrees_with_redis() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("*", &["", "a", "ab"], &[]),
            ("", &[""], &["a"]),
            ("h?llo", &["hello", "hxllo"], &["hllo", "heello"]),
            ("h*llo", &["hllo", "heeello"], &["hellox"]),
            ("h[ae]llo", &["hello", "hallo"], &["hillo"]),
            ("h[^e]llo", &["hallo", "hbllo"], &["hello"]),
            ("h[a-b]llo", &["hallo", "hbllo"], &["hcllo"]),
            ("h[b-a]llo", &["hallo", "hbllo"], &["hcllo"]),
            ("a\\*b", &["a*b"], &["axb"]),
            ("a\\", &["a\\"], &["a", "a\\\\"]),
            ("[abc", &["a", "c"], &["d", "[abc"]),
            ("[a-", &["a", "-"], &["b"]),
            ("[]a]", &[], &["a", "]", "a]"]),
            ("[^]", &["a", "]"], &["", "ab"]),
            ("[\\]]", &["]"], &["\\"]),
            ("[\\-]", &["-"], &["a"]),
            ("[", &[], &["[", "a"]),
            ("a*b*c", &["abc", "axbxc", "abbcc"], &["ab", "acb"]),
            ("*a*a*a*b", &["aaab", "xaxaxab"], &["aab", "aaaa"]),
            ("**", &["", "x"], &[]),
            ("?*", &["x", "xy"], &[""]),
        ];
        for (pattern, yes, no) in table {
            for text in *yes {
                assert!(matches(pattern, text), "{pattern} should match {text}");
            }
            for text in *no {
                assert!(!matches(pattern, text), "{pattern} should not match {text}");
            }
        }
    }

    #[test]
    fn case_is_ignored_on_request() {
        for pattern in ["MAX*", "[M]ax*", "[L-N]ax*", "\\MAX*"] {
            assert!(glob_matches(pattern.as_bytes(), b"maxmemory", true), "{pattern}");
            assert!(!glob_matches(pattern.as_bytes(), b"maxmemory", false), "{pattern}");
        }
    }

    /// What made the recursive matchers of old servers run for hours.
    #[test]
    fn many_stars_cost_little() {
        let pattern = "a*".repeat(1000) + "b";
        assert!(!matches(&pattern, &"a".repeat(10_000)));
    }
}
