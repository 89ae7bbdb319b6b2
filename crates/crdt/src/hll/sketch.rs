//! The string of a HyperLogLog: a header of 16 bytes, and 16,384 registers of 6 bits, or a run-length code of them while that is
//! short.

use super::sparse::{Runs, raise, spell};

/// Registers of a sketch.
pub(super) const REGISTERS: usize = 16384;
/// Magic, encoding, three bytes that are not used, and the estimate.
pub(super) const HEADER: usize = 16;
const DENSE: usize = HEADER + REGISTERS * 6 / 8;
/// Where the estimate stands; its highest bit says that it is out of date.
const ESTIMATE: std::ops::Range<usize> = 8..16;
/// As long as a run-length code may become, with its header: Redis's default.
const LONGEST_SPARSE: usize = 3000;
/// The highest number that the run-length code can tell.
const HIGHEST_SPARSE: u8 = 32;

/// See above.
pub(super) struct Sketch(Vec<u8>);

impl Sketch {
    /// Without elements.
    pub(super) fn new() -> Self {
        let mut bytes = b"HYLL\x01".to_vec();
        bytes.resize(HEADER, 0);
        // One run of zeros, as long as all of it.
        bytes.extend([0x7f, 0xff]);
        Self(bytes)
    }

    /// Whether a string is a sketch.
    pub(super) fn is(bytes: &[u8]) -> bool {
        let fits = match bytes.get(4) {
            Some(0) => bytes.len() == DENSE,
            Some(1) => bytes.len() >= HEADER,
            _ => false,
        };
        fits && bytes.starts_with(b"HYLL")
    }

    /// A string as a sketch; none if it is not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        Self::is(bytes).then(|| Self(bytes.to_vec()))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn is_dense(&self) -> bool {
        self.0[4] == 0
    }

    /// Its run-length code in words; none if it has none.
    pub(super) fn spelled(&self) -> Option<String> {
        (!self.is_dense()).then(|| spell(&self.0[HEADER..]))
    }

    /// The estimate that is written in it, if it is up to date.
    pub(super) fn estimate(&self) -> Option<u64> {
        let estimate = u64::from_le_bytes(self.0[ESTIMATE].try_into().expect("eight bytes"));
        (estimate >> 63 == 0).then_some(estimate)
    }

    /// The estimate is out of date.
    pub(super) fn forget_estimate(&mut self) {
        self.0[ESTIMATE.end - 1] |= 0x80;
    }

    /// Calls `each` with all registers that are not zero. False if the code is corrupt.
    pub(super) fn each(&self, mut each: impl FnMut(usize, u8)) -> bool {
        if self.is_dense() {
            let runs = (0..REGISTERS).map(|register| (register, self.register(register)));
            runs.filter(|(_, run)| *run > 0).for_each(|(register, run)| each(register, run));
            return true;
        }
        let mut at = 0;
        for (value, len) in Runs(&self.0[HEADER..]) {
            let covered = at..at + len;
            if value > 0 && covered.end > REGISTERS {
                return false;
            }
            at = covered.end;
            if value > 0 {
                covered.for_each(|register| each(register, value));
            }
        }
        at == REGISTERS
    }

    /// How many registers hold each number; none if the code is corrupt.
    pub(super) fn histogram(&self) -> Option<[u32; 64]> {
        let mut histogram = [0; 64];
        histogram[0] = REGISTERS as u32;
        let whole = self.each(|_, run| {
            histogram[0] -= 1;
            histogram[usize::from(run)] += 1;
        });
        whole.then_some(histogram)
    }

    /// Raises a register; true if it was lower. None if the code is corrupt.
    pub(super) fn raise(&mut self, register: usize, run: u8) -> Option<bool> {
        if self.is_dense() {
            let higher = run > self.register(register);
            if higher {
                self.set_register(register, run);
            }
            return Some(higher);
        }
        if run <= HIGHEST_SPARSE
            && let Some(done) = raise(&mut self.0, HEADER, register, run, LONGEST_SPARSE)?
        {
            if done {
                self.forget_estimate();
            }
            return Some(done);
        }
        self.make_dense()?;
        self.raise(register, run)
    }

    /// Gives each register its own bits. None if the code is corrupt.
    pub(super) fn make_dense(&mut self) -> Option<()> {
        if self.is_dense() {
            return Some(());
        }
        let mut dense = Self(self.0[..HEADER].to_vec());
        dense.0[4] = 0;
        dense.0.resize(DENSE, 0);
        let whole = self.each(|register, run| dense.set_register(register, run));
        whole.then(|| *self = dense)
    }

    /// Where a register stands, and how many bits lie below it there.
    fn bits(register: usize) -> (usize, u32) {
        (HEADER + register * 6 / 8, (register * 6 % 8) as u32)
    }

    fn register(&self, register: usize) -> u8 {
        let (at, below) = Self::bits(register);
        let above = self.0.get(at + 1).copied().unwrap_or(0);
        (u16::from_le_bytes([self.0[at], above]) >> below) as u8 & 63
    }

    fn set_register(&mut self, register: usize, run: u8) {
        let (at, below) = Self::bits(register);
        let (mask, value) = ((63u16 << below).to_le_bytes(), (u16::from(run) << below).to_le_bytes());
        for byte in 0..2 {
            if mask[byte] > 0 {
                self.0[at + byte] = self.0[at + byte] & !mask[byte] | value[byte];
            }
        }
    }
}
