//! Libraries of functions: what their first line says, and what they register while they are loaded.

use crate::interpreter::Host;
use crate::libraries::{Fault, native, real, text};
use mlua::{Function, Lua, Table, Value};
use std::cell::RefCell;
use std::rc::Rc;

const BAD_NAME: &str = "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long";

/// The flags that a function may have.
const FLAGS: [&str; 5] = ["no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"];

/// A function that a library has registered.
#[derive(Clone, Debug)]
pub struct Registered {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its flags, as Redis names them.
    pub flags: Vec<&'static str>,
    pub(crate) callback: Function,
}

/// The first line of a library, `#!lua name=lib`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The library's name.
    pub name: String,
    /// What is to be compiled: the library without the line, but with its end.
    pub body: &'a [u8],
}

impl<'a> Header<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// Redis would not take the library: in its words, without the code.
    pub fn of(source: &'a [u8]) -> Result<Self, String> {
        let rest = source.strip_prefix(b"#!").ok_or("Missing library metadata")?;
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or("Invalid library metadata")?;
        let line = String::from_utf8_lossy(&rest[..end]);
        // An engine without a name is one of no letters.
        let mut words = line.split_ascii_whitespace();
        let engine = if line.starts_with(' ') { "" } else { words.next().unwrap_or_default() };
        let mut name = None;
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if !key.eq_ignore_ascii_case("name") || !word.contains('=') {
                return Err(format!("Invalid metadata value given: {word}"));
            }
            if name.is_some() {
                return Err("Invalid metadata value, name argument was given multiple times".into());
            }
            let quoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
            name = Some(quoted('"').or(quoted('\'')).unwrap_or(value).to_string());
        }
        let name = name.ok_or("Library name was not given")?;
        if !is_name(&name) {
            return Err(BAD_NAME.into());
        }
        if !engine.eq_ignore_ascii_case("lua") {
            return Err(format!("Engine '{engine}' not found"));
        }
        Ok(Self { name, body: &rest[end..] })
    }
}

/// Whether a library or a function may have this name.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// How many functions a library may have, and how many an interpreter keeps of all libraries.
pub(crate) const FUNCTIONS_MAX: usize = 400;

/// Where functions are registered, as long as a library is loaded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry(Rc<RefCell<Option<Vec<Registered>>>>);

impl Registry {
    /// A library is loaded from now on.
    pub(crate) fn open(&self) {
        *self.0.borrow_mut() = Some(Vec::new());
    }

    /// It is loaded: what it has registered.
    pub(crate) fn close(&self) -> Vec<Registered> {
        self.0.borrow_mut().take().unwrap_or_default()
    }

    fn register(&self, args: &[Value]) -> Result<(), Fault> {
        let mut open = self.0.borrow_mut();
        let all = open
            .as_mut()
            .ok_or_else(|| fault("redis.register_function can only be called on FUNCTION LOAD command"))?;
        let function = read(args)?;
        if all.iter().any(|other| other.name == function.name) {
            return Err(fault("Function already exists in the library"));
        }
        if all.len() == FUNCTIONS_MAX {
            return Err(Fault::Reply(format!("ERR a library has at most {FUNCTIONS_MAX} functions")));
        }
        all.push(function);
        Ok(())
    }
}

/// The function table `redis` while a library is loaded.
pub(crate) fn table<H: Host + 'static>(lua: &Lua, host: &Rc<H>, registry: &Registry) -> mlua::Result<Table> {
    let table = crate::redis::common(lua, host)?;
    let registry = registry.clone();
    let register = native(lua, move |_, args| registry.register(&args).map(|()| Vec::new()))?;
    table.set("register_function", register)?;
    Ok(table)
}

fn fault(text: &str) -> Fault {
    Fault::Reply(format!("ERR {text}"))
}

/// A string, or a number as text.
fn word(value: &Value, otherwise: &str) -> Result<String, Fault> {
    let bytes = text(std::slice::from_ref(value), 0, "").map_err(|_| fault(otherwise))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The arguments of `redis.register_function`, in either form.
fn read(args: &[Value]) -> Result<Registered, Fault> {
    let function = match args {
        [Value::Table(named)] => read_named(named)?,
        [_] => {
            return Err(fault(
                "calling redis.register_function with a single argument is only applicable to Lua table \
                 (representing named arguments).",
            ));
        }
        [name, callback] => {
            let name = word(name, "first argument to redis.register_function must be a string")?;
            let Value::Function(callback) = callback else {
                return Err(fault("second argument to redis.register_function must be a function"));
            };
            Registered { name, description: None, flags: Vec::new(), callback: callback.clone() }
        }
        _ => return Err(fault("wrong number of arguments to redis.register_function")),
    };
    if is_name(&function.name) { Ok(function) } else { Err(fault(BAD_NAME)) }
}

fn read_named(named: &Table) -> Result<Registered, Fault> {
    let (mut name, mut description, mut callback, mut flags) = (None, None, None, Vec::new());
    for pair in named.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let key = word(&key, "named argument key given to redis.register_function is not a string")?;
        match &*key {
            "function_name" => {
                let why = "function_name argument given to redis.register_function must be a string";
                name = Some(word(&value, why)?);
            }
            "description" => {
                let why = "description argument given to redis.register_function must be a string";
                description = Some(word(&value, why)?);
            }
            "callback" => match value {
                Value::Function(function) => callback = Some(function),
                _ => {
                    let why = "callback argument given to redis.register_function must be a function";
                    return Err(fault(why));
                }
            },
            "flags" => match value {
                Value::Table(table) => flags = read_flags(&table)?,
                _ => {
                    let why = "flags argument to redis.register_function must be a table representing function flags";
                    return Err(fault(why));
                }
            },
            _ => return Err(fault("unknown argument given to redis.register_function")),
        }
    }
    let name = name.ok_or_else(|| fault("redis.register_function must get a function name argument"))?;
    let callback = callback.ok_or_else(|| fault("redis.register_function must get a callback argument"))?;
    Ok(Registered { name, description, flags, callback })
}

fn read_flags(table: &Table) -> Result<Vec<&'static str>, Fault> {
    let mut flags = Vec::new();
    for value in table.sequence_values::<Value>() {
        let value = value?;
        // A number is no flag, whatever its text.
        let given = if real(&value).is_some() { String::new() } else { word(&value, "unknown flag given")? };
        let known =
            FLAGS.into_iter().find(|flag| *flag == given).ok_or_else(|| fault("unknown flag given"))?;
        if !flags.contains(&known) {
            flags.push(known);
        }
    }
    // In the order in which Redis lists them.
    flags.sort_by_key(|flag| FLAGS.iter().position(|known| known == flag));
    Ok(flags)
}
