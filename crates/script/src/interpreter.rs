//! Runs scripts.

use crate::convert::{error_of, line, to_lua, to_reply};
use crate::libraries::{Fault, Raised};
use crate::number::shown;
use crate::random::Random;
use crate::{libraries, redis};
use bytes::Bytes;
use mlua::{Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Value, VmState};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tidemark_core::Reply;

/// How the interpreter calls a script in errors, as Redis does.
const NAME: &str = "@user_script";
const PRELUDE: &str = include_str!("prelude.lua");
/// After how many instructions the time is looked at.
const CHECKED_EVERY: u32 = 2_000;
/// How many compiled scripts are kept.
const KEPT: usize = 500;
const ARGUMENTS: &str = "ERR Lua redis lib command arguments must be strings or integers";

/// What a script does not have of itself.
pub trait Host {
    /// How long this thread has computed since some time.
    fn computed(&self) -> Duration;

    /// Writes a line into the server's log; levels are those of `redis.log`, 0 to 3.
    fn log(&self, level: u8, text: &str);

    /// Whether there is a command of this name.
    fn knows(&self, command: &[u8]) -> bool;
}

/// How much a script may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long it may compute.
    pub run: Duration,
    /// How many bytes the interpreter may hold, everything counted.
    pub memory: usize,
}

/// A script that is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Script<'a> {
    /// What is compiled.
    pub source: &'a [u8],
    /// Its name: the digest of what the client sent.
    pub sha: &'a str,
    /// `KEYS`.
    pub keys: &'a [Bytes],
    /// `ARGV`.
    pub arguments: &'a [Bytes],
    /// What `math.random` begins with.
    pub seed: u64,
}

/// How a script has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It has answered, perhaps with an error.
    Answered(Reply),
    /// It was stopped: this limit was reached.
    Stopped(&'static str),
}

/// An interpreter: one thread's, for one script after the other.
pub struct Interpreter<H> {
    lua: Lua,
    run: Function,
    /// The function table `redis`: its calls are those of the script that runs.
    functions: Table,
    compiled: HashMap<String, Function>,
    host: Rc<H>,
    random: Random,
    resp3: Rc<Cell<bool>>,
    json: libraries::cjson::Shared,
    /// When the script has to be stopped, and whether it was.
    until: Rc<Cell<Duration>>,
    stopped: Rc<Cell<bool>>,
}

impl<H: Host + 'static> Interpreter<H> {
    /// A new one.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(host: H) -> mlua::Result<Self> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        let host = Rc::new(host);
        let (resp3, random) = (Rc::new(Cell::new(false)), Random::new());
        let (until, stopped) = (Rc::new(Cell::new(Duration::MAX)), Rc::new(Cell::new(false)));
        let (native, json) = (lua.create_table()?, libraries::cjson::Shared::default());
        native.set("libraries", libraries::all(&lua, &json)?)?;
        let functions = redis::table(&lua, &host, &resp3)?;
        native.set("redis", &functions)?;
        crate::random::install(&lua, &native, &random)?;
        let told = stopped.clone();
        native.set("stopped", lua.create_function(move |_, ()| Ok(told.get()))?)?;
        let fault = lua.create_function(|lua, fault: Value| match &fault {
            Value::Error(error) => Raised::value(lua, error),
            _ => Ok(fault),
        })?;
        native.set("fault", fault)?;
        native.set("position", lua.create_function(|lua, ()| Ok(position(lua)))?)?;
        let run = lua.load(PRELUDE).set_name("=[redis]").call(native)?;
        let (own, limit, told) = (host.clone(), until.clone(), stopped.clone());
        let triggers = HookTriggers::new().every_nth_instruction(CHECKED_EVERY);
        lua.set_global_hook(triggers, move |_, _| {
            if told.get() || own.computed() > limit.get() {
                told.set(true);
                return Err(mlua::Error::runtime("the script was stopped"));
            }
            Ok(VmState::Continue)
        })?;
        Ok(Self { lua, run, functions, compiled: HashMap::new(), host, random, resp3, json, until, stopped })
    }

    /// Compiles a script, so that it is known to be one.
    ///
    /// # Errors
    /// It is none: the error as Redis answers it.
    pub fn compile(&mut self, source: &[u8], sha: &str) -> Result<(), Reply> {
        self.function(source, sha).map(|_| ())
    }

    fn function(&mut self, source: &[u8], sha: &str) -> Result<Function, Reply> {
        if let Some(function) = self.compiled.get(sha) {
            return Ok(function.clone());
        }
        let chunk = self.lua.load(source).set_name(NAME).set_mode(mlua::ChunkMode::Text);
        let function = chunk.into_function().map_err(|error| {
            let text = match error {
                mlua::Error::SyntaxError { message, .. } => message,
                other => other.to_string(),
            };
            let text = line(text.as_bytes());
            Reply::Error(format!("ERR Error compiling script (new function): {text}").into())
        })?;
        if self.compiled.len() >= KEPT {
            self.compiled.clear();
        }
        self.compiled.insert(sha.to_string(), function.clone());
        Ok(function)
    }

    /// Runs a script. `call` carries out its commands, and answers in RESP3's types if told so.
    pub fn run(
        &mut self,
        script: Script<'_>,
        limits: Limits,
        call: &mut dyn FnMut(&[Bytes], bool) -> Reply,
    ) -> Ended {
        let chunk = match self.function(script.source, script.sha) {
            Ok(chunk) => chunk,
            Err(error) => return Ended::Answered(error),
        };
        self.random.seed(script.seed as i32);
        self.resp3.set(false);
        self.json.set(Default::default());
        self.stopped.set(false);
        self.until.set(self.host.computed() + limits.run);
        let ended =
            match self.lua.set_memory_limit(limits.memory).and_then(|_| self.enter(chunk, script, call)) {
                _ if self.stopped.get() => Ended::Stopped("time"),
                Ok(reply) => Ended::Answered(reply),
                Err(mlua::Error::MemoryError(_)) => Ended::Stopped("memory"),
                Err(error) => Ended::Answered(Reply::Error(
                    format!("ERR {}", line(error.to_string().as_bytes())).into(),
                )),
            };
        self.until.set(Duration::MAX);
        self.stopped.set(false);
        let _ = self.lua.set_memory_limit(0);
        if self.lua.used_memory() > limits.memory / 4 {
            self.compiled.clear();
            let _ = self.lua.gc_collect();
        }
        ended
    }

    fn enter(
        &self,
        chunk: Function,
        script: Script<'_>,
        call: &mut dyn FnMut(&[Bytes], bool) -> Reply,
    ) -> mlua::Result<Reply> {
        let list = |all: &[Bytes]| -> mlua::Result<Table> {
            let table = self.lua.create_table_with_capacity(all.len(), 0)?;
            for (at, bytes) in all.iter().enumerate() {
                table.raw_set(at + 1, self.lua.create_string(bytes)?)?;
            }
            Ok(table)
        };
        let (keys, arguments) = (list(script.keys)?, list(script.arguments)?);
        let (resp3, call) = (self.resp3.clone(), RefCell::new(call));
        let carry_out = |args: MultiValue| match words(args) {
            Ok(words) => (call.borrow_mut())(&words, resp3.get()),
            Err(why) => Reply::error(why),
        };
        let (done, value): (bool, Value) = self.lua.scope(|scope| {
            let call = scope.create_function(|lua, args: MultiValue| match carry_out(args) {
                Reply::Error(text) => Err(Raised::error(lua, Fault::Reply(text.into()))),
                reply => to_lua(lua, reply),
            })?;
            self.functions.raw_set("call", call)?;
            let protected = scope.create_function(|lua, args: MultiValue| to_lua(lua, carry_out(args)))?;
            self.functions.raw_set("pcall", protected)?;
            self.run.call((chunk, keys, arguments))
        })?;
        if done {
            return to_reply(&value, self.resp3.get());
        }
        raised(&value, script.sha)
    }
}

/// The arguments of a call as Redis takes them: strings, and numbers.
fn words(args: MultiValue) -> Result<Vec<Bytes>, &'static str> {
    if args.is_empty() {
        return Err("ERR Please specify at least one argument for this redis lib call");
    }
    let word = |value: Value| match value {
        Value::String(text) => Ok(Bytes::copy_from_slice(&text.as_bytes())),
        Value::Integer(int) => Ok(Bytes::from(int.to_string())),
        Value::Number(number) => Ok(Bytes::from(shown(number, 17))),
        _ => Err(ARGUMENTS),
    };
    args.into_iter().map(word).collect()
}

/// The reply to an error that nobody has caught.
fn raised(value: &Value, sha: &str) -> mlua::Result<Reply> {
    let Value::Table(table) = value else { return Err(memory(value)) };
    let text = error_of(table)?.unwrap_or_else(|| "ERR unknown error".into());
    let (source, line): (Option<String>, Option<i64>) = (table.raw_get("source")?, table.raw_get("line")?);
    let place = match (source, line) {
        (Some(source), Some(line)) => format!(", on {source}:{line}"),
        _ => String::new(),
    };
    Ok(Reply::Error(format!("{text} script: {sha}{place}.").into()))
}

/// Lua calls no handler if there is no memory left.
fn memory(value: &Value) -> mlua::Error {
    match value {
        Value::Error(error) => (**error).clone(),
        _ => mlua::Error::MemoryError("not enough memory".into()),
    }
}

/// Where the script stood when an error was raised: the nearest line of Lua code that is not the prelude's.
fn position(lua: &Lua) -> (Option<String>, Option<usize>) {
    for level in 2..16 {
        let found = lua.inspect_stack(level, |frame| {
            let source = frame.source().source.map(|source| source.into_owned()).unwrap_or_default();
            (source, frame.current_line())
        });
        match found {
            None => break,
            Some((source, line)) if source != "=[redis]" && source != "=[C]" && line.is_some() => {
                return (Some(source), line);
            }
            Some(_) => {}
        }
    }
    (None, None)
}
