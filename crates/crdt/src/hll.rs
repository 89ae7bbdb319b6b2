//! HyperLogLogs: strings that estimate how many different elements were added to them, byte for byte as Redis keeps them.
//!
//! **Source.** Flajolet, Fusy, Gandouet and Meunier, "HyperLogLog", AofA 2007; the estimator is Ertl's (arXiv:1702.01284).

mod debug;
mod estimate;
mod hash;
mod sketch;
mod sparse;

use crate::draft::{Answer, Draft};
use crate::modifier::Modifier;
use crate::string;
use bytes::Bytes;
use estimate::estimate;
use sketch::{REGISTERS, Sketch};
use tidemark_core::{Reply, Verb};

const NOT_A_SKETCH: Reply = Reply::error("WRONGTYPE Key is not a valid HyperLogLog string value.");
const CORRUPT: Reply = Reply::error("INVALIDOBJ Corrupted HLL object detected");

/// Evaluates a command of HyperLogLogs on one key; none if it is another's.
pub(crate) fn run(verb: Verb, draft: &mut Draft<'_>, args: &[Bytes]) -> Option<Answer> {
    Some(match verb {
        Verb::PfAdd => add(draft, args),
        Verb::PfCount => count_one(draft, args),
        Verb::PfDebug => debug::run(draft, args),
        _ => return None,
    })
}

/// Whether a string is a HyperLogLog.
///
/// # Errors
/// It is another one.
pub(crate) fn check(value: &[u8]) -> Result<(), Reply> {
    if Sketch::is(value) { Ok(()) } else { Err(NOT_A_SKETCH) }
}

/// The sketch that the key holds, and whether it is new.
fn current(draft: &Draft<'_>) -> Result<(Sketch, bool), Reply> {
    match string::value(draft)? {
        Some(value) => Ok((Sketch::parse(&value).ok_or(NOT_A_SKETCH)?, false)),
        None => Ok((Sketch::new(), true)),
    }
}

fn add(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let (mut sketch, new) = current(draft)?;
    let mut registers = Vec::new();
    for element in args {
        let (register, run) = hash::place(element);
        if sketch.raise(register, run).ok_or(CORRUPT)? {
            registers.push((register as u16, run));
        }
    }
    let changed = new || !registers.is_empty();
    if changed {
        sketch.forget_estimate();
        draft.modify(vec![Modifier::Registers { dense: false, registers }]);
    }
    Ok(Reply::flag(changed))
}

fn count_one(draft: &Draft<'_>, args: &[Bytes]) -> Answer {
    if !args.is_empty() {
        return Err(crate::args::SYNTAX);
    }
    let Some(value) = string::value(draft)? else { return Ok(Reply::Int(0)) };
    let sketch = Sketch::parse(&value).ok_or(NOT_A_SKETCH)?;
    let estimate = match sketch.estimate() {
        Some(known) => known,
        None => estimate(&sketch.histogram().ok_or(CORRUPT)?),
    };
    Ok(Reply::Int(estimate as i64))
}

/// Registers of several sketches, the highest of each.
struct Union {
    highest: Vec<u8>,
    dense: bool,
}

impl Union {
    fn of<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, Reply> {
        let mut union = Self { highest: vec![0; REGISTERS], dense: false };
        for value in values {
            let sketch = Sketch::parse(value).ok_or(NOT_A_SKETCH)?;
            union.dense |= sketch.is_dense();
            let highest = &mut union.highest;
            let whole = sketch.each(|register, run| highest[register] = highest[register].max(run));
            whole.then_some(()).ok_or(CORRUPT)?;
        }
        Ok(union)
    }
}

/// PFCOUNT of several keys: how many different elements were added to any of them. Keys that are not there are left out.
///
/// # Errors
/// One of them is not a HyperLogLog.
pub fn count(values: &[&[u8]]) -> Answer {
    let union = Union::of(values.iter().copied())?;
    let mut histogram = [0; 64];
    union.highest.iter().for_each(|run| histogram[usize::from(*run)] += 1);
    Ok(Reply::Int(estimate(&histogram) as i64))
}

/// PFMERGE: adds what was added to `sources`, of which the key may be one, to the key.
///
/// # Errors
/// One of them is not a HyperLogLog.
pub fn merge(draft: &mut Draft<'_>, sources: &[&[u8]]) -> Answer {
    let union = Union::of(sources.iter().copied())?;
    let (mut sketch, _) = current(draft)?;
    if union.dense {
        sketch.make_dense().ok_or(CORRUPT)?;
    }
    let mut registers = Vec::new();
    for (register, run) in union.highest.iter().enumerate().filter(|(_, run)| **run > 0) {
        if sketch.raise(register, *run).ok_or(CORRUPT)? {
            registers.push((register as u16, *run));
        }
    }
    sketch.forget_estimate();
    draft.modify(vec![Modifier::Registers { dense: union.dense, registers }]);
    Ok(Reply::Ok)
}

/// Raises registers of a string that is a HyperLogLog, or becomes one; another stays as it is.
pub(crate) fn raise(value: &mut Option<Vec<u8>>, dense: bool, registers: &[(u16, u8)]) {
    let sketch = match value.as_deref() {
        None => Some(Sketch::new()),
        Some(bytes) => Sketch::parse(bytes),
    };
    let raised = sketch.and_then(|mut sketch| {
        if dense {
            sketch.make_dense()?;
        }
        for (register, run) in registers {
            sketch.raise(usize::from(*register), *run)?;
        }
        sketch.forget_estimate();
        Some(sketch)
    });
    if let Some(sketch) = raised {
        *value = Some(sketch.as_bytes().to_vec());
    }
}
