//! EXEC: the program of the commands that name keys, and the other commands around it.

use super::program::compose;
use super::{Closed, mark_of};
use crate::redis::command::{Command, Work, parse};
use crate::redis::commands::scripting::eval::{DIGEST, count_keys};
use crate::redis::commands::scripting::fcall::in_full as function_in_full;
use crate::redis::functions::{Libraries, Read, Reading};
use crate::redis::key_places::key_places;
use crate::redis::prelude::*;
use crate::redis::scripts::{NO_SCRIPT, Scripts, compile, unwrap};
use crate::redis::task::Pending;
use bytes::BytesMut;
use std::collections::VecDeque;
use tidemark_script::sha1_hex;
use tidemark_wire::resp::{RequestParser, Version, encode_request};

const APART: ErrorReply = ErrorReply::fixed(
    "CROSSSLOT Keys of a transaction must be in one partition: give them the same {hash tag}, or let such transactions \
     be carried out command by command with CONFIG SET tidemark-multi loose",
);
const BETWEEN: ErrorReply = ErrorReply::fixed(
    "ERR a command that names no key cannot stand between commands that do, in a transaction",
);

/// What a queued command needs.
enum Item {
    /// It is wrong.
    Wrong(ErrorReply),
    /// It names keys: it is part of the program, unless that cannot be.
    Keyed(Task),
    /// Operations of its own.
    Alone(Task),
    /// Nothing but the connection.
    Local(Box<Command>),
}

/// Where it stands.
enum Stage {
    /// The libraries of functions are read, which it calls.
    Functions(Reading),
    /// The program is carried out.
    Program,
    /// There can be no program: the mark of a watched key is compared with this one.
    Compare(Bytes),
    /// A command is carried out that is not part of the program.
    Alone(Pending),
    /// The connection answers a command.
    Local,
}

/// A request as it can be carried out elsewhere, if that is another one: a script that is named by its digest comes with its text, and
/// so does a function.
fn in_full(
    spec: &Spec,
    request: &Request<'_>,
    scripts: &Scripts,
    libraries: &Libraries,
) -> Result<Option<Bytes>, ErrorReply> {
    let name = match spec.name {
        "evalsha" => "eval",
        "evalsha_ro" => "eval_ro",
        "fcall" | "fcall_ro" => return function_in_full(request, scripts, libraries).map(Some),
        "eval" | "eval_ro" => {
            let sha = sha1_hex(&request[1]);
            if compile(&request[1], &sha).is_ok() {
                scripts.keep(&sha, &Bytes::copy_from_slice(&request[1]));
            }
            return Ok(None);
        }
        _ => return Ok(None),
    };
    if request[1].len() == DIGEST {
        count_keys(&request[2], request.len() - 3)?;
    }
    let source = scripts.find(&request[1]).ok_or(NO_SCRIPT)?;
    let head = [name.as_bytes(), &source[..]];
    let (words, mut full) = (head.into_iter().chain(request.iter().skip(2)).collect::<Vec<_>>(), Vec::new());
    encode_request(&mut full, &words);
    Ok(Some(full.into()))
}

/// EXEC, between two of its steps.
pub(in crate::redis) struct Exec {
    requests: Vec<(&'static Spec, Bytes)>,
    watched: Vec<(Key, Bytes)>,
    /// Transactions over several partitions are carried out command by command.
    loose: bool,
    items: VecDeque<Item>,
    /// The program, until it is carried out.
    program: Option<Op>,
    stage: Stage,
    /// What the program has answered, of the commands that are left.
    answers: VecDeque<Reply>,
    /// How many replies there are, and their bytes.
    count: usize,
    replies: Vec<u8>,
}

impl Exec {
    pub(in crate::redis) fn new(Closed { requests, watched }: Closed, loose: bool) -> Self {
        Self {
            requests,
            watched,
            loose,
            items: VecDeque::new(),
            program: None,
            stage: Stage::Program,
            answers: VecDeque::new(),
            count: 0,
            replies: Vec::new(),
        }
    }

    /// Understands what was queued. Returns the requests that are part of the program, and their keys.
    fn understand(&mut self, scripts: &Scripts, libraries: &Libraries) -> (Vec<Bytes>, Vec<Key>) {
        let (mut program, mut keys) = (Vec::new(), Vec::new());
        for (spec, bytes) in std::mem::take(&mut self.requests) {
            let (mut parser, mut buffer) = (RequestParser::default(), BytesMut::from(&bytes[..]));
            parser.set_authenticated(true);
            let Ok(Some(mut request)) = parser.parse(&mut buffer) else {
                self.items.push_back(Item::Wrong(ErrorReply::UNEXPECTED));
                continue;
            };
            let full = match in_full(spec, &request, scripts, libraries) {
                Ok(full) => full.unwrap_or(bytes),
                Err(error) => {
                    self.items.push_back(Item::Wrong(error));
                    continue;
                }
            };
            let named = key_places(spec, &request);
            let named = named.map(|places| {
                places.iter().map(|at| Key(Bytes::copy_from_slice(&request[*at]))).collect::<Vec<_>>()
            });
            self.items.push_back(match (named, parse(&mut request)) {
                (_, Err(error)) | (Err(error), _) => Item::Wrong(error),
                (Ok(_), Ok(command @ Command { work: Work::Local(_), .. })) => Item::Local(Box::new(command)),
                (Ok(named), Ok(Command { work: Work::Operations(task), .. })) if named.is_empty() => {
                    Item::Alone(task)
                }
                (Ok(named), Ok(Command { work: Work::Operations(task), .. })) => {
                    keys.extend(named);
                    program.push(full);
                    Item::Keyed(task)
                }
            });
        }
        (program, keys)
    }

    /// A command that names no key may come before the program or behind it; only behind it if the program says whether anything
    /// happens.
    fn check_order(&mut self) {
        let keyed = |item: &Item| matches!(item, Item::Keyed(_));
        let Some(last) = self.items.iter().rposition(keyed) else { return };
        let first = if self.watched.is_empty() { self.items.iter().position(keyed) } else { Some(0) };
        for item in self.items.range_mut(first.unwrap_or(last)..last) {
            if matches!(item, Item::Alone(_)) {
                *item = Item::Wrong(BETWEEN);
            }
        }
    }

    /// Keys are in several partitions: each command is one of its own.
    fn tear_apart(&mut self) {
        for item in &mut self.items {
            *item = match std::mem::replace(item, Item::Wrong(ErrorReply::UNEXPECTED)) {
                Item::Keyed(task) => Item::Alone(task),
                item => item,
            };
        }
    }

    /// Compares the mark of the next watched key; goes on with the commands if there is none.
    fn compare(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let Some((key, mark)) = self.watched.pop() else { return self.proceed(keyspace, out) };
        self.stage = Stage::Compare(mark);
        Ok(Step::Op(mark_of(key)))
    }

    fn run_program(&mut self) -> Step {
        self.stage = Stage::Program;
        self.program.take().map_or(Step::Done, Step::Op)
    }

    /// Goes on with the next command.
    fn proceed(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        while let Some(item) = self.items.pop_front() {
            self.count += 1;
            let mut reply = Encoder::new(&mut self.replies, out.version());
            match item {
                Item::Wrong(error) => error.write(&mut reply),
                Item::Keyed(task) if self.program.is_some() => {
                    self.items.push_front(Item::Keyed(task));
                    self.count -= 1;
                    return Ok(self.run_program());
                }
                Item::Keyed(_) => match self.answers.pop_front() {
                    Some(Reply::Bulk(bytes)) => self.replies.extend_from_slice(&bytes),
                    _ => return Err(ErrorReply::UNEXPECTED),
                },
                Item::Local(command) => {
                    self.stage = Stage::Local;
                    return Ok(Step::Local(command));
                }
                Item::Alone(task) => match task.begin(keyspace, &mut reply) {
                    Ok((step, pending)) => {
                        if let Some(step) = self.alone(pending, step, out.version()) {
                            return Ok(step);
                        }
                    }
                    Err(error) => error.write(&mut reply),
                },
            }
        }
        out.array(self.count);
        out.encoded(&self.replies);
        Ok(Step::Done)
    }

    /// A command that is not part of the program comes to `step`, which is returned unless the command has ended.
    fn alone(&mut self, pending: Pending, step: Step, version: Version) -> Option<Step> {
        match step {
            Step::Done => None,
            // Inside a transaction nothing waits.
            Step::Block => {
                pending.find_nothing(&mut Encoder::new(&mut self.replies, version));
                None
            }
            step => {
                self.stage = Stage::Alone(pending);
                Some(step)
            }
        }
    }

    /// What it writes, if its commands overwrite keys and do nothing else: then nobody has to look at the keys.
    fn overwrites(&self, keyspace: &Keyspace<'_>) -> Option<Vec<(Key, Write)>> {
        if !self.watched.is_empty() || !keyspace.write_transactions {
            return None;
        }
        let keyed = self.items.iter().filter_map(|item| match item {
            Item::Keyed(task) => Some(task.overwrites().map(|(key, write)| (key.clone(), write.clone()))),
            _ => None,
        });
        keyed.collect()
    }

    /// Composes the program, and carries out what comes first.
    fn go(
        &mut self,
        libraries: &Libraries,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let (requests, keys) = self.understand(keyspace.scripts, libraries);
        let all: Vec<Key> = self.watched.iter().map(|(key, _)| key.clone()).chain(keys).collect();
        let Some(first) = all.first() else { return self.proceed(keyspace, out) };
        if let Some(writes) = self.overwrites(keyspace) {
            self.check_order();
            self.program = Some(Op::PutAll { writes });
            return self.proceed(keyspace, out);
        }
        let home = keyspace.topology.partition_of(first);
        if all.iter().any(|key| keyspace.topology.partition_of(key) != home) {
            match (keyspace.spans_partitions(), self.loose) {
                (true, _) => {}
                (false, false) => return Err(APART),
                (false, true) => {
                    self.tear_apart();
                    return self.compare(keyspace, out);
                }
            }
        }
        self.check_order();
        let args = compose((out.version(), keyspace.scripts.mode()), &self.watched, requests);
        let command = tidemark_core::Command { verb: Verb::Exec, keys: all[1..].to_vec(), args, seed: 0 };
        self.program = Some(typed::call(all[0].clone(), command));
        if self.watched.is_empty() { self.proceed(keyspace, out) } else { Ok(self.run_program()) }
    }
}

impl Steps for Exec {
    fn begin(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        if !self.requests.iter().any(|(spec, _)| ["fcall", "fcall_ro"].contains(&spec.name)) {
            return self.go(&Libraries::default(), keyspace, out);
        }
        let mut reading = Reading::default();
        let op = reading.begin();
        self.stage = Stage::Functions(reading);
        Ok(Step::Op(op))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        match std::mem::replace(&mut self.stage, Stage::Local) {
            Stage::Functions(mut reading) => match reading.step(outcome, keyspace.scripts)? {
                Read::Op(op) => {
                    self.stage = Stage::Functions(reading);
                    return Ok(Step::Op(op));
                }
                Read::Libraries(_, libraries) => return self.go(&libraries, keyspace, out),
            },
            Stage::Program if matches!(outcome, Outcome::Written { previous: None, .. }) => {
                let keyed = self.items.iter().filter(|item| matches!(item, Item::Keyed(_)));
                self.answers = keyed.map(|_| Reply::Bulk(Bytes::from_static(b"+OK\r\n"))).collect();
            }
            Stage::Program => {
                let (answer, news) = unwrap(typed::answer(outcome)?);
                keyspace.scripts.tell(news);
                match answer {
                    Reply::Array(answers) => self.answers = answers.into(),
                    // A watched key has changed.
                    Reply::NullArray => {
                        out.null_array();
                        return Ok(Step::Done);
                    }
                    Reply::Error(text) => return Err(ErrorReply::new(text.as_bytes())),
                    _ => return Err(ErrorReply::UNEXPECTED),
                }
            }
            Stage::Compare(mark) => match typed::answer(outcome)? {
                Reply::Bulk(now) if now == mark => return self.compare(keyspace, out),
                _ => {
                    out.null_array();
                    return Ok(Step::Done);
                }
            },
            Stage::Alone(mut pending) => {
                let mut reply = Encoder::new(&mut self.replies, out.version());
                match pending.step(outcome, keyspace, &mut reply) {
                    Ok(step) => {
                        if let Some(step) = self.alone(pending, step, out.version()) {
                            return Ok(step);
                        }
                    }
                    Err(error) => error.write(&mut reply),
                }
            }
            Stage::Local => return Err(ErrorReply::UNEXPECTED),
        }
        self.proceed(keyspace, out)
    }

    fn answered(
        &mut self,
        reply: &[u8],
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        self.replies.extend_from_slice(reply);
        self.proceed(keyspace, out)
    }
}
