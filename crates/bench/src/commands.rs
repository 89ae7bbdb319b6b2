//! Operations as commands of the Redis protocol, and what their replies mean.

use tidemark_core::{Op, Update, Write};
use tidemark_wire::resp::{Reply, encode_request};

/// Appends the command that does `op`.
pub(crate) fn encode(op: &Op, out: &mut Vec<u8>) {
    match op {
        Op::Get { key } => encode_request(out, &[b"GET", &key[..]]),
        Op::Put { key, update: Update { command: Some(command), .. } } => {
            let name = [command.verb.name().as_bytes(), &key[..]];
            let words: Vec<&[u8]> =
                name.into_iter().chain(command.args.iter().map(|word| &word[..])).collect();
            encode_request(out, &words);
        }
        Op::Put { key, update } => match &update.write {
            Write::Assign(value) => encode_request(out, &[b"SET", &key[..], value]),
            Write::Remove | Write::Apply(_) | Write::Group(_) => encode_request(out, &[b"DEL", &key[..]]),
        },
        Op::PutAll { writes } => {
            let pairs = writes.iter().filter_map(|(key, write)| Some([&key[..], write.value()?]));
            let words: Vec<&[u8]> = [&b"MSET"[..]].into_iter().chain(pairs.flatten()).collect();
            encode_request(out, &words);
        }
        Op::Rotx { keys } | Op::Snapshot { keys } => {
            let words: Vec<&[u8]> =
                [&b"MGET"[..]].into_iter().chain(keys.iter().map(|key| &key[..])).collect();
            encode_request(out, &words);
        }
        Op::At { keys, time } => {
            let time = format!("{}.{:06}", time / 1_000_000, time % 1_000_000);
            let words: Vec<&[u8]> = [&b"TIDE.AT"[..], time.as_bytes(), b"MGET"]
                .into_iter()
                .chain(keys.iter().map(|key| &key[..]))
                .collect();
            encode_request(out, &words);
        }
        Op::Scan { cursor, limit, .. } => {
            let (cursor, limit) = (cursor.to_string(), limit.to_string());
            encode_request(out, &[b"SCAN", cursor.as_bytes(), b"COUNT", limit.as_bytes()]);
        }
        Op::Conflicts { limit, .. } => {
            encode_request(out, &[&b"TIDE.CONFLICTS"[..], b"COUNT", limit.to_string().as_bytes()]);
        }
        Op::Count { .. } => encode_request(out, &[b"DBSIZE"]),
        Op::Query { keys, command } => {
            let name = [command.verb.name().as_bytes()];
            let keys = keys.iter().map(|key| &key[..]);
            let words: Vec<&[u8]> =
                name.into_iter().chain(keys).chain(command.args.iter().map(|word| &word[..])).collect();
            encode_request(out, &words);
        }
        Op::Transact(_) => unreachable!("no workload draws what clients put together"),
    }
}

/// How many keys were asked for by name, and of how many of them there was nothing.
pub(crate) fn found(op: &Op, reply: &Reply) -> (u64, u64) {
    match (op, reply) {
        (Op::Get { .. }, reply) => (1, u64::from(*reply == Reply::Null)),
        (Op::Rotx { .. } | Op::Snapshot { .. } | Op::At { .. }, Reply::Array(values)) => {
            let absent = values.iter().filter(|value| **value == Reply::Null).count();
            (values.len() as u64, absent as u64)
        }
        _ => (0, 0),
    }
}

/// The first word of an error: what failures are counted by.
pub(crate) fn first_word(error: &[u8]) -> String {
    let word = error.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
    String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{Command, Key, PartitionId, Update, Verb};

    fn words(op: &Op) -> String {
        let mut out = Vec::new();
        encode(op, &mut out);
        String::from_utf8(out).unwrap().replace("\r\n", " ")
    }

    #[test]
    fn every_operation_has_its_command() {
        let key = || Key::from("k");
        let put = |write| Op::Put { key: key(), update: Update::put(write) };
        let assign = || Write::Assign(b"v"[..].into());
        assert_eq!(words(&Op::Get { key: key() }), "*2 $3 GET $1 k ");
        assert_eq!(words(&put(assign())), "*3 $3 SET $1 k $1 v ");
        assert_eq!(words(&put(Write::Remove)), "*2 $3 DEL $1 k ");
        assert_eq!(words(&Op::Rotx { keys: vec![key(), key()] }), "*3 $4 MGET $1 k $1 k ");
        assert_eq!(words(&Op::Snapshot { keys: vec![key()] }), "*2 $4 MGET $1 k ");
        assert_eq!(words(&Op::PutAll { writes: vec![(key(), assign())] }), "*3 $4 MSET $1 k $1 v ");
        let scan = Op::Scan { partition: PartitionId(0), cursor: 0, limit: 50 };
        assert_eq!(words(&scan), "*4 $4 SCAN $1 0 $5 COUNT $2 50 ");
        let command = Box::new(Command::new(Verb::SMembers, Vec::new()));
        assert_eq!(words(&Op::Query { keys: vec![key()], command }), "*2 $8 smembers $1 k ");
        assert_eq!(words(&Op::Count { partition: PartitionId(0) }), "*1 $6 DBSIZE ");
    }

    #[test]
    fn what_is_not_there_is_counted_and_errors_have_a_first_word() {
        let rotx = Op::Rotx { keys: vec![Key::from("a"), Key::from("b")] };
        assert_eq!(found(&rotx, &Reply::Array(vec![Reply::Null, Reply::from("x")])), (2, 1));
        assert_eq!(found(&Op::Get { key: Key::from("a") }, &Reply::Null), (1, 1));
        assert_eq!(first_word(b"MOVED 3999 127.0.0.1:6381"), "MOVED");
        assert_eq!(first_word(b""), "");
    }
}
