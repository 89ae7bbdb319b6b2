//! The shortest sequence that still shows a difference: delta debugging.

use anyhow::Result;

/// A sequence of which no single part, and no larger piece that was tried, can be left out. `shows` replays a sequence and
/// says whether the difference is there; it is for `sequence`.
pub fn shrink<T: Clone>(sequence: &[T], mut shows: impl FnMut(&[T]) -> Result<bool>) -> Result<Vec<T>> {
    let mut kept = sequence.to_vec();
    let mut piece = kept.len().div_ceil(2);
    while piece > 0 && !kept.is_empty() {
        let mut at = 0;
        let mut shorter = false;
        while at < kept.len() {
            let end = (at + piece).min(kept.len());
            let without = [&kept[..at], &kept[end..]].concat();
            if !without.is_empty() && shows(&without)? {
                kept = without;
                shorter = true;
            } else {
                at = end;
            }
        }
        // A part that could not go before may be able to go now.
        piece = if piece == 1 && shorter { 1 } else { piece / 2 };
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_goes() {
        let all: Vec<u32> = (0..100).collect();
        let needs = |needed: &[u32]| {
            let shows = |some: &[u32]| Ok(needed.iter().all(|part| some.contains(part)));
            shrink(&all, shows).unwrap()
        };
        assert_eq!(needs(&[7, 50, 99]), [7, 50, 99]);
        assert_eq!(needs(&[42]), [42]);
        assert_eq!(needs(&[]).len(), 1);
    }
}
