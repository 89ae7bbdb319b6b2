//! Transactions of clients on their way to the region, one at a time.

use super::connection::Busy;
use super::{Answer, Ask, ConnectionId, Gateway, Why};
use crate::frames::{Body, Chain, Operation, OperationKind, ToClient};
use crate::rule::LOSSES_ARE_CERTAIN;
use bytes::Bytes;
use tidemark_core::{
    Acceptance, Command, EdgeTransaction, Failure, Guard, Hlc, Key, Update, Vector, Verb, Write,
};

/// After so long a client tries again, in milliseconds.
const AGAIN_MS: u64 = 100;

impl Gateway {
    /// Goes on with the transactions of a client.
    pub(super) fn transfer(&mut self, id: ConnectionId) {
        loop {
            let Some(connection) = self.connections.get_mut(&id) else { return };
            if connection.busy.is_some() || connection.refused || connection.forked {
                return;
            }
            let (Some(head), Some(hello)) = (connection.head, &connection.hello) else { return };
            let Some((body, sent_before)) = connection.queue.pop_front() else { return };
            if let Some((k, h_us)) = connection.retimed {
                // Nobody may take it with its old time, now that there will be another one.
                if body.k != k {
                    self.send(id, &ToClient::Missing { k: k - 1 });
                    continue;
                }
                if body.h_us <= h_us {
                    self.send(id, &ToClient::Retime { k });
                    continue;
                }
                connection.retimed = None;
            }
            if body.k <= head.k {
                self.send(id, &ToClient::Ack { k: body.k });
                continue;
            }
            let (first, check) = (hello.first, hello.check);
            let after_loss = head.k + 1 < first;
            if after_loss && LOSSES_ARE_CERTAIN.kept() && !self.has_lost(id) {
                return self.lacks_base(id);
            }
            let next = if after_loss { first } else { head.k + 1 };
            let Some(connection) = self.connections.get_mut(&id) else { return };
            if body.k > next {
                connection.queue.clear();
                return self.send(id, &ToClient::Missing { k: next - 1 });
            }
            let before = if after_loss { Chain::resumed(check) } else { Chain(head.digest) };
            let operations = body.operations.len() as u64;
            let chain = before.then(&body.encode());
            connection.busy = Some(Busy { k: body.k, h_us: body.h_us, chain, operations });
            let asked = transaction(connection.client, body, (before, chain), !sent_before);
            let asked = EdgeTransaction { after_loss, ..asked };
            self.ask(Why::Accept(id), Ask::Accept(Box::new(asked)));
        }
    }

    /// The guard of a client whose earlier transactions were not here.
    pub(super) fn caught_up(&mut self, id: ConnectionId, answer: &Answer) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if let Answer::Guard(guard) = answer
            && connection.head.is_none_or(|head| head.k < guard.k)
        {
            connection.head = Some(*guard);
        }
        self.transfer(id);
    }

    /// Whether transactions that the client has seen in its base were lost for good: the base that it was told of here has all of that base
    /// that is left, and does not have them.
    fn has_lost(&self, id: ConnectionId) -> bool {
        let Some(connection) = self.connections.get(&id).filter(|connection| connection.live) else {
            return false;
        };
        let (Some(hello), Some(regions)) = (&connection.hello, connection.channel) else { return false };
        self.guard(regions, connection).k + 1 < hello.first
    }

    /// What the client has in its base is not where its transactions are taken: the region, or after a restart that server, does not know yet that
    /// it has it.
    fn lacks_base(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.queue.clear();
        let client = connection.client;
        self.ask(Why::Catch(id), Ask::Guard(client));
        self.send(id, &ToClient::Behind { wait_ms: AGAIN_MS });
    }

    /// The region has answered to a transaction.
    pub(super) fn accepted(&mut self, id: ConnectionId, answer: Answer) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(Busy { k, h_us, chain, operations }) = connection.busy.take() else { return };
        let accepted = match answer {
            Answer::Accepted(accepted) => accepted,
            Answer::Failed(Failure::Refused(_)) => {
                return self.refuse(id, "REFUSED", "a transaction cannot be accepted as it is: its time is not above its base, or this cluster takes none");
            }
            // It may have been accepted, or will be.
            _ => Acceptance::Behind,
        };
        let first = connection.hello.as_ref().map_or(1, |hello| hello.first);
        let in_base = connection.in_base.max(first - 1);
        connection.forked = matches!(accepted, Acceptance::Forked(_));
        if accepted == Acceptance::Retime {
            connection.retimed = Some((k, h_us));
        }
        if matches!(accepted, Acceptance::Taken(_) | Acceptance::Known) {
            connection.head = Some(Guard { k, digest: chain.0 });
        } else {
            connection.queue.clear();
        }
        match accepted {
            Acceptance::Taken(without) => {
                for (operation, why) in without {
                    let (code, text) = why.split_once(' ').unwrap_or(("ERR", &why));
                    let (code, text) =
                        (Bytes::copy_from_slice(code.as_bytes()), Bytes::copy_from_slice(text.as_bytes()));
                    self.send(
                        id,
                        &ToClient::Refused { k, operation: u64::from(operation).min(operations), code, text },
                    );
                }
                self.send(id, &ToClient::Ack { k });
            }
            Acceptance::Known => self.send(id, &ToClient::Ack { k }),
            Acceptance::Missing(k) if k < in_base => self.lacks_base(id),
            Acceptance::Missing(k) => self.send(id, &ToClient::Missing { k }),
            Acceptance::Forked(k) => self.send(id, &ToClient::Forked { k }),
            Acceptance::Later(us) => {
                self.send(id, &ToClient::Later { wait_ms: us.div_ceil(1_000).min(10_000) })
            }
            Acceptance::Behind => self.send(id, &ToClient::Behind { wait_ms: AGAIN_MS }),
            Acceptance::Retime => self.send(id, &ToClient::Retime { k }),
        }
        self.transfer(id);
    }
}

/// A transaction as regions take it.
fn transaction(
    client: tidemark_core::ClientId,
    body: Body,
    (before, digest): (Chain, Chain),
    new: bool,
) -> EdgeTransaction {
    let mut updates: Vec<(Key, Vec<(u32, Update)>)> = Vec::new();
    for (place, Operation { key, kind }) in (0..).zip(body.operations) {
        let one = (place, update(kind));
        match updates.iter_mut().find(|(known, _)| known.0 == key) {
            Some((_, all)) => all.push(one),
            None => updates.push((Key(key), vec![one])),
        }
    }
    EdgeTransaction {
        client,
        k: body.k,
        h: Hlc::at(body.h_us),
        dep: Vector::from_entries(body.dep.0),
        before: before.0,
        digest: digest.0,
        new,
        after_loss: false,
        updates,
    }
}

fn update(kind: OperationKind) -> Update {
    let command = |verb, args: Vec<Bytes>| Update {
        command: Some(Box::new(Command::new(verb, args))),
        ..Update::put(Write::Remove)
    };
    let number = |number: i64| Bytes::from(number.to_string());
    match kind {
        OperationKind::Set(value) => Update::put(Write::Assign((&*value).into())),
        OperationKind::Delete => Update::put(Write::Remove),
        OperationKind::Add(amount) => command(Verb::IncrBy, vec![number(amount)]),
        OperationKind::MapSet(field, value) => command(Verb::HSet, vec![field, value]),
        OperationKind::MapDelete(field) => command(Verb::HDel, vec![field]),
        OperationKind::SetAdd(member) => command(Verb::SAdd, vec![member]),
        OperationKind::SetRemove(member) => command(Verb::SRem, vec![member]),
        OperationKind::MapAdd(field, amount) => command(Verb::HIncrBy, vec![field, number(amount)]),
        OperationKind::ListSet(position, value) => command(Verb::PutAt, vec![position, value]),
        OperationKind::ListRemove(position) => command(Verb::TakeAt, vec![position]),
    }
}
