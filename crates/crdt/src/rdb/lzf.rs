//! LZF, the compression of strings in payloads.
//!
//! **Source.** Marc Lehmann's liblzf 3.6 with the settings of Redis: the same string becomes the same bytes, as a rule. Redis does
//! not clear its table between strings, and so may find a repetition that is not looked for here.

/// As many places as three bytes can lead to.
const PLACES: usize = 1 << 16;
/// The longest run of bytes that are no repetition.
const LITERAL: usize = 1 << 5;
/// How far back a repetition may refer.
const FAR: usize = 1 << 13;
/// The longest repetition.
const LONGEST: usize = (1 << 8) + (1 << 3);

/// Compresses strings one after the other.
#[derive(Default)]
pub(super) struct Compressor {
    /// Where three bytes were last seen: `base` and the position in the string, plus 1. Places below `base` are of earlier strings.
    seen: Vec<usize>,
    base: usize,
}

/// The bytes that were written, of which the last `literal` are a run whose length stands before them.
struct Out {
    bytes: Vec<u8>,
    literal: usize,
}

impl Out {
    /// Writes the length of the run; there is none if it is empty.
    fn end_run(&mut self) {
        let head = self.bytes.len() - self.literal - 1;
        match self.literal {
            0 => drop(self.bytes.pop()),
            literal => self.bytes[head] = literal as u8 - 1,
        }
    }

    fn begin_run(&mut self) {
        self.literal = 0;
        self.bytes.push(0);
    }

    fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
        self.literal += 1;
        if self.literal == LITERAL {
            self.end_run();
            self.begin_run();
        }
    }

    fn repeat(&mut self, back: usize, length: usize) {
        let length = length - 2;
        if length < 7 {
            self.bytes.push((back >> 8) as u8 | (length << 5) as u8);
        } else {
            self.bytes.extend([(back >> 8) as u8 | 7 << 5, (length - 7) as u8]);
        }
        self.bytes.push(back as u8);
    }
}

impl Compressor {
    /// The string, compressed to less than `most` bytes; none if it does not become that short.
    pub(super) fn compress(&mut self, bytes: &[u8], most: usize) -> Option<Vec<u8>> {
        if self.seen.is_empty() {
            self.seen = vec![0; PLACES];
        }
        let base = self.base;
        self.base += bytes.len() + 1;
        if bytes.len() < 3 {
            return None;
        }
        let mut out = Out { bytes: Vec::new(), literal: 0 };
        out.begin_run();
        let end = bytes.len();
        let mut at = 0;
        while at < end - 2 {
            let before = self.note(bytes, at, base);
            let repeats =
                |from: usize| from > 0 && at - from - 1 < FAR && bytes[from..from + 3] == bytes[at..at + 3];
            let Some(from) = before.filter(|from| repeats(*from)) else {
                if out.bytes.len() >= most {
                    return None;
                }
                out.push(bytes[at]);
                at += 1;
                continue;
            };
            if out.bytes.len() - usize::from(out.literal == 0) + 4 >= most {
                return None;
            }
            out.end_run();
            let length = common(bytes, from, at);
            out.repeat(at - from - 1, length);
            out.begin_run();
            at += length;
            if at >= end - 2 {
                break;
            }
            self.note(bytes, at - 2, base);
            self.note(bytes, at - 1, base);
        }
        if out.bytes.len() + 3 > most {
            return None;
        }
        bytes[at..].iter().for_each(|byte| out.push(*byte));
        out.end_run();
        Some(out.bytes)
    }

    /// Where the three bytes at a position were last seen in this string; from now on, it is there.
    fn note(&mut self, bytes: &[u8], at: usize, base: usize) -> Option<usize> {
        let three = (u32::from(bytes[at]) << 16) | (u32::from(bytes[at + 1]) << 8) | u32::from(bytes[at + 2]);
        let place = (three >> 8).wrapping_sub(three.wrapping_mul(5)) as usize % PLACES;
        let before = std::mem::replace(&mut self.seen[place], base + at + 1);
        before.checked_sub(base + 1)
    }
}

/// How many bytes are the same from both positions on. Like liblzf it may go a little beyond the longest repetition it looks for, in
/// steps of sixteen.
fn common(bytes: &[u8], from: usize, at: usize) -> usize {
    let most = (bytes.len() - at - 2).min(LONGEST);
    let mut length = 2;
    if most > 16 {
        for _ in 0..16 {
            length += 1;
            if bytes[from + length] != bytes[at + length] {
                return length;
            }
        }
    }
    loop {
        length += 1;
        if length >= most || bytes[from + length] != bytes[at + length] {
            return length;
        }
    }
}
