//! Kinds of values in a table.

use crate::plain::ShortBytes;

/// A kind of value: how a table keeps it, and how it shows it.
pub trait Slot: Clone + 'static {
    /// How callers give and see a value.
    type Ref<'a>: Copy;

    /// The value to keep.
    fn own(value: Self::Ref<'_>) -> Self;

    /// The value to show.
    fn show(&self) -> Self::Ref<'_>;

    /// The length in bytes that decides on packing; 0 if all values are equally long.
    fn size(value: Self::Ref<'_>) -> usize;

    /// Bytes that the value to keep allocates.
    fn heap(&self) -> usize;

    /// Reads where such bytes begin. The result says nothing.
    #[inline]
    fn touch(&self) -> u64 {
        0
    }

    /// The length in bytes of the packed value.
    fn packed_len(value: Self::Ref<'_>) -> usize;

    /// Writes the packed value into exactly [`Self::packed_len`] bytes. REQUIRES: its size is below 256.
    fn pack(value: Self::Ref<'_>, to: &mut [u8]);

    /// The packed value that `bytes` begin with.
    fn unpack(bytes: &[u8]) -> Self::Ref<'_>;
}

impl Slot for () {
    type Ref<'a> = ();

    #[inline]
    fn own((): ()) {}

    #[inline]
    fn show(&self) {}

    #[inline]
    fn size((): ()) -> usize {
        0
    }

    #[inline]
    fn heap(&self) -> usize {
        0
    }

    #[inline]
    fn packed_len((): ()) -> usize {
        0
    }

    #[inline]
    fn pack((): (), _: &mut [u8]) {}

    #[inline]
    fn unpack(_: &[u8]) {}
}

impl Slot for f64 {
    type Ref<'a> = f64;

    #[inline]
    fn own(value: f64) -> f64 {
        value
    }

    #[inline]
    fn show(&self) -> f64 {
        *self
    }

    #[inline]
    fn size(_: f64) -> usize {
        0
    }

    #[inline]
    fn heap(&self) -> usize {
        0
    }

    #[inline]
    fn packed_len(_: f64) -> usize {
        8
    }

    #[inline]
    fn pack(value: f64, to: &mut [u8]) {
        to.copy_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn unpack(bytes: &[u8]) -> f64 {
        f64::from_le_bytes(*bytes.first_chunk().expect("a packed number has eight bytes"))
    }
}

impl Slot for ShortBytes {
    type Ref<'a> = &'a [u8];

    #[inline]
    fn own(value: &[u8]) -> Self {
        Self::new(value)
    }

    #[inline]
    fn show(&self) -> &[u8] {
        self.as_slice()
    }

    #[inline]
    fn size(value: &[u8]) -> usize {
        value.len()
    }

    #[inline]
    fn touch(&self) -> u64 {
        self.as_slice().first().copied().map_or(0, u64::from)
    }

    #[inline]
    fn heap(&self) -> usize {
        self.heap()
    }

    #[inline]
    fn packed_len(value: &[u8]) -> usize {
        1 + value.len()
    }

    #[inline]
    fn pack(value: &[u8], to: &mut [u8]) {
        to[0] = value.len() as u8;
        to[1..].copy_from_slice(value);
    }

    #[inline]
    fn unpack(bytes: &[u8]) -> &[u8] {
        &bytes[1..1 + usize::from(bytes[0])]
    }
}
