//! Commands that write.

use super::operations::{Change, Operation, fits, of_words, words};
use super::session::{Session, print_line};
use super::verbs::{Write, all_bytes, bytes};
use crate::Usage;
use anyhow::{Context, bail};
use bytes::Bytes;
use serde_json::{Value as Json, json};
use std::ffi::OsString;
use std::io::BufRead;
use std::os::unix::ffi::OsStringExt;
use tidemark_edge::client::{Effect, Event};
use tidemark_edge::frames::Value;

impl Session {
    /// Commits a transaction, says so, and tries to deliver it. A counter is printed, too.
    pub(super) async fn write(
        &mut self,
        all: Vec<Operation>,
        counter: Option<(Bytes, Option<Bytes>)>,
    ) -> anyhow::Result<()> {
        let unknown = self.unknown_lists(&all);
        if !unknown.is_empty() {
            self.values(&unknown).await?;
        }
        self.hear();
        let mut transaction = self.client().begin();
        for (key, change) in all {
            match change {
                Change::List(edit) => edit.apply(&key, &mut transaction)?,
                Change::Plain(kind) => {
                    if let Some(value) = transaction.read(&key) {
                        fits(&key, &kind, &value)?;
                    }
                    transaction.push(key, kind);
                }
            }
        }
        let id = self.driver.commit(transaction);
        let mut number = None;
        for effect in self.driver.news() {
            match effect {
                Effect::Committed { id: one, k } if one == id => number = Some(k),
                Effect::CommitFailed { id: one, why } if one == id => {
                    bail!("nothing was written: {why}; is there room in {}?", self.path.display())
                }
                Effect::Changed { keys } => self.changed.extend(keys),
                _ => {}
            }
        }
        let number = number.context("the disk has not answered")?;
        let value = match counter {
            Some((key, field)) => self.counter(&key, field.as_ref()).await,
            None => None,
        };
        if !self.json {
            print_line(value.as_deref().unwrap_or(b"OK"));
        }
        let delivered = if self.goes_on { self.client().unsent() == 0 } else { self.deliver().await };
        if self.json {
            let value = value.and_then(|value| serde_json::from_slice::<Json>(&value).ok());
            let state = json!({
                "committed": number, "value": value, "delivered": delivered, "unsent": self.client().unsent()
            });
            print_line(state.to_string().as_bytes());
        }
        Ok(())
    }

    /// Lists that are edited, and that have to be read for that.
    fn unknown_lists(&self, all: &[Operation]) -> Vec<Bytes> {
        let edited =
            all.iter().filter(|(_, change)| matches!(change, Change::List(edit) if !edit.is_blind()));
        let unknown = edited.filter(|(key, _)| self.client().read(key).is_none());
        unknown.map(|(key, _)| key.clone()).collect()
    }

    /// The number that a counter has now, if it is known or can be asked for.
    async fn counter(&mut self, key: &Bytes, field: Option<&Bytes>) -> Option<Bytes> {
        self.driver.tell(Event::Watch { key: key.clone() });
        self.until(|client| client.base_regions() > 0 && client.read(key).is_some()).await;
        match (self.client().read(key)?, field) {
            (Value::String(written), None) => Some(written.bytes),
            (Value::Map(fields), Some(field)) => fields.get(field).map(|written| written.bytes.clone()),
            _ => None,
        }
    }
}

/// Whose number a write prints: a key, and maybe a field.
pub(super) fn counter_of(write: &Write) -> Option<(Bytes, Option<Bytes>)> {
    match write {
        Write::Incr { key, .. } => Some((bytes(key.clone()), None)),
        Write::Hincr { key, field, .. } => Some((bytes(key.clone()), Some(bytes(field.clone())))),
        _ => None,
    }
}

/// The writes of a transaction: an argument each, or a line of standard input each; in the shell words with ; between.
pub(super) fn read_transaction(writes: Vec<OsString>, in_shell: bool) -> anyhow::Result<Vec<Operation>> {
    let mut all = Vec::new();
    if in_shell {
        let words = all_bytes(writes);
        for words in words.split(|word| word == ";").filter(|words| !words.is_empty()) {
            all.extend(of_words(words.to_vec())?);
        }
    } else {
        let lines: Vec<Vec<u8>> = match writes.is_empty() {
            true => std::io::stdin().lock().split(b'\n').collect::<Result<_, _>>()?,
            false => writes.into_iter().map(OsString::into_vec).collect(),
        };
        for line in lines.iter().filter(|line| !line.trim_ascii().is_empty()) {
            all.extend(words(line).and_then(of_words).with_context(|| {
                format!("in {:?}, and so nothing was written", String::from_utf8_lossy(line))
            })?);
        }
    }
    if all.is_empty() {
        return Err(Usage("tx: there is no write, such as 'incr posts'".into()).into());
    }
    Ok(all)
}
