//! Which checking groups answer an operation: those that its client names, where a protocol knows some.

use super::World;
use super::sessions::Role;
use tidemark_contract::Protocol;
use tidemark_contract::grouping::Members;
use tidemark_contract::session::Checking;
use tidemark_core::{CheckingGroup, Micros};
use tidemark_workload::Workload;

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

/// The checking groups that the clients of a workload name, of all that there are.
///
/// # Errors
/// There is none of that name: a sentence for the user.
pub(crate) fn groups_of(workload: &Workload, known: &[(CheckingGroup, Members)]) -> Result<Checking, String> {
    let number = |wanted: &str| {
        let group = known.iter().find(|(_, known)| known.name == wanted).map(|(group, _)| *group);
        group.ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(_, known)| known.name.as_str()).collect();
            format!("there is no checking group {wanted:?}, but {}", names.join(", "))
        })
    };
    workload.checking().into_iter().map(number).collect()
}
