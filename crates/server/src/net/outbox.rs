//! What waits to be written to one connection: a queue with a due time a chunk, which is how a wide-area network is
//! emulated. Chunks leave in order, each at or after its time; nothing sleeps for each of them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How much is written at once, about.
const WRITE_BYTES: usize = 256 << 10;

/// What is emulated between this side of a connection and the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wan {
    /// One way.
    pub(crate) delay_us: u64,
    /// At most so much more.
    pub(crate) jitter_us: u64,
    /// Bytes a second.
    pub(crate) bytes_per_s: Option<u64>,
}

/// A queue of bytes to one connection. At first nothing is delayed, and it holds as much as it is given.
pub(super) struct Outbox {
    queue: RefCell<VecDeque<(Instant, Vec<u8>)>>,
    /// An empty buffer for the next chunk.
    spare: Cell<Vec<u8>>,
    bytes: Cell<usize>,
    limit: Cell<usize>,
    wan: Cell<Wan>,
    last_due: Cell<Option<Instant>>,
    more: Notify,
    finishing: Cell<bool>,
    finished: Notify,
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            queue: RefCell::default(),
            spare: Cell::default(),
            bytes: Cell::new(0),
            limit: Cell::new(usize::MAX),
            wan: Cell::default(),
            last_due: Cell::new(None),
            more: Notify::new(),
            finishing: Cell::new(false),
            finished: Notify::new(),
        }
    }
}

impl Outbox {
    /// From now on `wan` is emulated; what is under way is not overtaken.
    pub(super) fn set_wan(&self, wan: Wan) {
        self.wan.set(wan);
    }

    /// From now on it takes no more once it holds `bytes`.
    pub(super) fn set_limit(&self, bytes: usize) {
        self.limit.set(bytes);
    }

    /// How many bytes wait.
    pub(super) fn len(&self) -> usize {
        self.bytes.get()
    }

    /// How many more it takes, about.
    pub(super) fn room(&self) -> usize {
        self.limit.get().saturating_sub(self.bytes.get())
    }

    /// Queues what `fill` appends; returns what `fill` does.
    pub(super) fn fill<R>(&self, fill: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let mut chunk = self.spare.take();
        let result = fill(&mut chunk);
        if chunk.is_empty() {
            self.spare.set(chunk);
            return result;
        }
        self.bytes.set(self.bytes.get() + chunk.len());
        let due = self.due(chunk.len());
        self.queue.borrow_mut().push_back((due, chunk));
        self.more.notify_one();
        result
    }

    /// When so many bytes leave that are queued now.
    fn due(&self, bytes: usize) -> Instant {
        let mut due = Instant::now();
        let wan = self.wan.get();
        if wan != Wan::default() {
            due += Duration::from_micros(wan.delay_us);
            if wan.jitter_us > 0 {
                due += Duration::from_micros(fastrand::u64(0..wan.jitter_us));
            }
            if let Some(last) = self.last_due.get() {
                // Order is kept, and with a limited bandwidth a chunk starts when the one before it has passed.
                due = due.max(last);
            }
            if let Some(rate) = wan.bytes_per_s.filter(|rate| *rate > 0) {
                due += Duration::from_secs_f64(bytes as f64 / rate as f64);
            }
            self.last_due.set(Some(due));
        }
        due
    }

    /// What the emulated network holds is lost, and nothing is delayed any more.
    pub(super) fn lose_what_is_under_way(&self) {
        let now = Instant::now();
        let mut queue = self.queue.borrow_mut();
        queue.retain(|(due, _)| *due <= now);
        self.bytes.set(queue.iter().map(|(_, chunk)| chunk.len()).sum());
        self.set_wan(Wan::default());
    }

    /// Nothing comes any more: what is queued is written, then the writer ends.
    pub(super) fn finish(&self) {
        self.finishing.set(true);
        self.more.notify_one();
        self.finished.notify_one();
    }

    /// Writes what is queued as it becomes due, until it is finished or the connection breaks. `drained` is called when
    /// one that was full has room again.
    pub(super) async fn write_to(
        &self,
        write: &mut OwnedWriteHalf,
        drained: impl Fn(),
    ) -> std::io::Result<()> {
        let mut ready = Vec::new();
        loop {
            let front = self.queue.borrow().front().map(|(due, _)| *due);
            match front {
                None if self.finishing.get() => return Ok(()),
                None => self.more.notified().await,
                Some(due) if due > Instant::now() => {
                    tokio::select! {
                        () = tokio::time::sleep_until(due) => {}
                        () = self.finished.notified() => {}
                    }
                }
                Some(_) => {
                    let was_full = self.room() == 0;
                    self.take_due(&mut ready);
                    write.write_all(&ready).await?;
                    if was_full && self.room() > 0 {
                        drained();
                    }
                    if ready.capacity() <= WRITE_BYTES {
                        ready.clear();
                        self.spare.set(std::mem::take(&mut ready));
                    }
                }
            }
        }
    }

    /// Moves what is due into one buffer, up to a limit, so that many small chunks leave with one write.
    fn take_due(&self, ready: &mut Vec<u8>) {
        let now = Instant::now();
        let mut queue = self.queue.borrow_mut();
        ready.clear();
        while queue.front().is_some_and(|(due, _)| *due <= now) && ready.len() < WRITE_BYTES {
            let (_, mut chunk) = queue.pop_front().expect("just seen");
            self.bytes.set(self.bytes.get() - chunk.len());
            if ready.is_empty() {
                std::mem::swap(ready, &mut chunk);
            } else {
                ready.extend_from_slice(&chunk);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    /// Runs `act` on both ends of a connection.
    fn connected<R>(act: impl AsyncFnOnce(OwnedWriteHalf, TcpStream) -> R) -> R {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let (_read, write) =
                TcpStream::connect(listener.local_addr().unwrap()).await.unwrap().into_split();
            let (other, _) = listener.accept().await.unwrap();
            act(write, other).await
        })
    }

    /// Sends `chunks` over `wan`; what arrived, and how long it took.
    fn send(wan: Wan, chunks: &[Vec<u8>]) -> (Vec<u8>, Duration) {
        connected(async |mut write, mut other| {
            let outbox = Rc::new(Outbox::default());
            outbox.set_wan(wan);
            let start = Instant::now();
            chunks.iter().for_each(|chunk| outbox.fill(|out| out.extend_from_slice(chunk)));
            let writing = outbox.clone();
            tokio::task::spawn_local(async move { writing.write_to(&mut write, || ()).await });
            let mut arrived = vec![0; chunks.iter().map(Vec::len).sum()];
            other.read_exact(&mut arrived).await.unwrap();
            assert_eq!(outbox.len(), 0);
            (arrived, start.elapsed())
        })
    }

    #[test]
    fn chunks_keep_their_order_whatever_the_jitter() {
        let chunks: Vec<Vec<u8>> = (0..200_u8).map(|byte| vec![byte; 3]).collect();
        let wan = Wan { delay_us: 5_000, jitter_us: 20_000, bytes_per_s: None };
        let (arrived, took) = send(wan, &chunks);
        assert_eq!(arrived, chunks.concat());
        assert!(took >= Duration::from_millis(5), "{took:?}"); // time: a slow link is slow
    }

    #[test]
    fn a_limited_bandwidth_takes_its_time() {
        let wan = Wan { delay_us: 0, jitter_us: 0, bytes_per_s: Some(100_000) };
        let (_, took) = send(wan, &[vec![0; 5_000], vec![0; 5_000]]);
        assert!(took >= Duration::from_millis(100), "{took:?}"); // time: a slow link is slow
    }

    #[test]
    fn a_link_that_ends_loses_what_is_under_way_and_writes_the_rest() {
        let arrived = connected(async |mut write, mut other| {
            let outbox = Outbox::default();
            outbox.fill(|out| out.extend_from_slice(b"due, "));
            outbox.set_wan(Wan { delay_us: 60_000_000, ..Wan::default() });
            outbox.fill(|out| out.extend_from_slice(b"under way, "));
            outbox.lose_what_is_under_way();
            assert_eq!(outbox.len(), 5);
            outbox.fill(|out| out.extend_from_slice(b"last"));
            outbox.finish();
            outbox.write_to(&mut write, || ()).await.unwrap();
            drop(write);
            let mut arrived = String::new();
            other.read_to_string(&mut arrived).await.unwrap();
            arrived
        });
        assert_eq!(arrived, "due, last");
    }

    #[test]
    fn a_full_outbox_tells_when_it_has_room_again() {
        connected(async |mut write, _other| {
            let (outbox, drained) = (Outbox::default(), Cell::new(0));
            outbox.set_limit(10);
            outbox.fill(|out| out.extend_from_slice(b"four"));
            assert_eq!(outbox.room(), 6);
            outbox.fill(|out| out.extend_from_slice(b"and more"));
            assert_eq!(outbox.room(), 0, "a chunk may be larger than the room for it");
            outbox.finish();
            outbox.write_to(&mut write, || drained.set(drained.get() + 1)).await.unwrap();
            assert_eq!((outbox.room(), drained.get()), (10, 1));
        });
    }
}
