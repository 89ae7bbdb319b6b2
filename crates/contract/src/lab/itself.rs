//! Messages of servers to themselves.

use super::Lab;
use crate::Protocol;
use tidemark_core::ServerId;

impl<P: Protocol> Lab<P> {
    /// Fires a timer. What the server says to itself then, it hears.
    pub fn fire(&mut self, at: ServerId, timer: P::Timer) {
        self.note(format_args!("{at} timer {timer:?}"));
        self.server(at).timers.remove(&timer);
        self.and_itself(at, |lab| lab.at(at, |protocol, cx| protocol.on_timer(timer, cx)));
    }

    /// Does something to a server, which then hears what it says to itself.
    fn and_itself<T>(&mut self, at: ServerId, what: impl FnOnce(&mut Self) -> T) -> T {
        let mut earlier = self.messages.remove(&(at, at)).unwrap_or_default();
        let done = what(self);
        while self.deliver_message(at, at) {}
        self.messages.entry((at, at)).or_default().append(&mut earlier);
        done
    }

    /// As [`Self::deliver_message`]; then the receiver hears what it says to itself.
    pub fn report(&mut self, from: ServerId, to: ServerId) -> bool {
        self.and_itself(to, |lab| lab.deliver_message(from, to))
    }
}
