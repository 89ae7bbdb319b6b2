//! `cjson`: values as JSON.

mod decode;
mod encode;

use super::{Fault, Values, native, number, wrong};
use mlua::{Lua, Table, Value};
use std::cell::Cell;
use std::rc::Rc;

/// What a script can set.
#[derive(Clone, Copy)]
pub(crate) struct Config {
    sparse_as_object: bool,
    sparse_ratio: u32,
    sparse_safe: u32,
    encode_depth: u32,
    decode_depth: u32,
    digits: u32,
    /// Of numbers that JSON has no form for.
    encode_invalid: Invalid,
    decode_invalid: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Invalid {
    Refused,
    Written,
    Null,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            sparse_as_object: false,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_depth: 1_000,
            decode_depth: 1_000,
            digits: 14,
            encode_invalid: Invalid::Refused,
            decode_invalid: true,
        }
    }
}

/// The settings of one table of functions.
pub(crate) type Shared = Rc<Cell<Config>>;

/// The functions, with these settings.
pub(crate) fn table(lua: &Lua, config: &Shared) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("_NAME", "cjson")?;
    table.set("_VERSION", "2.1.0")?;
    table.set("null", Value::NULL)?;
    let own = config.clone();
    let encode = native(lua, move |lua, args| match &args[..] {
        [value] => {
            let text = encode::run(value, own.get())?;
            Ok(vec![Value::String(lua.create_string(text)?)])
        }
        _ => Err(Fault::text("bad argument #1 to 'encode' (expected 1 argument)")),
    })?;
    table.set("encode", encode)?;
    let own = config.clone();
    let decode = native(lua, move |lua, args| {
        if args.len() != 1 {
            return Err(Fault::text("bad argument #1 to 'decode' (expected 1 argument)"));
        }
        let text = super::text(&args, 0, "decode")?;
        Ok(vec![decode::run(lua, &text, own.get())?])
    })?;
    table.set("decode", decode)?;
    table.set("new", native(lua, |lua, _| Ok(vec![Value::Table(self::table(lua, &Shared::default())?)]))?)?;
    settings(lua, &table, config)?;
    Ok(table)
}

fn settings(lua: &Lua, table: &Table, config: &Shared) -> mlua::Result<()> {
    type Field = fn(&mut Config) -> &mut u32;
    let numbers: [(&str, Field, u32, u32); 3] = [
        ("encode_max_depth", |config| &mut config.encode_depth, 1, i32::MAX as u32),
        ("decode_max_depth", |config| &mut config.decode_depth, 1, i32::MAX as u32),
        ("encode_number_precision", |config| &mut config.digits, 1, 14),
    ];
    for (name, field, least, most) in numbers {
        let own = config.clone();
        let set = native(lua, move |_, args| {
            let mut config = own.get();
            if !args.is_empty() {
                *field(&mut config) = within(&args, 0, name, least, most)?;
            }
            own.set(config);
            Ok(vec![Value::Number(f64::from(*field(&mut config)))])
        })?;
        table.set(name, set)?;
    }
    let own = config.clone();
    let sparse = native(lua, move |_, args| {
        let (mut config, name) = (own.get(), "encode_sparse_array");
        if let Some(convert) = args.first() {
            config.sparse_as_object = flag(&args, convert, name)?;
        }
        if args.len() > 1 {
            config.sparse_ratio = within(&args, 1, name, 0, i32::MAX as u32)?;
        }
        if args.len() > 2 {
            config.sparse_safe = within(&args, 2, name, 0, i32::MAX as u32)?;
        }
        own.set(config);
        let shown = |number: u32| Value::Number(f64::from(number));
        Ok(vec![
            Value::Boolean(config.sparse_as_object),
            shown(config.sparse_ratio),
            shown(config.sparse_safe),
        ])
    })?;
    table.set("encode_sparse_array", sparse)?;
    // Buffers are never kept.
    table.set("encode_keep_buffer", native(lua, |_, _| Ok(vec![Value::Boolean(true)]))?)?;
    let own = config.clone();
    let encode_invalid = native(lua, move |lua, args| invalid(lua, &own, &args))?;
    table.set("encode_invalid_numbers", encode_invalid)?;
    let own = config.clone();
    let decode_invalid = native(lua, move |_, args| {
        let mut config = own.get();
        if let Some(value) = args.first() {
            config.decode_invalid = flag(&args, value, "decode_invalid_numbers")?;
        }
        own.set(config);
        Ok(vec![Value::Boolean(config.decode_invalid)])
    })?;
    table.set("decode_invalid_numbers", decode_invalid)
}

fn invalid(lua: &Lua, own: &Shared, args: &[Value]) -> Values {
    let mut config = own.get();
    if let Some(value) = args.first() {
        config.encode_invalid = match value {
            Value::String(text) if *text == "null" => Invalid::Null,
            value if flag(args, value, "encode_invalid_numbers")? => Invalid::Written,
            _ => Invalid::Refused,
        };
    }
    own.set(config);
    Ok(vec![match config.encode_invalid {
        Invalid::Null => Value::String(lua.create_string("null")?),
        other => Value::Boolean(other == Invalid::Written),
    }])
}

fn within(args: &[Value], at: usize, name: &str, least: u32, most: u32) -> Result<u32, Fault> {
    let number = number(args, at, name)?;
    if number < f64::from(least) || number > f64::from(most) {
        let wrong = format!("expected integer between {least} and {most}");
        return Err(Fault::text(format!("bad argument #{} to '{name}' ({wrong})", at + 1)));
    }
    Ok(number as u32)
}

/// A truth value, or `"on"` or `"off"`.
fn flag(args: &[Value], value: &Value, name: &str) -> Result<bool, Fault> {
    match value {
        Value::Boolean(yes) => Ok(*yes),
        Value::String(text) if *text == "on" => Ok(true),
        Value::String(text) if *text == "off" => Ok(false),
        Value::String(text) => {
            let text = text.to_string_lossy();
            Err(Fault::text(format!("bad argument #1 to '{name}' (invalid option '{text}')")))
        }
        _ => Err(wrong(args, 0, name, "string")),
    }
}
