//! Looking ahead: see [`tidemark_store::chains`].

use crate::host::Host;
use smallvec::SmallVec;
use tidemark_contract::Protocol;
use tidemark_store::Sought;

impl<P: Protocol> Host<P> {
    /// These keys and elements will be asked for soon: what their look-ups read is fetched for all of them at once.
    pub fn fetch<'a>(&'a self, all: &[Sought<'a>]) {
        let topology = &self.config.topology;
        // Loops: the iterators behind `SmallVec::collect` are not inlined in builds without optimisation at link time.
        let mut starts = SmallVec::<[_; 16]>::new();
        for sought in all {
            let at = self.place_of[topology.partition_of(sought.key).index()];
            if let Some(place) = self.places.get(at) {
                starts.push((&place.store, place.store.start(sought.key), sought));
            }
        }
        let mut ends = SmallVec::<[_; 16]>::new();
        for (store, start, sought) in &starts {
            if let Some(end) = store.probable(*start) {
                ends.push((*store, end, *sought));
            }
        }
        let entries = ends.iter().fold(0, |sum, (store, end, _)| sum ^ store.touch(*end));
        let values = ends.iter().fold(0, |sum, (store, end, _)| sum ^ store.touch_value(*end));
        let mut nears = SmallVec::<[_; 16]>::new();
        for (store, end, sought) in &ends {
            if let Some(near) = store.near(*end, sought.elements) {
                nears.push(near);
            }
        }
        let elements = nears.iter().fold(0, |sum, near| sum ^ near.touch());
        let their_values = nears.iter().fold(0, |sum, near| sum ^ near.touch_value());
        std::hint::black_box(entries ^ values ^ elements ^ their_values);
    }
}
