//! Which guarantees and checking groups operations ask for, where a protocol lets them choose.

use super::{Act, Plan};
use crate::rng::{Draw, Rng, Stream, mix, stream};
use tidemark_contract::grouping::{Checking, CheckingGroup};
use tidemark_core::{Guarantees, Micros};

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

/// Which of the checking groups `known` the step of a session that begins at `at` asks for: mostly one that is the session's own,
/// or none; now and then another, or two.
pub(crate) fn checking(seed: u64, session: usize, at: Micros, known: &[CheckingGroup]) -> Checking {
    if known.is_empty() {
        return Checking::default();
    }
    let group = |number: u64| known[(number % known.len() as u64) as usize];
    let of_session = mix(mix(seed, Stream::Checking as u64), session as u64);
    let of_step = mix(of_session, at);
    match (of_session % 2, of_step % 8) {
        (0, 0..6) => Checking::default(),
        (1, 0..6) => [group(of_session >> 8)].into_iter().collect(),
        (_, 6) => [group(of_step >> 8)].into_iter().collect(),
        _ => [group(of_step >> 8), group(of_step >> 24)].into_iter().collect(),
    }
}
