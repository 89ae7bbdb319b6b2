//! Looking ahead: see [`tidemark_store::chains`].

use crate::host::Host;
use smallvec::SmallVec;
use tidemark_contract::Protocol;
use tidemark_store::Sought;

impl<P: Protocol> Host<P> {
    /// These keys and elements will be asked for soon: what their look-ups read is fetched for all of them at once.
    pub fn fetch<'a>(&'a self, all: &[Sought<'a>]) {
        let topology = &self.config.topology;
        let starts = all.iter().filter_map(|sought| {
            let at = self.place_of[topology.partition_of(sought.key).index()];
            let store = &self.places.get(at)?.store;
            Some((store, store.start(sought.key), sought))
        });
        let starts: SmallVec<[_; 16]> = starts.collect();
        let ends = starts.into_iter().filter_map(|(store, start, sought)| {
            let end = store.probable(start)?;
            Some((store, end, sought))
        });
        let ends: SmallVec<[_; 16]> = ends.collect();
        let entries = ends.iter().fold(0, |sum, (store, end, _)| sum ^ store.touch(*end));
        let values = ends.iter().fold(0, |sum, (store, end, _)| sum ^ store.touch_value(*end));
        let nears = ends.into_iter().filter_map(|(store, end, sought)| store.near(end, sought.elements));
        let nears: SmallVec<[_; 16]> = nears.collect();
        let elements = nears.iter().fold(0, |sum, near| sum ^ near.touch());
        let their_values = nears.iter().fold(0, |sum, near| sum ^ near.touch_value());
        std::hint::black_box(entries ^ values ^ elements ^ their_values);
    }
}
