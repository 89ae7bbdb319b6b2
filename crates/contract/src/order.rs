//! What an operator orders one server to do.

use crate::grouping::Regrouping;
use crate::removal::{Exclusion, Standing};
use crate::{Cx, Protocol, Topology};
use std::fmt;

/// An order, which may be lost, repeated, and late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// A step of doing without a data centre, or of taking it back.
    Exclusion(Exclusion),
    /// Groups are to change.
    Regrouping(Regrouping),
}

impl Order {
    /// Whether it is for one server, which tells all others; else every server has to be told.
    pub fn spreads(&self) -> bool {
        match self {
            Self::Exclusion(_) => false,
            Self::Regrouping(_) => true,
        }
    }

    /// Whether what it is about exists, as far as that can be told without the protocol.
    ///
    /// # Errors
    /// Says what does not.
    pub fn check(&self, topology: &Topology) -> Result<(), String> {
        match self {
            Self::Exclusion(order) if order.dc.index() >= topology.dcs => {
                Err("there is no such region".to_string())
            }
            Self::Exclusion(_) | Self::Regrouping(_) => Ok(()),
        }
    }

    /// Has `protocol` carry it out, which has these records ([`Recovered::records`](crate::Recovered)). The answer leaves once what it says is durable.
    ///
    /// # Errors
    /// Says why it is not carried out.
    pub fn carry_out<P: Protocol>(
        &self,
        protocol: &mut P,
        records: &[u64],
        cx: &mut Cx<'_, P>,
    ) -> Result<Standing, String> {
        match P::EXTENSIONS.order {
            Some(obey) => obey(protocol, self, records, cx),
            None => Err(self.unknown::<P>()),
        }
    }

    /// What a protocol says that does not know such orders.
    pub fn unknown<P: Protocol>(&self) -> String {
        match self {
            Self::Exclusion(_) => format!("{} cannot do without a region", P::INFO.name),
            Self::Regrouping(_) => format!("{} has no groups that could change", P::INFO.name),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exclusion(order) => write!(f, "region {}: {:?}", order.dc, order.step),
            Self::Regrouping(order) => write!(f, "groups: {order:?}"),
        }
    }
}
