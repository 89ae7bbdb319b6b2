//! `bit`: operations on the lowest 32 bits of numbers.

use super::{Fault, Values, native, number};
use mlua::{Lua, Table, Value};

/// The lowest 32 bits of a number, fractions rounded.
fn bits(args: &[Value], at: usize, name: &str) -> Result<u32, Fault> {
    let number = number(args, at, name)?.round_ties_even();
    Ok(if number.is_finite() { number.rem_euclid(4_294_967_296.0) as u32 } else { 0 })
}

fn signed(bits: u32) -> Values {
    Ok(vec![Value::Number(f64::from(bits as i32))])
}

/// Operations on any number of arguments, on one, and on one and a count.
type Fold = (&'static str, fn(u32, u32) -> u32);
type Map = (&'static str, fn(u32) -> u32);

const FOLDS: [Fold; 3] = [("band", |a, b| a & b), ("bor", |a, b| a | b), ("bxor", |a, b| a ^ b)];
const MAPS: [Map; 3] = [("tobit", |a| a), ("bnot", |a| !a), ("bswap", u32::swap_bytes)];
const SHIFTS: [Fold; 5] = [
    ("lshift", |a, by| a << (by & 31)),
    ("rshift", |a, by| a >> (by & 31)),
    ("arshift", |a, by| ((a as i32) >> (by & 31)) as u32),
    ("rol", |a, by| a.rotate_left(by & 31)),
    ("ror", |a, by| a.rotate_right(by & 31)),
];

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (name, fold) in FOLDS {
        let run = move |_: &Lua, args: Vec<Value>| {
            let mut all = bits(&args, 0, name)?;
            for at in 1..args.len() {
                all = fold(all, bits(&args, at, name)?);
            }
            signed(all)
        };
        table.set(name, native(lua, run)?)?;
    }
    for (name, map) in MAPS {
        table.set(name, native(lua, move |_, args| signed(map(bits(&args, 0, name)?)))?)?;
    }
    for (name, shift) in SHIFTS {
        let run =
            move |_: &Lua, args: Vec<Value>| signed(shift(bits(&args, 0, name)?, bits(&args, 1, name)?));
        table.set(name, native(lua, run)?)?;
    }
    table.set("tohex", native(lua, to_hex)?)?;
    Ok(table)
}

/// The lowest digits, in capitals if their number is negative.
fn to_hex(lua: &Lua, args: Vec<Value>) -> Values {
    let value = bits(&args, 0, "tohex")?;
    let count = if args.len() < 2 { 8 } else { bits(&args, 1, "tohex")? as i32 };
    let digits = count.unsigned_abs().min(8) as usize;
    let text = if count < 0 { format!("{value:08X}") } else { format!("{value:08x}") };
    Ok(vec![Value::String(lua.create_string(&text[8 - digits..])?)])
}
