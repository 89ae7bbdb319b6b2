//! Values of CONFIG SET: the checks of Redis, and the form in which a value is kept.

use super::parameters::Kind;
use tidemark_core::Limit;
use tidemark_wire::resp::parse_i64;

/// The value as it is kept, or why it is refused. `before` is the value that it replaces.
pub(super) fn check(kind: Kind, value: &[u8], before: &str) -> Result<String, String> {
    let text = std::str::from_utf8(value).map_err(|_| "argument must be text")?;
    match kind {
        Kind::Fixed => Err("can't set immutable config".into()),
        Kind::Text => Ok(text.into()),
        Kind::Switch => match text.to_ascii_lowercase() {
            switch if switch == "yes" || switch == "no" => Ok(switch),
            _ => Err("argument must be 'yes' or 'no'".into()),
        },
        Kind::Choice(words) => match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
            Some(word) => Ok(word.to_string()),
            None => Err(format!("argument(s) must be one of the following: {}", words.join(", "))),
        },
        Kind::Policy => policy(&text.to_ascii_lowercase()).map(str::to_string),
        Kind::Number(low, high) => {
            let number = parse_i64(value).ok_or("argument couldn't be parsed into an integer")?;
            if !(low..=high).contains(&number) {
                return Err(format!("argument must be between {low} and {high} inclusive"));
            }
            Ok(number.to_string())
        }
        Kind::Memory => Ok(bytes(text).ok_or("argument must be a memory value")?.to_string()),
        Kind::Value => {
            let most = Limit::VALUE_BYTES as u64;
            match bytes(text).ok_or("argument must be a memory value")? {
                bytes if (1..=most).contains(&bytes) => Ok(bytes.to_string()),
                _ => Err(format!("argument must be between 1 and {most} inclusive")),
            }
        }
        Kind::MemoryOrPercent => match text.strip_suffix('%') {
            None => Ok(bytes(text).ok_or("argument must be a memory or percent value")?.to_string()),
            Some(percent) => match percent.parse::<u64>() {
                Ok(..=100) => Ok(text.into()),
                Ok(_) => Err("percentage argument must be less or equal to 100".into()),
                Err(_) => Err("argument must be a memory or percent value".into()),
            },
        },
        Kind::Save => save(text),
        Kind::OutputLimits => output_limits(text, before),
        Kind::Percentiles => percentiles(text),
        Kind::Events => events(text),
    }
}

/// Policies of Redis that choose among keys by their use, or by chance.
const OTHER_POLICIES: [&str; 6] =
    ["volatile-lru", "volatile-lfu", "volatile-random", "allkeys-lru", "allkeys-lfu", "allkeys-random"];

fn policy(word: &str) -> Result<&str, String> {
    match word {
        "noeviction" | "volatile-ttl" => Ok(word),
        other if OTHER_POLICIES.contains(&other) => Err(format!(
            "'{other}' is not supported: use 'volatile-ttl', which evicts the keys that expire first, or 'noeviction'"
        )),
        _ => Err("argument(s) must be one of the following: volatile-ttl, noeviction".into()),
    }
}

/// Bytes written as `100`, `100b`, `1k` (1000), `1kb` (1024), `1m`, `1mb`, `1g`, `1gb`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

fn save(text: &str) -> Result<String, String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_good = |pair: &[&str]| match pair {
        [seconds, changes] => {
            seconds.parse::<i64>().is_ok_and(|seconds| seconds >= 1)
                && changes.parse::<i64>().is_ok_and(|changes| changes >= 0)
        }
        _ => false,
    };
    if words.chunks(2).all(is_good) { Ok(words.join(" ")) } else { Err("Invalid save parameters".into()) }
}

/// The classes of clients that have a limit of their own.
const CLASSES: [&str; 3] = ["normal", "slave", "pubsub"];

fn output_limits(text: &str, before: &str) -> Result<String, String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if !words.len().is_multiple_of(4) {
        return Err("Wrong number of arguments in buffer limit configuration.".into());
    }
    let mut limits = parse_limits(before);
    for word in words.chunks_exact(4) {
        let class = if word[0].eq_ignore_ascii_case("replica") { "slave" } else { word[0] };
        let class = CLASSES
            .iter()
            .position(|known| known.eq_ignore_ascii_case(class))
            .ok_or("Invalid client class specified in buffer limit configuration.")?;
        let (hard, soft, seconds) = (bytes(word[1]), bytes(word[2]), word[3].parse::<u64>().ok());
        let (Some(hard_bytes), Some(soft_bytes), Some(soft_seconds)) = (hard, soft, seconds) else {
            return Err("Error in hard, soft or soft_seconds setting in buffer limit configuration.".into());
        };
        limits[class] = OutputLimit { hard_bytes, soft_bytes, soft_seconds };
    }
    let shown = CLASSES.iter().zip(limits).map(|(class, limit)| {
        format!("{class} {} {} {}", limit.hard_bytes, limit.soft_bytes, limit.soft_seconds)
    });
    Ok(shown.collect::<Vec<_>>().join(" "))
}

/// How much output may wait for a client before it is disconnected; 0 stands for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputLimit {
    /// At once.
    pub hard_bytes: u64,
    /// After a while.
    pub soft_bytes: u64,
    /// How long a client may be above that.
    pub soft_seconds: u64,
}

/// The limits of the classes, as they are kept.
pub(super) fn parse_limits(text: &str) -> [OutputLimit; 3] {
    let mut limits = [OutputLimit::default(); 3];
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let number = |text: &str| text.parse().unwrap_or_default();
    for (limit, words) in limits.iter_mut().zip(words.chunks_exact(4)) {
        *limit = OutputLimit {
            hard_bytes: number(words[1]),
            soft_bytes: number(words[2]),
            soft_seconds: number(words[3]),
        };
    }
    limits
}

fn percentiles(text: &str) -> Result<String, String> {
    let parse = |word: &str| {
        let value: f64 = word.parse().map_err(|_| "Invalid latency-tracking-info-percentiles parameters")?;
        if (0.0..=100.0).contains(&value) {
            Ok(value.to_string())
        } else {
            Err("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
        }
    };
    let words: Result<Vec<String>, &str> = text.split_ascii_whitespace().map(parse).collect();
    Ok(words?.join(" "))
}

/// The classes of keyspace events that `A` stands for, in the order in which they are shown.
const ALL_EVENTS: &str = "g$lshzxetd";

fn events(text: &str) -> Result<String, String> {
    if text.chars().any(|letter| !"AKEmn".contains(letter) && !ALL_EVENTS.contains(letter)) {
        return Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".into());
    }
    let has = |letter: &char| text.contains(*letter);
    let all = has(&'A') || ALL_EVENTS.chars().all(|letter| has(&letter));
    let mut shown: String = if all { "A".into() } else { ALL_EVENTS.chars().filter(has).collect() };
    // Redis does not show the n behind an A, but tells of new keys.
    shown.extend(['n', 'K', 'E', 'm'].iter().filter(|letter| has(letter)));
    Ok(shown)
}
