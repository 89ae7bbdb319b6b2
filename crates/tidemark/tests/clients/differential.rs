//! The same requests to redis-server and to Tidemark: the replies are the same, byte for byte, but for a list of
//! differences that are meant.

use crate::harness::nodes::{Nodes, Plan};
use crate::harness::{Cluster, Scratch, address, wait_for};
use crate::install;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use tidemark_patience::PATIENCE;

/// What differs on purpose: the request, in which versions of the protocol, and why. redis-server is 7.0 where it was
/// tried; Tidemark answers as 7.2 does.
const INTENDED: &[(&str, &str, &str)] = &[
    ("SCAN -1", "23", "redis-server takes it for 2^64 - 1; no cursor that SCAN gives is negative"),
    ("SELECT 1", "23", "there is one database"),
    ("SWAPDB 0 0", "23", "there is one database"),
    ("COMMAND LIST FILTERBY MODULE foo", "3", "an empty set is a set, as one that is not empty"),
    ("CONFIG GET appendonly", "23", "there is always a log"),
    ("DEBUG SLEEP 0", "23", "refused without advice how to allow it: it cannot be allowed"),
];

/// A redis-server without persistence; it ends with this value.
struct Redis {
    child: Child,
    address: SocketAddr,
}

impl Redis {
    fn start(scratch: &Scratch) -> Self {
        let address = address();
        let mut command = Command::new("redis-server");
        command.args(["--port", &address.port().to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]);
        command.arg(scratch.path()).stdout(Stdio::null());
        let child = command.spawn().expect("redis-server runs");
        wait_for("redis-server serves", || TcpStream::connect(address).ok());
        Self { child, address }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One server under comparison.
struct Side {
    address: SocketAddr,
    greeting: &'static str,
    stream: Option<TcpStream>,
    marks: usize,
}

impl Side {
    /// Every connection begins with `greeting`.
    fn new(address: SocketAddr, greeting: &'static str) -> Self {
        Self { address, greeting, stream: None, marks: 0 }
    }

    fn connection(&mut self) -> TcpStream {
        if let Some(stream) = &self.stream {
            return stream.try_clone().expect("a socket");
        }
        let stream = TcpStream::connect(self.address).expect("it serves");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        self.stream = Some(stream.try_clone().expect("a socket"));
        if !self.greeting.is_empty() {
            self.ask(self.greeting.as_bytes());
        }
        stream
    }

    /// Sends a request and an ECHO behind it; everything before the echo, or before the server closes.
    fn ask(&mut self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connection();
        self.marks += 1;
        let mark = format!("mark-{:08}", self.marks);
        let echo = format!("*2\r\n$4\r\nECHO\r\n${}\r\n{mark}\r\n", mark.len());
        let echoed = format!("${}\r\n{mark}\r\n", mark.len()).into_bytes();
        // A server that closes at once may reset the connection before the mark is sent: the reply is there still.
        let _ = stream.write_all(request).and_then(|()| stream.write_all(echo.as_bytes()));
        let mut answer = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            if answer.ends_with(&echoed) {
                answer.truncate(answer.len() - echoed.len());
                return answer;
            }
            match stream.read(&mut chunk) {
                Ok(count) if count > 0 => answer.extend_from_slice(&chunk[..count]),
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => {
                    self.stream = None;
                    answer.extend_from_slice(b"(nothing more)");
                    return answer;
                }
                _ => {
                    self.stream = None;
                    answer.extend_from_slice(b"(closed)");
                    return answer;
                }
            }
        }
    }
}

/// The bytes of a line of `commands.txt`.
fn request(line: &str) -> Vec<u8> {
    if let Some(raw) = line.strip_prefix('!') {
        return unescape(raw);
    }
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("a closing quote"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(unescape(word));
        rest = after.trim_start();
    }
    let mut bytes = Vec::new();
    tidemark_wire::resp::encode_request(&mut bytes, &words);
    bytes
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'r') => b'\r',
            Some(b'n') => b'\n',
            Some(b'x') => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&digits, 16).expect("two hex digits")
            }
            Some(other) => other,
            None => panic!("{text:?} ends in a backslash"),
        });
    }
    bytes
}

fn compare(version: &str, greeting: &'static str, scratch: &Scratch) {
    if !install::has_redis_server() {
        return;
    }
    let mut intended: Vec<&str> = Vec::new();
    intended
        .extend(INTENDED.iter().filter(|(_, versions, _)| versions.contains(version)).map(|(line, ..)| line));
    let redis = Redis::start(scratch);
    let nodes = Nodes::start(scratch, &Plan { regions: vec![vec!["0", "1"]], ..Plan::default() });
    let (mut theirs, mut ours) =
        (Side::new(redis.address, greeting), Side::new(nodes.nodes()[0].redis, greeting));
    let lines =
        include_str!("commands.txt").lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let (mut count, mut wrong, mut unused) = (0, Vec::new(), intended.clone());
    for line in lines {
        count += 1;
        let bytes = request(line);
        let (expected, found) = (theirs.ask(&bytes), ours.ask(&bytes));
        match (expected == found, intended.contains(&line)) {
            (true, true) => wrong.push(format!("{line}\n  is listed as a difference, but is none")),
            (false, false) => {
                let (expected, found) = (expected.escape_ascii(), found.escape_ascii());
                wrong.push(format!("{line}\n  redis-server {expected}\n  tidemark     {found}"));
            }
            _ => {}
        }
        unused.retain(|unused| *unused != line);
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(unused.is_empty(), "listed, but never asked: {unused:?}");
    println!("{count} requests, {} of them meant to differ", intended.len());
}

#[test]
fn replies_are_those_of_redis_server() {
    compare("2", "", &Scratch::new("clients-resp2"));
}

#[test]
fn replies_in_resp3_are_those_of_redis_server() {
    compare("3", "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", &Scratch::new("clients-resp3"));
}
