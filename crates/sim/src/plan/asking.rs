//! Which guarantees operations ask for, where a protocol lets them choose.

use super::{Act, Plan};
use crate::rng::{Draw, Rng, Stream, stream};
use tidemark_core::Guarantees;

/// Lets steps ask for less than everything: in part of the schedules none, in others some or most.
pub(super) fn draw(plan: &mut Plan) {
    let mut rng = stream(plan.seed, Stream::Guarantees);
    let choosy = rng.one(&[0, 20, 50, 90]);
    for step in plan.scripts.iter_mut().flatten() {
        if matches!(step.act, Act::Op(_)) && rng.chance(choosy) {
            step.asks = any(&mut rng);
        }
    }
}

/// None, one, or any: an operation that asks for one alone shows what that one is for.
fn any(rng: &mut Rng) -> Guarantees {
    let [monotonic_reads, read_your_writes, writes_follow_reads, monotonic_writes] = match rng.u32(0..6) {
        0 => [false; 4],
        1..=3 => {
            let (of_reads, of_writes) = (rng.bool(), rng.bool());
            [of_reads, !of_reads, of_writes, !of_writes]
        }
        _ => [rng.bool(), rng.bool(), rng.bool(), rng.bool()],
    };
    Guarantees { monotonic_reads, read_your_writes, writes_follow_reads, monotonic_writes }
}
