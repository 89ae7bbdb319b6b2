//! Takes the frames of a connection apart: what of their bytes the application has written, and what is beside it.
//!
//! It is both ends of the link once more, and decodes what really passed.

use tidemark_edge::frames::{
    Base, Change, ClientLink, GatewayLink, OperationKind, Tick, ToClient, ToGateway, Value,
};

/// Both ends of a connection, as bystanders.
#[derive(Debug, Default)]
pub(crate) struct Weigher {
    client: ClientLink,
    gateway: GatewayLink,
    base: Base,
}

/// A frame that carries updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    /// How many updates.
    pub(crate) updates: usize,
    /// All of its bytes.
    pub(crate) bytes: usize,
    /// What of these the application has written: values, names of fields, members.
    pub(crate) payload: usize,
    /// Of a notification: how much later its base is than the last one's, by the entry of each that is the oldest.
    pub(crate) since_us: u64,
}

impl Weigher {
    /// A frame leaves the client. Its weight, if it is a transaction.
    pub(crate) fn up(&mut self, frame: &[u8]) -> Option<Weight> {
        let decoded = self.gateway.decode(frame).ok()?;
        self.client.encode(&decoded).ok()?;
        if let ToGateway::Hello(hello) = &decoded {
            self.base = hello.base.clone();
        }
        let ToGateway::Transfer { body, .. } = decoded else { return None };
        let payload = body.operations.iter().map(|operation| written(&operation.kind)).sum();
        Some(Weight { updates: body.operations.len(), bytes: frame.len(), payload, since_us: 0 })
    }

    /// A frame arrives at the client. Its weight, if it is a notification; it may be one of nothing.
    pub(crate) fn down(&mut self, frame: &[u8]) -> Option<Weight> {
        let decoded = self.client.decode(frame).ok()?;
        self.gateway.encode(&decoded).ok()?;
        let ToClient::Tick(Tick { to, updates, .. }) = decoded else { return None };
        let payload = updates.iter().map(|update| changed(&update.change)).sum();
        let before = oldest_us(&self.base);
        let since_us = if before == 0 { 0 } else { oldest_us(&to).saturating_sub(before) };
        self.base = to;
        Some(Weight { updates: updates.len(), bytes: frame.len(), payload, since_us })
    }
}

fn oldest_us(base: &Base) -> u64 {
    base.0.iter().min().map_or(0, |entry| entry.micros())
}

fn written(kind: &OperationKind) -> usize {
    match kind {
        OperationKind::Delete => 0,
        // The number itself is what was asked for.
        OperationKind::Add(_) => 1,
        OperationKind::MapAdd(field, _) => field.len() + 1,
        OperationKind::Set(one)
        | OperationKind::MapDelete(one)
        | OperationKind::SetAdd(one)
        | OperationKind::SetRemove(one)
        | OperationKind::ListRemove(one) => one.len(),
        OperationKind::MapSet(field, value) | OperationKind::ListSet(field, value) => {
            field.len() + value.len()
        }
    }
}

fn changed(change: &Change) -> usize {
    match change {
        Change::Whole(value) => held(value),
        Change::Fields(set, gone) => {
            let set = set.iter().map(|(field, written)| field.len() + written.bytes.len());
            set.chain(gone.iter().map(|field| field.len())).sum()
        }
        Change::Set(added, gone) => added.iter().chain(gone).map(|member| member.len()).sum(),
    }
}

fn held(value: &Value) -> usize {
    match value {
        Value::Absent => 0,
        Value::String(written) => written.bytes.len(),
        Value::Map(fields) | Value::List(fields) => {
            fields.iter().map(|(field, written)| field.len() + written.bytes.len()).sum()
        }
        Value::Set(members) => members.iter().map(|member| member.len()).sum(),
        Value::Other(name) => name.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use tidemark_core::Hlc;
    use tidemark_edge::frames::{Body, Hello, NO_HASH, Operation, Secret, Update, Welcome, Written};

    fn base(at_us: u64) -> Base {
        Base(vec![Hlc::at(at_us), Hlc::at(at_us + 50)])
    }

    #[test]
    fn what_is_beside_the_payload_is_told_of_real_frames() {
        let (mut client, mut gateway) = (ClientLink::default(), GatewayLink::default());
        let mut weigher = Weigher::default();
        let (key, start) = (Bytes::from_static(b"record"), 1_000_000);
        let hello = Hello {
            secret: Secret([1; 32]),
            regions: 2,
            base: base(start),
            in_base: 0,
            first: 1,
            check: [0; 8],
            token: Bytes::new(),
        };
        let watch = ToGateway::Watch { reference: 0, key: key.clone(), have: NO_HASH };
        for frame in [ToGateway::Hello(hello), watch] {
            let bytes = client.encode(&frame).unwrap();
            gateway.decode(&bytes).unwrap();
            assert_eq!(weigher.up(&bytes), None);
        }
        let welcome = Welcome {
            region: 0,
            regions: 2,
            time_us: start,
            head: 0,
            check: [0; 8],
            period_ms: 1000,
            retain_ms: 60_000,
            covered: true,
            name: Bytes::new(),
        };
        let bytes = gateway.encode(&ToClient::Welcome(welcome)).unwrap();
        assert_eq!(weigher.down(&bytes), None);
        let field = |length| Written { at_us: start, bytes: vec![7; length].into() };
        let change = Change::Fields([(Bytes::from_static(b"field0"), field(100))].into(), [].into());
        let mut tick = |at_us, updates| {
            let tick = Tick { to: base(at_us), regions: 2, in_base: 0, check: [0; 8], have: 3, updates };
            gateway.encode(&ToClient::Tick(tick)).unwrap()
        };
        let bytes = tick(start + 700, vec![Update { reference: 0, change }]);
        let weight = weigher.down(&bytes).unwrap();
        assert_eq!((weight.updates, weight.payload, weight.bytes), (1, 106, bytes.len()));
        assert_eq!(weight.since_us, 700);
        let kind = OperationKind::MapSet(Bytes::from_static(b"field1"), vec![3; 100].into());
        let body =
            Body { k: 1, h_us: start + 900, dep: base(start), operations: vec![Operation { key, kind }] };
        let bytes = client.encode(&ToGateway::Transfer { body, sent_before: false }).unwrap();
        let weight = weigher.up(&bytes).unwrap();
        assert_eq!((weight.updates, weight.payload, weight.bytes), (1, 106, bytes.len()));
        assert!(weight.bytes - weight.payload < 20);
    }
}
