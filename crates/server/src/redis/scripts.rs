//! The scripts that a node knows, by the digests of their texts.
//!
//! SCRIPT LOAD and FLUSH are told to all other nodes, at most once: a node that was not connected does not know. EVAL keeps its
//! script at its own node alone, and the oldest of those give way. A script travels to where its keys live with its text
//! (`runner`), so nobody there has to know it.

mod calls;
mod runner;

use super::error::ErrorReply;
use super::functions::Libraries;
use bytes::Bytes;
pub(super) use runner::interpret;
pub(super) use runner::{
    compile, function_word, limit_runs, load_library, program, run_without_keys, runs_when_full,
    says_no_writes, unwrap, wrap,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use tidemark_script::sha1_hex;

/// A digest is not known.
pub(super) const NO_SCRIPT: ErrorReply = ErrorReply::fixed("NOSCRIPT No matching script. Please use EVAL.");

/// How many scripts of EVAL are kept.
const EVALUATED_MAX: usize = 500;

/// What the nodes tell each other: a script was loaded, or all are forgotten.
const LOADED: u8 = 1;
const FLUSHED: u8 = 2;

/// See above.
#[derive(Debug, Default)]
pub struct Scripts {
    inner: RefCell<Inner>,
    mode: Cell<Mode>,
}

/// What the node says to a program that it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mode {
    /// It has to tell of events.
    pub(super) tells: bool,
    /// Memory is at its limit.
    pub(super) full: bool,
}

impl Mode {
    /// As the arguments of a program say it: a digit.
    pub(super) fn to_word(self) -> Bytes {
        Bytes::from_static([b"0", b"1", b"2", b"3"][usize::from(self.tells) + 2 * usize::from(self.full)])
    }

    pub(super) fn of_word(word: &[u8]) -> Self {
        Self { tells: matches!(word, b"1" | b"3"), full: matches!(word, b"2" | b"3") }
    }
}

#[derive(Debug, Default)]
struct Inner {
    known: BTreeMap<String, Known>,
    /// How often a script was looked for.
    uses: u64,
    /// What the other nodes have to hear.
    told: Vec<Vec<u8>>,
    /// What scripts that have ended tell.
    news: Vec<News>,
    /// The libraries of functions that were read last, and the mark of their hash.
    libraries: Option<(Bytes, Rc<Libraries>)>,
}

/// Something that a script tells beside its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It has read a key.
    Read,
    /// It has published a message.
    Message {
        /// To a shard channel.
        shard: bool,
        channel: Bytes,
        payload: Bytes,
    },
    /// It has caused a keyspace notification.
    Event { class: char, name: Bytes, key: Bytes },
}

#[derive(Debug)]
struct Known {
    source: Bytes,
    /// By SCRIPT LOAD: it stays.
    loaded: bool,
    used: u64,
}

impl Scripts {
    /// The text of a script. Digests may be in capitals.
    pub(super) fn find(&self, sha: &[u8]) -> Option<Bytes> {
        let inner = &mut *self.inner.borrow_mut();
        inner.uses += 1;
        let sha = std::str::from_utf8(sha).ok()?.to_ascii_lowercase();
        let known = inner.known.get_mut(&sha)?;
        known.used = inner.uses;
        Some(known.source.clone())
    }

    /// Keeps a script that was sent with EVAL.
    pub(super) fn keep(&self, sha: &str, source: &Bytes) {
        let inner = &mut *self.inner.borrow_mut();
        if inner.known.contains_key(sha) {
            return;
        }
        let evaluated = inner.known.iter().filter(|(_, known)| !known.loaded);
        let oldest = evaluated.clone().min_by_key(|(_, known)| known.used).map(|(sha, _)| sha.clone());
        if evaluated.count() >= EVALUATED_MAX {
            oldest.and_then(|sha| inner.known.remove(&sha));
        }
        inner.uses += 1;
        // The request's buffer is not kept alive.
        let known = Known { source: Bytes::copy_from_slice(source), loaded: false, used: inner.uses };
        inner.known.insert(sha.to_string(), known);
    }

    fn insert(&self, source: &[u8]) -> String {
        let sha = sha1_hex(source);
        let known = Known { source: Bytes::copy_from_slice(source), loaded: true, used: 0 };
        self.inner.borrow_mut().known.insert(sha.clone(), known);
        sha
    }

    /// Loads a script that can be compiled, here and at all other nodes: its digest.
    pub(super) fn load(&self, source: &[u8]) -> String {
        self.inner.borrow_mut().told.push([&[LOADED], source].concat());
        self.insert(source)
    }

    /// Forgets every script, here and at all other nodes.
    pub(super) fn flush(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.known.clear();
        inner.told.push(vec![FLUSHED]);
    }

    /// How many scripts are known.
    pub(super) fn len(&self) -> usize {
        self.inner.borrow().known.len()
    }

    /// What the other nodes have to hear.
    pub fn take_told(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.inner.borrow_mut().told)
    }

    /// Another node has told this.
    pub fn hear(&self, content: &[u8]) {
        match content {
            [LOADED, source @ ..] => {
                self.insert(source);
            }
            [FLUSHED] => self.inner.borrow_mut().known.clear(),
            _ => tracing::warn!("another node tells something of scripts that cannot be understood"),
        }
    }

    /// A script that has ended tells this.
    pub(super) fn tell(&self, news: Vec<News>) {
        self.inner.borrow_mut().news.extend(news);
    }

    /// What scripts have told.
    pub(super) fn take_news(&self) -> Vec<News> {
        std::mem::take(&mut self.inner.borrow_mut().news)
    }

    /// The libraries of functions at this mark, if they are known.
    pub(super) fn libraries(&self, mark: &Bytes) -> Option<Rc<Libraries>> {
        if mark.is_empty() {
            return Some(Rc::default());
        }
        let inner = self.inner.borrow();
        inner.libraries.as_ref().filter(|(known, _)| known == mark).map(|(_, libraries)| libraries.clone())
    }

    /// The libraries of functions that were read last.
    pub(super) fn known_libraries(&self) -> Option<Rc<Libraries>> {
        self.inner.borrow().libraries.as_ref().map(|(_, libraries)| libraries.clone())
    }

    /// These are the libraries at this mark.
    pub(super) fn keep_libraries(&self, mark: Bytes, libraries: Rc<Libraries>) {
        self.inner.borrow_mut().libraries = Some((mark, libraries));
    }

    /// What is said to programs.
    pub(super) fn mode(&self) -> Mode {
        self.mode.get()
    }

    /// What is said to programs from now on.
    pub(super) fn set_mode(&self, mode: Mode) {
        self.mode.set(mode);
    }

    /// Whether memory is at its limit, from now on.
    #[inline]
    pub fn set_full(&self, full: bool) {
        self.mode.set(Mode { full, ..self.mode.get() });
    }

    /// Whether the gateway has to take something.
    pub(super) fn has_work(&self) -> bool {
        let inner = self.inner.borrow();
        !inner.told.is_empty() || !inner.news.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_eval_give_way_and_loaded_ones_stay() {
        let scripts = Scripts::default();
        let sha = scripts.load(b"return 'loaded'");
        for number in 0..=EVALUATED_MAX {
            let source = Bytes::from(format!("return {number}"));
            scripts.keep(&sha1_hex(&source), &source);
        }
        assert!(scripts.find(sha.to_uppercase().as_bytes()).is_some());
        assert!(scripts.find(sha1_hex(b"return 0").as_bytes()).is_none());
        assert!(scripts.find(sha1_hex(b"return 1").as_bytes()).is_some());
    }

    #[test]
    fn what_one_node_loads_or_forgets_another_hears() {
        let (here, there) = (Scripts::default(), Scripts::default());
        let sha = here.load(b"return 1");
        here.take_told().iter().for_each(|told| there.hear(told));
        assert_eq!(there.find(sha.as_bytes()).as_deref(), Some(&b"return 1"[..]));
        here.flush();
        here.take_told().iter().for_each(|told| there.hear(told));
        assert!(there.find(sha.as_bytes()).is_none() && there.take_told().is_empty());
    }
}
