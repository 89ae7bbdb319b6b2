//! Replies of commands as Lua values, and Lua values as replies of scripts, by Redis's rules.

use bytes::Bytes;
use mlua::{Lua, Result, Table, Value};
use tidemark_core::Reply;

/// How deep a script's answer may be nested.
const DEPTH_MAX: usize = 500;

/// A reply as a script sees it. An error is a table with `err`.
pub(crate) fn to_lua(lua: &Lua, reply: Reply) -> Result<Value> {
    let field = |name: &str, value: Value| -> Result<Value> {
        let table = lua.create_table()?;
        table.raw_set(name, value)?;
        Ok(Value::Table(table))
    };
    let string = |bytes: &[u8]| lua.create_string(bytes).map(Value::String);
    match reply {
        Reply::Noted(reply) => to_lua(lua, *reply),
        Reply::Null => Ok(Value::Nil),
        Reply::NullArray => Ok(Value::Boolean(false)),
        Reply::Ok => field("ok", string(b"OK")?),
        Reply::Simple(text) => field("ok", string(text.as_bytes())?),
        Reply::Error(text) => field("err", string(text.as_bytes())?),
        Reply::Int(int) => Ok(Value::Number(int as f64)),
        Reply::Double(double) => field("double", Value::Number(double)),
        Reply::Bulk(bytes) => string(&bytes),
        Reply::Decimal(digits) => string(&digits),
        Reply::BigNumber(digits) => field("big_number", string(&digits)?),
        Reply::Bool(yes) => Ok(Value::Boolean(yes)),
        Reply::Verbatim(format, text) => {
            let table = lua.create_table()?;
            table.raw_set("format", string(&format)?)?;
            table.raw_set("string", string(&text)?)?;
            field("verbatim_string", Value::Table(table))
        }
        Reply::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (at, item) in items.into_iter().enumerate() {
                table.raw_set(at + 1, to_lua(lua, item)?)?;
            }
            Ok(Value::Table(table))
        }
        Reply::Strings(strings) => {
            let table = lua.create_table_with_capacity(strings.len(), 0)?;
            for (at, one) in strings.iter().enumerate() {
                table.raw_set(at + 1, string(one)?)?;
            }
            Ok(Value::Table(table))
        }
        Reply::Map(pairs) | Reply::Pairs(pairs) => {
            let table = lua.create_table_with_capacity(0, pairs.len())?;
            for (name, value) in pairs {
                table.raw_set(to_lua(lua, name)?, to_lua(lua, value)?)?;
            }
            field("map", Value::Table(table))
        }
        Reply::Set(members) => {
            let table = lua.create_table_with_capacity(0, members.len())?;
            for member in members {
                table.raw_set(to_lua(lua, member)?, true)?;
            }
            field("set", Value::Table(table))
        }
    }
}

/// Text on one line.
pub(crate) fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(['\r', '\n'], " ")
}

fn field(table: &Table, name: &str) -> Result<Option<Bytes>> {
    Ok(match table.raw_get(name)? {
        Value::String(text) => Some(Bytes::copy_from_slice(&text.as_bytes())),
        _ => None,
    })
}

/// The text of a table with `err`, if it is one.
pub(crate) fn error_of(table: &Table) -> Result<Option<String>> {
    Ok(field(table, "err")?.map(|text| line(&text)))
}

/// A script's answer. Truth values are RESP3's if `resp3`: the script has asked for that.
pub(crate) fn to_reply(value: &Value, resp3: bool) -> Result<Reply> {
    nested(value, resp3, 0)
}

fn nested(value: &Value, resp3: bool, depth: usize) -> Result<Reply> {
    if depth > DEPTH_MAX {
        return Ok(Reply::error("ERR reached lua stack limit"));
    }
    Ok(match value {
        Value::String(text) => Reply::bulk(&text.as_bytes()),
        Value::Boolean(yes) if resp3 => Reply::Bool(*yes),
        Value::Boolean(true) => Reply::Int(1),
        Value::Number(number) => Reply::Int(whole(*number)),
        Value::Integer(int) => Reply::Int(*int),
        Value::Table(table) => of_table(table, resp3, depth)?,
        _ => Reply::Null,
    })
}

fn of_table(table: &Table, resp3: bool, depth: usize) -> Result<Reply> {
    if let Some(error) = error_of(table)? {
        return Ok(Reply::Error(error.into()));
    }
    if let Some(status) = field(table, "ok")? {
        return Ok(Reply::Simple(line(&status).into()));
    }
    match table.raw_get("double")? {
        Value::Number(double) => return Ok(Reply::Double(double)),
        // A number without a fraction comes as an integer.
        Value::Integer(int) => return Ok(Reply::Double(int as f64)),
        _ => {}
    }
    if let Value::Table(map) = table.raw_get("map")? {
        let pairs = map.pairs::<Value, Value>().map(|pair| {
            let (name, value) = pair?;
            Ok((nested(&name, resp3, depth + 1)?, nested(&value, resp3, depth + 1)?))
        });
        return pairs.collect::<Result<_>>().map(Reply::Map);
    }
    if let Value::Table(set) = table.raw_get("set")? {
        let members = set.pairs::<Value, Value>().map(|pair| nested(&pair?.0, resp3, depth + 1));
        return members.collect::<Result<_>>().map(Reply::Set);
    }
    if let Some(digits) = field(table, "big_number")? {
        return Ok(Reply::BigNumber(line(&digits).into()));
    }
    if let Value::Table(verbatim) = table.raw_get("verbatim_string")?
        && let (Some(format), Some(text)) = (field(&verbatim, "format")?, field(&verbatim, "string")?)
    {
        let mut name = *b"   ";
        name.iter_mut().zip(format.iter()).for_each(|(to, from)| *to = *from);
        return Ok(Reply::Verbatim(name, text));
    }
    let mut items = Vec::new();
    loop {
        match table.raw_get(items.len() + 1)? {
            Value::Nil => return Ok(Reply::Array(items)),
            item => items.push(nested(&item, resp3, depth + 1)?),
        }
    }
}

/// A number without its fraction. One that does not fit is the lowest, as in Redis on most machines.
fn whole(number: f64) -> i64 {
    let int = number as i64;
    if number >= 9_223_372_036_854_775_808.0 || number.is_nan() { i64::MIN } else { int }
}
