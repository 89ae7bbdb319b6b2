//! Which operations are done in interactive transactions. They are drawn once everything else is: so the schedule of a seed is
//! otherwise the same.

use super::{Act, Plan, Step};
use crate::options::Options;
use crate::rng::{Draw, Stream, stream};
use serde_json::Value;
use tidemark_core::Micros;

/// How long transactions may be open in schedules: some take longer.
const LIMITS_US: [Micros; 3] = [30_000, 300_000, 2_000_000];

/// How long they may be open in the schedule of a seed.
pub(crate) fn limit_us(seed: u64) -> Micros {
    stream(seed, Stream::Interactive).one(&LIMITS_US)
}

/// Lets sessions of `plan` begin transactions before so many of a hundred operations, and commit them a few operations later. Where
/// snapshots are kept that several regions have whole, some begin in those.
pub(super) fn draw(plan: &mut Plan, options: &Options) {
    let percent = options.interactive;
    if percent == 0 {
        return;
    }
    let bases = options.params.get("base_regions").and_then(Value::as_u64).unwrap_or_default();
    let mut rng = stream(plan.seed, Stream::Interactive);
    rng.one(&LIMITS_US);
    let far = plan.config.farthest_us();
    for script in &mut plan.scripts {
        let mut steps = std::mem::take(script).into_iter().peekable();
        while let Some(first) = steps.next() {
            if !matches!(first.act, Act::Op(_)) || !rng.chance(percent) {
                script.push(first);
                continue;
            }
            let base = bases > 0 && rng.chance(40);
            let regions = if base { 1 + rng.u64(0..bases) as u8 } else { 0 };
            script.push(Step::new(first.at, Act::Begin { regions }));
            let mut last = first.at;
            script.push(first);
            for _ in 0..rng.usize(0..4) {
                let Some(step) = steps.next_if(|step| matches!(step.act, Act::Op(_))) else { break };
                last = step.at;
                script.push(step);
            }
            let wait = if rng.chance(30) { rng.u64(0..far * 3) } else { 0 };
            script.push(Step::new(last + wait, Act::Commit { check: rng.chance(30) }));
        }
    }
}
