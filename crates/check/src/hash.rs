//! The hash table of this crate: fast, with a fixed seed. Its order never reaches a result.

/// A hash map.
pub(crate) type Map<K, V> = hashbrown::HashMap<K, V, foldhash::fast::FixedState>;
