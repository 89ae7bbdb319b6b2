//! Values as people write them: `5ms`, `64MiB`, `10.0.0.1:6379`, `0-3`.

use schemars::JsonSchema;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

/// What is wrong with a value, and how it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadValue(String);

/// A length of time with its unit: `250us`, `5ms`, `1.5s`, `2m`, `1h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String", extend("pattern" = r"^[0-9]+(\.[0-9]+)?(us|ms|s|m|h)$"))]
pub struct Span(pub Duration);

/// A number of bytes: `512KiB`, `64MiB`, `1GB`, or a bare number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "SizeShape")]
pub struct Size(pub u64);

#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // only its schema is used
enum SizeShape {
    Bytes(u64),
    Text(#[schemars(extend("pattern" = r"^[0-9]+(\.[0-9]+)?(B|KB|KiB|MB|MiB|GB|GiB|TB|TiB)?$"))] String),
}

/// A host name or IP address, and a port: `10.0.0.1:6379`, `db1.example:7001`, `[::1]:7001`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String", extend("pattern" = r"^.+:[0-9]+$"))]
pub struct Address {
    /// The host, without the brackets of an IPv6 address.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// Which partitions a node holds: `"all"`, `[0, 1]`, `"0-3"` or `"0-3,6"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PartitionSet {
    /// Every partition.
    #[default]
    All,
    /// These ones, in ascending order.
    These(Vec<u16>),
}

const TIMES: &[(&str, f64)] = &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
const SIZES: &[(&str, f64)] = &[
    ("TiB", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
    ("MiB", 1024.0 * 1024.0),
    ("KiB", 1024.0),
    ("TB", 1e12),
    ("GB", 1e9),
    ("MB", 1e6),
    ("KB", 1e3),
    ("B", 1.0),
    ("", 1.0),
];

/// Splits `5.5ms` into its number and the factor of its unit.
fn measure(text: &str, units: &[(&str, f64)]) -> Option<(f64, f64)> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?;
    Some((number.parse().ok()?, *factor))
}

impl FromStr for Span {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = |why: &str| {
            BadValue(format!("{text:?} {why}; write a length of time as 250us, 5ms, 1.5s, 2m or 1h"))
        };
        let (number, factor) =
            measure(text.trim(), TIMES).ok_or_else(|| match text.trim().parse::<f64>() {
                Ok(_) => bad("has no unit"),
                Err(_) => bad("is no length of time"),
            })?;
        let micros = (number * factor * 1e6).round();
        if micros > 1e15 {
            return Err(bad("is longer than thirty years"));
        }
        Ok(Self(Duration::from_micros(micros as u64)))
    }
}

impl FromStr for Size {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad =
            || BadValue(format!("{text:?} is no size; write it as 512KiB, 64MiB, 1GB or a number of bytes"));
        let (number, factor) = measure(text.trim(), SIZES).ok_or_else(bad)?;
        let bytes = number * factor;
        if bytes > 1e18 { Err(bad()) } else { Ok(Self(bytes.round() as u64)) }
    }
}

impl FromStr for Address {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = |why: &str| {
            BadValue(format!("{text:?} {why}; write an address as 127.0.0.1:7001, host:7001 or [::1]:7001"))
        };
        let (host, port) = text.trim().rsplit_once(':').ok_or_else(|| bad("has no port"))?;
        let port = port.parse().map_err(|_| bad("has no port between 1 and 65535"))?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if port == 0 {
            return Err(bad("has no port between 1 and 65535"));
        }
        if host.is_empty() || host.contains(char::is_whitespace) || (bare.is_none() && host.contains(':')) {
            return Err(bad("has no host"));
        }
        Ok(Self { host: bare.unwrap_or(host).to_string(), port })
    }
}

impl FromStr for PartitionSet {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue(format!("{text:?} names no partitions; write \"all\", [0, 1] or \"0-3\""));
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let mut these = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u16 = first.trim().parse().map_err(|_| bad())?;
            let last: u16 = last.trim().parse().map_err(|_| bad())?;
            if first > last {
                return Err(bad());
            }
            these.extend(first..=last);
        }
        Ok(Self::from(these))
    }
}

impl From<Vec<u16>> for PartitionSet {
    fn from(mut these: Vec<u16>) -> Self {
        these.sort_unstable();
        these.dedup();
        Self::These(these)
    }
}

impl Address {
    /// Whether only this machine can reach it.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Whether it means every address of the machine, and so cannot be dialled.
    pub fn is_unspecified(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified())
    }

    /// Whether binding both on one machine must fail.
    pub fn clashes_with(&self, other: &Self) -> bool {
        let same_host = self.host == other.host || (self.is_loopback() && other.is_loopback());
        self.port == other.port && (same_host || self.is_unspecified() || other.is_unspecified())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}:{}", self.host, self.port)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_micros() {
            micros if micros % 1_000 != 0 => write!(f, "{micros}us"),
            micros if micros % 1_000_000 != 0 => write!(f, "{}ms", micros / 1_000),
            micros => write!(f, "{}s", micros / 1_000_000),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SIZES[..4].iter().find(|(_, factor)| self.0 > 0 && self.0.is_multiple_of(*factor as u64)) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / *factor as u64),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl fmt::Display for PartitionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::These(these) => {
                let these: Vec<String> = these.iter().map(u16::to_string).collect();
                f.write_str(&these.join(","))
            }
        }
    }
}

/// Text or a number, whichever stands in the file.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected text or a whole number")]
enum Scalar {
    Number(i64),
    Text(String),
}

macro_rules! reads_as_text {
    ($($type:ty),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = match Scalar::deserialize(deserializer)? {
                    Scalar::Number(number) => number.to_string(),
                    Scalar::Text(text) => text,
                };
                text.parse().map_err(de::Error::custom)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

reads_as_text!(Span, Size, Address);

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "partitions are \"all\", a list such as [0, 1], or a range such as \"0-3\"")]
enum PartitionSetShape {
    List(Vec<u16>),
    Text(#[schemars(extend("pattern" = r"^(all|[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)$"))] String),
}

impl<'de> Deserialize<'de> for PartitionSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match PartitionSetShape::deserialize(deserializer)? {
            PartitionSetShape::List(these) => Ok(Self::from(these)),
            PartitionSetShape::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

impl Serialize for PartitionSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for PartitionSet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PartitionSet".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        PartitionSetShape::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_need_a_unit() {
        let span = |text: &str| text.parse::<Span>().map(|span| span.0.as_micros());
        assert_eq!(span("5ms"), Ok(5_000));
        assert_eq!(span("1.5s"), Ok(1_500_000));
        assert_eq!(span("2 m"), Ok(120_000_000));
        assert!(span("5").unwrap_err().to_string().contains("has no unit"));
        assert!(span("soon").unwrap_err().to_string().contains("5ms"));
        assert!(span("-5ms").is_err() && span("").is_err() && span("99999999h").is_err());
        assert_eq!(Span(Duration::from_millis(1_500)).to_string(), "1500ms"); // time: nothing waits
    }

    #[test]
    fn sizes_know_both_kinds_of_units() {
        let size = |text: &str| text.parse::<Size>().map(|size| size.0);
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("1GB"), Ok(1_000_000_000));
        assert_eq!(size("17"), Ok(17));
        assert!(size("64 apples").is_err() && size("").is_err());
        assert_eq!(Size(64 << 20).to_string(), "64MiB");
        assert_eq!(Size(1_000_000).to_string(), "1000000B");
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        let address = |text: &str| text.parse::<Address>();
        assert_eq!(address("[::1]:7001").unwrap().to_string(), "[::1]:7001");
        assert!(address("localhost:1").unwrap().is_loopback());
        assert!(address("0.0.0.0:1").unwrap().is_unspecified());
        for wrong in ["", "host", ":1", "host:0", "host:99999", "::1:7001:", "a b:1"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn partitions_are_all_a_list_or_ranges() {
        assert_eq!("0-2,5".parse(), Ok(PartitionSet::These(vec![0, 1, 2, 5])));
        assert_eq!("all".parse(), Ok(PartitionSet::All));
        assert!("3-1".parse::<PartitionSet>().is_err() && "".parse::<PartitionSet>().is_err());
    }
}
