//! `cmsgpack`: values as MessagePack writes them.

use super::{Fault, Values, few, native, number, real, text};
use bytes::Bytes;
use mlua::{Lua, Table, Value};

/// How deep tables may be nested; below that there is nil.
const DEPTH_MAX: usize = 16;

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("_NAME", "cmsgpack")?;
    table.set("_VERSION", "lua-cmsgpack 0.4.0")?;
    table.set("pack", native(lua, pack)?)?;
    table.set("unpack", native(lua, |lua, args| unpack(lua, &args, usize::MAX, 0, false))?)?;
    let one = native(lua, |lua, args| {
        let offset = optional(&args, 1, 0.0, "unpack_one")?;
        unpack_from(lua, &args, 1.0, offset)
    })?;
    table.set("unpack_one", one)?;
    let limit = native(lua, |lua, args| {
        let limit = number(&args, 1, "unpack_limit")?;
        let offset = optional(&args, 2, 0.0, "unpack_limit")?;
        unpack_from(lua, &args, limit, offset)
    })?;
    table.set("unpack_limit", limit)?;
    Ok(table)
}

fn optional(args: &[Value], at: usize, default: f64, name: &str) -> Result<f64, Fault> {
    if matches!(args.get(at), None | Some(Value::Nil)) { Ok(default) } else { number(args, at, name) }
}

fn pack(lua: &Lua, args: Vec<Value>) -> Values {
    if args.is_empty() {
        return Err(Fault::text("bad argument #0 to 'pack' (MessagePack pack needs input.)"));
    }
    let mut out = Vec::new();
    for value in &args {
        write(value, 0, &mut out)?;
    }
    Ok(vec![Value::String(lua.create_string(out)?)])
}

/// A head whose length fits into the first byte, or stands behind it in 1, 2 or 4 bytes; 0 where there is no such form.
fn head(out: &mut Vec<u8>, len: usize, (short, most): (u8, usize), forms: [u8; 3]) {
    if len <= most {
        return out.push(short | len as u8);
    }
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(len), _) if forms[0] != 0 => out.extend([forms[0], len]),
        (_, Ok(len)) => {
            out.push(forms[1]);
            out.extend(len.to_be_bytes());
        }
        _ => {
            out.push(forms[2]);
            out.extend((len as u32).to_be_bytes());
        }
    }
}

fn write(value: &Value, depth: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    match value {
        Value::Boolean(yes) => out.push(if *yes { 0xc3 } else { 0xc2 }),
        Value::String(text) => {
            head(out, text.as_bytes().len(), (0xa0, 31), [0xd9, 0xda, 0xdb]);
            out.extend_from_slice(&text.as_bytes());
        }
        Value::Table(table) if depth < DEPTH_MAX => write_table(table, depth, out)?,
        value => match real(value) {
            Some(number) => write_number(number, out),
            None => out.push(0xc0),
        },
    }
    Ok(())
}

fn write_number(number: f64, out: &mut Vec<u8>) {
    let int = number as i64;
    if int as f64 != number {
        let float = number as f32;
        if f64::from(float) == number {
            out.push(0xca);
            out.extend(float.to_be_bytes());
        } else {
            out.push(0xcb);
            out.extend(number.to_be_bytes());
        }
        return;
    }
    let (form, size) = match int {
        -32..=127 => return out.push(int as u8),
        0x80..=0xff => (0xcc, 1),
        0x100..=0xffff => (0xcd, 2),
        0x1_0000..=0xffff_ffff => (0xce, 4),
        0x1_0000_0000.. => (0xcf, 8),
        -0x80..=-33 => (0xd0, 1),
        -0x8000..=-0x81 => (0xd1, 2),
        -0x8000_0000..=-0x8001 => (0xd2, 4),
        ..=-0x8000_0001 => (0xd3, 8),
    };
    out.push(form);
    out.extend_from_slice(&int.to_be_bytes()[8 - size..]);
}

/// Walks the pairs more than once: a Rust value that holds a Lua value takes one of few places.
fn write_table(table: &Table, depth: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let index = |key: &Value| real(key).filter(|key| *key > 0.0 && key.fract() == 0.0);
    let (mut count, mut highest) = (0, Some(0.0));
    for pair in table.pairs::<Value, Value>() {
        let at = index(&pair?.0);
        highest = highest.and_then(|highest| Some(f64::max(highest, at?)));
        count += 1;
    }
    if highest == Some(count as f64) {
        head(out, count, (0x90, 15), [0, 0xdc, 0xdd]);
        for at in 1..=count {
            write(&table.raw_get(at)?, depth + 1, out)?;
        }
        return Ok(());
    }
    head(out, count, (0x80, 15), [0, 0xde, 0xdf]);
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        write(&key, depth + 1, out)?;
        write(&value, depth + 1, out)?;
    }
    Ok(())
}

/// Reads values from `at` on.
struct Reader<'a> {
    lua: &'a Lua,
    data: Bytes,
    at: usize,
}

const MISSING: &str = "Missing bytes in input.";
/// How deep what is read may be nested.
const READ_DEPTH_MAX: usize = 1_000;

impl Reader<'_> {
    fn bytes(&mut self, count: usize) -> Result<Bytes, Fault> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.data.len());
        let end = end.ok_or_else(|| Fault::text(MISSING))?;
        Ok(self.data.slice(std::mem::replace(&mut self.at, end)..end))
    }

    fn unsigned(&mut self, size: usize) -> Result<u64, Fault> {
        Ok(self.bytes(size)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn signed(&mut self, size: usize) -> Result<Value, Fault> {
        let unused = 64 - 8 * size as u32;
        Ok(Value::Number(((self.unsigned(size)? << unused) as i64 >> unused) as f64))
    }

    fn string(&mut self, len: usize) -> Result<Value, Fault> {
        let bytes = self.bytes(len)?;
        Ok(Value::String(self.lua.create_string(&bytes)?))
    }

    fn array(&mut self, len: usize, depth: usize) -> Result<Value, Fault> {
        let table = self.lua.create_table()?;
        for at in 1..=len {
            table.raw_set(at, self.value(depth + 1)?)?;
        }
        Ok(Value::Table(table))
    }

    fn map(&mut self, len: usize, depth: usize) -> Result<Value, Fault> {
        let table = self.lua.create_table()?;
        for _ in 0..len {
            let (key, value) = (self.value(depth + 1)?, self.value(depth + 1)?);
            if matches!(key, Value::Nil) {
                return Err(Fault::text("table index is nil"));
            }
            table.raw_set(key, value)?;
        }
        Ok(Value::Table(table))
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > READ_DEPTH_MAX {
            return Err(Fault::text("Bad data format in input."));
        }
        let form = self.bytes(1)?[0];
        let number = |value: u64| Value::Number(value as f64);
        match form {
            0x00..=0x7f => Ok(number(u64::from(form))),
            0x80..=0x8f => self.map(usize::from(form & 15), depth),
            0x90..=0x9f => self.array(usize::from(form & 15), depth),
            0xa0..=0xbf => self.string(usize::from(form & 31)),
            0xc0 => Ok(Value::Nil),
            0xc2 | 0xc3 => Ok(Value::Boolean(form == 0xc3)),
            0xca => Ok(Value::Number(f64::from(f32::from_bits(self.unsigned(4)? as u32)))),
            0xcb => Ok(Value::Number(f64::from_bits(self.unsigned(8)?))),
            0xcc..=0xcf => self.unsigned(1 << (form - 0xcc)).map(number),
            0xd0..=0xd3 => self.signed(1 << (form - 0xd0)),
            0xd9..=0xdb => {
                let len = self.unsigned(1 << (form - 0xd9))? as usize;
                self.string(len)
            }
            0xdc | 0xdd => {
                let len = self.unsigned(2 << (form - 0xdc))? as usize;
                self.array(len, depth)
            }
            0xde | 0xdf => {
                let len = self.unsigned(2 << (form - 0xde))? as usize;
                self.map(len, depth)
            }
            0xe0..=0xff => Ok(Value::Number(f64::from(form as i8))),
            _ => Err(Fault::text("Bad data format in input.")),
        }
    }
}

fn unpack_from(lua: &Lua, args: &[Value], limit: f64, offset: f64) -> Values {
    let len = text(args, 0, "unpack")?.len();
    if limit < 0.0 || offset < 0.0 {
        return Err(Fault::text(format!(
            "Invalid request to unpack with offset of {offset} and limit of {len}."
        )));
    }
    if offset > len as f64 {
        return Err(Fault::text(format!("Start offset {offset} greater than input length {len}.")));
    }
    let most = if limit == 0.0 { usize::MAX } else { limit as usize };
    unpack(lua, args, most, offset as usize, true)
}

/// At most so many values; if `tells`, where the next one begins comes first, or -1 at the end.
fn unpack(lua: &Lua, args: &[Value], most: usize, offset: usize, tells: bool) -> Values {
    let mut reader = Reader { lua, data: text(args, 0, "unpack")?, at: offset };
    let mut values = Vec::new();
    while reader.at < reader.data.len() && values.len() < most {
        values.push(reader.value(0)?);
        few(values.len())?;
    }
    if tells {
        let next = if reader.at == reader.data.len() { -1.0 } else { reader.at as f64 };
        values.insert(0, Value::Number(next));
    }
    Ok(values)
}
