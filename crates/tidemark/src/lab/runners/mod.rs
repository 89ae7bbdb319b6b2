//! What measures the points of experiments: the simulator, and clusters of real processes.

mod costs;
mod edge;
mod live;
mod schedules;
mod settings;
mod simulated;

pub(crate) use costs::Costs;
pub(crate) use edge::{Edge, EdgeCapacity, EdgeLatency, EdgeResponses, EdgeStorage};
pub(crate) use live::{Capacity, Live, LiveVisibility};
pub(crate) use schedules::Schedules;
pub(crate) use simulated::{Simulated, SimulatedLatency, SimulatedVisibility};
