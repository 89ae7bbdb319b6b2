//! Items that are taken out one by one.

/// Gives `each` the items, first to last, and leaves the memory of `items` to whoever fills it again. Where there is one item as
/// a rule: `Vec::drain` says the same, and is a call with a drop of its own.
#[inline]
pub fn take_each<T>(items: &mut Vec<T>, mut each: impl FnMut(T)) {
    items.reverse();
    while let Some(item) = items.pop() {
        each(item);
    }
}
