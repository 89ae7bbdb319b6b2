//! One client's connection: what it has told the server about itself, and how it is answered.

use super::command::{Call, Command, parse};
use super::config::Config;
use super::error::ErrorReply;
use super::registry::ClientRegistry;
use super::server_info::ServerInfo;
use super::table::{Spec, Table};
use tidemark_core::Micros;
use tidemark_node::Options;
use tidemark_wire::resp::{Encoder, Request, Version};

/// What the answer of a connection depends on beside itself, and where it goes.
pub struct Context<'a> {
    /// The command.
    pub spec: &'static Spec,
    /// Physical time.
    pub now: Micros,
    /// The server's settings.
    pub config: &'a mut Config,
    /// All connections, this one included.
    pub registry: &'a mut ClientRegistry,
    /// What the server knows about itself.
    pub info: &'a mut dyn ServerInfo,
    /// Takes the reply.
    pub out: Encoder<'a>,
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
    options: Options,
    /// What those of the command that was parsed last ask for, if a prefix chose that.
    once: Option<Box<Options>>,
    /// Whether either has changed since [`Self::changed_options`] was called.
    changed: bool,
}

impl Connection {
    /// A new connection, registered as `id`. It need not authenticate if no password is set now.
    pub fn new(id: u64, config: &Config) -> Self {
        let authenticated = config.password().is_none();
        let (version, replies, options) = (Version::Resp2, Replies::On, Options::default());
        Self { id, version, authenticated, replies, options, once: None, changed: false }
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

    /// What the operations of the command that was parsed last ask for.
    #[inline]
    pub fn options(&self) -> &Options {
        self.once.as_deref().unwrap_or(&self.options)
    }

    /// The same, if it has changed since the last call.
    #[inline]
    pub fn changed_options(&mut self) -> Option<Options> {
        std::mem::take(&mut self.changed).then(|| self.options().clone())
    }

    /// Becomes a new connection, with the same number.
    pub(super) fn reset(&mut self, config: &Config) {
        *self = Self { changed: true, ..Self::new(self.id, config) };
    }

    /// A prefix command has chosen: for the command behind it or, alone, for the connection.
    pub(super) fn set_options(&mut self, options: Options, call: &Call, cx: &mut Context<'_>) {
        self.changed = true;
        if call.command.is_some() {
            self.once = Some(Box::new(options));
        } else {
            self.options = options;
            cx.out.ok();
        }
    }

    /// Takes the credentials of AUTH and HELLO.
    pub(super) fn authenticate(
        &mut self,
        config: &Config,
        user: &[u8],
        password: &[u8],
    ) -> Result<(), ErrorReply> {
        let good = user == b"default"
            && config.password().is_none_or(|expected| equal_in_constant_time(expected.as_bytes(), password));
        if !good {
            return Err(ErrorReply::WRONGPASS);
        }
        self.authenticated = true;
        Ok(())
    }

    /// Speaks another version of RESP from this reply on.
    pub(super) fn speak(&mut self, version: Version, cx: &mut Context<'_>) {
        self.version = version;
        cx.out.set_version(version);
        if let Some(client) = cx.registry.get_mut(self.id) {
            client.version = version;
        }
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
        self.changed |= self.once.take().is_some();
        if !self.authenticated && !Table::get().resolve(request)?.has("no_auth") {
            return Err(ErrorReply::NOAUTH);
        }
        parse(request)
    }

    /// Answers a command that needs no operation. The command behind it, if there is one, comes next.
    pub fn handle(&mut self, call: &Call, cx: &mut Context<'_>) -> Result<Next, ErrorReply> {
        cx.registry.touch(self.id, cx.spec.name, cx.now);
        (call.answer)(self, call, cx)
    }
}

/// Whether they are equal, in a time that tells nothing about where they differ.
fn equal_in_constant_time(expected: &[u8], given: &[u8]) -> bool {
    let difference = expected.iter().zip(given).fold(0, |difference, (a, b)| difference | (a ^ b));
    std::hint::black_box(difference) == 0 && expected.len() == given.len()
}
