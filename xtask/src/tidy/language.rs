//! Documents use the field's terms, the words that a reader of Redis, etcd or Jepsen searches for, and short sentences.
//!
//! Code blocks, inline code and the targets of links are not prose. A paragraph that needs one of the words in its
//! ordinary sense is preceded by a line `<!-- words: seat, feed -->` that names it.

/// Words in a sense that has a better word, and that word. An item of a pattern is one word; `|` separates
/// alternatives, and `*` stands for any ending.
const TERMS: &[(&str, &str)] = &[
    ("who leads|led", "leader"),
    ("one|node|member|process that|which leads|led", "leader"),
    ("who|those follow|follows|followed", "follower"),
    ("who is|was elected|replaced", "an elected member; a replaced leader"),
    ("seat|seats", "role; leader, follower"),
    ("most of them", "quorum; or name them"),
    ("most of a|the group", "quorum"),
    ("most members", "quorum"),
    ("agreed on", "committed; chosen"),
    ("in which|this|that life", "epoch"),
    ("era|eras", "epoch"),
    ("feed|feeds", "replication stream; sends"),
    ("parked|parks", "blocked, waits"),
    ("travel*er|travel*ers", "forwarded session; migrating client"),
    ("roam|roams|roamed", "migrate, fail over"),
    ("convict*", "violation, counterexample"),
    ("cleared of", "passes; no violation found"),
    ("was|were cleared", "passes; no violation found"),
    ("broken on purpose", "mutant"),
    ("motif|motifs", "scenario"),
    ("scene|scenes", "scenario"),
    ("number|numbers of the|a|its protocol", "parameter"),
    ("protocol's number|numbers", "parameter"),
    ("distance|distances between", "latency, round-trip time"),
    ("distances", "latencies, round-trip times"),
    ("question|questions", "request; query"),
    ("come|comes|came to show", "become visible"),
    ("write|writes|version|versions show|shows|showed", "is visible, becomes visible"),
    ("settle|settles|settled", "quiesce; become stable"),
    ("what is held up", "backlog"),
    ("upkeep|tidying", "garbage collection"),
    ("a|one|each|every|that|whose turn of", "event-loop iteration, batch"),
    ("turn of the server|host|leader", "event-loop iteration, batch"),
    ("one|each|per turn", "event-loop iteration, batch"),
    ("promise is|was|held", "consistency model, guarantee"),
    ("he|him|his", "it; name the noun"),
];

/// Words that a sentence should not begin with, unless it is a question.
const HEADLESS: &[&str] = &["who", "whom", "whose", "whoever", "what", "whatever"];

/// Sentences may have this many words; aim for 25.
const WORDS_MAX: usize = 45;

/// What is wrong with the language of a document, with lines.
pub(super) fn check(text: &str) -> Vec<(usize, String)> {
    let words = words(text);
    let mut findings = Vec::new();
    for start in 0..words.len() {
        findings.extend(TERMS.iter().filter_map(|(pattern, better)| term(&words[start..], pattern, better)));
    }
    for sentence in sentences(&words) {
        let first = &sentence[0];
        let full = sentence.last().is_some_and(|word| word.after == Break::Sentence);
        if full && HEADLESS.contains(&first.text.as_str()) {
            findings
                .push((first.line, format!("a sentence begins with \"{}\": name its subject", first.text)));
        }
        if full && sentence.len() > WORDS_MAX {
            findings.push((first.line, format!("a sentence of {} words: divide it", sentence.len())));
        }
    }
    findings.sort();
    findings
}

fn term(words: &[Word], pattern: &str, better: &str) -> Option<(usize, String)> {
    let items: Vec<&str> = pattern.split(' ').collect();
    let found = words.get(..items.len())?;
    let matches = |(word, item): (&Word, &&str)| item.split('|').any(|form| matches(&word.text, form));
    let contiguous = found[..items.len() - 1].iter().all(|word| word.after == Break::None);
    if !contiguous || !found.iter().zip(&items).all(matches) {
        return None;
    }
    let phrase: Vec<&str> = found.iter().map(|word| word.text.as_str()).collect();
    let allowed = phrase.iter().any(|word| found[0].allowed.iter().any(|allowed| allowed == word));
    (!allowed).then(|| (found[0].line, format!("\"{}\": write {better}", phrase.join(" "))))
}

fn matches(word: &str, form: &str) -> bool {
    match form.split_once('*') {
        Some((start, end)) => {
            word.len() >= start.len() + end.len() && word.starts_with(start) && word.ends_with(end)
        }
        None => word == form,
    }
}

/// The sentences of running text; headings and the cells of tables are none.
fn sentences(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    let ends = |word: &Word| matches!(word.after, Break::Sentence | Break::Question | Break::Block);
    words.split_inclusive(ends).filter(|sentence| sentence.iter().all(|word| word.running))
}

/// What follows a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    None,
    /// A comma and its like, within a sentence.
    Pause,
    Sentence,
    Question,
    /// The end of a paragraph, an item or a cell.
    Block,
}

struct Word {
    /// In lower case; `` ` `` for inline code.
    text: String,
    line: usize,
    after: Break,
    /// Whether it is in running text.
    running: bool,
    /// The words that its paragraph may use.
    allowed: Vec<String>,
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut in_code, mut allowed) = (false, Vec::new());
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            in_code = !in_code;
        }
        let begins = ["```", "#", "|", "- ", "* ", "<!--"].iter().any(|mark| trimmed.starts_with(mark))
            || trimmed.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if trimmed.is_empty() || begins || in_code {
            end(&mut words, Break::Block);
        }
        if let Some(list) = trimmed.strip_prefix("<!-- words: ") {
            allowed = list.trim_end_matches("-->").split(',').map(|word| word.trim().to_string()).collect();
        } else if trimmed.is_empty() {
            allowed.clear();
        }
        if in_code || trimmed.starts_with("```") || trimmed.starts_with("<!--") {
            continue;
        }
        let running = !trimmed.starts_with(['#', '|']);
        line_words(&prose(line), index + 1, running, &allowed, &mut words);
        if !running {
            end(&mut words, Break::Block);
        }
    }
    end(&mut words, Break::Block);
    words
}

fn line_words(line: &str, number: usize, running: bool, allowed: &[String], words: &mut Vec<Word>) {
    let mut word = String::new();
    let mut letters = line.chars().chain([' ']).peekable();
    while let Some(letter) = letters.next() {
        let inside = letter.is_alphanumeric() || "'’-`".contains(letter);
        if inside {
            word.extend(letter.to_lowercase());
            continue;
        }
        if word.chars().any(|letter| letter.is_alphanumeric() || letter == '`') {
            let text = std::mem::take(&mut word);
            words.push(Word { text, line: number, after: Break::None, running, allowed: allowed.to_vec() });
        }
        word.clear();
        let last = letters.peek().is_none_or(|next| next.is_whitespace() || ")*\"".contains(*next));
        match letter {
            '.' | '!' if last => end(words, Break::Sentence),
            '?' => end(words, Break::Question),
            '|' => end(words, Break::Block),
            ',' | ';' | ':' | '(' | ')' | '–' | '—' | '…' | '.' => end(words, Break::Pause),
            _ => {}
        }
    }
}

/// Notes what follows the last word; the end of a sentence is stronger than a pause.
fn end(words: &mut [Word], what: Break) {
    if let Some(word) = words.last_mut()
        && matches!(word.after, Break::None | Break::Pause)
    {
        word.after = what;
    }
}

/// A line without the targets of its links, and with inline code as one word.
fn prose(line: &str) -> String {
    let mut text = String::new();
    for (index, part) in line.split('`').enumerate() {
        if index % 2 == 1 {
            text.push('`');
            continue;
        }
        let mut parts = part.split("](");
        text.push_str(parts.next().unwrap_or_default());
        for rest in parts {
            text.push_str(rest.split_once(')').map_or("", |(_, after)| after));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: [usize; 0] = [];

    fn found(text: &str) -> Vec<usize> {
        check(text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn words_with_a_better_word_are_found_with_their_line() {
        assert_eq!(
            check("It is kept until\nmost of\nthem have it."),
            [(2, "\"most of them\": write quorum; or name them".to_string())]
        );
        assert_eq!(found("The one who leads is\nparked, and is convicted."), [1, 2, 2]);
        assert_eq!(found("| a traveller | what was agreed on |"), [1, 1]);
        assert_eq!(found("A server in its seat."), [1]);
    }

    #[test]
    fn other_senses_of_these_words_are_not() {
        assert_eq!(
            found("The leader is fed up. Most of the time, they agree. On some days it travels."),
            NOTHING
        );
        assert_eq!(
            found("Servers agreed, on Monday. The park; a conviviality; a number of protocols."),
            NOTHING
        );
        assert_eq!(found("`feed` in [a feed](feed.md)."), [1]);
        assert_eq!(found("`feed`, [a link](feed.md), and\n```\nthe feed he parked\n```\n"), NOTHING);
    }

    #[test]
    fn a_paragraph_can_ask_for_a_word() {
        let text = "<!-- words: feed -->\nHorses need feed.\n\nServers need a feed.";
        assert_eq!(found(text), [4]);
    }

    #[test]
    fn sentences_name_their_subjects() {
        assert_eq!(found("It ends. Who is late\nwaits. It goes on."), [1]);
        assert_eq!(found("- What is lost is lost.\n- A list, what else."), [1]);
        assert_eq!(found("Who is late? It is. So says who was late."), NOTHING);
        assert_eq!(found("## What is tested\n\n| What. | It is. |\n\n- What is tested\n"), NOTHING);
    }

    #[test]
    fn sentences_end() {
        let sentence = |words: usize| format!("{}.", vec!["word"; words].join(" "));
        assert_eq!(found(&sentence(WORDS_MAX)), NOTHING);
        assert_eq!(found(&format!("{} {}", sentence(30), sentence(30))), NOTHING);
        assert_eq!(found(&sentence(WORDS_MAX + 1)), [1]);
        assert_eq!(found(&format!("| {} |", sentence(WORDS_MAX + 1))), NOTHING);
        assert_eq!(found(&format!("- {}\n- {}", vec!["word"; 30].join(" "), sentence(30))), NOTHING);
    }
}
