//! `tidemark edge watch`

use super::session::{Session, print_line};
use super::show;
use super::state::in_a_word;
use anyhow::bail;
use bytes::Bytes;
use std::collections::BTreeMap;
use tidemark_edge::client::Event;
use tidemark_edge::frames::Value;

/// Prints keys whenever they change, until `stop`, or after so many lines.
pub(super) async fn run(
    session: &mut Session,
    keys: Vec<Bytes>,
    count: Option<u64>,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    for key in &keys {
        session.driver.tell(Event::Watch { key: key.clone() });
    }
    let mut shown: BTreeMap<&Bytes, Value> = BTreeMap::new();
    let (mut lines, mut status) = (0, None);
    tokio::pin!(stop);
    session.changed.clear();
    session.changed.extend(keys.iter().cloned());
    loop {
        session.hear();
        if status.replace(session.client().status()) != Some(session.client().status()) {
            eprintln!("({})", in_a_word(session.client().status()));
        }
        if let Some(why) = session.refused() {
            bail!("{why}");
        }
        let changed = std::mem::take(&mut session.changed);
        for key in keys.iter().filter(|key| changed.contains(*key)) {
            let Some(value) = session.client().read(key) else { continue };
            // An own write that has come into the base shows as before.
            if shown.get(key).is_some_and(|before| same(before, &value)) {
                continue;
            }
            print_line(&line(session.json, key, &value));
            shown.insert(key, value);
            lines += 1;
            if count == Some(lines) {
                return Ok(());
            }
        }
        tokio::select! {
            () = session.driver.step() => {}
            () = &mut stop => return Ok(()),
        }
    }
}

/// Whether two values show the same, whenever they were written.
fn same(one: &Value, other: &Value) -> bool {
    one.hash() == other.hash()
}

fn line(json: bool, key: &[u8], value: &Value) -> Vec<u8> {
    match json {
        true => show::json_value(key, value).to_string().into_bytes(),
        false => [key, b" ", &show::one_line(value)].concat(),
    }
}
