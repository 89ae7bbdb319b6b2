//! Versions as streams carry them: three parts, without names.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tidemark_contract::Version;
use tidemark_core::{Stamp, Write};

pub(super) fn serialize<M: Serialize, S: Serializer>(v: &Version<M>, s: S) -> Result<S::Ok, S::Error> {
    (&v.stamp, &v.meta, &v.write).serialize(s)
}

pub(super) fn deserialize<'de, M: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Version<M>, D::Error> {
    let (stamp, meta, write): (Stamp, M, Write) = Deserialize::deserialize(deserializer)?;
    Ok(Version { stamp, meta, write })
}
