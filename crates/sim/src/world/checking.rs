//! Which checking groups answer an operation: those that its client names, where a protocol knows some.

use super::World;
use super::sessions::Role;
use tidemark_contract::{Checking, Protocol};
use tidemark_core::Micros;

impl<P: Protocol> World<'_, P> {
    /// What client `number` names in the step that it takes at `at`: in a schedule by chance, under load what its workload says.
    /// What is measured otherwise is what comes of naming none.
    pub(super) fn named_groups(&mut self, number: usize, at: Micros) -> Checking {
        if let Some(load) = &self.load {
            let drives = self.clients[number].role == Role::Driver;
            let driver = drives.then(|| load.drivers.get((number - load.first) / load.seats)).flatten();
            let named = driver.map(|driver| driver.checking.clone());
            return match named {
                Some(named) if !named.is_empty() => named,
                Some(_) => self.fitting_group(number),
                None => Checking::default(),
            };
        }
        if self.meter.is_some() { Checking::default() } else { self.checking(number, at) }
    }
}
