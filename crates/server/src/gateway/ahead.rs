//! Looking ahead in what a client has sent: the keys of its next commands are fetched from memory beside each other.

use crate::run::shard::Engine;
use smallvec::SmallVec;
use tidemark_wire::resp::first_arguments;

/// How many commands are looked at together: as many reads as a processor can have under way.
const COMMANDS: usize = 16;

/// Looks at the next commands in `buffer`; how many they are. A single one is not worth it.
#[inline]
pub(super) fn look(engine: &Engine, buffer: &[u8]) -> usize {
    let keys: SmallVec<[&[u8]; COMMANDS]> = first_arguments(buffer).take(COMMANDS).collect();
    if keys.len() > 1 {
        engine.node.fetch(&keys);
    }
    keys.len()
}
