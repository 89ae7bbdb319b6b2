//! The libraries that Redis gives to scripts. Each follows what redis-server 7.0 answers, errors included.

mod bit;
pub(crate) mod cjson;
mod cmsgpack;
mod pack;

use bytes::Bytes;
use mlua::{Function, Lua, MultiValue, Table, Value};

/// Why a function gives up.
pub(crate) enum Fault {
    /// The script is told, and where it stands.
    Text(String),
    /// The script is told as of an error reply.
    Reply(String),
    /// There is no memory, for example.
    Lua(mlua::Error),
}

impl Fault {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

impl From<mlua::Error> for Fault {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(error)
    }
}

pub(crate) type Values = Result<Vec<Value>, Fault>;

/// A fault on its way through Lua, which knows it as an error that is no string. Whoever catches it in a script gets
/// [`Raised::value`].
#[derive(Debug)]
pub(crate) struct Raised {
    text: String,
    is_reply: bool,
}

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Raised {}

impl Raised {
    /// A fault of a function that the script has called.
    pub(crate) fn error(lua: &Lua, fault: Fault) -> mlua::Error {
        match fault {
            Fault::Reply(text) => mlua::Error::external(Self { text, is_reply: true }),
            Fault::Text(text) => {
                let place = |frame: &mlua::Debug<'_>| match (frame.source().short_src, frame.current_line()) {
                    (Some(source), Some(line)) => format!("{source}:{line}: "),
                    _ => String::new(),
                };
                let place = lua.inspect_stack(1, place).unwrap_or_default();
                mlua::Error::external(Self { text: place + &text, is_reply: false })
            }
            Fault::Lua(error) => error,
        }
    }

    /// An error as a script gets it: a string, or a table with `err`.
    pub(crate) fn value(lua: &Lua, error: &mlua::Error) -> mlua::Result<Value> {
        let mut cause = error;
        while let mlua::Error::CallbackError { cause: inner, .. } = cause {
            cause = inner;
        }
        match cause.downcast_ref::<Self>() {
            Some(Self { text, is_reply: true }) => {
                let table = lua.create_table()?;
                table.raw_set("err", &**text)?;
                Ok(Value::Table(table))
            }
            Some(Self { text, .. }) => Ok(Value::String(lua.create_string(text)?)),
            None => match cause {
                mlua::Error::MemoryError(_) => Ok(Value::String(lua.create_string("not enough memory")?)),
                other => Ok(Value::String(lua.create_string(other.to_string())?)),
            },
        }
    }
}

/// A function for scripts.
pub(crate) fn native(
    lua: &Lua,
    run: impl Fn(&Lua, Vec<Value>) -> Values + 'static,
) -> mlua::Result<Function> {
    lua.create_function(move |lua, args: MultiValue| match run(lua, args.into_vec()) {
        Ok(values) => Ok(MultiValue::from_iter(values)),
        Err(fault) => Err(Raised::error(lua, fault)),
    })
}

/// So many values may pass between Lua and Rust at once; `unpack` has the same limit. Each that is no number takes a place of a
/// stack that holds 8,000, and must never be full.
const VALUES_MAX: usize = 7_000;

/// Whether so many values may be returned.
pub(crate) fn few(count: usize) -> Result<(), Fault> {
    if count > VALUES_MAX { Err(Fault::text("too many results to unpack")) } else { Ok(()) }
}

/// A value that is a number.
pub(crate) fn real(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Integer(int) => Some(*int as f64),
        _ => None,
    }
}

/// An argument that has to be of another type. `at` counts from 0.
pub(crate) fn wrong(args: &[Value], at: usize, name: &str, expected: &str) -> Fault {
    let got = args.get(at).map_or("no value", Value::type_name);
    let got = if got == "integer" { "number" } else { got };
    Fault::text(format!("bad argument #{} to '{name}' ({expected} expected, got {got})", at + 1))
}

/// A number, or a string that is one.
pub(crate) fn number(args: &[Value], at: usize, name: &str) -> Result<f64, Fault> {
    let found = match args.get(at) {
        Some(Value::String(text)) => text.to_str().ok().and_then(|text| text.trim().parse().ok()),
        Some(value) => real(value),
        None => None,
    };
    found.ok_or_else(|| wrong(args, at, name, "number"))
}

/// A string, or a number as text.
pub(crate) fn text(args: &[Value], at: usize, name: &str) -> Result<Bytes, Fault> {
    match args.get(at) {
        Some(Value::String(text)) => Ok(Bytes::copy_from_slice(&text.as_bytes())),
        Some(value) => match real(value) {
            Some(number) => Ok(crate::number::shown(number, 14).into()),
            None => Err(wrong(args, at, name, "string")),
        },
        None => Err(wrong(args, at, name, "string")),
    }
}

/// All of them, by name.
pub(crate) fn all(lua: &Lua, json: &cjson::Shared) -> mlua::Result<Table> {
    let all = lua.create_table()?;
    all.set("bit", bit::table(lua)?)?;
    all.set("cjson", cjson::table(lua, json)?)?;
    all.set("cmsgpack", cmsgpack::table(lua)?)?;
    all.set("struct", pack::table(lua)?)?;
    Ok(all)
}
