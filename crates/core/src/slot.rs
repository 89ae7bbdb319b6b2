//! Where a key lives: one of 16,384 slots by CRC16 with `{hash tags}`, as in Redis Cluster.

/// The number of slots.
pub const SLOTS: u16 = 16_384;

/// A slot: every key belongs to exactly one, and slots map to partitions.
pub type Slot = u16;

/// How many bytes are summed at once.
const STRIDE: usize = 4;

/// CRC-16/XMODEM (polynomial 0x1021, initial value 0), the sum that Redis Cluster specifies. Table `n` has what a byte
/// adds that `n` others follow.
const fn tables() -> [[u16; 256]; STRIDE] {
    let mut tables = [[0; 256]; STRIDE];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut n = 0;
        while n < STRIDE {
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 };
                bit += 1;
            }
            tables[n][byte] = crc;
            n += 1;
        }
        byte += 1;
    }
    tables
}

static TABLES: [[u16; 256]; STRIDE] = tables();

#[inline]
fn crc16(bytes: &[u8]) -> u16 {
    let [t0, t1, t2, t3] = &TABLES;
    let (strides, rest) = bytes.as_chunks::<STRIDE>();
    let crc = strides.iter().fold(0u16, |crc, [a, b, c, d]| {
        let [high, low] = crc.to_be_bytes();
        t3[usize::from(high ^ a)] ^ t2[usize::from(low ^ b)] ^ t1[usize::from(*c)] ^ t0[usize::from(*d)]
    });
    rest.iter().fold(crc, |crc, byte| (crc << 8) ^ t0[usize::from((crc >> 8) as u8 ^ byte)])
}

/// The part of `key` that decides its slot: what stands between the first `{` and the next `}`, if that is
/// not empty, else the whole key.
fn hashed_part(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|b| *b == b'{') else { return key };
    let rest = &key[open + 1..];
    match rest.iter().position(|b| *b == b'}') {
        Some(close) if close > 0 => &rest[..close],
        _ => key,
    }
}

/// The slot of `key`.
#[inline]
pub fn slot_of(key: &[u8]) -> Slot {
    crc16(hashed_part(key)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from the Redis Cluster specification and `CLUSTER KEYSLOT` of redis-server 7.
    #[test]
    fn agrees_with_redis_cluster() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(crc16(b"12345678"), crc16(&[b"\0\0\0", &b"12345678"[..]].concat()));
        assert_eq!(slot_of(b"foo"), 12182);
        assert_eq!(slot_of(b"bar"), 5061);
        assert_eq!(slot_of(b""), 0);
    }

    #[test]
    fn only_a_non_empty_hash_tag_counts() {
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"{user1000}.followers"));
        assert_eq!(slot_of(b"foo{}{bar}"), crc16(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot_of(b"foo{{bar}}zap"), crc16(b"{bar") % SLOTS);
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
    }
}
