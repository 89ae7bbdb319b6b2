//! What clients are told and do, written down for clients in other languages to be compared with.

use super::super::Cluster;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use tidemark_edge::client::Effect;
use tidemark_edge::transcript;

impl Cluster<'_> {
    /// From now on it is written down.
    pub(crate) fn transcribe(&mut self) {
        let about = json!({"about": format!("seed {}", self.plan.seed)});
        if let Some(edge) = &mut self.edge {
            edge.transcript = Some(format!("{about}\n"));
        }
    }

    pub(super) fn edge_transcribes(&mut self) -> bool {
        self.edge().transcript.is_some()
    }

    /// A line about a client.
    pub(super) fn edge_writes_down(&mut self, number: usize, mut line: Json) {
        if let Some(transcript) = &mut self.edge().transcript {
            line["client"] = json!(number);
            writeln!(transcript, "{line}").expect("a string takes all");
        }
    }

    /// A client was told something and wants something, and then shows the keys that have changed.
    pub(super) fn edge_notes(&mut self, number: usize, event: &Json, effects: &[Effect]) {
        let now = transcript::number(self.now);
        let told: Json = effects.iter().map(transcript::effect).collect();
        self.edge_writes_down(number, json!({"now": now, "event": event, "effects": told}));
        for effect in effects {
            let Effect::Changed { keys } = effect else { continue };
            for key in keys {
                let Some(core) = &self.edge().clients[number].core else { return };
                let found = core.read(key);
                self.edge_writes_down(number, transcript::read(key, found.as_ref()));
            }
        }
    }
}
