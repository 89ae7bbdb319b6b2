//! SCAN.

use super::GENERIC;
use crate::redis::prelude::*;
use tidemark_core::glob::glob_matches;
use tidemark_core::text::cursor;

/// About how many keys SCAN looks at by default.
const COUNT: u64 = 10;
/// The most that it looks at, whatever its COUNT.
const COUNT_MAX: u64 = 100_000;
/// In so many partitions it looks at most, where they hold few keys.
const PARTITIONS_MAX: usize = 16;

pub(super) static SPEC: Spec = Spec {
    name: "scan",
    arity: -2,
    flags: &["readonly"],
    family: Family::Scan,
    since: "2.8.0",
    syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
    summary: "Iterates over the keys, some at a time.",
    handler: Handler::Operations(parse),
    ..GENERIC
};

fn parse(request: &mut Request<'_>) -> Parsed {
    let cursor = cursor(&request[1]).and_then(Cursor::from_client).ok_or(ErrorReply::INVALID_CURSOR)?;
    let mut scan = Scan {
        cursor,
        pattern: None,
        count: COUNT,
        kind: None,
        looked_in: 0,
        keys: Vec::new(),
        next: None,
        asked: None,
        found: Vec::new(),
    };
    for index in (2..request.len()).step_by(2) {
        let value = request.get(index + 1).ok_or(ErrorReply::SYNTAX)?;
        if request.is(index, "match") {
            scan.pattern = Some(Bytes::copy_from_slice(value));
        } else if request.is(index, "type") {
            scan.kind = Some(value.to_ascii_lowercase());
        } else if request.is(index, "count") {
            let count = u64::try_from(integer(value)?).ok().filter(|count| *count > 0);
            scan.count = count.ok_or(ErrorReply::SYNTAX)?.min(COUNT_MAX);
        } else {
            return Err(ErrorReply::SYNTAX);
        }
    }
    Ok(Task::several(scan))
}

struct Scan {
    cursor: Cursor,
    pattern: Option<Bytes>,
    count: u64,
    /// The type that is asked for.
    kind: Option<Vec<u8>>,
    /// How many partitions it has looked in.
    looked_in: usize,
    /// What it has seen there.
    keys: Vec<Key>,
    /// Where the client goes on; known when the keys are.
    next: Option<Cursor>,
    /// The key whose type was asked, and those that are still to be asked, in reverse order.
    asked: Option<(Key, Vec<Key>)>,
    /// Keys of that type.
    found: Vec<Key>,
}

impl Scan {
    /// Asks for the type of the next of these keys, or answers.
    fn ask(&mut self, mut keys: Vec<Key>, out: &mut Encoder<'_>) -> Step {
        if let Some(key) = keys.pop() {
            self.asked = Some((key.clone(), keys));
            return Step::Op(typed::call(key, Command::new(Verb::Type, Vec::new())));
        }
        out.array(2);
        out.bulk(Cursor::to_client(self.next).to_string());
        write_keys(&self.found, out);
        Step::Done
    }
}

impl Steps for Scan {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        self.looked_in += 1;
        Ok(Step::Op(self.cursor.scan(keyspace, self.count as u32 - self.keys.len() as u32)))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        if let Some((key, keys)) = self.asked.take() {
            if let Reply::Simple(kind) = typed::answer(outcome)?
                && self.kind.as_deref() == Some(kind.as_bytes())
            {
                self.found.push(key);
            }
            return Ok(self.ask(keys, out));
        }
        let (keys, cursor) = scanned(outcome)?;
        self.keys.extend(keys);
        self.next = self.cursor.after(keyspace, cursor);
        if let Some(next) = self.next
            && cursor == 0
            && (self.keys.len() as u64) < self.count
            && self.looked_in < PARTITIONS_MAX
        {
            self.cursor = next;
            return self.begin(keyspace, out);
        }
        let mut keys = std::mem::take(&mut self.keys);
        keys.retain(|key| self.pattern.as_ref().is_none_or(|pattern| glob_matches(pattern, key, false)));
        if self.kind.is_none() {
            self.found = keys;
            return Ok(self.ask(Vec::new(), out));
        }
        keys.reverse();
        Ok(self.ask(keys, out))
    }
}
