//! A connection to a real redis-server, for comparison.

use super::words;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Two connections to one server, one for each protocol; each has keys of its own.
pub(crate) struct Server {
    two: Connection,
    three: Connection,
}

struct Connection {
    stream: BufReader<TcpStream>,
    prefix: String,
}

impl Server {
    /// To the server that `TIDEMARK_REDIS` names; none if it names none. Keys get names that nobody else uses.
    pub(crate) fn connect() -> Option<Self> {
        let address = std::env::var("TIDEMARK_REDIS").ok()?;
        let connect = |protocol: &str| {
            let stream = TcpStream::connect(&address).expect("the server listens");
            let port = stream.local_addr().expect("it has an address").port();
            let prefix = format!("tidemark:{}:{port}:", std::process::id());
            let mut connection = Connection { stream: BufReader::new(stream), prefix };
            connection.send(&[b"HELLO", protocol.as_bytes()]);
            connection.receive();
            connection
        };
        Some(Self { two: connect("2"), three: connect("3") })
    }

    /// The replies to a command in both protocols, as [`super::show`] shows them.
    pub(crate) fn ask(&mut self, line: &str) -> (String, String) {
        (self.two.ask(line), self.three.ask(line))
    }
}

impl Connection {
    fn ask(&mut self, line: &str) -> String {
        let words = words(line);
        let key = [self.prefix.as_bytes(), &words[1]].concat();
        let all: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        self.send(&[&[all[0], &key], &all[2..]].concat());
        self.receive()
    }

    fn send(&mut self, words: &[&[u8]]) {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).into_bytes());
            bytes.extend_from_slice(word);
            bytes.extend(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes).expect("the server reads");
    }

    fn receive(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server answers");
        let line = line.trim_end();
        let (kind, rest) = line.split_at(1);
        match kind {
            "$" if rest == "-1" => "_".to_string(),
            "*" if rest == "-1" => "*_".to_string(),
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>().expect("a length") + 2];
                self.stream.read_exact(&mut bytes).expect("the server answers");
                format!("\"{}\"", String::from_utf8_lossy(&bytes[..bytes.len() - 2]))
            }
            "*" | "~" | "%" => {
                let count: usize = rest.parse().expect("a count");
                let count = if kind == "%" { 2 * count } else { count };
                let all: Vec<String> = (0..count).map(|_| self.receive()).collect();
                let (begin, end) = match kind {
                    "*" => ("[", "]"),
                    "~" => ("~[", "]"),
                    _ => ("{", "}"),
                };
                format!("{begin}{}{end}", all.join(" "))
            }
            _ => line.to_string(),
        }
    }
}
