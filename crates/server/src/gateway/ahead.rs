//! Looking ahead in what a client has sent: the keys of its next commands are fetched from memory beside each other, and those of
//! one kind that stand one behind the other can be carried out together.

use super::client::Client;
use super::visible::listens;
use crate::redis::{Command, Task, Work};
use crate::run::shard::Engine;
use bytes::BytesMut;
use smallvec::SmallVec;
use tidemark_store::Sought;
use tidemark_wire::resp::{Ahead, RequestParser, requests_ahead};

/// How many commands are looked at together: as many reads as a processor can have under way.
const COMMANDS: usize = 16;
/// Commands that write more together become a version each: one version has a limit.
const JOINED_BYTES: usize = 256 << 10;

/// What is known of the next commands.
#[derive(Debug, Default)]
pub(super) struct Next {
    /// How many they are.
    count: usize,
    /// Bit n: command n and the one behind it have one name, and as many arguments.
    alike: u32,
}

impl Next {
    /// The next command is about to be parsed: looks at it, and at those behind it, unless that was done.
    #[inline]
    pub(super) fn begin(&mut self, engine: &Engine, buffer: &[u8]) {
        if self.count == 0 {
            self.look(engine, buffer);
        }
    }

    #[inline]
    fn look(&mut self, engine: &Engine, buffer: &[u8]) {
        let all: SmallVec<[Ahead<'_>; COMMANDS]> = requests_ahead(buffer).take(COMMANDS).collect();
        let is_alike = |one: &Ahead<'_>, next: &Ahead<'_>| one.name == next.name && one.len == next.len;
        (self.count, self.alike) = (all.len(), 0);
        for (nth, pair) in all.windows(2).enumerate() {
            self.alike |= u32::from(is_alike(&pair[0], &pair[1])) << nth;
        }
        // A single one is not worth it.
        if all.len() > 1 {
            let mut sought = SmallVec::<[Sought<'_>; COMMANDS]>::new();
            all.iter().for_each(|one| sought.push(Sought { key: one.key, elements: [one.second, one.last] }));
            engine.node.fetch(&sought);
        }
    }

    /// The next command was parsed.
    #[inline]
    pub(super) fn pass(&mut self) {
        self.count = self.count.saturating_sub(1);
        self.alike >>= 1;
    }
}

/// Takes the commands along that stand behind `command` and can become one version with it. REQUIRES: it was parsed last, and `next`
/// was not told yet.
#[inline]
pub(super) fn join(
    engine: &Engine,
    client: &mut Client,
    (parser, buffer): (&mut RequestParser, &mut BytesMut),
    mut command: Command,
    next: &mut Next,
) -> Command {
    let Work::Operations(task) = &mut command.work else { return command };
    let topology = engine.topology();
    let joins = |task: &mut Task, key: &[u8]| task.joins(key, topology) && !engine.waiters.is_waited_for(key);
    let mut bytes = if next.alike & 1 == 1 { task.bytes() } else { 0 };
    while next.alike & 1 == 1
        && bytes <= JOINED_BYTES
        && task.is_typed()
        && requests_ahead(buffer).next().is_some_and(|ahead| joins(task, ahead.key))
        && is_alone(engine, client)
    {
        // The last one may lack its end.
        let before = buffer.len();
        let Ok(Some(mut request)) = parser.parse(buffer) else { break };
        task.join(&mut request);
        drop(request);
        bytes += before - buffer.len();
        client.out.commands += 1;
        next.pass();
    }
    command
}

/// Whether nobody can tell commands that are carried out together from those that are not: the client is not in a transaction and
/// wants its replies, and nobody is told of each command or each change.
fn is_alone(engine: &Engine, client: &Client) -> bool {
    client.redis.is_plain() && !engine.shared.watch.is_monitored() && !listens(engine)
}
