//! The function table `redis`, but for the calls: those are in the prelude.

use crate::convert::line;
use crate::interpreter::Host;
use crate::libraries::{Fault, Values, native, real, text};
use crate::sha1::sha1_hex;
use mlua::{Lua, Table, Value};
use std::cell::Cell;
use std::rc::Rc;

/// The version whose scripts are understood.
const VERSION: (&str, u32) = ("7.0.15", 0x0007_000f);

const LEVELS: [(&str, u8); 4] = [("LOG_DEBUG", 0), ("LOG_VERBOSE", 1), ("LOG_NOTICE", 2), ("LOG_WARNING", 3)];
const REPLICATION: [(&str, u8); 5] =
    [("REPL_NONE", 0), ("REPL_AOF", 1), ("REPL_SLAVE", 2), ("REPL_REPLICA", 2), ("REPL_ALL", 3)];

/// What scripts and libraries find alike: levels of the log, versions, and `log`.
pub(crate) fn common<H: Host + 'static>(lua: &Lua, host: &Rc<H>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (name, value) in &LEVELS {
        table.set(*name, *value)?;
    }
    table.set("REDIS_VERSION", VERSION.0)?;
    table.set("REDIS_VERSION_NUM", VERSION.1)?;
    let own = host.clone();
    let log = native(lua, move |_, args| {
        let [level, words @ ..] = &args[..] else {
            return Err(fault("redis.log() requires two arguments or more."));
        };
        if words.is_empty() {
            return Err(fault("redis.log() requires two arguments or more."));
        }
        let level = real(level).ok_or_else(|| fault("First argument must be a number (log level)."))?;
        if !(0.0..=3.0).contains(&level) {
            return Err(fault("Invalid debug level."));
        }
        let words = (1..args.len()).map(|at| text(&args, at, "log"));
        let words: Vec<String> = words.filter_map(Result::ok).map(|word| line(&word)).collect();
        own.log(level as u8, &words.join(" "));
        Ok(Vec::new())
    })?;
    table.set("log", log)?;
    Ok(table)
}

fn fault(text: &str) -> Fault {
    Fault::Reply(format!("ERR {text}"))
}

/// The table. `resp3` is set by `redis.setresp`.
pub(crate) fn table<H: Host + 'static>(
    lua: &Lua,
    host: &Rc<H>,
    resp3: &Rc<Cell<bool>>,
) -> mlua::Result<Table> {
    let table = common(lua, host)?;
    for (name, value) in &REPLICATION {
        table.set(*name, *value)?;
    }
    let digest = native(lua, move |lua, args| match args.len() {
        // What is no text has the digest of nothing.
        1 => {
            let text = text(&args, 0, "sha1hex").unwrap_or_default();
            Ok(vec![Value::String(lua.create_string(sha1_hex(&text))?)])
        }
        _ => Err(fault("wrong number of arguments")),
    })?;
    table.set("sha1hex", digest)?;
    let resp3 = resp3.clone();
    let setresp = native(lua, move |_, args| {
        let [version] = &args[..] else { return Err(fault("redis.setresp() requires one argument.")) };
        match real(version) {
            Some(version @ (2.0 | 3.0)) => resp3.set(version == 3.0),
            _ => return Err(fault("RESP version must be 2 or 3.")),
        }
        Ok(Vec::new())
    })?;
    table.set("setresp", setresp)?;
    let set_repl = native(lua, move |_, args| match &args[..] {
        [which] if real(which).is_some_and(|which| (0.0..=3.0).contains(&which)) => Ok(Vec::new()),
        [_] => {
            Err(fault("Invalid replication flags. Please use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."))
        }
        _ => Err(fault("redis.set_repl() requires two arguments.")),
    })?;
    table.set("set_repl", set_repl)?;
    let own = host.clone();
    let check = native(lua, move |_, args| {
        if args.is_empty() {
            return Err(fault("Please specify at least one argument for this redis lib call"));
        }
        match own.knows(&text(&args, 0, "acl_check_cmd")?) {
            true => Ok(vec![Value::Boolean(true)]),
            false => Err(fault("Invalid command passed to redis.acl_check_cmd()")),
        }
    })?;
    table.set("acl_check_cmd", check)?;
    table.set("error_reply", native(lua, |lua, args| reply_of(lua, "err", &args))?)?;
    table.set("status_reply", native(lua, |lua, args| reply_of(lua, "ok", &args))?)?;
    table.set("breakpoint", native(lua, |_, _| Ok(vec![Value::Boolean(false)]))?)?;
    table.set("debug", native(lua, |_, _| Ok(Vec::new()))?)?;
    table.set("replicate_commands", native(lua, |_, _| Ok(vec![Value::Boolean(true)]))?)?;
    Ok(table)
}

/// A table that is a reply once the script returns it.
fn reply_of(lua: &Lua, field: &str, args: &[Value]) -> Values {
    let table = lua.create_table()?;
    match args {
        [Value::String(text)] if field == "err" => {
            let text = text.as_bytes();
            let text = text.strip_prefix(b"-").unwrap_or(&text);
            // Without a space it has no code.
            let code: &[u8] = if text.contains(&b' ') { b"" } else { b"ERR " };
            table.raw_set(field, lua.create_string([code, text].concat())?)?;
        }
        [Value::String(text)] => table.raw_set(field, text)?,
        _ => table.raw_set("err", "ERR wrong number or type of arguments")?,
    }
    Ok(vec![Value::Table(table)])
}
