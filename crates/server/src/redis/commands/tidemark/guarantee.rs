//! TIDE.GUARANTEE.

use super::TIDEMARK;
use crate::redis::prelude::*;
use tidemark_core::Guarantees;

pub(super) static SPEC: Spec = Spec {
    name: "tide.guarantee",
    arity: -1,
    syntax: "[read=<eventual | monotonic-read | read-your-writes | both>] \
             [write=<eventual | writes-follow-reads | monotonic-writes | both>] [command [arg ...]]",
    summary: "Sets the session guarantees of the connection or, before a command, of that command only. \
              Without arguments it returns those of the connection.",
    remark: "Both are `both` at first, and again after RESET. Protocols without weaker operations accept the \
             command and provide their full guarantees: `heeded` in the reply to TIDE.GUARANTEE without \
             arguments tells which is the case.",
    handler: Handler::Prefix { own, answer },
    ..TIDEMARK
};

/// `guarantees` with the level that `word` names; none if it names none.
fn with_level(guarantees: Guarantees, word: &[u8]) -> Result<Option<Guarantees>, ErrorReply> {
    let Some(place) = word.iter().position(|byte| *byte == b'=') else { return Ok(None) };
    let level = String::from_utf8_lossy(&word[place + 1..]);
    let chosen = match &word[..place] {
        name if is(name, "read") => guarantees.with_reads(&level),
        name if is(name, "write") => guarantees.with_writes(&level),
        _ => return Ok(None),
    };
    chosen.map(Some).map_err(|unknown| ErrorReply::new(format!("ERR {unknown}")))
}

fn own(request: &Request<'_>) -> Result<usize, ErrorReply> {
    let mut own = 1;
    while own < request.len() && with_level(Guarantees::ALL, &request[own])?.is_some() {
        own += 1;
    }
    if own == 1 && own < request.len() {
        let word = String::from_utf8_lossy(&request[own]);
        return Err(ErrorReply::new(format!("ERR '{word}' is neither read=LEVEL nor write=LEVEL")));
    }
    Ok(own)
}

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let mut options = connection.options().clone();
    for word in &call.arguments {
        options.guarantees = with_level(options.guarantees, word)?.unwrap_or(options.guarantees);
    }
    if !call.arguments.is_empty() {
        connection.set_options(options, call, cx);
        return Ok(Next::Continue);
    }
    let full = format!("no: {} always provides its full guarantees", cx.info.protocol());
    let heeded = if cx.info.has_guarantees() { "yes" } else { &full };
    cx.out.map(3);
    for word in ["read", options.guarantees.reads(), "write", options.guarantees.writes(), "heeded", heeded] {
        cx.out.bulk(word);
    }
    Ok(Next::Continue)
}
