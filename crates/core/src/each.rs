//! Items that are taken out one by one.

/// Gives `each` the items, first to last, and keeps the memory of `items` for those that follow. Made for lists that hold one item as
/// a rule: `Vec::drain` does the same by two calls that are not inlined, but moves no item that is not taken.
#[inline]
pub fn take_each<T>(items: &mut Vec<T>, mut each: impl FnMut(T)) {
    items.reverse();
    while let Some(item) = items.pop() {
        each(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_taken_in_order_and_their_memory_is_kept() {
        let mut items = vec![1, 2, 3];
        let (memory, mut taken) = (items.capacity(), Vec::new());
        take_each(&mut items, |item| taken.push(item));
        assert_eq!(taken, [1, 2, 3]);
        assert!(items.is_empty() && items.capacity() == memory);
    }
}
