//! What waits to be written to one connection: a queue with a due time a frame, which is how a wide-area network is
//! emulated. Frames leave in order, each at or after its time; nothing sleeps for each of them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use tidemark_node::link::frame::FrameBuffer;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Above this a producer that can wait (a feed) waits.
pub(crate) const FULL_BYTES: usize = 8 << 20;
/// Above this messages, which may be lost, are dropped: the other side does not read.
const OVERFLOW_BYTES: usize = 256 << 20;

/// How far away the other side is made to be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Distance {
    /// One way.
    pub(crate) delay_us: u64,
    /// At most so much more.
    pub(crate) jitter_us: u64,
    /// Bytes a second.
    pub(crate) bytes_per_s: Option<u64>,
}

/// A queue of frames to one connection.
#[derive(Default)]
pub(crate) struct Outbox {
    queue: RefCell<VecDeque<(Instant, Vec<u8>)>>,
    bytes: Cell<usize>,
    distance: Cell<Distance>,
    last_due: Cell<Option<Instant>>,
    more: Notify,
    closed: Cell<bool>,
}

impl Outbox {
    /// An outbox to somebody at `distance`.
    pub(crate) fn new(distance: Distance) -> Rc<Self> {
        Rc::new(Self { distance: Cell::new(distance), ..Self::default() })
    }

    /// From now on the other side is at `distance`; what is under way is not overtaken.
    pub(crate) fn set_distance(&self, distance: Distance) {
        self.distance.set(distance);
    }

    /// Queues what `batch` holds.
    pub(crate) fn push(&self, batch: &mut FrameBuffer) {
        if !batch.is_empty() {
            self.push_frame(batch.take());
        }
    }

    /// Queues a frame.
    pub(crate) fn push_frame(&self, frame: Vec<u8>) {
        // One frame may be larger: a large value.
        if self.closed.get() || self.bytes.get() > OVERFLOW_BYTES {
            return;
        }
        let mut due = Instant::now();
        let distance = self.distance.get();
        if distance != Distance::default() {
            due += Duration::from_micros(distance.delay_us);
            if distance.jitter_us > 0 {
                due += Duration::from_micros(fastrand::u64(0..distance.jitter_us));
            }
            if let Some(last) = self.last_due.get() {
                // Order is kept, and with a limited bandwidth a frame starts when the one before it has passed.
                due = due.max(last);
            }
            if let Some(rate) = distance.bytes_per_s.filter(|rate| *rate > 0) {
                due += Duration::from_secs_f64(frame.len() as f64 / rate as f64);
            }
            self.last_due.set(Some(due));
        }
        self.bytes.set(self.bytes.get() + frame.len());
        self.queue.borrow_mut().push_back((due, frame));
        self.more.notify_one();
    }

    /// How many bytes wait.
    pub(crate) fn len(&self) -> usize {
        self.bytes.get()
    }

    /// Whether a producer that can wait should.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.get() >= FULL_BYTES
    }

    /// Nothing more is sent.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.more.notify_one();
    }

    /// Writes what is queued as it becomes due, until the outbox is closed or the connection breaks. `drained` is
    /// called when a full outbox has room again.
    pub(crate) async fn write_to(
        self: Rc<Self>,
        write: &mut OwnedWriteHalf,
        drained: impl Fn(),
    ) -> std::io::Result<()> {
        let mut ready = Vec::new();
        loop {
            if self.closed.get() {
                return Ok(());
            }
            let front = self.queue.borrow().front().map(|(due, _)| *due);
            match front {
                None => self.more.notified().await,
                Some(due) if due > Instant::now() => tokio::time::sleep_until(due).await,
                Some(_) => {
                    let was_full = self.is_full();
                    self.take_due(&mut ready);
                    write.write_all(&ready).await?;
                    if was_full && !self.is_full() {
                        drained();
                    }
                }
            }
        }
    }

    /// Moves what is due into one buffer, up to a limit, so that many small frames leave with one write.
    fn take_due(&self, ready: &mut Vec<u8>) {
        let now = Instant::now();
        let mut queue = self.queue.borrow_mut();
        ready.clear();
        while queue.front().is_some_and(|(due, _)| *due <= now) && ready.len() < (256 << 10) {
            let (_, mut frame) = queue.pop_front().expect("just seen");
            self.bytes.set(self.bytes.get() - frame.len());
            if ready.is_empty() {
                std::mem::swap(ready, &mut frame);
            } else {
                ready.extend_from_slice(&frame);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    /// Sends `frames` over `distance`; what arrived, and how long it took.
    fn send(distance: Distance, frames: &[Vec<u8>]) -> (Vec<u8>, Duration) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let (_read, mut write) =
                TcpStream::connect(listener.local_addr().unwrap()).await.unwrap().into_split();
            let (mut other, _) = listener.accept().await.unwrap();
            let outbox = Outbox::new(distance);
            let start = Instant::now();
            frames.iter().for_each(|frame| outbox.push_frame(frame.clone()));
            let writing = outbox.clone();
            tokio::task::spawn_local(async move { writing.write_to(&mut write, || ()).await });
            let mut arrived = vec![0; frames.iter().map(Vec::len).sum()];
            other.read_exact(&mut arrived).await.unwrap();
            assert_eq!(outbox.len(), 0);
            (arrived, start.elapsed())
        })
    }

    #[test]
    fn frames_keep_their_order_whatever_the_jitter() {
        let frames: Vec<Vec<u8>> = (0..200_u8).map(|byte| vec![byte; 3]).collect();
        let distance = Distance { delay_us: 5_000, jitter_us: 20_000, bytes_per_s: None };
        let (arrived, took) = send(distance, &frames);
        assert_eq!(arrived, frames.concat());
        assert!(took >= Duration::from_millis(5), "{took:?}");
    }

    #[test]
    fn a_limited_bandwidth_takes_its_time() {
        let distance = Distance { delay_us: 0, jitter_us: 0, bytes_per_s: Some(100_000) };
        let (_, took) = send(distance, &[vec![0; 5_000], vec![0; 5_000]]);
        assert!(took >= Duration::from_millis(100), "{took:?}");
    }
}
