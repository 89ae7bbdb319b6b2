//! Operations in a row on one view, each with the writes of the earlier ones on top: programs, and what else becomes one version.

use super::Cx;
use super::typed::{answered, written_together};
use crate::Protocol;
use crate::cx::Before;
use crate::programs::rule::{PROGRAMS_ARE_WHOLE, VOID_WRITES_NOTHING};
use crate::programs::{self, Interpreted, Program};
use bytes::Bytes;
use tidemark_core::{Command, Condition, Failure, Found, Key, Op, Outcome, Reply, Stamp, Update};
use tidemark_crdt::series::Finished;
use tidemark_crdt::{Moment, Series, State};
use tidemark_store::Version;

const ELSEWHERE: &str = "Script attempted to access a key of another partition";

/// Carries out an operation of a series. The version has no stamp yet: [`Stamp::default`] stands for it.
pub(crate) fn carry_out(series: &mut Series, op: Op) -> Outcome {
    let elsewhere = || Outcome::Failed(Failure::Refused(ELSEWHERE.into()));
    let wrote = |wrote: bool| wrote.then(Stamp::default);
    match op {
        Op::Put { key, update: Update { command: Some(command), .. } } => match series.run(&key, &command) {
            Some((reply, changed)) => {
                let previous = Some(Found { reply: Some(Box::new(reply)), ..Found::default() });
                Outcome::Written { stamp: wrote(changed), previous }
            }
            None => elsewhere(),
        },
        Op::Put { key, update } => match series.overwrite(&key, &update) {
            Some((found, changed)) => {
                let told = update.returns_previous || update.condition != Condition::Always;
                let previous = (told || found.reply.is_some()).then_some(found);
                Outcome::Written { stamp: wrote(changed), previous }
            }
            None => elsewhere(),
        },
        Op::Get { key } => get(series, &key).map_or_else(elsewhere, Outcome::Found),
        Op::Rotx { keys } | Op::Snapshot { keys } => {
            let found: Option<Vec<Found>> = keys.iter().map(|key| get(series, key)).collect();
            found.map_or_else(elsewhere, Outcome::FoundAll)
        }
        Op::Query { keys, command } => {
            let answer = |key| {
                let (reply, _) = series.run(key, &command)?;
                Some(Found { reply: Some(Box::new(reply)), ..Found::default() })
            };
            let found: Option<Vec<Found>> = keys.iter().map(answer).collect();
            found.map_or_else(elsewhere, Outcome::FoundAll)
        }
        _ => Outcome::Failed(Failure::Refused("it concerns keys of all partitions".into())),
    }
}

/// The keys of an operation.
pub(crate) fn named(op: &Op) -> Vec<&Key> {
    match op {
        Op::Put { key, update } => {
            let more = update.command.iter().flat_map(|command| &command.keys);
            std::iter::once(key).chain(more).collect()
        }
        Op::Get { key } => vec![key],
        Op::Rotx { keys } | Op::Snapshot { keys } | Op::Query { keys, .. } => keys.iter().collect(),
        _ => Vec::new(),
    }
}

/// What GET finds; none if the series has no such key.
fn get(series: &mut Series, key: &Key) -> Option<Found> {
    Some(match series.get(key)? {
        Ok(value) => Found::new(None, value),
        Err(reply) => Found { reply: Some(Box::new(reply)), ..Found::default() },
    })
}

impl<P: Protocol> Cx<'_, P> {
    /// Interprets a program on keys of this partition: one version changes them all.
    pub(super) fn interpret(
        &mut self,
        key: &Key,
        command: &Command,
        view: &P::View,
        moment: Moment,
        saw: &mut dyn FnMut(&Version<P::Meta>),
    ) -> Before {
        let keys = match self.together(key, command, view) {
            Ok(keys) => keys,
            Err(why) => return answered(why),
        };
        let changed = |(key, mark): (&&Key, &Bytes)| self.mark(key, view, moment.time, saw) != *mark;
        if keys.iter().zip(programs::watched(command)).any(changed) {
            return answered(Reply::NullArray);
        }
        let (writes, mut series) = (command.verb.writes(), Series::new(moment));
        let program = Program { command, keys: &keys, now: moment.time.micros() };
        let Interpreted { reply, void } = programs::interpret(program, &mut |op| {
            // Keys that a program does not declare are known when it comes to them.
            for named in named(&op) {
                if !series.has(named) && self.apart(&[key, named]).is_none() {
                    self.refresh(named, view);
                    series.add(named.clone(), self.lend(named, view, writes, saw));
                }
            }
            carry_out(&mut series, op)
        });
        let Finished { changes, states } = series.finish();
        if self.is_fresh(view) {
            for (key, state) in states {
                if let Some(head) = self.store.head_mut(&key) {
                    *head = state;
                }
            }
        }
        let keys = if PROGRAMS_ARE_WHOLE.kept() { usize::MAX } else { 1 };
        if void && VOID_WRITES_NOTHING.kept() {
            return answered(reply);
        }
        written_together(answered(reply), key, changes.into_iter().take(keys), moment)
    }

    fn is_fresh(&self, view: &P::View) -> bool {
        P::EXTENSIONS.types.is_some_and(|types| (types.fresh)(view).is_some())
    }

    /// As [`Self::state`], without a copy: if the view is fresh, the store lacks the head of a key of a data type until it is given
    /// back.
    fn lend(
        &mut self,
        key: &Key,
        view: &P::View,
        writes: bool,
        saw: &mut dyn FnMut(&Version<P::Meta>),
    ) -> State {
        if let Some(object) = self.store.object(key).filter(|_| self.is_fresh(view)) {
            object.seen().iter().for_each(saw);
            return self.store.head_mut(key).map(std::mem::take).unwrap_or_default();
        }
        self.state(key, view, writes, saw).into_owned()
    }
}
