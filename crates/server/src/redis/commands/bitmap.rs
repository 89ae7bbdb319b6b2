//! Bitmaps, in strings.

use crate::redis::prelude::*;

const BASE: Spec = Spec { group: Group::Bitmap, keys: Keys::FIRST, ..Spec::DEFAULT };

rows! { BASE;
    "setbit" SetBit 4 WRITE "2.2.0" "key offset value", "Sets a bit and returns the previous one.";
    "getbit" GetBit 3 FAST_READ "2.2.0" "key offset", "Returns a bit.";
    "bitcount" BitCount -2 READ "2.6.0" "key [start end [BYTE | BIT]]", "Counts the bits that are set.";
    "bitpos" BitPos -3 READ "2.8.7" "key bit [start [end [BYTE | BIT]]]", "Returns the first bit that is set, or clear.";
    "bitfield" BitField -2 WRITE "3.2.0" "key [GET encoding offset] [SET encoding offset value] \
        [INCRBY encoding offset increment] [OVERFLOW WRAP | SAT | FAIL]", "Reads and changes integers of any width.",
        "BITFIELD INCRBY sets bits: of two regions at once the later one counts.";
    "bitfield_ro" BitFieldRo -2 FAST_READ "6.0.0" "key [GET encoding offset ...]", "Reads integers of any width.";
}

group_rows! { BASE;
    "bitop" BitOp -4 WRITE FROM_SECOND by_row "2.6.0" "AND | OR | XOR | NOT destkey key [key ...]",
        "Combines strings bit by bit.", "Keys of several partitions: under `tidemark` alone.";
}
