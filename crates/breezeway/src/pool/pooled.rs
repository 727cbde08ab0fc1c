//! A session of a pool, and a reply on it.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

use breezeway_shm::ForeignBytes;

use super::{Late, Member, Pool};
use crate::exclusive::ExclusiveSession;
use crate::message::Message;

/// A session of the pool.
pub struct PooledSession<'c> {
    pub(super) client: &'c Pool,
    /// `None` only while dropping.
    pub(super) member: Option<Box<Member>>,
    /// Time since when replies have been late, if they were when the session was taken.
    pub(super) late_since: Option<Instant>,
    /// True if taking it took time, which is subtracted from the time of a call.
    pub(super) has_waited: bool,
}

impl PooledSession<'_> {
    pub(super) fn waited_for(mut self) -> Self {
        self.has_waited = true;
        self
    }
}

impl Deref for PooledSession<'_> {
    type Target = ExclusiveSession;

    fn deref(&self) -> &ExclusiveSession {
        &self.member.as_deref().expect("present until dropped").session
    }
}

impl DerefMut for PooledSession<'_> {
    fn deref_mut(&mut self) -> &mut ExclusiveSession {
        &mut self.member.as_deref_mut().expect("present until dropped").session
    }
}

impl Drop for PooledSession<'_> {
    fn drop(&mut self) {
        let Some(member) = self.member.take() else { return };
        let session = &member.session;
        if session.is_going_away() {
            drop(member);
            self.client.closed();
            self.client.retire_idle();
        } else if session.is_ended() || session.in_flight() > 0 {
            // A session that has ended, or with replies still to be received, is of no use to
            // others.
            drop(member);
            self.client.closed();
        } else if session.has_late_replies() {
            let since = self.late_since.unwrap_or_else(Instant::now);
            self.client.give_back(|pool| pool.late.push_back(Late { member, since }));
        } else {
            self.client.give_back(|pool| pool.idle.push(member));
        }
    }
}

/// A reply, lent by the server until this is dropped.
pub struct PoolReply<'c> {
    pub(super) session: PooledSession<'c>,
}

impl PoolReply<'_> {
    /// Returns its bytes: a private copy up to 104 bytes, else the peer's memory, which the peer
    /// may still change.
    pub fn bytes(&self) -> ForeignBytes<'_> {
        self.session.reply_bytes()
    }

    /// Returns a private copy of its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().to_vec()
    }

    /// Converts the reply to a message to keep, like
    /// [`Reply::into_message`](crate::Reply::into_message). Its session returns to the pool at
    /// once.
    pub fn into_message(mut self) -> Message {
        self.session.detach_reply()
    }
}

impl Drop for PoolReply<'_> {
    fn drop(&mut self) {
        self.session.finish_reply();
    }
}
