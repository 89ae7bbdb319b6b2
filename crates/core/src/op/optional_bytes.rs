//! A value that may be absent, on the wire: its bytes are shared.

use crate::Value;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
struct Shared(#[serde(with = "crate::op::shared_bytes")] Value);

pub(super) fn serialize<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.clone().map(Shared).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Ok(Option::<Shared>::deserialize(deserializer)?.map(|shared| shared.0))
}
