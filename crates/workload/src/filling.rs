//! What is written before anybody loads a store.

use crate::keys::hash;
use crate::{KeySpace, Pattern, Workload};
use fastrand::Rng;
use std::sync::Arc;
use tidemark_core::{Op, Update, Value, Write};

/// Fresh bytes, which nothing can compress.
pub(crate) fn value(rng: &mut Rng, bytes: usize) -> Value {
    let mut value = vec![0; bytes];
    rng.fill(&mut value);
    value.into()
}

impl Workload {
    /// The writes that fill the store, of client `number` of `clients`: every key once, between all of them. Of a social network it is
    /// what is not empty at first.
    pub fn load_ops(
        &self,
        keys: &Arc<KeySpace>,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn Iterator<Item = Op> + Send> {
        let mut rng = Rng::with_seed(hash(seed) ^ hash(number as u64));
        if let Pattern::Social { .. } = self.pattern {
            return Box::new(crate::social::filling(self, number, clients, rng));
        }
        let (bytes, keys) = (self.value_bytes, Arc::clone(keys));
        Box::new((number as u64..keys.loaded()).step_by(clients.max(1)).map(move |number| Op::Put {
            key: keys.key(number),
            update: Update::put(Write::Assign(value(&mut rng, bytes))),
        }))
    }
}
