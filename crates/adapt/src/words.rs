//! Servers and times, as people write them.

use tidemark_contract::grouping::Servers;
use tidemark_core::ServerId;

/// Servers one after the other.
pub fn list(servers: &[ServerId]) -> String {
    let names: Vec<String> = servers.iter().map(ServerId::to_string).collect();
    match &names[..] {
        [] => "nowhere".to_string(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A time in microseconds.
pub fn ms(us: f64) -> String {
    let ms = us / 1000.0;
    if ms.abs() < 9.95 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

/// A server by its name.
pub(crate) fn parse(text: String) -> Result<ServerId, String> {
    let servers = Servers::try_from(text.clone())?;
    servers.one().ok_or_else(|| format!("{text} is not one server"))
}

/// A server in JSON: `"A/0"`.
pub(crate) mod name {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use tidemark_core::ServerId;

    pub(crate) fn serialize<S: Serializer>(server: &ServerId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(server)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ServerId, D::Error> {
        super::parse(String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Servers in JSON: `["A/0", "B/1"]`.
pub(crate) mod names {
    use crate::Touched;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use tidemark_core::ServerId;

    pub(crate) fn serialize<S: Serializer>(servers: &[ServerId], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(servers.iter().map(ServerId::to_string))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Touched, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        names.into_iter().map(super::parse).collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}
