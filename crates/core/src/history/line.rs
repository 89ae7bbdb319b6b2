//! The file form of a history: one JSON object a line, told apart by `type`.
//!
//! Keys and values are bytes. In the file they are strings in which a backslash is doubled and a byte that is
//! not part of valid UTF-8 is written `\xNN`; everything else stands for itself. A version is
//! `[ts, origin, seq]`. An unknown field is an error: a misspelt `version` must not quietly turn a white-box
//! history into a black-box one.

use super::{Action, Event, Fate, Final, Header, Lost, Read, ReadKind, SessionId};
use crate::{DcId, Found, Guarantees, Hlc, Micros, Promise, Stamp, Value};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod text;
use text::Text;

/// The version of the file format that this code writes, and the newest it reads.
pub const FORMAT: u32 = 1;

/// One line of a history file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The first line.
    Header(Header),
    /// An operation.
    Event(Event),
    /// What a replica returns in the end.
    Final(Final),
    /// What a node lost.
    Lost(Lost),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Form {
    History(HeaderForm),
    Write(WriteForm),
    Read(ReadForm),
    Adopt(AdoptForm),
    Final(FinalForm),
    Lost(LostForm),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderForm {
    format: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protocol: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    promise: Option<Promise>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dcs: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<String>,
}

/// `[ts, origin, seq]`.
type StampForm = (u64, u8, u32);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FoundForm {
    #[serde(deserialize_with = "present")]
    value: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<StampForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFoundForm {
    key: Text,
    #[serde(deserialize_with = "present")]
    value: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<StampForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteForm {
    session: u64,
    #[serde(default)]
    dc: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    txn: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_us: Option<Micros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end_us: Option<Micros>,
    key: Text,
    #[serde(deserialize_with = "present")]
    value: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<StampForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observed: Option<FoundForm>,
    #[serde(default, skip_serializing_if = "is_ok")]
    outcome: Fate,
    #[serde(default, skip_serializing_if = "is_all")]
    asked: Guarantees,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadForm {
    session: u64,
    #[serde(default)]
    dc: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    txn: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_us: Option<Micros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end_us: Option<Micros>,
    #[serde(default)]
    kind: ReadKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    as_of_us: Option<Micros>,
    reads: Vec<KeyFoundForm>,
    #[serde(default, skip_serializing_if = "is_ok")]
    outcome: Fate,
    #[serde(default, skip_serializing_if = "is_all")]
    asked: Guarantees,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AdoptForm {
    session: u64,
    #[serde(default)]
    dc: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_us: Option<Micros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end_us: Option<Micros>,
    from: u64,
    events: u64,
    #[serde(default, skip_serializing_if = "is_ok")]
    outcome: Fate,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FinalForm {
    dc: u8,
    key: Text,
    #[serde(deserialize_with = "present")]
    value: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<StampForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LostForm {
    dc: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    from_us: Micros,
    to_us: Micros,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<Text>,
}

fn is_ok(fate: &Fate) -> bool {
    *fate == Fate::Ok
}

fn is_all(asked: &Guarantees) -> bool {
    *asked == Guarantees::ALL
}

/// Makes `null` an absence and a missing field an error: a forgotten value is neither a delete nor an absence.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Text>, D::Error> {
    Option::deserialize(deserializer)
}

fn stamp_form(stamp: Option<Stamp>) -> Option<StampForm> {
    stamp.map(|s| (s.ts.0, s.origin.0, s.seq))
}

fn stamp((ts, origin, seq): StampForm) -> Stamp {
    Stamp { ts: Hlc(ts), origin: DcId(origin), seq }
}

fn text(bytes: &[u8]) -> Text {
    Text(bytes.to_vec())
}

fn found(value: Option<Text>, version: Option<StampForm>) -> Found {
    Found::new(version.map(stamp), value.map(|v| v.value()))
}

fn value_form(value: &Option<Value>) -> Option<Text> {
    value.as_deref().map(text)
}

impl From<&Event> for Form {
    fn from(event: &Event) -> Self {
        let Event { fate: outcome, txn, start_us, end_us, asked, as_of_us, .. } = *event;
        let (SessionId(session), DcId(dc)) = (event.session, event.dc);
        match &event.action {
            Action::Write { key, value, version, observed } => {
                let form =
                    |f: &Found| FoundForm { value: value_form(&f.value), version: stamp_form(f.stamp) };
                let (version, observed) = (stamp_form(*version), observed.as_ref().map(form));
                Self::Write(WriteForm {
                    session,
                    dc,
                    txn,
                    start_us,
                    end_us,
                    key: text(key),
                    value: value_form(value),
                    version,
                    observed,
                    outcome,
                    asked,
                })
            }
            Action::Read { kind, reads } => {
                let form = |r: &Read| KeyFoundForm {
                    key: text(&r.key),
                    value: value_form(&r.found.value),
                    version: stamp_form(r.found.stamp),
                };
                Self::Read(ReadForm {
                    session,
                    dc,
                    txn,
                    start_us,
                    end_us,
                    kind: *kind,
                    as_of_us,
                    reads: reads.iter().map(form).collect(),
                    outcome,
                    asked,
                })
            }
            Action::Adopt { from: SessionId(from), events } => {
                let (from, events) = (*from, *events);
                Self::Adopt(AdoptForm { session, dc, start_us, end_us, from, events, outcome })
            }
        }
    }
}

impl From<WriteForm> for Event {
    fn from(f: WriteForm) -> Self {
        let action = Action::Write {
            key: f.key.key(),
            value: f.value.map(|v| v.value()),
            version: f.version.map(stamp),
            observed: f.observed.map(|o| found(o.value, o.version)),
        };
        let (start_us, end_us, asked) = (f.start_us, f.end_us, f.asked);
        let event = Self::new(SessionId(f.session), DcId(f.dc), action).with_fate(f.outcome);
        Self { txn: f.txn, start_us, end_us, asked, ..event }
    }
}

impl From<ReadForm> for Event {
    fn from(f: ReadForm) -> Self {
        let reads = f.reads.into_iter().map(|r| Read::new(r.key.key(), found(r.value, r.version)));
        let action = Action::Read { kind: f.kind, reads: reads.collect() };
        let (start_us, end_us, asked) = (f.start_us, f.end_us, f.asked);
        let event = Self::new(SessionId(f.session), DcId(f.dc), action).with_fate(f.outcome);
        Self { txn: f.txn, start_us, end_us, asked, as_of_us: f.as_of_us, ..event }
    }
}

impl From<AdoptForm> for Event {
    fn from(f: AdoptForm) -> Self {
        let action = Action::Adopt { from: SessionId(f.from), events: f.events };
        let event = Self::new(SessionId(f.session), DcId(f.dc), action).with_fate(f.outcome);
        Self { start_us: f.start_us, end_us: f.end_us, ..event }
    }
}

impl From<&Header> for Form {
    fn from(h: &Header) -> Self {
        let Header { protocol, promise, dcs, seed, about } = h.clone();
        Self::History(HeaderForm { format: FORMAT, protocol, promise, dcs, seed, about })
    }
}

impl From<&Final> for Form {
    fn from(f: &Final) -> Self {
        let (value, version) = (value_form(&f.found.value), stamp_form(f.found.stamp));
        Self::Final(FinalForm { dc: f.dc.0, key: text(&f.key), value, version })
    }
}

impl From<&Lost> for Form {
    fn from(l: &Lost) -> Self {
        let (node, keys) = (l.node.clone(), l.keys.iter().map(|key| text(key)).collect());
        Self::Lost(LostForm { dc: l.dc.0, node, from_us: l.from_us, to_us: l.to_us, keys })
    }
}

/// Serialises the parts of a history by reference, as the lines that [`Line`] reads.
macro_rules! serialize_as_form {
    ($($part:ty),*) => {$(
        impl Serialize for $part {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Form::from(self).serialize(serializer)
            }
        }
    )*};
}
serialize_as_form!(Header, Event, Final, Lost);

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Header(header) => header.serialize(serializer),
            Self::Event(event) => event.serialize(serializer),
            Self::Final(last) => last.serialize(serializer),
            Self::Lost(lost) => lost.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::History(HeaderForm { format, .. }) if format > FORMAT => {
                return Err(D::Error::custom(format!(
                    "format {format} is newer than this program, which reads up to {FORMAT}: use a newer one"
                )));
            }
            Form::History(HeaderForm { protocol, promise, dcs, seed, about, .. }) => {
                Self::Header(Header { protocol, promise, dcs, seed, about })
            }
            Form::Write(form) => Self::Event(form.into()),
            Form::Read(form) => Self::Event(form.into()),
            Form::Adopt(form) => Self::Event(form.into()),
            Form::Final(FinalForm { dc, key, value, version }) => {
                Self::Final(Final { dc: DcId(dc), key: key.key(), found: found(value, version) })
            }
            Form::Lost(LostForm { dc, node, from_us, to_us, keys }) => {
                let keys = keys.iter().map(Text::key).collect();
                Self::Lost(Lost { dc: DcId(dc), node, from_us, to_us, keys })
            }
        })
    }
}
