//! One client's connection: what it has told the server about itself, and how it is answered.

use super::command::{Call, Command, parse};
use super::commands::info::ServerInfo;
use super::config::Config;
use super::error::ErrorReply;
use super::registry::ClientRegistry;
use super::table::{Handler, Table};
use tidemark_contract::session::Checking;
use tidemark_core::{Guarantees, Micros};
use tidemark_wire::resp::{Encoder, Request, Version};

/// What a connection's answers depend on beside itself.
pub struct Context<'a> {
    /// Physical time.
    pub now: Micros,
    /// The server's settings.
    pub config: &'a mut Config,
    /// All connections, this one included.
    pub registry: &'a mut ClientRegistry,
    /// Figures about the server.
    pub info: &'a dyn ServerInfo,
}

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// It goes on.
    Continue,
    /// It is closed once what was written has been sent.
    Close,
}

/// Which replies CLIENT REPLY lets through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Replies {
    #[default]
    On,
    Off,
    /// All but the next one.
    SkipNext,
    /// All but this one.
    SkipThis,
}

/// The state of one connection. Its name and what else others may see are in the registry.
#[derive(Debug)]
pub struct Connection {
    pub(super) id: u64,
    pub(super) version: Version,
    pub(super) authenticated: bool,
    pub(super) replies: Replies,
    /// What its operations ask for.
    pub(super) asks: Guarantees,
    /// The checking groups that answer them; the servers' choice if there is none.
    pub(super) checking: Checking,
}

impl Connection {
    /// A new connection, registered as `id`. It need not authenticate if no password is set now.
    pub fn new(id: u64, config: &Config) -> Self {
        let authenticated = config.password().is_none();
        let (asks, checking) = (Guarantees::ALL, Checking::default());
        Self { id, version: Version::Resp2, authenticated, replies: Replies::On, asks, checking }
    }

    /// Its number in the registry.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The protocol version for its replies.
    #[inline]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether it may do more than authenticate: what the request parser wants to know before each request.
    #[inline]
    pub fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    /// What its operations ask for.
    #[inline]
    pub fn asks(&self) -> Guarantees {
        self.asks
    }

    /// From now on they ask for `guarantees`.
    pub fn set_asks(&mut self, guarantees: Guarantees) {
        self.asks = guarantees;
    }

    /// The checking groups that answer its operations; the servers' choice if there is none.
    #[inline]
    pub fn checking(&self) -> &Checking {
        &self.checking
    }

    /// From now on these do.
    pub fn set_checking(&mut self, groups: Checking) {
        self.checking = groups;
    }

    /// Whether no reply must be sent to the request that was parsed last. Ask after [`Self::handle`], and before
    /// the next request is parsed.
    #[inline]
    pub fn is_muted(&self) -> bool {
        matches!(self.replies, Replies::Off | Replies::SkipThis)
    }

    /// What `request` asks for, or why it is refused: unknown, of the wrong length, not allowed before
    /// authentication, or malformed, in this order.
    #[inline]
    pub fn parse(&mut self, request: &mut Request<'_>) -> Result<Command, ErrorReply> {
        match self.replies {
            Replies::On | Replies::Off => {}
            Replies::SkipNext => self.replies = Replies::SkipThis,
            Replies::SkipThis => self.replies = Replies::On,
        }
        if !self.authenticated && !Table::get().resolve(request)?.has("no_auth") {
            return Err(ErrorReply::NOAUTH);
        }
        parse(request)
    }

    /// Answers a command that needs no store.
    pub fn handle(&mut self, call: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Next {
        cx.registry.touch(self.id, call.spec.name, cx.now);
        let Handler::Local(answer) = call.spec.handler else {
            ErrorReply::arity(call.spec.name).write(out);
            return Next::Continue;
        };
        answer(self, call, cx, out).unwrap_or_else(|error| {
            error.write(out);
            Next::Continue
        })
    }
}
