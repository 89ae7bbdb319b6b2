//! Programs, streams and consumer groups.

use super::Drawer;
use crate::rng::Draw;
use crate::typed::program::{field_of, program};
use crate::typed::{Family, call};
use tidemark_core::{Key, Op, Verb};

/// Ids of the last so many entries of a stream are named in commands.
const LAST: u32 = 8;

impl Drawer {
    /// Reads of a program, or of a stream.
    pub(super) fn read_together(&mut self, key: &Key) -> Op {
        let beside = self.beside(key);
        let (hash, register) = (Family::Hash.of(key), Family::Register.of(&beside));
        match self.rng.u32(0..8) {
            0..=4 => {
                let ops = [Op::Get { key: register }, field_of(&hash, "e0"), field_of(&hash, "e1")];
                program(Verb::EvalRo, &ops, false)
            }
            5 => call(Verb::XLen, Family::Stream.of(key), &[]),
            6 => call(Verb::XRange, Family::Stream.of(key), &["-", "+"]),
            _ => {
                let log = Family::Log.of(key);
                call(Verb::XPending, log.clone(), &[&log.to_string(), "g"])
            }
        }
    }

    /// Writes of a program, or to a stream.
    pub(super) fn write_together(&mut self, key: &Key) -> Op {
        match self.rng.u32(0..10) {
            0..=3 => self.write_program(key),
            4..=5 => {
                let unique = self.unique();
                call(Verb::XAdd, Family::Stream.of(key), &["*", "v", &unique])
            }
            _ => self.log(key),
        }
    }

    /// Several writes at once. Of one in eight programs nothing happens.
    fn write_program(&mut self, key: &Key) -> Op {
        let (element, value) = (self.element(), self.unique());
        let by = self.rng.u32(1..10).to_string();
        let void = self.rng.u32(0..8) == 0;
        let beside = self.beside(key);
        let all = [
            call(Verb::HSet, Family::Hash.of(key), &[&element, &value]),
            call(Verb::Set, Family::Register.of(&beside), &[&value]),
            call(Verb::IncrBy, Family::Counter.of(&beside), &[&by]),
            call(Verb::SAdd, Family::Set.of(key), &[&value]),
            call(Verb::RPush, Family::List.of(key), &[&value]),
            call(Verb::XAdd, Family::Stream.of(key), &["*", "v", &value]),
            field_of(&Family::Hash.of(key), &element),
            call(Verb::HIncrBy, Family::Wild.of(key), &[&format!("n{element}"), &by]),
            call(Verb::Del, Family::Wild.of(key), &[]),
        ];
        let mut ops: Vec<Op> = all.into_iter().filter(|_| self.rng.chance(50)).collect();
        if ops.len() < 2 {
            ops = vec![
                call(Verb::HSet, Family::Hash.of(key), &["e0", &value]),
                call(Verb::HSet, Family::Hash.of(&beside), &["e1", &value]),
                call(Verb::Set, Family::Register.of(&beside), &[&value]),
            ];
        }
        program(Verb::Exec, &ops, void)
    }

    /// Anything, on a stream with consumer groups.
    fn log(&mut self, key: &Key) -> Op {
        let (log, unique) = (Family::Log.of(key), self.unique());
        let name = log.to_string();
        let group = if self.rng.chance(80) { "g" } else { "h" };
        let consumer = if self.rng.chance(50) { "a" } else { "b" };
        let old = format!("{}-1", self.values.saturating_sub(self.rng.u32(0..LAST)));
        let id = format!("{}-1", self.values);
        match self.rng.u32(0..32) {
            0..=9 => call(Verb::XAdd, log, &[&id, "v", &unique]),
            10..=13 => call(Verb::XGroupCreate, log, &[group, "0", "MKSTREAM"]),
            14..=18 => call(Verb::XReadGroup, log, &[&name, group, consumer, ">", "2", "0", "0"]),
            19 => call(Verb::XReadGroup, log, &[&name, group, consumer, ">", "1", "1", "0"]),
            20 => call(Verb::XReadGroup, log, &[&name, group, consumer, "0", "2", "0", "0"]),
            21..=23 => call(Verb::XAck, log, &[group, &old]),
            24 => call(Verb::XDel, log, &[&old]),
            25 => call(Verb::XTrim, log, &["MAXLEN", "3"]),
            26 => call(Verb::XClaim, log, &[&name, group, consumer, "0", &old]),
            27 => call(Verb::XAutoClaim, log, &[&name, group, consumer, "0", "0"]),
            28 => call(Verb::XGroupSetId, log, &[&name, group, &old]),
            29 => call(Verb::XGroupDelConsumer, log, &[&name, group, consumer]),
            30 => call(Verb::XGroupDestroy, log, &[&name, group]),
            _ => call(Verb::Del, log, &[]),
        }
    }
}
