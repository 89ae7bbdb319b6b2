//! Random commands against a vector, which is also what the other tests compare with.

use super::region::Region;

/// Executes a command on a vector. REQUIRES: it is one of those that are drawn here.
pub(crate) fn reference(list: &mut Vec<String>, command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<i64>().ok()).unwrap_or(0);
    let index = |at: usize, len: usize| if number(at) < 0 { number(at) + len as i64 } else { number(at) };
    let (name, len) = (words[0], list.len());
    let value = |value: &String| format!("'{value}'");
    let shown = |values: &[String]| format!("[{}]", values.iter().map(value).collect::<Vec<_>>().join(" "));
    let span = |start: i64, end: i64| {
        let (start, end) = (start.max(0) as usize, (end + 1).clamp(0, len as i64) as usize);
        if start >= end { 0..0 } else { start..end }
    };
    match name {
        "RPUSH" => list.extend(words[2..].iter().map(|word| word.to_string())),
        "LPUSH" => words[2..].iter().for_each(|word| list.insert(0, word.to_string())),
        "LPOP" | "RPOP" => {
            if list.is_empty() {
                return if words.len() > 2 { "nil-array" } else { "nil" }.into();
            }
            let count = if words.len() > 2 { number(2) as usize } else { 1 }.min(len);
            let mut popped: Vec<String> = match name {
                "LPOP" => list.drain(..count).collect(),
                _ => list.drain(len - count..).rev().collect(),
            };
            return if words.len() > 2 { shown(&popped) } else { value(&popped.remove(0)) };
        }
        "LRANGE" => return shown(&list[span(index(2, len), index(3, len))]),
        "LTRIM" => {
            *list = list[span(index(2, len), index(3, len))].to_vec();
            return "OK".into();
        }
        "LSET" => {
            let Some(there) = usize::try_from(index(2, len)).ok().and_then(|at| list.get_mut(at)) else {
                return if len == 0 { "ERR no such key" } else { "ERR index out of range" }.into();
            };
            *there = words[3].to_string();
            return "OK".into();
        }
        "LINSERT" => match list.iter().position(|value| value == words[3]) {
            _ if len == 0 => return "0".into(),
            None => return "-1".into(),
            Some(at) => list.insert(at + usize::from(words[2] == "AFTER"), words[4].to_string()),
        },
        "LREM" => return remove(list, number(2), words[3]).to_string(),
        "DEL" => return usize::from(!std::mem::take(list).is_empty()).to_string(),
        _ => panic!("{command} is not known here"),
    }
    list.len().to_string()
}

fn remove(list: &mut Vec<String>, count: i64, value: &str) -> usize {
    let mut places: Vec<usize> = (0..list.len()).filter(|at| list[*at] == value).collect();
    if count < 0 {
        places.reverse();
    }
    places.truncate(if count == 0 { usize::MAX } else { count.unsigned_abs() as usize });
    places.sort_unstable();
    places.iter().rev().for_each(|at| drop(list.remove(*at)));
    places.len()
}

/// A random command on the key `k`; `value` makes values.
pub(crate) fn command(
    random: &mut fastrand::Rng,
    len: usize,
    mut value: impl FnMut(&mut fastrand::Rng) -> String,
) -> String {
    let index = |random: &mut fastrand::Rng| random.i64(-(len as i64) - 2..len as i64 + 2);
    let pushed = |random: &mut fastrand::Rng, value: &mut dyn FnMut(&mut fastrand::Rng) -> String| {
        (0..[1, 1, 1, 2, 4][random.usize(..5)]).map(|_| format!(" {}", value(random))).collect::<String>()
    };
    let end = ["L", "R"][random.usize(..2)];
    match random.u8(..20) {
        0..7 => format!("{end}PUSH k{}", pushed(random, &mut value)),
        7..10 => format!("{end}POP k"),
        10 => format!("{end}POP k {}", random.usize(..4)),
        11..14 => format!("LSET k {} {}", index(random), value(random)),
        14 => format!("LTRIM k {} {}", random.usize(..2), -1 - random.i64(..2)),
        15 if random.u8(..4) == 0 => format!("LTRIM k {} {}", index(random), index(random)),
        16 if random.u8(..8) == 0 => "DEL k".into(),
        _ => format!("LRANGE k {} {}", index(random), index(random)),
    }
}

/// The same, also of those commands that look for a value, of which `there` are some.
pub(crate) fn any_command(
    random: &mut fastrand::Rng,
    there: &[String],
    mut value: impl FnMut(&mut fastrand::Rng) -> String,
) -> String {
    let sought = random.choice(there).cloned().unwrap_or_else(|| "nothing".into());
    match random.u8(..10) {
        0..2 => format!("LINSERT k {} {sought} {}", ["BEFORE", "AFTER"][random.usize(..2)], value(random)),
        2 => format!("LREM k {} {sought}", random.i64(-2..3)),
        _ => command(random, there.len(), value),
    }
}

#[test]
fn random_commands_answer_as_a_vector_does() {
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut region, mut list) = (Region::new(0), Vec::new());
        let values = random.usize(2..40);
        for _ in 0..150 {
            let command = any_command(&mut random, &list, |random| format!("v{}", random.usize(..values)));
            let expected = reference(&mut list, &command);
            assert_eq!(region.run(&command), expected, "seed {seed}, {command}");
            if random.u8(..8) == 0 {
                region.floor = tidemark_core::Hlc::at(region.clock);
                region.state.settle(region.floor, usize::MAX);
            }
        }
        assert_eq!(region.run("LRANGE k 0 -1"), reference(&mut list, "LRANGE k 0 -1"), "seed {seed}");
    }
}
