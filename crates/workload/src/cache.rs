//! Which objects a client keeps: the one that was used longest ago is dropped first.

use std::collections::{BTreeMap, HashMap};
use tidemark_core::Key;

/// Kept objects, by when they were used last.
#[derive(Clone, Debug)]
pub struct Cache {
    capacity: usize,
    uses: u64,
    used: HashMap<Key, u64>,
    by_use: BTreeMap<u64, Key>,
}

impl Cache {
    /// Of so many objects at most.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, uses: 0, used: HashMap::new(), by_use: BTreeMap::new() }
    }

    /// An object is used. Whether it is a new one.
    pub fn touch(&mut self, key: &Key) -> bool {
        self.uses += 1;
        let before = self.used.insert(key.clone(), self.uses);
        if let Some(before) = before {
            self.by_use.remove(&before);
        }
        self.by_use.insert(self.uses, key.clone());
        before.is_none()
    }

    /// Drops what is too much.
    pub fn evict(&mut self) -> Vec<Key> {
        let mut gone = Vec::new();
        while self.used.len() > self.capacity {
            let Some((_, key)) = self.by_use.pop_first() else { break };
            self.used.remove(&key);
            gone.push(key);
        }
        gone
    }

    /// What is kept, in the order of use.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.by_use.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut cache = Cache::new(2);
        let key = |name| Key::from(name);
        assert_eq!(["a", "b", "a", "c"].map(|name| cache.touch(&key(name))), [true, true, false, true]);
        assert_eq!(cache.evict(), [key("b")]);
        assert_eq!(cache.keys().cloned().collect::<Vec<_>>(), [key("a"), key("c")]);
        assert!(cache.evict().is_empty());
        let mut none = Cache::new(0);
        none.touch(&key("a"));
        assert_eq!(none.evict(), [key("a")]);
    }
}
