//! What measures the points of experiments: the simulator, and clusters of real processes.

mod live;
mod settings;
mod simulated;

pub(crate) use live::{Capacity, Live, LiveVisibility};
pub(crate) use simulated::{Simulated, SimulatedVisibility};
