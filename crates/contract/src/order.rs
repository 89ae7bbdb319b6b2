//! What an operator orders one server to do.

use crate::grouping::Regrouping;
use crate::removal::{Exclusion, Standing};
use crate::{Cx, Protocol};

/// An order, which may be lost, repeated, and late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// A step of doing without a data centre, or of taking it back.
    Exclusion(Exclusion),
    /// Groups are to change.
    Regrouping(Regrouping),
}

impl Order {
    /// Has `protocol` carry it out. The answer leaves once what it says is durable.
    ///
    /// # Errors
    /// Says why it is not carried out.
    pub fn carry_out<P: Protocol>(&self, protocol: &mut P, cx: &mut Cx<'_, P>) -> Result<Standing, String> {
        match P::EXTENSIONS.order {
            Some(obey) => obey(protocol, self, cx),
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
