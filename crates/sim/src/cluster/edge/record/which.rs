//! Which transaction of a client it is that a region is asked to take: what is sent may have less than what was committed, and another number.

use super::super::super::Cluster;
use super::super::client::Client;
use super::{Record, written};
use tidemark_core::{EdgeTransaction, Op};

impl Cluster<'_> {
    /// By a value that only it writes; or what is left of it has none.
    pub(super) fn edge_record_of(&mut self, transaction: &EdgeTransaction) -> Option<&mut Record> {
        let updates = || {
            transaction.updates.iter().flat_map(|(key, updates)| updates.iter().map(move |one| (key, &one.1)))
        };
        let edge = self.edge();
        let (clients, records) = (&edge.clients, &mut edge.records);
        let mut values = updates().filter_map(|(_, update)| written(update));
        let by_value = values.find_map(|value| records.by_value.get(&value)).copied();
        let cid = |client: &Client<'_>| client.core.as_ref().map(|core| core.cid());
        let client = clients.iter().position(|client| cid(client) == Some(transaction.client.0));
        let all = |record: &Record| {
            updates().all(|(key, update)| {
                let is_it = |op: &Op| matches!(op, Op::Put { key: of, update: one } if of == key && written(one) == written(update));
                record.ops.iter().any(is_it)
            })
        };
        let last = |which: &dyn Fn(&Record) -> bool| {
            records.all.iter().rposition(|record| Some(record.client) == client && which(record))
        };
        let numbered = |record: &Record| record.k == transaction.k;
        // Under a new name the client counts anew.
        let renamed = |record: &Record| updates().next().is_some() && all(record);
        let at = by_value
            .or_else(|| last(&|record| numbered(record) && all(record)))
            .or_else(|| last(&renamed))
            .or_else(|| last(&numbered))?;
        Some(&mut records.all[at])
    }
}
