//! Messages for connections that did not request them: of channels that they have subscribed to, and lines of MONITOR.
//!
//! A command leaves its messages in [`redis::Shared::mail`]. They become bytes of their connections' replies before the
//! batch ends, so that nobody hears of a write before it is durable.

use super::client::Client;
use crate::redis::{Mail, OutputLimit};
use crate::run::shard::{Core, Engine};
use tidemark_core::Micros;
use tidemark_wire::resp::Encoder;

/// With so many messages waiting a connection's commands make room for them to be delivered.
pub(super) const MAIL_MAX: usize = 1_000;

/// Delivers what waits.
pub(crate) fn deliver(core: &mut Core) {
    core.engine.shared.tracking.broadcast(&core.engine.registry, &mut core.engine.shared.mail);
    if core.engine.shared.mail.is_empty() {
        return;
    }
    let mut mail = std::mem::take(&mut core.engine.shared.mail);
    let limit = core.engine.redis.output_limit(true);
    for mail in mail.drain(..) {
        if let Some(client) = core.clients.connection(mail.to) {
            receive(&mut core.engine, client, &mail, &limit);
        }
    }
    core.engine.shared.mail = mail;
}

/// Delivers to the client whose command has just ended what that command has left for it: behind its reply.
pub(super) fn deliver_own(engine: &mut Engine, client: &mut Client, from: usize) {
    let id = client.redis.id();
    if !engine.shared.mail[from..].iter().any(|mail| mail.to == id) {
        return;
    }
    let limit = engine.redis.output_limit(true);
    let (own, others): (Vec<Mail>, _) = engine.shared.mail.drain(from..).partition(|mail| mail.to == id);
    engine.shared.mail.extend::<Vec<Mail>>(others);
    own.iter().for_each(|mail| receive(engine, client, mail, &limit));
}

/// Appends a message to what a client is to be sent. One that reads too slowly is disconnected, as in Redis.
fn receive(engine: &mut Engine, client: &mut Client, mail: &Mail, limit: &OutputLimit) {
    if client.closing {
        return;
    }
    mail.message.write(&mut Encoder::new(&mut client.out.bytes, client.redis.version()));
    engine.touch(client);
    engine.node.inform(client.session);
    if let Some(source) = mail.source
        && !client.heard.contains(&source)
    {
        client.heard.push(source);
    }
    if exceeds(client, limit, engine.now.mono) {
        let id = client.redis.id();
        tracing::warn!("client {id} is disconnected: it reads too slowly what it has subscribed to");
        client.cut_off();
    }
}

/// Whether more waits for the client than may, or has done so for too long.
fn exceeds(client: &mut Client, limit: &OutputLimit, now: Micros) -> bool {
    let waits = client.out.bytes.len() as u64;
    if limit.hard_bytes > 0 && waits > limit.hard_bytes {
        return true;
    }
    if limit.soft_bytes == 0 || waits <= limit.soft_bytes {
        client.out.full_since = None;
        return false;
    }
    let since = *client.out.full_since.get_or_insert(now);
    now.saturating_sub(since) > limit.soft_seconds.saturating_mul(1_000_000)
}
