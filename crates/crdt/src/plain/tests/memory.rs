//! How many bytes are allocated for each element, compared to what Redis takes.

use crate::plain::{Ranked, Sequence, ShortBytes, Table};

/// Bytes of Redis's `listpack` with these strings: a header and an end mark, two bytes around each string.
fn listpack(strings: usize, length: usize) -> usize {
    7 + strings * (length + 2)
}

#[test]
fn small_tables_take_about_as_much_as_a_listpack() {
    let (mut hash, mut set) = (Table::<ShortBytes>::new(), Table::<()>::new());
    for number in 0..10u64 {
        let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
        hash.insert(&key, &key);
        set.insert(&key, ());
        let (fields, members) = (2 * (number as usize + 1), number as usize + 1);
        assert!(hash.memory() <= listpack(fields, 8) * 11 / 10 + 8, "{} for {fields}", hash.memory());
        assert!(set.memory() <= listpack(members, 8) * 11 / 10 + 8, "{} for {members}", set.memory());
    }
    assert!(hash.memory() <= listpack(20, 8), "{}", hash.memory());
    assert!(set.memory() <= listpack(10, 8) * 11 / 10, "{}", set.memory());
}

#[test]
fn small_sorted_sets_take_about_as_much_as_a_listpack() {
    let mut ranked = Ranked::new();
    (0..10u64).for_each(|number| _ = ranked.insert(&number.to_be_bytes(), number as f64 / 3.0));
    assert!(ranked.memory() <= listpack(20, 8), "{}", ranked.memory());
}

#[test]
fn small_lists_take_about_as_much_as_a_listpack() {
    let (mut list, mut length) = (Sequence::new(), 0);
    for number in 0..10u8 {
        let position = [b"0123456789".as_slice(), &[number, 2]].concat();
        list.insert(&position, &[number; 8]);
        length = position.len();
    }
    assert!(list.memory() <= (listpack(10, 8 + 3) + length) * 11 / 10, "{}", list.memory());
}

#[test]
fn large_structures_take_less_than_those_of_redis() {
    for len in [1000u64, 13_000, 100_000] {
        let (mut set, mut hash) = (Table::<()>::new(), Table::<ShortBytes>::new());
        let (mut rising, mut mixed) = (Ranked::new(), Ranked::new());
        for number in 0..len {
            let member = format!("{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            set.insert(member.as_bytes(), ());
            hash.insert(member.as_bytes(), &number.to_be_bytes());
            rising.insert(member.as_bytes(), number as f64);
            mixed.insert(member.as_bytes(), number.wrapping_mul(0x9E37_79B9_7F4A_7C15) as f64);
        }
        let bytes = |memory: usize| memory / len as usize;
        assert!(bytes(set.memory()) <= 60, "{len} members: {}", bytes(set.memory()));
        assert!(bytes(hash.memory()) <= 90, "{len} fields: {}", bytes(hash.memory()));
        assert!(bytes(rising.memory()) <= 90, "{len} in order: {}", bytes(rising.memory()));
        assert!(bytes(mixed.memory()) <= 100, "{len} in no order: {}", bytes(mixed.memory()));
    }
}

#[test]
fn tables_give_memory_back() {
    let mut set = Table::<()>::new();
    (0..100_000u32).for_each(|number| _ = set.insert(&number.to_be_bytes(), ()));
    let large = set.memory();
    (200..100_000u32).for_each(|number| assert!(set.remove(&number.to_be_bytes())));
    assert!(set.memory() < large / 50, "{} of {large}", set.memory());
    assert!((0..200u32).all(|number| set.contains(&number.to_be_bytes())));
}

#[test]
fn long_keys_and_values_are_counted_while_they_are_there() {
    let mut hash = Table::<ShortBytes>::new();
    (0..200u32).for_each(|number| _ = hash.insert(&number.to_be_bytes(), b"short"));
    let before = hash.memory();
    hash.insert(&[1; 100], &[2; 1000]);
    hash.insert(&0u32.to_be_bytes(), &[3; 10_000]);
    assert_eq!(hash.memory(), before + 11_100);
    hash.remove(&[1; 100]);
    hash.insert(&0u32.to_be_bytes(), b"short");
    assert!(hash.memory() < before + 100, "{} and {before}", hash.memory());
}

#[test]
fn lists_take_a_few_bytes_beside_the_values() {
    for len in [10u32, 1000, 100_000] {
        let (mut back, mut front, mut mixed) = (Sequence::new(), Sequence::new(), Sequence::new());
        for number in 0..len {
            let position = |number: u32| [b"0123456789".as_slice(), &number.to_be_bytes(), b"node"].concat();
            let value = u64::from(number).to_be_bytes();
            back.insert(&position(number), &value);
            front.insert(&position(len - number), &value);
            mixed.insert(&position(number.wrapping_mul(0x9E37_79B1)), &value);
        }
        let bytes = |list: &Sequence| list.memory() / len as usize;
        assert!(bytes(&back) <= 30, "{len} at the back: {}", bytes(&back));
        assert!(bytes(&front) <= 30, "{len} at the front: {}", bytes(&front));
        assert!(bytes(&mixed) <= 40, "{len} in no order: {}", bytes(&mixed));
    }
}
