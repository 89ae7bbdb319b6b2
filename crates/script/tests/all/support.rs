//! An interpreter whose only command is PING.

use bytes::Bytes;
use std::cell::Cell;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;
use tidemark_core::Reply;
use tidemark_script::{Ended, Header, Host, Interpreter, Limits, Script, sha1_hex};

/// Its clock advances by a millisecond whenever the interpreter looks at it, which is after a number of instructions: a
/// script is stopped at the same instruction on every machine.
pub(crate) struct Fixed {
    looks: Rc<Cell<u32>>,
    pub(crate) logged: Rc<Cell<usize>>,
}

impl Host for Fixed {
    fn computed(&self) -> Duration {
        self.looks.set(self.looks.get() + 1);
        Duration::from_millis(u64::from(self.looks.get()))
    }

    fn log(&self, _: u8, _: &str) {
        self.logged.set(self.logged.get() + 1);
    }

    fn knows(&self, command: &[u8]) -> bool {
        command == b"set"
    }
}

pub(crate) struct Fixture {
    interpreter: Interpreter<Fixed>,
    /// The number of times that the interpreter has looked at the clock.
    pub(crate) looks: Rc<Cell<u32>>,
    pub(crate) logged: Rc<Cell<usize>>,
    pub(crate) limits: Limits,
    /// How many commands were carried out.
    pub(crate) calls: usize,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let (looks, logged) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let host = Fixed { looks: looks.clone(), logged: logged.clone() };
        let limits = Limits { run: Duration::from_secs(20), memory: 64 << 20 };
        let interpreter = Interpreter::new(host).expect("there is memory");
        Self { interpreter, looks, logged, limits, calls: 0 }
    }

    /// How a script ends: PING answers, any other command is an error.
    pub(crate) fn end(&mut self, source: &str) -> Ended {
        self.end_function(source, None)
    }

    /// Loads a library: its name.
    pub(crate) fn load(&mut self, source: &str) -> Reply {
        let header = match Header::of(source.as_bytes()) {
            Ok(header) => header,
            Err(why) => return Reply::Error(format!("ERR {why}").into()),
        };
        match self.interpreter.library(header.body, &sha1_hex(source.as_bytes()), self.limits) {
            Ok(_) => Reply::Bulk(header.name.into()),
            Err(error) => error,
        }
    }

    /// How a function of a library ends, which may begin with its first line.
    pub(crate) fn end_function(&mut self, source: &str, function: Option<&str>) -> Ended {
        let sha = sha1_hex(source.as_bytes());
        let source = Header::of(source.as_bytes()).map_or(source.as_bytes(), |header| header.body);
        let script = Script { source, sha: &sha, function, keys: &[], arguments: &[], seed: 0 };
        let calls = &mut self.calls;
        let mut call = |words: &[Bytes], _: bool| {
            *calls += 1;
            match &words[0][..] {
                b"ping" => Reply::Simple("PONG".into()),
                b"echo" => Reply::Bulk(words[1].clone()),
                _ => Reply::error("ERR Unknown Redis command called from script"),
            }
        };
        self.interpreter.run(script, self.limits, &mut call)
    }

    /// What a script answers.
    pub(crate) fn run(&mut self, source: &str) -> Reply {
        match self.end(source) {
            Ended::Answered(Reply::Error(text)) => {
                Reply::Error(text.replace(&sha1_hex(source.as_bytes()), "SHA").into())
            }
            Ended::Answered(reply) => reply,
            Ended::Stopped(limit) => panic!("{source} was stopped: {limit}"),
        }
    }
}

/// A reply as RESP2 has it, on one line.
pub(crate) fn render(reply: &Reply) -> String {
    match reply {
        Reply::Null | Reply::NullArray => "nil".into(),
        Reply::Simple(text) => format!("+{text}"),
        Reply::Error(text) => format!("-{text}"),
        Reply::Int(int) => format!(":{int}"),
        Reply::Bulk(bytes) => quote(bytes),
        Reply::Double(double) => quote(double.to_string().as_bytes()),
        Reply::Decimal(text) | Reply::BigNumber(text) | Reply::Verbatim(_, text) => quote(text),
        Reply::Bool(yes) => format!(":{}", u8::from(*yes)),
        Reply::Map(pairs) => {
            let pairs = pairs.iter().flat_map(|(name, value)| [render(name), render(value)]);
            format!("[{}]", pairs.collect::<Vec<_>>().join(" "))
        }
        Reply::Array(all) | Reply::Set(all) => {
            format!("[{}]", all.iter().map(render).collect::<Vec<_>>().join(" "))
        }
        other => panic!("RESP2 has no {other:?}"),
    }
}

fn quote(bytes: &[u8]) -> String {
    let mut text = String::from('"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' => write!(text, "\\{}", char::from(*byte)),
            0x20..=0x7e => write!(text, "{}", char::from(*byte)),
            _ => write!(text, "\\x{byte:02x}"),
        }
        .expect("text can be written");
    }
    text + "\""
}
