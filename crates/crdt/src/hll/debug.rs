//! PFDEBUG: how a HyperLogLog is kept.

use super::sketch::{REGISTERS, Sketch};
use super::{CORRUPT, NOT_A_SKETCH};
use crate::args::is;
use crate::draft::{Answer, Draft};
use crate::modifier::Modifier;
use crate::string;
use bytes::Bytes;
use tidemark_core::Reply;

/// PFDEBUG with the name of what is asked for. GETREG only reads: Redis makes the sketch dense on the way.
pub(super) fn run(draft: &mut Draft<'_>, args: &[Bytes]) -> Answer {
    let Some((word, rest)) = args.split_first() else { return Err(crate::args::arity("pfdebug")) };
    let Some(value) = string::value(draft)? else {
        return Err(Reply::error("ERR The specified key does not exist"));
    };
    let sketch = Sketch::parse(&value).ok_or(NOT_A_SKETCH)?;
    let known = ["getreg", "decode", "encoding", "todense"].into_iter().find(|name| is(word, name));
    let named = String::from_utf8_lossy(word);
    let known =
        known.ok_or_else(|| Reply::Error(format!("ERR Unknown PFDEBUG subcommand '{named}'").into()))?;
    if !rest.is_empty() {
        let error = format!("ERR Wrong number of arguments for the '{named}' subcommand");
        return Err(Reply::Error(error.into()));
    }
    match known {
        "getreg" => registers(&sketch),
        "decode" => {
            Ok(Reply::Bulk(sketch.spelled().ok_or(Reply::error("ERR HLL encoding is not sparse"))?.into()))
        }
        "encoding" => Ok(Reply::Simple(if sketch.is_dense() { "dense" } else { "sparse" }.into())),
        _ => make_dense(draft, sketch),
    }
}

fn registers(sketch: &Sketch) -> Answer {
    let mut registers = vec![Reply::Int(0); REGISTERS];
    let whole = sketch.each(|register, run| registers[register] = Reply::Int(run.into()));
    if whole { Ok(Reply::Array(registers)) } else { Err(CORRUPT) }
}

fn make_dense(draft: &mut Draft<'_>, mut sketch: Sketch) -> Answer {
    if sketch.is_dense() {
        return Ok(Reply::Int(0));
    }
    sketch.make_dense().ok_or(CORRUPT)?;
    draft.modify(vec![Modifier::Registers { dense: true, registers: Vec::new() }]);
    Ok(Reply::Int(1))
}
