//! From a request to a command.
//!
//! GET and SET are recognised by their length and letters before the table is consulted. Keys are slices of the
//! read buffer; values are copied once, into what the store keeps.

use super::commands::string::{get, set};
use super::error::ErrorReply;
use super::table::{Handler, LocalFn, Spec, Table};
use super::task::Task;
use super::typed;
use bytes::Bytes;
use tidemark_wire::resp::Request;

/// A request that was understood.
pub struct Command {
    /// Which command it is.
    pub spec: &'static Spec,
    /// What there is to do.
    pub work: Work,
}

impl Command {
    /// How many commands of the client it stands for.
    #[inline]
    pub fn times(&self) -> usize {
        match &self.work {
            Work::Operations(task) => task.times(),
            Work::Local(_) => 1,
        }
    }
}

/// What there is to do for a command.
pub enum Work {
    /// Operations of the session.
    Operations(Task),
    /// Nothing that needs one: [`super::Connection::handle`] answers.
    Local(Call),
}

/// A command that the connection itself answers.
pub struct Call {
    pub(super) answer: LocalFn,
    /// What stands behind its name; names of subcommands are left out, too.
    pub arguments: Vec<Bytes>,
    /// The command behind its own arguments, which it concerns. It is to be carried out afterwards.
    pub command: Option<Box<Command>>,
}

/// What `request` asks for. Takes the arguments that it needs out of the request.
#[inline]
pub fn parse(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    parse_and_note(request, &mut None)
}

/// The same; notes the row once the request is known to have the right length.
#[inline]
pub(super) fn parse_and_note(
    request: &mut Request<'_>,
    row: &mut Option<&'static Spec>,
) -> Result<Command, ErrorReply> {
    if let [a, b, b't' | b'T'] = request[0] {
        match (a | 0x20, b | 0x20, request.len()) {
            (b'g', b'e', 2) => {
                return Ok(Command { spec: &get::SPEC, work: Work::Operations(get::parse(request)?) });
            }
            (b's', b'e', 3) => {
                return Ok(Command { spec: &set::SPEC, work: Work::Operations(set::parse(request)?) });
            }
            _ => {}
        }
    }
    parse_by_table(request, row)
}

fn parse_by_table(request: &mut Request<'_>, row: &mut Option<&'static Spec>) -> Result<Command, ErrorReply> {
    let spec = Table::get().resolve(request)?;
    *row = Some(spec);
    let work = match spec.handler {
        Handler::Operations(parse) | Handler::Blocking(parse) => Work::Operations(parse(request)?),
        Handler::Group(verb, keys) => {
            let (keys, args) = keys(request, spec)?;
            Work::Operations(typed::group(verb, (&keys, &args), request))
        }
        Handler::Typed(verb) => Work::Operations(typed::task(verb, spec.words(), request)),
        Handler::Local(answer) => {
            let arguments = (spec.words()..request.len()).map(|index| request.take(index)).collect();
            Work::Local(Call { answer, arguments, command: None })
        }
        Handler::Prefix { own, answer } => {
            let own = own(request)?;
            let arguments = (1..own).map(|index| Bytes::copy_from_slice(&request[index])).collect();
            let command =
                if own < request.len() { Some(Box::new(behind(spec, request, own)?)) } else { None };
            Work::Local(Call { answer, arguments, command })
        }
        Handler::Subcommands => return Err(ErrorReply::arity(spec.name)),
    };
    Ok(Command { spec, work })
}

/// The command behind the `own` arguments of a prefix.
fn behind(prefix: &Spec, request: &mut Request<'_>, own: usize) -> Result<Command, ErrorReply> {
    request.skip(own);
    // One inside the other would let a client nest as deep as its request is long.
    if let Some(Spec { name, handler: Handler::Prefix { .. }, .. }) = Table::get().command(&request[0]) {
        let (outer, inner) = (prefix.name.to_ascii_uppercase(), name.to_ascii_uppercase());
        return Err(ErrorReply::new(format!("ERR {inner} cannot stand behind {outer}")));
    }
    parse(request)
}
