//! Runs scripts.

use crate::convert::{error_of, line, to_lua, to_reply};
use crate::functions::{self, Registered, Registry};
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

/// How the interpreter calls a script in errors, and a library, as Redis does.
const NAME: &str = "@user_script";
const LIBRARY_NAME: &str = "@user_function";
const PRELUDE: &str = include_str!("prelude.lua");
/// After how many instructions the time is looked at.
const CHECKED_EVERY: u32 = 2_000;
/// How many compiled scripts are kept. Each takes one of the places that values need, too.
const KEPT: usize = 100;
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
    /// The function that is called, of the library that `source` is; none if it is a script.
    pub function: Option<&'a str>,
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
    /// Loads a library, and calls a function of one.
    load: Function,
    call: Function,
    registry: Registry,
    /// Libraries that are loaded, by digest.
    libraries: HashMap<String, Vec<Registered>>,
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
        let registry = Registry::default();
        native.set("registering", functions::table(&lua, &host, &registry)?)?;
        let (run, load, call) = lua.load(PRELUDE).set_name("=[redis]").call(native)?;
        let (own, limit, told) = (host.clone(), until.clone(), stopped.clone());
        let triggers = HookTriggers::new().every_nth_instruction(CHECKED_EVERY);
        lua.set_global_hook(triggers, move |_, _| {
            if told.get() || own.computed() > limit.get() {
                told.set(true);
                return Err(mlua::Error::runtime("the script was stopped"));
            }
            Ok(VmState::Continue)
        })?;
        let (compiled, libraries) = (HashMap::new(), HashMap::new());
        Ok(Self {
            lua,
            run,
            load,
            call,
            registry,
            libraries,
            functions,
            compiled,
            host,
            random,
            resp3,
            json,
            until,
            stopped,
        })
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
        let function = self.chunk(source, NAME).map_err(|text| {
            Reply::Error(format!("ERR Error compiling script (new function): {text}").into())
        })?;
        if self.compiled.len() >= KEPT {
            self.compiled.clear();
        }
        self.compiled.insert(sha.to_string(), function.clone());
        Ok(function)
    }

    fn chunk(&self, source: &[u8], name: &str) -> Result<Function, String> {
        let chunk = self.lua.load(source).set_name(name).set_mode(mlua::ChunkMode::Text);
        chunk.into_function().map_err(|error| {
            let text = match error {
                mlua::Error::SyntaxError { message, .. } => message,
                other => other.to_string(),
            };
            line(text.as_bytes())
        })
    }

    /// Loads a library, unless it is loaded: the functions that it registers, at least one.
    ///
    /// # Errors
    /// It is none: the error as Redis answers it.
    pub fn library(&mut self, source: &[u8], sha: &str, limits: Limits) -> Result<&[Registered], Reply> {
        if !self.libraries.contains_key(sha) {
            let registered = self.register(source, limits)?;
            let kept: usize = self.libraries.values().map(Vec::len).sum();
            if kept + registered.len() > functions::FUNCTIONS_MAX {
                self.libraries.clear();
            }
            self.libraries.insert(sha.to_string(), registered);
        }
        Ok(&self.libraries[sha])
    }

    fn register(&mut self, source: &[u8], limits: Limits) -> Result<Vec<Registered>, Reply> {
        let error = |text: String| Reply::Error(format!("ERR {text}").into());
        let chunk = self
            .chunk(source, LIBRARY_NAME)
            .map_err(|text| error(format!("Error compiling function: {text}")))?;
        self.registry.open();
        let ended = self.limited(limits, |this| {
            let (done, value): (bool, Value) = this.load.call(chunk)?;
            if done { Ok(Reply::Ok) } else { raised(&value, None) }
        });
        let registered = self.registry.close();
        let failed = |why: &str| Err(error(format!("Error registering functions: {why}")));
        match ended {
            Ended::Answered(Reply::Error(why)) => failed(&why),
            Ended::Answered(_) if registered.is_empty() => Err(error("No functions registered".into())),
            Ended::Answered(_) => Ok(registered),
            Ended::Stopped("time") => failed("ERR FUNCTION LOAD timeout"),
            Ended::Stopped(limit) => failed(&format!("ERR it has used too much {limit}")),
        }
    }

    /// Runs a script, or calls a function. `call` carries out its commands, and answers in RESP3's types if told so.
    pub fn run(
        &mut self,
        script: Script<'_>,
        limits: Limits,
        call: &mut dyn FnMut(&[Bytes], bool) -> Reply,
    ) -> Ended {
        let chunk = match script.function {
            None => self.function(script.source, script.sha),
            Some(name) => self.library(script.source, script.sha, limits).and_then(|all| {
                let found = all.iter().find(|function| function.name == name);
                found.map(|function| function.callback.clone()).ok_or(Reply::error("ERR Function not found"))
            }),
        };
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(error) => return Ended::Answered(error),
        };
        self.random.seed(script.seed as i32);
        let ended = self.limited(limits, |this| this.enter(chunk, script, call));
        if self.lua.used_memory() > limits.memory / 4 {
            self.compiled.clear();
            self.libraries.clear();
            let _ = self.lua.gc_collect();
        }
        ended
    }

    /// Calls `run` within limits.
    fn limited(&self, limits: Limits, run: impl FnOnce(&Self) -> mlua::Result<Reply>) -> Ended {
        self.resp3.set(false);
        self.json.set(Default::default());
        self.stopped.set(false);
        self.until.set(self.host.computed() + limits.run);
        let ended = match self.lua.set_memory_limit(limits.memory).and_then(|_| run(self)) {
            _ if self.stopped.get() => Ended::Stopped("time"),
            Ok(reply) => Ended::Answered(reply),
            Err(mlua::Error::MemoryError(_)) => Ended::Stopped("memory"),
            Err(error) => {
                Ended::Answered(Reply::Error(format!("ERR {}", line(error.to_string().as_bytes())).into()))
            }
        };
        self.until.set(Duration::MAX);
        self.stopped.set(false);
        let _ = self.lua.set_memory_limit(0);
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
            let run = if script.function.is_some() { &self.call } else { &self.run };
            run.call((chunk, keys, arguments))
        })?;
        if done {
            return to_reply(&value, self.resp3.get());
        }
        raised(&value, Some(script.function.unwrap_or(script.sha)))
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

/// The reply to an error that nobody has caught, in the script or function of this name.
fn raised(value: &Value, name: Option<&str>) -> mlua::Result<Reply> {
    let Value::Table(table) = value else { return Err(memory(value)) };
    let text = error_of(table)?.unwrap_or_else(|| "ERR unknown error".into());
    let Some(name) = name else { return Ok(Reply::Error(text.into())) };
    let (source, line): (Option<String>, Option<i64>) = (table.raw_get("source")?, table.raw_get("line")?);
    let place = match (source, line) {
        (Some(source), Some(line)) => format!(", on {source}:{line}"),
        _ => String::new(),
    };
    Ok(Reply::Error(format!("{text} script: {name}{place}.").into()))
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
