//! One client's connection: what it has told the server about itself, and how it is answered.

use super::command::{Call, Command, parse_and_note};
use super::config::Config;
use super::error::ErrorReply;
use super::interactive::Interactive;
use super::registry::ClientRegistry;
use super::reserved;
use super::server_info::ServerInfo;
use super::shared::Shared;
use super::subscriptions::Counts;
use super::table::{Handler, Spec, Table};
use super::task::Task;
use super::tracking::{KeysRead, Reads};
use super::transaction::Transaction;
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
    /// What they share beside that.
    pub shared: &'a mut Shared,
    /// What the server knows about itself.
    pub info: &'a mut dyn ServerInfo,
    /// Takes the reply.
    pub out: Encoder<'a>,
}

/// What becomes of the connection after an answer.
#[must_use]
pub enum Next {
    /// It goes on.
    Continue,
    /// It carries out operations first: they write the reply.
    Begin(Task),
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

/// How a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Before it was looked at closely: of the wrong length, or not allowed.
    Rejected,
    /// Its arguments are wrong.
    Failed,
}

/// Which commands a connection may send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// All.
    #[default]
    Normal,
    /// It has subscriptions: in RESP2 only commands about them, and a few more.
    Subscriber,
    /// It has sent MONITOR: none that reads or writes keys.
    Monitor,
}

/// The state of one connection. Its name and what else others may see are in the registry.
#[derive(Debug)]
pub struct Connection {
    pub(super) id: u64,
    pub(super) version: Version,
    pub(super) authenticated: bool,
    pub(super) replies: Replies,
    /// What it may send.
    pub(super) mode: Mode,
    /// The reply to the request that was parsed last is a push, which CLIENT REPLY does not hold back.
    pub(super) pushes: bool,
    /// What its operations ask for.
    options: Options,
    /// What those of the command that was parsed last ask for, if a prefix chose that.
    once: Option<Box<Options>>,
    /// The command that the last call of [`Self::parse`] refused, if there is such a command, and how.
    refused: Option<(&'static Spec, Refusal)>,
    /// Whether either has changed since [`Self::changed_options`] was called.
    changed: bool,
    /// What MULTI and WATCH have begun.
    pub(super) transaction: Transaction,
    /// What TIDE.BEGIN has begun.
    pub interactive: Interactive,
    /// What it caches.
    pub(super) reads: Reads,
    /// Memory is at its limit: what may add data is refused.
    full: bool,
    /// The node answers only reads.
    pub mute: bool,
}

impl Connection {
    /// A new connection, registered as `id`. It need not authenticate if no password is set now.
    pub fn new(id: u64, config: &Config) -> Self {
        let authenticated = config.password().is_none();
        let (version, replies, options) = (Version::Resp2, Replies::On, Options::default());
        let (mode, pushes) = (Mode::Normal, false);
        Self {
            id,
            version,
            authenticated,
            replies,
            mode,
            pushes,
            options,
            once: None,
            refused: None,
            changed: false,
            transaction: Transaction::default(),
            interactive: Interactive::default(),
            reads: Reads::default(),
            full: false,
            mute: false,
        }
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

    /// Whether memory is at its limit. To be said before each request is parsed.
    #[inline]
    pub fn set_full(&mut self, full: bool) {
        self.full = full;
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
        *self = Self { changed: true, mute: self.mute, ..Self::new(self.id, config) };
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
        matches!(self.replies, Replies::Off | Replies::SkipThis) && !self.pushes
    }

    /// Whether it wants its replies, and is in no transaction.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.replies == Replies::On && !self.transaction.is_open() && !self.interactive.is_open()
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
        self.pushes = false;
        let mut row = None;
        let result = self.understand(request, &mut row);
        if result.is_err() {
            // Until its row is known, nothing of a request is taken.
            let rejected = |spec| (spec, Refusal::Rejected);
            self.refused = match row {
                Some(spec) => Some((spec, Refusal::Failed)),
                None => Table::get().meant(request).map(rejected),
            };
        }
        result
    }

    /// The command that the last call of [`Self::parse`] refused, if there is such a command.
    pub fn refused(&self) -> Option<(&'static Spec, Refusal)> {
        self.refused
    }

    #[inline]
    fn understand(
        &mut self,
        request: &mut Request<'_>,
        row: &mut Option<&'static Spec>,
    ) -> Result<Command, ErrorReply> {
        if !self.authenticated && !Table::get().resolve(request)?.has("no_auth") {
            return Err(ErrorReply::NOAUTH);
        }
        if self.mode != Mode::Normal {
            self.check_mode(Table::get().resolve(request)?)?;
        }
        reserved::check(request)?;
        if self.reads.mode.is_some() {
            self.note_reads(request);
        }
        if self.mute && !Table::get().resolve(request)?.is_answered_by_mute() {
            return Err(ErrorReply::LOADING);
        }
        if self.full {
            self.check_memory(request)?;
        }
        if self.transaction.is_open()
            && let Some(command) = self.transaction.queue(request)?
        {
            return Ok(command);
        }
        let understood = parse_and_note(request, row);
        if understood.as_ref().is_err_and(|error| *error == ErrorReply::ABORTED_BY_ARITY) {
            self.transaction.unwatch();
        }
        understood
    }

    /// Notes what a connection that caches is about to read.
    #[cold]
    fn note_reads(&mut self, request: &Request<'_>) {
        if let Ok(spec) = Table::get().resolve(request) {
            let queued = self.transaction.is_open() && !["exec", "discard"].contains(&spec.name);
            self.reads.note(spec, request, queued);
        }
    }

    /// The keys that the command reads which was parsed last, if the connection caches them.
    #[inline]
    pub fn take_reads(&mut self) -> KeysRead {
        if self.reads.mode.is_none() { KeysRead::default() } else { self.reads.take() }
    }

    /// Whether its mode allows the command.
    #[cold]
    fn check_mode(&self, spec: &Spec) -> Result<(), ErrorReply> {
        let about_subscriptions = spec.has("pubsub") && spec.name.ends_with("subscribe");
        match self.mode {
            Mode::Subscriber
                if self.version == Version::Resp2
                    && !about_subscriptions
                    && !["ping", "quit", "reset"].contains(&spec.name) =>
            {
                Err(ErrorReply::new(format!(
                    "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
                     allowed in this context",
                    spec.name
                )))
            }
            Mode::Monitor if spec.has("write") || spec.has("readonly") => {
                Err(ErrorReply::fixed("ERR Replica can't interact with the keyspace"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a command may be carried out, or queued, while memory is at its limit. What is no command is refused elsewhere.
    #[cold]
    fn check_memory(&mut self, request: &Request<'_>) -> Result<(), ErrorReply> {
        let Ok(spec) = Table::get().resolve(request) else { return Ok(()) };
        let refused = match spec.name {
            "exec" => self.transaction.may_add_data(),
            "discard" | "quit" | "reset" => false,
            // What is queued takes memory itself.
            _ => self.transaction.is_open() || may_add_data(spec, request),
        };
        match refused {
            false => Ok(()),
            true if spec.name == "exec" => {
                self.transaction.discard()?;
                Err(ErrorReply::OUT_OF_MEMORY_AT_EXEC)
            }
            true => {
                self.transaction.fail();
                Err(ErrorReply::OUT_OF_MEMORY)
            }
        }
    }

    /// Its subscriptions have changed: the reply that says so is a push.
    pub(super) fn has_subscribed(&mut self, counts: Counts, registry: &mut ClientRegistry) {
        self.pushes = true;
        if self.mode != Mode::Monitor {
            self.mode = if counts == [0; 3] { Mode::Normal } else { Mode::Subscriber };
        }
        if let Some(client) = registry.get_mut(self.id) {
            client.subscriptions = counts;
        }
    }

    /// Whether EXEC would change something.
    pub fn queues_writes(&self) -> bool {
        self.transaction.writes()
    }

    /// Whether a command, just parsed, flushes the database.
    pub fn flushes(&self, spec: &Spec) -> bool {
        flushes(spec) || spec.name == "exec" && self.transaction.flushes()
    }

    /// Answers a command that needs no operation. The command behind it, if there is one, comes next.
    pub fn handle(&mut self, call: &Call, cx: &mut Context<'_>) -> Result<Next, ErrorReply> {
        cx.registry.touch(self.id, cx.spec.name, cx.now);
        (call.answer)(self, call, cx)
    }
}

/// Whether a command flushes the database.
pub(super) fn flushes(spec: &Spec) -> bool {
    ["flushall", "flushdb"].contains(&spec.name)
}

/// Whether a command may add data, or the one behind it if it is a prefix.
fn may_add_data(spec: &Spec, request: &Request<'_>) -> bool {
    let behind = match spec.handler {
        Handler::Prefix { own, .. } => own(request).ok().and_then(|own| request.get(own)),
        _ => return spec.has("denyoom"),
    };
    behind.and_then(|name| Table::get().command(name)).is_some_and(|spec| spec.has("denyoom"))
}

/// Whether they are equal, in a time that tells nothing about where they differ.
fn equal_in_constant_time(expected: &[u8], given: &[u8]) -> bool {
    let difference = expected.iter().zip(given).fold(0, |difference, (a, b)| difference | (a ^ b));
    std::hint::black_box(difference) == 0 && expected.len() == given.len()
}
