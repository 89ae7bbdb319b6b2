//! TIDE.AT.

use super::TIDEMARK;
use crate::redis::prelude::*;
use tidemark_core::Micros;

pub(super) static SPEC: Spec = Spec {
    name: "tide.at",
    arity: -4,
    flags: &["readonly"],
    keys: Keys { first: 3, last: -1, step: 1 },
    family: Family::Mget,
    syntax: "time <GET key | MGET key [key ...]>",
    summary: "Returns the value of a key, or of several, as of a physical time: what was newest then, in every region \
              the same.",
    remark: "The time is Unix time in seconds, with up to six decimals (`1732444800.25`), or negative: `-5` is five \
             seconds ago by this server's clock. The answer waits until nothing up to that time can come any more, and is \
             refused if the time lies in the future, or before what is kept: by default nothing is, and `keep` in \
             [protocol] says for how long, such as `keep = \"60s\"`. Only under `tidemark`, `causal-spartan-x` and `gentlerain`, where it is one \
             causally consistent snapshot, and `nukv`, where it is one of all writes with full guarantees.",
    handler: Handler::Operations(parse),
    ..TIDEMARK
};

const USAGE: ErrorReply = ErrorReply::fixed("ERR behind the time stands GET key or MGET key [key ...]");
const NO_TIME: ErrorReply = ErrorReply::fixed(
    "ERR the time is Unix time in seconds, such as 1732444800.25, or negative: -5 is five seconds ago",
);
const MILLISECONDS: ErrorReply =
    ErrorReply::fixed("ERR the time is in seconds, and that is thousands of years away");

/// Later than any time in seconds, and earlier than any in milliseconds that is of interest.
const SECONDS_MAX: u64 = 100_000_000_000;

/// A time that a client named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    At(Micros),
    Ago(Micros),
}

fn parse(request: &mut Request<'_>) -> Parsed {
    let time = time(&request[1])?;
    let one = match () {
        () if request.is(2, "get") && request.len() == 4 => true,
        () if request.is(2, "mget") => false,
        () => return Err(USAGE),
    };
    Ok(Task::several(ReadAt { time, keys: request.keys(3), one }))
}

/// The time that a word names.
fn time(word: &[u8]) -> Result<Named, ErrorReply> {
    let text = std::str::from_utf8(word).map_err(|_| NO_TIME)?;
    let (ago, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (seconds, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let number = |digits: &str| match digits.bytes().all(|digit| digit.is_ascii_digit()) {
        true => digits.parse::<u64>().map_err(|_| NO_TIME),
        false => Err(NO_TIME),
    };
    if decimals.is_empty() || decimals.len() > 6 {
        return Err(NO_TIME);
    }
    let (seconds, micros) = (number(seconds)?, number(&format!("{decimals:0<6}"))?);
    if seconds >= SECONDS_MAX {
        return Err(MILLISECONDS);
    }
    let micros = seconds * 1_000_000 + micros;
    Ok(if ago { Named::Ago(micros) } else { Named::At(micros) })
}

struct ReadAt {
    time: Named,
    keys: Vec<Key>,
    one: bool,
}

impl Steps for ReadAt {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let time = match self.time {
            Named::At(time) => time,
            Named::Ago(micros) => keyspace.now.saturating_sub(micros),
        };
        Ok(Step::Op(Op::At { keys: std::mem::take(&mut self.keys), time }))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let all = found_all(outcome)?;
        if !self.one {
            out.array(all.len());
        }
        all.iter().for_each(|found| value_or_null(found, out));
        Ok(Step::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_seconds_with_decimals_or_so_long_ago() {
        for (word, named) in [
            ("0", Named::At(0)),
            ("1732444800", Named::At(1_732_444_800_000_000)),
            ("1732444800.25", Named::At(1_732_444_800_250_000)),
            ("1.000001", Named::At(1_000_001)),
            ("-5", Named::Ago(5_000_000)),
            ("-0.000002", Named::Ago(2)),
        ] {
            assert_eq!(time(word.as_bytes()).unwrap(), named, "{word}");
        }
        for word in
            ["", "-", ".5", "5.", "1.0000001", "1e3", "+1", "5s", "now", "--5", "99999999999999999999999"]
        {
            assert_eq!(time(word.as_bytes()), Err(NO_TIME), "{word}");
        }
        assert_eq!(time(b"1732444800250"), Err(MILLISECONDS));
        assert_eq!(time(b"\xff"), Err(NO_TIME));
    }
}
