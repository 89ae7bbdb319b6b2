//! How a command of functions reads the libraries: the mark of the hash, and after a change the hash itself.

use super::{KEY, Libraries, Library};
use crate::redis::error::ErrorReply;
use crate::redis::prelude::*;
use crate::redis::scripts::{Mode, Scripts, unwrap};
use crate::redis::transaction::{compose, mark_of};
use bytes::BytesMut;
use std::rc::Rc;
use tidemark_wire::resp::{self, Decoder, Version, encode_request};

/// A read that is under way.
#[derive(Debug, Default)]
pub(in crate::redis) struct Reading {
    /// The mark at which the hash is read; none if the mark is read.
    mark: Option<Bytes>,
}

/// What follows an outcome.
pub(in crate::redis) enum Read {
    /// Another operation.
    Op(Op),
    /// These are the libraries, at this mark.
    Libraries(Bytes, Rc<Libraries>),
}

fn key() -> Key {
    Key(Bytes::from_static(KEY))
}

/// The operation that asks whether there are any: 1 or 0.
pub(in crate::redis) fn exist() -> Op {
    typed::call(key(), Command::new(Verb::Exists, Vec::new()))
}

/// The operation that carries out requests on the hash if its mark is still this one.
pub(super) fn at_mark(mark: Bytes, requests: &[Vec<Bytes>]) -> Op {
    let encoded = requests.iter().map(|request| {
        let mut bytes = Vec::new();
        encode_request(&mut bytes, request);
        Bytes::from(bytes)
    });
    let args = compose((Version::Resp2, Mode::default()), &[(key(), mark)], encoded.collect());
    typed::call(key(), Command { verb: Verb::Exec, keys: Vec::new(), args, seed: 0 })
}

/// The replies of such an operation, as they are sent; none if the mark was another one.
///
/// # Errors
/// The operation has failed, or one of its requests.
pub(super) fn replies(outcome: Outcome) -> Result<Option<Vec<Bytes>>, ErrorReply> {
    let all = match unwrap(typed::answer(outcome)?).0 {
        Reply::NullArray => return Ok(None),
        Reply::Array(all) => all,
        Reply::Error(text) => return Err(ErrorReply::new(text.as_bytes())),
        _ => return Err(ErrorReply::UNEXPECTED),
    };
    let each = all.into_iter().map(|reply| match reply {
        Reply::Bulk(bytes) if bytes.starts_with(b"-") => Err(ErrorReply::new(bytes[1..].trim_ascii_end())),
        Reply::Bulk(bytes) => Ok(bytes),
        _ => Err(ErrorReply::UNEXPECTED),
    });
    each.collect::<Result<Vec<Bytes>, ErrorReply>>().map(Some)
}

impl Reading {
    /// The first operation.
    pub(in crate::redis) fn begin(&mut self) -> Op {
        self.mark = None;
        mark_of(key())
    }

    /// Takes an outcome of its operation.
    ///
    /// # Errors
    /// It has failed.
    pub(in crate::redis) fn step(&mut self, outcome: Outcome, scripts: &Scripts) -> Result<Read, ErrorReply> {
        let Some(mark) = self.mark.take() else {
            let Reply::Bulk(mark) = typed::answer(outcome)? else { return Err(ErrorReply::UNEXPECTED) };
            if let Some(known) = scripts.libraries(&mark) {
                return Ok(Read::Libraries(mark, known));
            }
            self.mark = Some(mark.clone());
            let all = vec![Bytes::from_static(b"hgetall"), Bytes::from_static(KEY)];
            return Ok(Read::Op(at_mark(mark, &[all])));
        };
        let Some(replies) = replies(outcome)? else { return Ok(Read::Op(self.begin())) };
        let [fields] = &replies[..] else { return Err(ErrorReply::UNEXPECTED) };
        let libraries = Rc::new(decoded(fields).ok_or(ErrorReply::UNEXPECTED)?);
        scripts.keep_libraries(mark.clone(), libraries.clone());
        Ok(Read::Libraries(mark, libraries))
    }
}

/// The libraries of a reply of HGETALL.
fn decoded(reply: &[u8]) -> Option<Libraries> {
    let mut decoder = Decoder::new(resp::DecoderLimits::default());
    let Ok(Some(resp::Reply::Array(items))) = decoder.decode(&mut BytesMut::from(reply)) else { return None };
    let libraries = items.chunks(2).filter_map(|pair| match pair {
        [resp::Reply::Bulk(name), resp::Reply::Bulk(value)] => {
            let library = Library::decode(name, value);
            if library.is_none() {
                tracing::warn!("a library of functions cannot be understood");
            }
            library
        }
        _ => None,
    });
    Some(Libraries::new(libraries))
}
