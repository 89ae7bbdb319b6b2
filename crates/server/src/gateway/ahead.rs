//! Looking ahead in what a client has sent: the keys of its next commands are fetched from memory beside each other.

use crate::run::shard::Engine;
use smallvec::SmallVec;
use tidemark_store::Sought;
use tidemark_wire::resp::arguments_ahead;

/// How many commands are looked at together: as many reads as a processor can have under way.
const COMMANDS: usize = 16;

/// Looks at the next commands in `buffer`; how many they are. A single one is not worth it.
#[inline]
pub(super) fn look(engine: &Engine, buffer: &[u8]) -> usize {
    let all = arguments_ahead(buffer).map(|[key, second, last]| Sought { key, elements: [second, last] });
    let all: SmallVec<[Sought<'_>; COMMANDS]> = all.take(COMMANDS).collect();
    if all.len() > 1 {
        engine.node.fetch(&all);
    }
    all.len()
}
