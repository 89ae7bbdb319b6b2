//! Large payloads leave in parts, between which small frames pass: so what has to come often, as heartbeats, is not held up.
//!
//! ```text
//! part := total:u64le at:u64le bytes
//! ```
//!
//! The parts of one payload follow each other, in order; between them there may be whole frames, but no part of another one. What has
//! to stay behind a large payload waits for its end ([`Parts::push_behind`]).

use super::frame::{FrameBuffer, FrameError, Large, push_part};
use std::collections::VecDeque;

/// The most that a payload may have that comes in parts: an entry of a Raft group may be of several records.
const PAYLOAD_BYTES_MAX: usize = 2 << 30;
/// Bytes that stand before those of a part.
const HEAD: usize = 16;

/// Sizes of payloads that leave in parts, and of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSizes {
    /// A payload with more bytes leaves in parts.
    pub above: usize,
    /// So many bytes each.
    pub bytes: usize,
}

impl Default for PartSizes {
    fn default() -> Self {
        Self { above: 8 << 20, bytes: 1 << 20 }
    }
}

#[derive(Debug)]
enum Waiting {
    Large(Large),
    Frame(Vec<u8>),
}

/// Payloads that wait to leave on a link in parts.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    queue: VecDeque<Waiting>,
    /// Bytes of the first that have left.
    sent: usize,
}

impl Parts {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes the large values of a buffer. What is left of it passes them.
    pub(crate) fn take_large(&mut self, buffer: &mut FrameBuffer) {
        self.queue.extend(buffer.take_large().into_iter().map(Waiting::Large));
    }

    /// Takes all that a buffer holds, to leave behind what waits already.
    pub(crate) fn push_behind(&mut self, buffer: &mut FrameBuffer) {
        self.take_large(buffer);
        if !buffer.is_empty() {
            self.queue.push_back(Waiting::Frame(buffer.take()));
        }
    }

    /// Appends the next frame: a part of `bytes` bytes, or one that waited behind.
    pub(crate) fn next(&mut self, bytes: usize, out: &mut Vec<u8>) {
        match self.queue.front() {
            None => return,
            Some(Waiting::Frame(frame)) => out.extend_from_slice(frame),
            Some(Waiting::Large(large)) => {
                let payload = large.payload();
                let (total, at) = (payload.len(), self.sent);
                let end = total.min(at + bytes.max(1));
                push_part(out, |out| {
                    out.reserve(HEAD + end - at);
                    out.extend_from_slice(&(total as u64).to_le_bytes());
                    out.extend_from_slice(&(at as u64).to_le_bytes());
                    out.extend_from_slice(&payload[at..end]);
                });
                self.sent = end;
                if end < total {
                    return;
                }
            }
        }
        self.sent = 0;
        self.queue.pop_front();
    }
}

/// A payload that comes in parts.
#[derive(Debug, Default)]
pub(crate) struct Assembly(Vec<u8>);

impl Assembly {
    /// Takes the next part. The payload, once it is whole.
    ///
    /// # Errors
    /// A part that is not the next one, or of a payload that is too large.
    pub(crate) fn take(&mut self, part: &[u8]) -> Result<Option<Vec<u8>>, FrameError> {
        let damaged = FrameError::Part { total: part.len(), at: 0 };
        let (total, rest) = part.split_first_chunk::<8>().ok_or(damaged)?;
        let damaged = FrameError::Part { total: part.len(), at: 0 };
        let (at, bytes) = rest.split_first_chunk::<8>().ok_or(damaged)?;
        let (total, at) = (u64::from_le_bytes(*total) as usize, u64::from_le_bytes(*at) as usize);
        let next = at == self.0.len() && total <= PAYLOAD_BYTES_MAX && at + bytes.len() <= total;
        if !next || bytes.is_empty() {
            return Err(FrameError::Part { total, at });
        }
        if at == 0 {
            self.0.reserve_exact(total);
        }
        self.0.extend_from_slice(bytes);
        Ok((self.0.len() == total).then(|| std::mem::take(&mut self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{FrameDecoder, Framed, HEADER, frame, value, values};
    use super::*;

    /// Returns the payloads in the bytes of a link, in order.
    fn heard(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let (mut decoder, mut assembly, mut heard) =
            (FrameDecoder::default(), Assembly::default(), Vec::new());
        decoder.trust();
        while let Some(framed) = decoder.next(bytes).unwrap() {
            match framed {
                Framed::Whole(payload) => values(payload, |value| heard.push(value)).unwrap(),
                Framed::Part(part) => {
                    if let Some(payload) = assembly.take(part).unwrap() {
                        heard.push(value(&payload).unwrap());
                    }
                }
            }
            bytes = &bytes[HEADER + framed.payload().len()..];
        }
        assert!(bytes.is_empty());
        heard
    }

    #[test]
    fn what_is_larger_leaves_in_parts_and_comes_back_whole() {
        for bytes in [0_usize, 97, 98, 99, 100, 101, 199, 200, 201, 5_000] {
            let (mut buffer, mut parts, mut out) = (FrameBuffer::default(), Parts::default(), Vec::new());
            let sent = vec![vec![1_u8; 10], vec![2; bytes], vec![3; 20]];
            let large: Vec<bool> = sent.iter().map(|value| buffer.push_parted(value, 100)).collect();
            assert_eq!(large, [false, bytes > 99, false], "{bytes}: a length goes with it");
            parts.take_large(&mut buffer);
            buffer.take_into(&mut out);
            while !parts.is_empty() {
                parts.next(100, &mut out);
            }
            let mut all = heard(&out);
            all.sort_unstable_by_key(|value| value.first().copied().unwrap_or(2));
            assert_eq!(all, sent);
        }
    }

    #[test]
    fn small_frames_pass_and_what_is_behind_does_not() {
        let (mut buffer, mut parts) = (FrameBuffer::default(), Parts::default());
        buffer.push_parted(&vec![1_u8; 1000], 100);
        parts.take_large(&mut buffer);
        buffer.push(&vec![2_u8]);
        parts.push_behind(&mut buffer);
        let mut out = Vec::new();
        parts.next(300, &mut out);
        out.extend_from_slice(&frame(&vec![3_u8]));
        while !parts.is_empty() {
            parts.next(300, &mut out);
        }
        assert_eq!(heard(&out), [vec![3], vec![1; 1000], vec![2]]);
    }

    #[test]
    fn parts_out_of_order_or_of_too_much_are_refused() {
        let part = |total: usize, at: usize, bytes: usize| {
            [&(total as u64).to_le_bytes()[..], &(at as u64).to_le_bytes(), &vec![7; bytes]].concat()
        };
        let mut assembly = Assembly::default();
        assert!(assembly.take(&part(10, 0, 4)).unwrap().is_none());
        for wrong in [part(10, 5, 4), part(10, 4, 7), part(10, 4, 0), part(usize::MAX, 4, 1), vec![1; 15]] {
            assert!(matches!(assembly.take(&wrong), Err(FrameError::Part { .. })));
        }
        assert_eq!(assembly.take(&part(10, 4, 6)).unwrap(), Some(vec![7; 10]));
        assert!(Assembly::default().take(&part(PAYLOAD_BYTES_MAX + 1, 0, 1)).is_err());
    }
}
