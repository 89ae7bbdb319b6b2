//! A server without sockets or store: requests in, raw replies out; what the store would be asked is shown as such.

use bytes::BytesMut;
use tidemark_server::redis::{ClientRegistry, Command, Config, Connection, Context, Facts, Next, ServerInfo};
use tidemark_wire::resp::{Decoder, Encoder, Reply, RequestParser, encode_request};

pub(crate) struct Server {
    pub(crate) config: Config,
    pub(crate) registry: ClientRegistry,
    pub(crate) now: u64,
}

pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) closed: bool,
}

struct Info;

impl ServerInfo for Info {
    fn facts(&self) -> Facts {
        Facts {
            run_id: "f".repeat(40),
            tcp_port: 6379,
            started_at: 1_000_000,
            log_is_good: true,
            keys: 7,
            tidemark: vec![("region".into(), "A".into())],
            ..Facts::default()
        }
    }
}

impl Server {
    pub(crate) fn new() -> Self {
        Self { config: Config::default(), registry: ClientRegistry::default(), now: 61_000_000 }
    }

    pub(crate) fn connect(&mut self) -> Client {
        let port = 1000 + self.registry.len();
        let id = self.registry.register(format!("127.0.0.1:{port}"), "127.0.0.1:6379".into(), self.now);
        Client { connection: Connection::new(id, &self.config), closed: false }
    }

    /// The raw reply to a request written as words between spaces.
    pub(crate) fn send(&mut self, client: &mut Client, request: &str) -> String {
        self.send_words(client, &request.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn send_words(&mut self, client: &mut Client, words: &[&str]) -> String {
        assert!(!client.closed, "the connection is closed");
        let mut wire = Vec::new();
        encode_request(&mut wire, words);
        let mut buffer = BytesMut::from(&wire[..]);
        let mut parser = RequestParser::new(self.config.request_limits());
        parser.set_authenticated(client.connection.is_authenticated());
        let mut request = match parser.parse(&mut buffer) {
            Ok(request) => request.expect("a whole request"),
            Err(error) => {
                client.closed = true;
                return format!("-{error}\r\n");
            }
        };
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&mut out, client.connection.version());
        match client.connection.parse(&mut request) {
            Err(error) => error.write(&mut encoder),
            Ok(Command::Local(call)) => {
                let (config, registry) = (&mut self.config, &mut self.registry);
                let mut context = Context { now: self.now, config, registry, info: &Info };
                let next = client.connection.handle(&call, &mut context, &mut encoder);
                client.closed = next == Next::Close;
            }
            Ok(command) => encoder.simple(&format!("{command:?}")),
        }
        if client.connection.is_muted() {
            out.clear();
        }
        String::from_utf8(out).expect("text")
    }

    /// The same, understood.
    pub(crate) fn ask(&mut self, client: &mut Client, request: &str) -> Reply {
        let raw = self.send(client, request);
        let mut buffer = BytesMut::from(raw.as_bytes());
        let reply =
            Decoder::default().decode(&mut buffer).expect("a well-formed reply").expect("a whole reply");
        assert!(buffer.is_empty(), "one reply to {request}: {raw}");
        reply
    }
}

/// What one request gets from a fresh server.
pub(crate) fn answer(request: &str) -> String {
    let mut server = Server::new();
    let mut client = server.connect();
    server.send(&mut client, request)
}
