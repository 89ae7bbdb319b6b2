//! What an operator orders a partition to do.

use crate::config::Now;
use crate::host::Host;
use crate::output::Output;
use tidemark_contract::Protocol;
use tidemark_contract::order::Order;
use tidemark_core::PartitionId;

impl<P: Protocol> Host<P> {
    /// Orders `to`, which is here, something. The answer is an output under this number, once it is durable.
    pub fn order(&mut self, now: Now, to: PartitionId, number: u64, order: &Order) {
        let mut answer = None;
        let records = self.place(to).applied(self.config.dc);
        self.event(now, to, |protocol, cx| answer = Some(order.carry_out(protocol, &records, cx)));
        if let Some(answer) = answer {
            let from = self.server(to);
            self.sends.push(Output::Ordered { number, from, answer });
        }
    }
}
