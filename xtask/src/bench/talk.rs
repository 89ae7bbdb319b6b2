//! Commands in the Redis protocol, for data that is the same on every server.

use anyhow::{Result, bail};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// How many commands are on their way at once.
const AHEAD: usize = 500;

/// The words of a command.
pub(crate) type Words = Vec<Vec<u8>>;

/// Sends `count` commands to the server at `port`, and waits until each is answered. REQUIRES: each is answered with one line.
pub(crate) fn send(port: u16, count: usize, command: impl Fn(usize) -> Words) -> Result<()> {
    let mut stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port)))?;
    let (mut requests, mut replies) = (Vec::new(), vec![0; 64 << 10]);
    for first in (0..count).step_by(AHEAD) {
        let batch = first..count.min(first + AHEAD);
        requests.clear();
        batch.clone().for_each(|number| encode(&command(number), &mut requests));
        stream.write_all(&requests)?;
        let mut missing = batch.len();
        while missing > 0 {
            let read = stream.read(&mut replies)?;
            let replies = &replies[..read];
            if read == 0 || replies.starts_with(b"-") || replies.windows(2).any(|pair| pair == b"\n-") {
                bail!("the server at port {port} answers {}", String::from_utf8_lossy(replies));
            }
            missing -= replies.iter().filter(|byte| **byte == b'\n').count();
        }
    }
    Ok(())
}

fn encode(words: &Words, to: &mut Vec<u8>) {
    to.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        to.extend(format!("${}\r\n", word.len()).bytes());
        to.extend_from_slice(word);
        to.extend_from_slice(b"\r\n");
    }
}
