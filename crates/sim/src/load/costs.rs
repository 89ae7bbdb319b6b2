//! What each kind of event costs the core of a server.

use crate::meter::Size;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Nanoseconds of one core. `tidemark sim calibrate` measures them on the real server.
///
/// A turn is what the server does between two looks at its sockets: everything that has arrived, one write to the
/// log, everything that is to leave. So under load many requests share what a turn costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Going to sleep when there is nothing to do, and waking up.
    pub wake_ns: f64,
    /// From when something arrives at a process that sleeps until it runs. It keeps no core busy, and is the same for servers,
    /// clients and the load generator.
    pub idle_ns: f64,
    /// A turn: looking at sockets and timers, the write to the log.
    pub turn_ns: f64,
    /// A question of a session: reading it from its connection and decoding it, the work it asks for.
    pub request_ns: f64,
    /// What a question that writes costs beyond one that reads: the version, and its place in the log.
    pub write_ns: f64,
    /// An answer to a session: encoding it and writing it to its connection.
    pub reply_ns: f64,
    /// A message to another server.
    pub send_ns: f64,
    /// A message from another server.
    pub receive_ns: f64,
    /// All that goes to one other server in a turn: one write to its link.
    pub link_ns: f64,
    /// All that comes from one other server in a turn: one read from its link.
    pub arrival_ns: f64,
    /// A version that is fed to another data centre.
    pub stream_ns: f64,
    /// A version that is received from another data centre.
    pub apply_ns: f64,
    /// A timer that fires.
    pub timer_ns: f64,
    /// Each byte of a key or a value that arrives or leaves.
    pub byte_ns: f64,
    /// Each byte of anything else that arrives or leaves: what the protocol does with its lists and vectors. It differs
    /// from protocol to protocol, see [`Calibration`].
    pub metadata_byte_ns: f64,
    /// An operation, at the load generator: its request and its answer.
    pub client_ns: f64,
    /// Going to sleep and waking up, at the load generator.
    pub client_wake_ns: f64,
}

/// What `tidemark sim calibrate` has measured, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The machine: processor, kernel, when.
    pub machine: String,
    /// What events cost, whatever the protocol.
    pub costs: Costs,
    /// What a byte of metadata costs where it differs from that, by protocol.
    #[serde(default)]
    pub metadata_byte_ns: BTreeMap<String, f64>,
}

impl Calibration {
    /// What events cost a server of this protocol.
    pub fn costs_of(&self, protocol: &str) -> Costs {
        let of = self.metadata_byte_ns.get(protocol).copied();
        Costs { metadata_byte_ns: of.unwrap_or(self.costs.metadata_byte_ns), ..self.costs }
    }
}

impl Costs {
    /// What the bytes of a message cost at one of its ends.
    pub(crate) fn bytes(&self, size: Size) -> f64 {
        size.payload as f64 * self.byte_ns + (size.bytes - size.payload) as f64 * self.metadata_byte_ns
    }

    /// Work that takes no time.
    pub const NONE: Self = Self {
        wake_ns: 0.0,
        idle_ns: 0.0,
        turn_ns: 0.0,
        request_ns: 0.0,
        write_ns: 0.0,
        reply_ns: 0.0,
        send_ns: 0.0,
        receive_ns: 0.0,
        link_ns: 0.0,
        arrival_ns: 0.0,
        stream_ns: 0.0,
        apply_ns: 0.0,
        timer_ns: 0.0,
        byte_ns: 0.0,
        metadata_byte_ns: 0.0,
        client_ns: 0.0,
        client_wake_ns: 0.0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_of_metadata_costs_what_it_costs_in_the_protocol() {
        let costs = Costs { metadata_byte_ns: 2.0, byte_ns: 0.5, ..Costs::NONE };
        let metadata_byte_ns = BTreeMap::from([("lists".to_string(), 9.0)]);
        let kept = Calibration { machine: "any".into(), costs, metadata_byte_ns };
        let size = Size { bytes: 110, payload: 100, ..Size::default() };
        assert_eq!(kept.costs_of("lists").bytes(size), 50.0 + 90.0);
        assert_eq!(kept.costs_of("vectors").bytes(size), 50.0 + 20.0);
    }
}
