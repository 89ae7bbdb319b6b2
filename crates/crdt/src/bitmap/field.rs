//! BITFIELD: integers of any width at any bit.

use super::{content, grow, offset, read, write};
use crate::args::{SYNTAX, int, is};
use crate::draft::{Answer, Draft};
use crate::modifier::Modifier;
use crate::number::parse_int;
use bytes::Bytes;
use tidemark_core::Reply;

/// The type of a field.
#[derive(Clone, Copy)]
struct Width {
    signed: bool,
    bits: u32,
}

#[derive(Clone, Copy)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

#[derive(Clone, Copy)]
enum Action {
    Get,
    Set(i64),
    Add(i64),
}

struct Step {
    action: Action,
    width: Width,
    offset: u64,
    overflow: Overflow,
}

impl Width {
    fn parse(argument: &[u8]) -> Result<Self, Reply> {
        const INVALID: Reply = Reply::error(
            "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
        );
        let (signed, digits, most) = match argument {
            [b'i', digits @ ..] => (true, digits, 64),
            [b'u', digits @ ..] => (false, digits, 63),
            _ => return Err(INVALID),
        };
        let bits = parse_int(digits).filter(|bits| (1..=most).contains(bits)).ok_or(INVALID)?;
        Ok(Self { signed, bits: bits as u32 })
    }

    /// The integer that these bits mean.
    fn decode(self, raw: u64) -> i64 {
        let unused = 64 - self.bits;
        if self.signed { (raw << unused) as i64 >> unused } else { raw as i64 }
    }

    /// The lowest and the highest integer.
    fn range(self) -> (i128, i128) {
        if self.signed {
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        } else {
            (0, (1 << self.bits) - 1)
        }
    }

    /// The integer that is written for `wanted`; none if that fails.
    fn fit(self, wanted: i128, overflow: Overflow) -> Option<i64> {
        let (low, high) = self.range();
        if (low..=high).contains(&wanted) {
            return Some(wanted as i64);
        }
        match overflow {
            Overflow::Wrap => Some(self.decode(wanted as u64 & (u64::MAX >> (64 - self.bits)))),
            Overflow::Saturate => Some(if wanted > high { high } else { low } as i64),
            Overflow::Fail => None,
        }
    }
}

fn parse(args: &[Bytes], longest: usize) -> Result<Vec<Step>, Reply> {
    let (mut steps, mut overflow, mut rest) = (Vec::new(), Overflow::Wrap, args);
    while let [word, behind @ ..] = rest {
        if is(word, "overflow")
            && let [how, behind @ ..] = behind
        {
            overflow = match () {
                () if is(how, "wrap") => Overflow::Wrap,
                () if is(how, "sat") => Overflow::Saturate,
                () if is(how, "fail") => Overflow::Fail,
                () => return Err(Reply::error("ERR Invalid OVERFLOW type specified")),
            };
            rest = behind;
            continue;
        }
        let (action, used): (fn(i64) -> Action, usize) = match behind.len() {
            2.. if is(word, "get") => (|_| Action::Get, 2),
            3.. if is(word, "set") => (Action::Set, 3),
            3.. if is(word, "incrby") => (Action::Add, 3),
            _ => return Err(SYNTAX),
        };
        let width = Width::parse(&behind[0])?;
        let offset = offset(&behind[1], Some(width.bits), longest)?;
        let operand = if used == 3 { int(&behind[2])? } else { 0 };
        steps.push(Step { action: action(operand), width, offset, overflow });
        rest = &behind[used..];
    }
    Ok(steps)
}

/// BITFIELD, and BITFIELD_RO.
pub(super) fn run(draft: &mut Draft<'_>, args: &[Bytes], read_only: bool) -> Answer {
    let steps = parse(args, draft.moment.longest)?;
    let writes = steps.iter().filter(|step| !matches!(step.action, Action::Get));
    let end = writes.map(|step| step.offset + u64::from(step.width.bits)).max();
    if read_only && end.is_some() {
        return Err(Reply::error("ERR BITFIELD_RO only supports the GET subcommand"));
    }
    let mut bytes = content(draft)?.to_vec();
    let mut modifiers = Vec::new();
    if let Some(end) = end {
        grow(&mut bytes, end);
        // The string grows to the end of all fields, also where nothing is written because it would overflow.
        modifiers.push(Modifier::Patch { offset: end.div_ceil(8), bytes: Bytes::new() });
    }
    let replies = steps.iter().map(|step| apply(step, &mut bytes, &mut modifiers)).collect();
    if end.is_some() {
        draft.modify(modifiers);
    }
    Ok(Reply::Array(replies))
}

fn apply(step: &Step, bytes: &mut Vec<u8>, modifiers: &mut Vec<Modifier>) -> Reply {
    let Step { action, width, offset, overflow } = step;
    let before = width.decode(read(bytes, *offset, width.bits));
    let wanted = match action {
        Action::Get => return Reply::Int(before),
        // A negative number that is set in an unsigned field is a large one.
        Action::Set(value) if !width.signed => i128::from(*value as u64),
        Action::Set(value) => i128::from(*value),
        Action::Add(by) => i128::from(before) + i128::from(*by),
    };
    let (_, high) = width.range();
    // Redis computes in 64 bits how far a number is below the highest one. It takes one that is too far for one above.
    let far = width.signed && width.bits < 64 && high - wanted > i128::from(i64::MAX);
    let wanted = match (action, overflow) {
        (Action::Set(_), Overflow::Saturate) if far => high,
        _ => wanted,
    };
    let Some(after) = width.fit(wanted, *overflow) else { return Reply::Null };
    write(bytes, *offset, width.bits, after as u64);
    let value = after as u64 & (u64::MAX >> (64 - width.bits));
    modifiers.push(Modifier::Bits { offset: *offset, count: width.bits as u8, value });
    Reply::Int(if matches!(action, Action::Set(_)) { before } else { after })
}
