//! The client: Algorithm 1, and its side of 3 and 4.

use super::{GentleRain, STABLE_STAYS_HOME};
use tidemark_contract::one_round;
use tidemark_contract::prelude::*;

/// DT and GST of a session, what an answer adds to them, and what a snapshot contains (D7; its `dt` is 0 in
/// Algorithm 3, where `gst` is called `st`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Past {
    pub dt: Hlc,
    pub gst: Hlc,
}

impl one_round::Past for Past {
    type Said = Self;

    /// Algorithm 1 lines 4, 5 and 10; 3 and 4 lines 5 and 6.
    fn merge(&mut self, other: &Self) {
        self.dt = self.dt.max(other.dt);
        self.gst = self.gst.max(other.gst);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [&Vector::from(self.dt), &Vector::from(self.gst)])
    }

    fn abroad(&self) -> Self {
        Self { dt: Hlc::ZERO, gst: if STABLE_STAYS_HOME.kept() { Hlc::ZERO } else { self.gst } }
    }
}

impl From<Past> for Vector {
    fn from(at: Past) -> Self {
        Vector::from(at.gst)
    }
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Get(Key, Hlc),           // GETREQ k, gst
    Put(Key, Update, Past),  // PUTREQ k, v, dt; D1: and gst
    Snapshot(Vec<Key>, Hlc), // GETSNAPSHOT kset, gst
    Rotx(Several, Past),     // GETROTX kset, gst, dt
    Walk(Walk, Hlc),         // SCAN and COUNT, gst
    At(Vec<Key>, Micros),    // D11
    Conflicts(u32, Hlc),     // D9: gst
    Cover(Past, DcId),       // D5: wait for everything up to dt; from where (D10)
}

impl OneRound for GentleRain {
    type Past = Past;

    fn question(op: Option<Op>, home: DcId, past: &Past) -> Request {
        match op {
            Some(Op::Get { key }) => Request::Get(key, past.gst), // Algorithm 1 line 2
            Some(Op::Put { key, update }) => Request::Put(key, update, *past), // Algorithm 1 line 8
            Some(Op::Snapshot { keys }) => Request::Snapshot(keys, past.gst), // Algorithm 3 line 3
            Some(Op::Rotx { keys }) => Request::Rotx(keys.into(), *past), // Algorithm 4 line 3
            Some(Op::Query { keys, command }) => {
                Request::Rotx(Several { keys, command: Some(command) }, *past)
            }
            Some(Op::Conflicts { limit, .. }) => Request::Conflicts(limit, past.gst),
            Some(Op::At { keys, time }) => Request::At(keys, time), // D11
            Some(walk) => Request::Walk(Walk::of(&walk), past.gst),
            None => Request::Cover(*past, home), // D5
        }
    }
}
