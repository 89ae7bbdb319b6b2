//! Components: the part of a protocol that several protocols share as a whole, with its state and its handling of events.
//!
//! A protocol names its component ([`Protocol::Component`]), and the events that it does not treat specially go there. The
//! functions of a component take the whole server: they reach their own state through an accessor of the trait that the
//! protocol implements for the component, and call the other functions of that trait, its *hooks*, where protocols differ. A
//! protocol that treats one event specially overrides that event, and calls the component's function for the rest.

use crate::protocol::Received;
use crate::{Cx, Protocol};
use tidemark_core::ServerId;

/// What handles the events that protocol `P` leaves to it.
pub trait Component<P: Protocol>: 'static {
    /// See [`Extensions::for_client`](crate::Extensions::for_client).
    fn for_client(_message: &P::Peer) -> bool {
        false
    }

    /// See [`Protocol::on_peer`].
    fn on_peer(server: &mut P, from: ServerId, message: P::Peer, cx: &mut Cx<'_, P>);

    /// See [`Protocol::on_replicate`].
    fn on_replicate(server: &mut P, from: ServerId, item: Received<'_, P::Meta>, cx: &mut Cx<'_, P>);

    /// See [`Protocol::on_peer_reset`].
    fn on_peer_reset(server: &mut P, peer: ServerId, cx: &mut Cx<'_, P>);

    /// See [`Protocol::on_timer`].
    fn on_timer(server: &mut P, timer: P::Timer, cx: &mut Cx<'_, P>);
}

/// No component: versions are stored and no more, and heartbeats and restarts of peers mean nothing. A protocol that sends
/// messages or arms timers handles them itself.
impl<P: Protocol> Component<P> for () {
    fn on_peer(_: &mut P, _: ServerId, message: P::Peer, _: &mut Cx<'_, P>) {
        unreachable!("{} sends {message:?} and does not handle it", P::INFO.name)
    }

    fn on_replicate(_: &mut P, _: ServerId, _: Received<'_, P::Meta>, _: &mut Cx<'_, P>) {}

    fn on_peer_reset(_: &mut P, _: ServerId, _: &mut Cx<'_, P>) {}

    fn on_timer(_: &mut P, timer: P::Timer, _: &mut Cx<'_, P>) {
        unreachable!("{} arms {timer:?} and does not handle it", P::INFO.name)
    }
}
