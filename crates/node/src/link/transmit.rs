//! What leaves on a link.

use super::frame::move_bytes;
use super::table::{Role, Stage};
use crate::node::LinkId;
use crate::of::NodeOf;
use tidemark_contract::Protocol;

impl<P: Protocol> NodeOf<P> {
    /// Appends frames to `out`; true if there is more.
    pub(crate) fn fill(&mut self, id: LinkId, room: usize, out: &mut Vec<u8>) -> bool {
        let Some(link) = self.core.links.get(id) else { return false };
        if room == 0 {
            return true;
        }
        link.ready = false;
        let (before, mut copies) = (out.len(), false);
        move_bytes(&mut link.out, out);
        let more = match &link.stage {
            Stage::Closing => {
                self.core.links.remove(id);
                false
            }
            Stage::Up(up) => match up.role {
                Role::MessagesOut => {
                    let free = &mut self.core.outgoing[up.node.index()].free;
                    link.parts.take_large(free);
                    if !free.is_empty() {
                        free.take_into(out);
                    }
                    false
                }
                Role::StreamOut(_) if out.len() - before >= room => true,
                Role::StreamOut(_) => {
                    let more = self.supply(id);
                    if let Some(link) = self.core.links.get(id) {
                        move_bytes(&mut link.out, out);
                    }
                    more
                }
                Role::CopyOut(_) => {
                    copies = true;
                    false
                }
                _ => false,
            },
            _ => false,
        };
        let part = self.core.config.parts.bytes;
        let Some(link) = self.core.links.get(id) else { return more };
        if out.len() - before < room {
            link.parts.next(part, out);
        }
        let more = more || !link.parts.is_empty();
        if copies && !more {
            self.read_piece(id); // once all of the one before has left
        }
        more
    }
}
