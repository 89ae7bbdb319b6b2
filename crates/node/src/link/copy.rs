//! Copies of everything, from the leader of a Raft group to a member that lacks much: each on a link of its own, a piece at
//! a time, read and made durable by jobs.
//!
//! ```text
//! leader   Begin(message) Records… End
//! member   Taken            once all of it is durable, and loaded; whatever goes wrong ends the link
//! ```

use super::frame::{FrameBuffer, as_bytes, frame, value};
use super::hello::LinkKind;
use super::table::{Role, Sending};
use crate::job::{Job, Work};
use crate::layout::NodeId;
use crate::node::{LinkError, LinkId, Output};
use crate::notice::Level;
use crate::of::NodeOf;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tidemark_contract::Protocol;
use tidemark_group::{CopyIn, CopyOut};
use tidemark_replica::{OpenError, SealDone};

/// What is said of a copy.
#[derive(Debug, Serialize, Deserialize)]
enum Part<'a> {
    /// The message that tells of it, as the library encodes it: heard when all of it is there.
    Begin(&'a [u8]),
    /// Records.
    Records(#[serde(serialize_with = "as_bytes")] &'a [u8]),
    /// That was all.
    End,
}

/// The answer.
#[derive(Debug, Serialize, Deserialize)]
struct Taken;

impl<P: Protocol> NodeOf<P> {
    /// Copies that wait to be sent, and what the leader of a group wants to remember.
    pub(crate) fn send_copies(&mut self) {
        let Some(member) = self.hold.member_mut() else { return };
        let (copies, recall) = (member.take_copies(), member.recall_job());
        if let Some(job) = recall {
            self.core.outputs.push_back(Output::Job(Job(Work::Recall(job))));
        }
        for copy in copies {
            match self.core.place.as_ref().and_then(|place| place.node(copy.to)) {
                Some(node) => {
                    let name = self.core.name_of(node).to_string();
                    self.core.notice(Level::Info, format!("node {name} gets a copy of everything"));
                    self.dial(node, LinkKind::Copy, Some(Box::new(copy)));
                }
                None => self.core.lost_copies.push((self.core.now.mono, copy.to, copy.opened)),
            }
        }
    }

    /// Tells the leader of copies that did not arrive.
    pub(crate) fn tell_lost_copies(&mut self) {
        let now = self.core.now.mono;
        let mut due = Vec::new();
        self.core.lost_copies.retain(|lost| {
            let is_due = lost.0 <= now;
            if is_due {
                due.push(*lost);
            }
            !is_due
        });
        for (_, to, opened) in due {
            self.copy_ended(to, opened, false);
        }
    }

    fn copy_ended(&mut self, to: u64, opened: u64, arrived: bool) {
        if let Some(member) = self.hold.member_mut() {
            member.copy_ended(to, opened, arrived);
        }
        self.core.wants_commit = true;
    }

    fn sending(&mut self, id: LinkId) -> Option<&mut Sending> {
        match &mut self.core.links.up(id)?.role {
            Role::CopyOut(sending) => Some(sending),
            _ => None,
        }
    }

    /// The link for a copy stands.
    pub(crate) fn begin_copy_out(&mut self, id: LinkId) {
        let Some(sending) = self.sending(id) else { return };
        let Some(copy) = &sending.copy else { return };
        let begin = frame(&Part::Begin(&tidemark_group::encode(&copy.message)));
        self.core.say_frame(id, &begin);
        self.read_piece(id);
    }

    /// Has the next piece read, once what was read before has left.
    pub(crate) fn read_piece(&mut self, id: LinkId) {
        let Some(sending) = self.sending(id).filter(|sending| !sending.whole) else { return };
        if let Some(copy) = sending.copy.take() {
            self.core.outputs.push_back(Output::Job(Job(Work::Piece(id, copy))));
        }
    }

    /// A piece was read.
    pub(crate) fn piece_read(
        &mut self,
        id: LinkId,
        copy: Box<CopyOut>,
        piece: Result<Option<Bytes>, OpenError>,
    ) {
        let opened = self.hold.member_mut().map(|member| member.opened());
        let Some(sending) = self.sending(id) else { return };
        let problem = match piece {
            _ if opened != Some(sending.opened) => "this node leads its group no more".to_string(),
            Err(error) => format!("it cannot be read: {error}"),
            Ok(Some(piece)) => {
                sending.bytes += piece.len() as u64;
                sending.copy = Some(copy);
                let mut batch = FrameBuffer::default();
                batch.push_parted(&Part::Records(&piece), self.core.config.parts.above);
                return self.core.say(id, &mut batch);
            }
            Ok(None) => {
                sending.whole = true;
                return self.core.say_frame(id, &frame(&Part::End));
            }
        };
        self.end_link(id, Some(problem));
        self.core.outputs.push_back(Output::Close { link: id });
    }

    /// The member has the copy.
    pub(crate) fn copy_taken(&mut self, id: LinkId, node: NodeId, payload: &[u8]) -> Result<(), LinkError> {
        let Taken = value(payload)?;
        let now = self.core.now.mono;
        let Some(sending) = self.sending(id).filter(|sending| sending.whole) else {
            return Err(LinkError::Refused("its answer came before the end of the copy".to_string()));
        };
        let (to, opened, bytes) = (sending.to, sending.opened, sending.bytes);
        let seconds = (now - sending.begun) as f64 / 1e6;
        let name = self.core.name_of(node).to_string();
        self.core
            .notice(Level::Info, format!("node {name} has its copy: {} MiB in {seconds:.1} s", bytes >> 20));
        self.core.links.remove(id);
        self.core.outputs.push_back(Output::Close { link: id });
        self.copy_ended(to, opened, true);
        Ok(())
    }

    /// A part of a copy for this member.
    pub(crate) fn take_part(&mut self, id: LinkId, payload: &[u8]) -> Result<(), LinkError> {
        let part = postcard::from_bytes(payload).map_err(super::frame::FrameError::Meaning)?;
        let refused = |why: &dyn std::fmt::Display| LinkError::Refused(why.to_string());
        let Some(up) = self.core.links.up(id) else { return Ok(()) };
        let Role::CopyIn(copy, _) = &mut up.role else { return Ok(()) };
        let no_member =
            || LinkError::Refused("this node does not know its name in the group yet".to_string());
        let member = self.hold.member_mut().ok_or_else(no_member)?;
        match (part, *copy) {
            (Part::Begin(message), None) => {
                let message = tidemark_group::decode(message);
                let message = message.ok_or_else(|| refused(&"it is not said of what it is"))?;
                *copy = Some(member.begin_copy(message).map_err(|error| refused(&error))?);
            }
            (Part::Records(piece), Some(copy)) => {
                member.copy_piece(copy, piece).map_err(|error| refused(&error))?;
            }
            (Part::End, Some(copy)) => {
                let job = member.seal_copy(copy).map_err(|error| refused(&error))?;
                self.core.outputs.push_back(Output::Job(Job(Work::Seal(id, job))));
            }
            _ => return Err(refused(&"its parts are out of order")),
        }
        self.core.wants_commit = true;
        Ok(())
    }

    /// A copy for this member is durable: it is loaded.
    pub(crate) fn copy_sealed(&mut self, id: LinkId, sealed: SealDone) {
        let now = self.core.now;
        let copy: Option<(CopyIn, u64, NodeId)> = match self.core.links.up(id) {
            Some(up) => match up.role {
                Role::CopyIn(Some(copy), begun) => Some((copy, begun, up.node)),
                _ => None,
            },
            None => None,
        };
        let (Some((copy, begun, node)), Some(member)) = (copy, self.hold.member_mut()) else { return };
        match member.copy_sealed(now, copy, sealed) {
            Err(error) => drop(self.core.fail(error)),
            Ok(Err(refused)) => {
                self.end_link(id, Some(refused.to_string()));
                self.core.outputs.push_back(Output::Close { link: id });
            }
            Ok(Ok(())) => {
                let (name, seconds) = (self.core.name_of(node).to_string(), (now.mono - begun) as f64 / 1e6);
                let what = format!("the copy of everything from node {name} is there, after {seconds:.1} s");
                self.core.notice(Level::Info, what);
                if let Some(up) = self.core.links.up(id) {
                    up.role = Role::CopyTaken;
                }
                // If the leader is not told, it asks.
                self.core.say_frame(id, &frame(&Taken));
            }
        }
        self.core.wants_commit = true;
    }
}
