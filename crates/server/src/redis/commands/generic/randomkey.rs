//! RANDOMKEY.

use super::GENERIC;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "randomkey",
    flags: &["readonly"],
    family: Family::Scan,
    syntax: "",
    summary: "Returns a key at random.",
    remark: "One of the next keys behind a place at random: of a large key space not all are equally likely.",
    handler: Handler::Operations(parse),
    ..GENERIC
};

/// Among how many keys it draws, if there are as many.
const SAMPLE: usize = 64;

fn parse(_: &mut Request<'_>) -> Parsed {
    let start = Cursor::random();
    Ok(Task::several(Draw { start, cursor: start, wrapped: false, found: Vec::new() }))
}

/// A scan from a place at random, once around if need be.
struct Draw {
    start: Cursor,
    cursor: Cursor,
    /// Whether it has come to the end, and began anew.
    wrapped: bool,
    found: Vec<Key>,
}

impl Steps for Draw {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(Step::Op(self.cursor.scan(keyspace, SAMPLE as u32)))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let (keys, cursor) = scanned(outcome)?;
        // The last part of the way around may reach beyond its beginning.
        let new = |key: &Key, found: &[Key]| !found.contains(key);
        for key in keys {
            if self.found.len() < SAMPLE && (!self.wrapped || new(&key, &self.found)) {
                self.found.push(key);
            }
        }
        let next = match self.cursor.after(keyspace, cursor) {
            None if self.wrapped => None,
            None => {
                self.wrapped = true;
                Some(Cursor::default())
            }
            Some(next) => Some(next),
        };
        let goes_on = |next: &Cursor| self.found.len() < SAMPLE && !(self.wrapped && *next >= self.start);
        match next.filter(goes_on) {
            Some(next) => {
                self.cursor = next;
                self.begin(keyspace, out)
            }
            None => {
                match self.found.is_empty() {
                    true => out.null(),
                    false => out.bulk(&*self.found[fastrand::usize(..self.found.len())]),
                }
                Ok(Step::Done)
            }
        }
    }
}
