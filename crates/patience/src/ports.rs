//! Ports for tests that run at the same time, of one program or of several.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::net::{TcpListener, UdpSocket};
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Those that tests have. They lie below those that the operating system gives to connections, which could take the port of a node while
/// it is down, and above those of `tidemark up --base-port 0`.
const RANGE: Range<u16> = 20_000..32_000;

thread_local! {
    static CLAIMS: RefCell<Vec<UdpSocket>> = const { RefCell::new(Vec::new()) };
}

/// Returns a port of 127.0.0.1 at which nobody listens, and which no other test is given before the calling thread ends: a server of
/// this test can stop and start there.
///
/// # Panics
/// If all are taken.
pub fn port() -> u16 {
    ports([0])
}

/// Returns a number to which each of `offsets` can be added: the sums are such ports.
///
/// # Panics
/// If there is no such number.
pub fn ports(offsets: impl IntoIterator<Item = u16> + Clone) -> u16 {
    static NEXT: LazyLock<AtomicUsize> =
        LazyLock::new(|| AtomicUsize::new(RandomState::new().hash_one(()) as u16 as usize));
    for _ in RANGE {
        let first = RANGE.start + (NEXT.fetch_add(1, Ordering::Relaxed) % RANGE.len()) as u16;
        let claims: Option<Vec<UdpSocket>> =
            offsets.clone().into_iter().map(|offset| claim(first + offset)).collect();
        if let Some(claims) = claims {
            CLAIMS.with_borrow_mut(|all| all.extend(claims));
            return first;
        }
    }
    panic!("tests have taken all ports from {} to {}", RANGE.start, RANGE.end)
}

/// Claims a TCP port by holding the UDP port of the same number, which other processes see; the operating system ends the claim of a process
/// that dies.
fn claim(port: u16) -> Option<UdpSocket> {
    let claim = UdpSocket::bind(("127.0.0.1", port)).ok().filter(|_| RANGE.contains(&port))?;
    TcpListener::bind(("127.0.0.1", port)).ok().map(|_| claim)
}
