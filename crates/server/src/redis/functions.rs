//! Libraries of functions. They are a hash under a reserved key: a field a library, so that of concurrent loads of one library
//! the later wins whole.
//!
//! A gateway keeps the libraries that it has read last, with the mark of the hash (`reading`). A command of functions asks for the
//! mark first, in its own session: it sees the libraries that its session has to see, and reads them only after a change. FCALL
//! sends the text of its library to where its keys live, as EVAL does.
//!
//! **Invariants**
//! - I1: of libraries that have a function in common, because they were loaded at the same time, the one that was loaded later has
//!   it. The time is part of the field's value, and later than those of all libraries that its loader saw.

mod manage;
mod payload;
mod reading;

use super::error::ErrorReply;
use super::prelude::is;
use super::scripts::load_library;
use bytes::{Bytes, BytesMut};
pub(super) use manage::manage;
pub(super) use payload::{load as load_payload, save as save_payload};
pub(super) use reading::{Read, Reading, exist};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use tidemark_core::{Micros, Reply};
use tidemark_script::{Header, sha1_hex};
use tidemark_wire::resp::{RequestParser, encode_request};

/// The hash of libraries.
const KEY: &[u8] = b"\0tidemark:functions";

/// A function, without its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// As Redis names them.
    pub(super) flags: Vec<String>,
}

impl Function {
    /// It must not write.
    pub(super) fn only_reads(&self) -> bool {
        self.flags.iter().any(|flag| flag == "no-writes")
    }

    /// It may be called while memory is at its limit.
    pub(super) fn runs_when_full(&self) -> bool {
        self.only_reads() || self.flags.iter().any(|flag| flag == "allow-oom")
    }
}

/// A library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Library {
    pub(super) name: String,
    /// What the client has sent.
    pub(super) code: Bytes,
    /// The digest of it.
    pub(super) sha: String,
    /// When it was loaded, in microseconds since 1970.
    loaded: Micros,
    pub(super) functions: Vec<Function>,
}

impl Library {
    /// The library that a client sends; it is run once, here, if it `may` have its name.
    ///
    /// # Errors
    /// It is none: the error as Redis answers it.
    pub(super) fn of(
        code: &[u8],
        loaded: Micros,
        may: impl FnOnce(&str) -> Result<(), ErrorReply>,
    ) -> Result<Self, ErrorReply> {
        let header = Header::of(code).map_err(|why| ErrorReply::new(format!("ERR {why}")))?;
        may(&header.name)?;
        let sha = sha1_hex(code);
        let functions = load_library(header.body, &sha)?;
        Ok(Self { name: header.name, code: Bytes::copy_from_slice(code), sha, loaded, functions })
    }

    /// The value of its field.
    fn encode(&self) -> Bytes {
        let mut words = vec![self.loaded.to_string().into_bytes(), self.code.to_vec()];
        for Function { name, description, flags } in &self.functions {
            let description = description.as_ref().map_or(String::new(), |text| format!("+{text}"));
            words.extend([name.clone(), description, flags.join(",")].map(String::into_bytes));
        }
        let mut bytes = Vec::new();
        encode_request(&mut bytes, &words);
        bytes.into()
    }

    /// The library in a field of the hash; none if it cannot be understood.
    fn decode(name: &[u8], value: &[u8]) -> Option<Self> {
        let (mut parser, mut buffer) = (RequestParser::default(), BytesMut::from(value));
        parser.set_authenticated(true);
        let request = parser.parse(&mut buffer).ok()??;
        let text = |bytes: &[u8]| Some(std::str::from_utf8(bytes).ok()?.to_string());
        let mut functions = Vec::new();
        for at in (2..request.len()).step_by(3) {
            let (described, flags) = (text(request.get(at + 1)?)?, text(request.get(at + 2)?)?);
            let description = described.strip_prefix('+').map(str::to_string);
            let flags = flags.split(',').filter(|flag| !flag.is_empty()).map(str::to_string).collect();
            functions.push(Function { name: text(&request[at])?, description, flags });
        }
        let code = Bytes::copy_from_slice(request.get(1)?);
        let (sha, loaded) = (sha1_hex(&code), text(&request[0])?.parse().ok()?);
        Some(Self { name: text(name)?, code, sha, loaded, functions })
    }

    /// The request that writes it into the hash.
    fn write(&self) -> Vec<Bytes> {
        let word = Bytes::from_static;
        vec![word(b"hset"), word(KEY), self.name.clone().into(), self.encode()]
    }
}

/// All libraries, as a session sees them.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    by_name: BTreeMap<String, Rc<Library>>,
    /// By the names of functions in small letters.
    functions: HashMap<String, (Rc<Library>, usize)>,
}

impl Libraries {
    fn new(all: impl IntoIterator<Item = Library>) -> Self {
        let by_name: BTreeMap<String, Rc<Library>> =
            all.into_iter().map(|library| (library.name.clone(), Rc::new(library))).collect();
        let mut ordered: Vec<&Rc<Library>> = by_name.values().collect();
        ordered.sort_by_key(|library| library.loaded);
        let mut functions = HashMap::new();
        for library in ordered {
            // Inside a library the first of two names that differ in their case counts.
            for (at, function) in library.functions.iter().enumerate().rev() {
                functions.insert(function.name.to_ascii_lowercase(), (library.clone(), at));
            }
        }
        Self { by_name, functions }
    }

    /// In the order of their names.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Library> {
        self.by_name.values().map(|library| &**library)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// How many functions there are.
    pub(super) fn functions(&self) -> usize {
        self.functions.len()
    }

    /// A function, and its library. Names may be in capitals.
    pub(super) fn find(&self, name: &[u8]) -> Result<(&Library, &Function), ErrorReply> {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let (library, at) = self.functions.get(&name).ok_or(ErrorReply::fixed("ERR Function not found"))?;
        Ok((library, &library.functions[*at]))
    }

    /// The time of a library that is loaded `now`, after all that are there.
    pub(super) fn time(&self, now: Micros) -> Micros {
        self.iter().map(|library| library.loaded + 1).max().unwrap_or_default().max(now)
    }

    /// The requests that add these libraries; those of the same names are replaced. `stays` says which of the others stay.
    ///
    /// # Errors
    /// Two libraries would have a function in common.
    pub(super) fn add(
        &self,
        added: &[Library],
        stays: impl Fn(&Library) -> bool,
    ) -> Result<Vec<Vec<Bytes>>, ErrorReply> {
        let mut taken: Vec<&str> = Vec::new();
        let replaced = |library: &Library| added.iter().any(|new| new.name == library.name);
        for library in self.iter().filter(|library| stays(library) && !replaced(library)) {
            taken.extend(library.functions.iter().map(|function| &*function.name));
        }
        for library in added {
            for Function { name, .. } in &library.functions {
                if taken.iter().any(|taken| taken.eq_ignore_ascii_case(name)) {
                    return Err(ErrorReply::new(format!("ERR Function {name} already exists")));
                }
            }
            taken.extend(library.functions.iter().map(|function| &*function.name));
        }
        Ok(added.iter().map(Library::write).collect())
    }

    /// The request that deletes all of them.
    pub(super) fn flush() -> Vec<Bytes> {
        vec![Bytes::from_static(b"del"), Bytes::from_static(KEY)]
    }

    /// The request that deletes one.
    ///
    /// # Errors
    /// There is no such library.
    pub(super) fn delete(&self, name: &[u8]) -> Result<Vec<Bytes>, ErrorReply> {
        let library = self.iter().find(|library| library.name.as_bytes() == name);
        let library = library.ok_or(ErrorReply::fixed("ERR Library not found"))?;
        let word = Bytes::from_static;
        Ok(vec![word(b"hdel"), word(KEY), library.name.clone().into()])
    }
}

/// What a restore does with the libraries that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Policy {
    /// They must have other names.
    #[default]
    Append,
    /// Those of the same names are replaced.
    Replace,
    /// They are deleted.
    Flush,
}

impl Policy {
    /// As a client writes it.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn of(word: &[u8]) -> Result<Self, ErrorReply> {
        Ok(match () {
            () if is(word, "append") => Self::Append,
            () if is(word, "replace") => Self::Replace,
            () if is(word, "flush") => Self::Flush,
            () => {
                return Err(ErrorReply::fixed(
                    "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
                ));
            }
        })
    }
}

/// What FUNCTION LIST tells of a library.
pub(super) fn described(library: &Library, with_code: bool) -> Reply {
    let bulk = |text: &str| Reply::bulk(text.as_bytes());
    let functions = library.functions.iter().map(|function| {
        let description = function.description.as_deref().map_or(Reply::Null, bulk);
        let flags = function.flags.iter().map(|flag| Reply::Simple(flag.clone().into())).collect();
        Reply::Map(vec![
            (bulk("name"), bulk(&function.name)),
            (bulk("description"), description),
            (bulk("flags"), Reply::Set(flags)),
        ])
    });
    let mut pairs = vec![
        (bulk("library_name"), bulk(&library.name)),
        (bulk("engine"), bulk("LUA")),
        (bulk("functions"), Reply::Array(functions.collect())),
    ];
    if with_code {
        pairs.push((bulk("library_code"), Reply::Bulk(library.code.clone())));
    }
    Reply::Map(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(name: &str, loaded: Micros, functions: &[&str]) -> Library {
        let named = |name: &&str| Function {
            name: (*name).to_string(),
            description: Some(String::new()),
            flags: vec!["no-writes".into(), "allow-oom".into()],
        };
        let functions = functions.iter().map(named).collect();
        let code = Bytes::from(format!("#!lua name={name}\r\n"));
        Library { name: name.into(), sha: sha1_hex(&code), code, loaded, functions }
    }

    #[test]
    fn a_library_is_the_same_after_it_was_written_and_read() {
        let mut library = library("l", 7, &["f", "g"]);
        library.functions[1].description = None;
        library.functions[1].flags.clear();
        assert_eq!(Library::decode(b"l", &library.encode()), Some(library));
    }

    #[test]
    fn of_libraries_with_a_function_in_common_the_later_has_it() {
        let loaded =
            |a, b| Libraries::new([library("a", a, &["f", "F", "one"]), library("b", b, &["F", "two"])]);
        for (a, b, owner) in [(1, 2, "b"), (2, 1, "a"), (2, 2, "b")] {
            let libraries = loaded(a, b);
            let (found, function) = libraries.find(b"F").expect("it is there");
            assert_eq!((&*found.name, &*function.name), (owner, if owner == "a" { "f" } else { "F" }));
            assert_eq!(libraries.find(b"One").expect("it is there").0.name, "a");
            assert_eq!((libraries.functions(), libraries.time(1)), (3, 3));
        }
    }

    #[test]
    fn a_library_must_not_take_the_function_of_another_that_stays() {
        let there = Libraries::new([library("a", 1, &["f"])]);
        let new = [library("b", 2, &["F"])];
        assert!(there.add(&new, |_| true).is_err());
        assert_eq!(there.add(&new, |_| false).map(|writes| writes.len()), Ok(1));
        assert_eq!(there.add(&[library("a", 2, &["f", "g"])], |_| true).map(|writes| writes.len()), Ok(1));
    }
}
