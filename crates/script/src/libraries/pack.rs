//! `struct`: values as bytes, laid out as a format says.

use super::{Fault, Values, few, native, number, real, text};
use bytes::Bytes;
use mlua::{Lua, Table, Value};

/// The largest integer that a format can name, in bytes.
const LARGEST: usize = 32;
/// The alignment that `!` stands for.
const NATIVE: usize = 8;

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("pack", native(lua, pack)?)?;
    table.set("unpack", native(lua, unpack)?)?;
    table.set("size", native(lua, size)?)?;
    Ok(table)
}

/// What stands at one place of a format.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Integer {
        signed: bool,
    },
    Float,
    Double,
    Padding,
    /// With a zero behind it.
    Terminated,
    /// Of the item's size; 0 is the whole string, or as long as the number before it says.
    Fixed,
}

/// Reads a format from left to right.
struct Format {
    text: Bytes,
    at: usize,
    big_endian: bool,
    align: usize,
    /// Of the function.
    name: &'static str,
}

impl Format {
    fn of(args: &[Value], name: &'static str) -> Result<Self, Fault> {
        Ok(Self { text: text(args, 0, name)?, at: 0, big_endian: false, align: 1, name })
    }

    fn number(&mut self, default: usize) -> Result<usize, Fault> {
        let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Ok(default);
        }
        let text = std::str::from_utf8(&self.text[self.at..self.at + digits]).unwrap_or_default();
        self.at += digits;
        let number = text.parse::<i32>().map_err(|_| Fault::text("integral size overflow"))?;
        Ok(number as usize)
    }

    fn integer_size(&mut self) -> Result<usize, Fault> {
        match self.number(4)? {
            size if size > LARGEST => {
                Err(Fault::text(format!("integral size {size} is larger than limit of {LARGEST}")))
            }
            size => Ok(size),
        }
    }

    /// The next item, its size, and how much is left out before it when it stands behind `len` bytes. None at the end.
    fn next(&mut self, len: usize) -> Result<Option<(Item, usize, usize)>, Fault> {
        loop {
            let Some(option) = self.text.get(self.at).copied() else { return Ok(None) };
            self.at += 1;
            let (item, size) = match option {
                b'b' | b'h' | b'l' | b'i' | b'B' | b'H' | b'L' | b'T' | b'I' => {
                    let size = match option.to_ascii_lowercase() {
                        b'b' => 1,
                        b'h' => 2,
                        b'i' => self.integer_size()?,
                        _ => 8,
                    };
                    (Item::Integer { signed: option.is_ascii_lowercase() }, size)
                }
                b'f' => (Item::Float, 4),
                b'd' => (Item::Double, 8),
                b'x' => (Item::Padding, 1),
                b's' => (Item::Terminated, 0),
                b'c' => (Item::Fixed, self.number(1)?),
                b' ' => continue,
                b'>' | b'<' => {
                    self.big_endian = option == b'>';
                    continue;
                }
                b'!' => {
                    self.align = self.number(NATIVE)?;
                    if !self.align.is_power_of_two() {
                        return Err(Fault::text("alignment is not a power of 2"));
                    }
                    continue;
                }
                other => {
                    let other = char::from(other);
                    let name = self.name;
                    return Err(Fault::text(format!(
                        "bad argument #1 to '{name}' (invalid format option '{other}')"
                    )));
                }
            };
            let align = if item == Item::Fixed || size == 0 { 1 } else { size.min(self.align) };
            let skipped = if align.is_power_of_two() { len.next_multiple_of(align) - len } else { 0 };
            return Ok(Some((item, size, skipped)));
        }
    }

    fn put(&self, out: &mut Vec<u8>, mut bytes: Vec<u8>) {
        if self.big_endian {
            bytes.reverse();
        }
        out.extend(bytes);
    }
}

fn pack(lua: &Lua, mut args: Vec<Value>) -> Values {
    // A missing argument is told as nil.
    args.push(Value::Nil);
    let mut format = Format::of(&args, "pack")?;
    let (mut out, mut arg) = (Vec::new(), 1);
    while let Some((item, size, skipped)) = format.next(out.len())? {
        out.resize(out.len() + skipped, 0);
        match item {
            Item::Padding => {
                out.push(0);
                continue;
            }
            Item::Integer { .. } => {
                let value = number(&args, arg, "pack")?;
                let value = if value < 0.0 { value as i64 as u64 } else { value as u64 };
                let mut bytes = value.to_le_bytes().to_vec();
                bytes.resize(size, 0);
                format.put(&mut out, bytes);
            }
            Item::Float => format.put(&mut out, (number(&args, arg, "pack")? as f32).to_le_bytes().to_vec()),
            Item::Double => format.put(&mut out, number(&args, arg, "pack")?.to_le_bytes().to_vec()),
            Item::Terminated => {
                out.extend_from_slice(&text(&args, arg, "pack")?);
                out.push(0);
            }
            Item::Fixed => {
                let value = text(&args, arg, "pack")?;
                let taken = if size == 0 { value.len() } else { size };
                if value.len() < taken {
                    // One more than it is, as in Redis.
                    return Err(Fault::text(format!(
                        "bad argument #{} to 'pack' (string too short)",
                        arg + 2
                    )));
                }
                out.extend_from_slice(&value[..taken]);
            }
        }
        arg += 1;
    }
    Ok(vec![Value::String(lua.create_string(out)?)])
}

fn integer(mut bytes: Vec<u8>, signed: bool, big_endian: bool) -> f64 {
    if big_endian {
        bytes.reverse();
    }
    let size = bytes.len();
    bytes.resize(8, 0);
    let value = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    if !signed {
        return value as f64;
    }
    let unused = 64_u32.saturating_sub(8 * size as u32).min(63);
    ((value << unused) as i64 >> unused) as f64
}

fn unpack(lua: &Lua, args: Vec<Value>) -> Values {
    let short = || Fault::text("bad argument #2 to 'unpack' (data string too short)");
    let mut format = Format::of(&args, "unpack")?;
    let data = text(&args, 1, "unpack")?;
    let from = if args.len() > 2 { number(&args, 2, "unpack")? } else { 1.0 };
    if from < 1.0 {
        return Err(Fault::text("bad argument #3 to 'unpack' (offset must be 1 or greater)"));
    }
    let mut at = from as usize - 1;
    let mut values: Vec<Value> = Vec::new();
    while let Some((item, size, skipped)) = format.next(at)? {
        few(values.len())?;
        at = at.checked_add(skipped).ok_or_else(short)?;
        let take = |size: usize| -> Result<Vec<u8>, Fault> {
            let end = at.checked_add(size).ok_or_else(short)?;
            data.get(at..end).map(<[u8]>::to_vec).ok_or_else(short)
        };
        let ordered = |mut bytes: Vec<u8>| {
            if format.big_endian {
                bytes.reverse();
            }
            bytes
        };
        let (value, used) = match item {
            Item::Padding => {
                take(1)?;
                at += 1;
                continue;
            }
            Item::Integer { signed } => {
                (Value::Number(integer(take(size)?, signed, format.big_endian)), size)
            }
            Item::Float => {
                let bytes = ordered(take(4)?).try_into().expect("four bytes");
                (Value::Number(f64::from(f32::from_le_bytes(bytes))), 4)
            }
            Item::Double => {
                let bytes = ordered(take(8)?).try_into().expect("eight bytes");
                (Value::Number(f64::from_le_bytes(bytes)), 8)
            }
            Item::Terminated => {
                let rest = data.get(at..).ok_or_else(short)?;
                let end = rest.iter().position(|byte| *byte == 0);
                let end = end.ok_or_else(|| Fault::text("unfinished string in data"))?;
                (Value::String(lua.create_string(&rest[..end])?), end + 1)
            }
            Item::Fixed => {
                let size = match (size, values.last().and_then(real)) {
                    (0, None) => return Err(Fault::text("format 'c0' needs a previous size")),
                    (0, Some(size)) => {
                        values.pop();
                        if size < 0.0 { return Err(short()) } else { size as usize }
                    }
                    (size, _) => size,
                };
                (Value::String(lua.create_string(take(size)?)?), size)
            }
        };
        values.push(value);
        at += used;
    }
    values.push(Value::Number(at as f64 + 1.0));
    Ok(values)
}

fn size(_: &Lua, args: Vec<Value>) -> Values {
    let mut format = Format::of(&args, "size")?;
    let mut len = 0;
    while let Some((item, size, skipped)) = format.next(len)? {
        match (item, size) {
            (Item::Terminated, _) => {
                return Err(Fault::text("bad argument #1 to 'size' (option 's' has no fixed size)"));
            }
            (Item::Fixed, 0) => {
                return Err(Fault::text("bad argument #1 to 'size' (option 'c0' has no fixed size)"));
            }
            _ => len += skipped + size,
        }
    }
    Ok(vec![Value::Number(len as f64)])
}
