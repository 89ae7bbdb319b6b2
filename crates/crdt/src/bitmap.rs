//! Bitmaps: strings as arrays of bits, bit 0 being the highest of the first byte.

mod field;

use crate::args::{SYNTAX, arity, exactly, int, is};
use crate::draft::{Answer, Draft};
use crate::modifier::Modifier;
use crate::number::parse_int;
use crate::string;
use bytes::Bytes;
use std::ops::Range;
use tidemark_core::{Reply, Value, Verb};

/// Evaluates a command of bitmaps; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::SetBit => set(draft, args),
        Verb::GetBit => get(draft, args),
        Verb::BitCount => count(draft, args),
        Verb::BitPos => position(draft, args),
        Verb::BitField => field::run(draft, args, false),
        Verb::BitFieldRo => field::run(draft, args, true),
        _ => return None,
    })
}

/// Reads `count` bits, at most 64; what lies behind the end is 0.
pub(crate) fn read(bytes: &[u8], offset: u64, count: u32) -> u64 {
    (offset..offset + u64::from(count)).fold(0, |value, at| value << 1 | u64::from(bit(bytes, at)))
}

/// Writes the lowest `count` bits of `value`, at most 64; the string grows as far as it must.
pub(crate) fn write(bytes: &mut Vec<u8>, offset: u64, count: u32, value: u64) {
    grow(bytes, offset + u64::from(count));
    overwrite(bytes, offset, count, value);
}

/// As [`write`]. REQUIRES: the string is long enough.
pub(crate) fn overwrite(bytes: &mut [u8], offset: u64, count: u32, value: u64) {
    for at in 0..count {
        let (place, mask) = place(offset + u64::from(at));
        match value >> (count - 1 - at) & 1 {
            0 => bytes[place] &= !mask,
            _ => bytes[place] |= mask,
        }
    }
}

/// Makes a string hold at least so many bits.
pub(crate) fn grow(bytes: &mut Vec<u8>, bits: u64) {
    let len = bits.div_ceil(8) as usize;
    if bytes.len() < len {
        bytes.resize(len, 0);
    }
}

/// The byte of a bit, and its mask there.
fn place(offset: u64) -> (usize, u8) {
    ((offset >> 3) as usize, 0x80 >> (offset & 7))
}

fn bit(bytes: &[u8], offset: u64) -> bool {
    let (place, mask) = place(offset);
    bytes.get(place).is_some_and(|byte| byte & mask != 0)
}

/// An offset in bits, in a string of so many bytes at most; `#n` means the n-th field if `width` says how wide fields are.
fn offset(argument: &[u8], width: Option<u32>, longest: usize) -> Result<u64, Reply> {
    let (digits, factor) = match (argument, width) {
        ([b'#', digits @ ..], Some(width)) => (digits, i64::from(width)),
        _ => (argument, 1),
    };
    let offset = parse_int(digits).map(|number| number.wrapping_mul(factor));
    let valid = offset.filter(|offset| *offset >= 0 && offset >> 3 < longest as i64);
    valid.map(|offset| offset as u64).ok_or(Reply::error("ERR bit offset is not an integer or out of range"))
}

fn content(draft: &Draft<'_>) -> Result<Value, Reply> {
    Ok(string::value(draft)?.unwrap_or_else(|| Value::from(&b""[..])))
}

fn set(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let [at, value] = exactly(args, "setbit")?;
    let at = offset(at, None, draft.moment.longest)?;
    let value = parse_int(value)
        .filter(|value| (0..=1).contains(value))
        .ok_or(Reply::error("ERR bit is not an integer or out of range"))?;
    let before = bit(&content(draft)?, at);
    draft.modify(vec![Modifier::Bits { offset: at, count: 1, value: value as u64 }]);
    Ok(Reply::flag(before))
}

fn get(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [at] = exactly(args, "getbit")?;
    let at = offset(at, None, draft.moment.longest)?;
    Ok(Reply::flag(bit(&content(draft)?, at)))
}

/// Whether a range counts bits, as the word behind it says.
fn in_bits(unit: Option<&Bytes>) -> Result<bool, Reply> {
    match unit {
        None => Ok(false),
        Some(word) if is(word, "byte") => Ok(false),
        Some(word) if is(word, "bit") => Ok(true),
        Some(_) => Err(SYNTAX),
    }
}

/// The bits of a string of `len` bytes that two offsets mean, of which negative ones count from the end.
fn bits(start: i64, end: i64, len: usize, in_bits: bool) -> Range<u64> {
    let unit = if in_bits { 1 } else { 8 };
    let total = len as i64 * 8 / unit;
    let absolute = |at: i64| if at < 0 { total.saturating_add(at).max(0) } else { at };
    let (start, end) = (absolute(start), absolute(end).min(total - 1));
    if start > end { 0..0 } else { (start * unit) as u64..((end + 1) * unit) as u64 }
}

fn count(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let Some(value) = string::value(draft)? else { return Ok(Reply::Int(0)) };
    let range = match args {
        [] => bits(0, -1, value.len(), false),
        [start, end, unit @ ..] if unit.len() < 2 => {
            let (start, end) = (int(start)?, int(end)?);
            if start < 0 && end < 0 && start > end {
                return Ok(Reply::Int(0));
            }
            bits(start, end, value.len(), in_bits(unit.first())?)
        }
        _ => return Err(SYNTAX),
    };
    Ok(Reply::Int(ones(&value, range)))
}

fn ones(value: &[u8], Range { start, end }: Range<u64>) -> i64 {
    let whole = start.div_ceil(8)..end / 8;
    if whole.start >= whole.end {
        return (start..end).filter(|at| bit(value, *at)).count() as i64;
    }
    let edges = (start..whole.start * 8).chain(whole.end * 8..end).filter(|at| bit(value, *at)).count();
    let inner = &value[whole.start as usize..whole.end as usize];
    edges as i64 + inner.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>()
}

fn position(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    let [wanted, range @ ..] = args else { return Err(arity("bitpos")) };
    let wanted = match int(wanted)? {
        0 => false,
        1 => true,
        _ => return Err(Reply::error("ERR The bit argument must be 1 or 0.")),
    };
    let Some(value) = string::value(draft)? else { return Ok(Reply::Int(if wanted { -1 } else { 0 })) };
    let (range, ends) = match range {
        [] => (bits(0, -1, value.len(), false), false),
        [start] => (bits(int(start)?, -1, value.len(), false), false),
        [start, end, unit @ ..] if unit.len() < 2 => {
            let start = int(start)?;
            let unit = in_bits(unit.first())?;
            (bits(start, int(end)?, value.len(), unit), true)
        }
        _ => return Err(SYNTAX),
    };
    let missing = match (wanted, ends, range.is_empty()) {
        // Behind the last byte lie zeros without end, if the range has none.
        (false, false, false) => range.end as i64,
        _ => -1,
    };
    Ok(Reply::Int(first(&value, range, wanted).map_or(missing, |at| at as i64)))
}

fn first(value: &[u8], Range { start, end }: Range<u64>, wanted: bool) -> Option<u64> {
    let skipped = if wanted { 0 } else { 0xff };
    let mut at = start;
    while at < end {
        if at.is_multiple_of(8) && value[(at / 8) as usize] == skipped {
            at += 8;
        } else if bit(value, at) == wanted {
            return Some(at);
        } else {
            at += 1;
        }
    }
    None
}

/// Whether BITOP can make something of so many strings.
///
/// # Errors
/// It is no operation, or NOT of several.
pub(crate) fn check(operation: &[u8], sources: usize) -> Result<(), Reply> {
    match () {
        () if is(operation, "not") && sources != 1 => {
            Err(Reply::error("ERR BITOP NOT must be called with a single source key."))
        }
        () if ["and", "or", "xor", "not"].iter().any(|name| is(operation, name)) => Ok(()),
        () => Err(SYNTAX),
    }
}

/// BITOP: what an operation makes of several strings, of which shorter ones end in zeros.
///
/// # Errors
/// It is no operation, or NOT of several.
pub fn combine(operation: &[u8], sources: &[&[u8]]) -> Result<Vec<u8>, Reply> {
    check(operation, sources.len())?;
    let fold: fn(u8, u8) -> u8 = match () {
        () if is(operation, "and") => |a, b| a & b,
        () if is(operation, "or") => |a, b| a | b,
        () if is(operation, "xor") => |a, b| a ^ b,
        () => return Ok(sources[0].iter().map(|byte| !byte).collect()),
    };
    let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
    let byte = |source: &&[u8], at: usize| source.get(at).copied().unwrap_or(0);
    let column = |at| sources.iter().map(|source| byte(source, at)).reduce(fold).unwrap_or(0);
    Ok((0..len).map(column).collect())
}
