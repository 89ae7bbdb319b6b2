//! Which reads are reads at a time, and at which. They take the place of other reads, once everything else is drawn: so the
//! schedule of a seed is otherwise the same.

use super::{Act, Plan};
use crate::clocks::EPOCH_US;
use crate::rng::{Draw, Stream, stream};
use tidemark_core::{Micros, Op};

/// How long versions may be kept in schedules: some reads come too late.
const KEPT_US: [Micros; 3] = [50_000, 400_000, 2_000_000];

/// How long versions are kept in the schedule of a seed.
pub(crate) fn keep_us(seed: u64) -> Micros {
    stream(seed, Stream::Dated).one(&KEPT_US)
}

/// Makes some reads of `plan` reads at a time, which lies around the time of the step, or is that of another one: what is read at one
/// time by several sessions has to be the same.
pub(super) fn draw(plan: &mut Plan) {
    let mut rng = stream(plan.seed, Stream::Dated);
    let keep_us = rng.one(&KEPT_US);
    let (many, far) = (rng.one(&[20, 50, 80]), plan.config.farthest_us());
    let mut times: Vec<Micros> = Vec::new();
    for step in plan.scripts.iter_mut().flatten() {
        let (Act::Op(Op::Get { .. } | Op::Rotx { .. } | Op::Snapshot { .. }), true) =
            (&step.act, rng.chance(many))
        else {
            continue;
        };
        let time = if !times.is_empty() && rng.chance(40) {
            times[rng.usize(0..times.len())]
        } else {
            // Mostly before, of what is probably kept; now and then a little later.
            let before = rng.u64(0..(keep_us + keep_us / 4).min(step.at + 20 * far));
            let after = if rng.chance(20) { rng.u64(0..far) } else { 0 };
            (EPOCH_US as Micros + step.at + after).saturating_sub(before)
        };
        times.push(time);
        let keys = match &step.act {
            Act::Op(Op::Get { key }) => vec![key.clone()],
            Act::Op(Op::Rotx { keys } | Op::Snapshot { keys }) => keys.clone(),
            _ => continue,
        };
        step.act = Act::Op(Op::At { keys, time });
    }
}
