//! Admission of clients: the server's policy and its limits on sessions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use breezeway_os::{Peer, has_too_many_to_close};
use breezeway_proto::hello::Refusal;

use super::{Acceptor, Destination, HalfOpen, Reason};
use crate::handshake::refuse;

/// Reason sent to a process that gets no session for now.
pub(super) const TOO_MANY_TO_CLOSE: &str = "too many file descriptors that this process has sent wait to be closed, as closing them takes \
     long; send segments only";

/// Reason for refusing a client before its hello arrives.
pub(super) enum Objection {
    /// The policy refused the client, for this reason.
    Denied(String),
    /// The limit on sessions is reached.
    Full,
    /// The client's user has reached the limit on sessions of a user.
    UserHasEnough,
}

impl<D: Destination> Acceptor<D> {
    /// Returns the reason to refuse a client before its hello arrives, or None.
    pub(super) fn objection(&mut self, peer: &Peer) -> Option<Objection> {
        match self.authorize(peer) {
            Err(reason) => Some(Objection::Denied(reason)),
            Ok(()) => self.reached_limit(peer),
        }
    }

    /// Returns the limit on sessions that is reached, or None.
    pub(super) fn reached_limit(&mut self, peer: &Peer) -> Option<Objection> {
        if self.is_full() {
            return Some(Objection::Full);
        }
        self.user_has_enough(peer).then_some(Objection::UserHasEnough)
    }

    /// Sends a client the reason of its refusal.
    pub(super) fn turn_away(&mut self, client: HalfOpen, objection: Objection) {
        let HalfOpen { mut wire, peer, .. } = client;
        let (reason, refusal, text) = match objection {
            Objection::Denied(text) => {
                match self.log.denied.admit() {
                    Some(suppressed) => {
                        tracing::info!(?peer, reason = %text, suppressed, "client denied");
                    }
                    None => tracing::debug!(?peer, reason = %text, "client denied"),
                }
                (Reason::Denied, Refusal::Denied, text)
            }
            Objection::Full => {
                let limit = self.options.max_sessions;
                let sessions =
                    if limit == 1 { "1 session is" } else { &format!("{limit} sessions are") };
                let text = format!("{sessions} open; the server's max_sessions allows no more");
                (Reason::BeyondLimit, Refusal::Busy, text)
            }
            Objection::UserHasEnough => {
                let limit = self.options.max_sessions_of_user.unwrap_or_default();
                let user =
                    peer.uid.map_or("users unknown here".to_owned(), |uid| format!("user {uid}"));
                let text = format!(
                    "sessions of {user} open: {limit}; the server's max_sessions_of_user allows no \
                     more"
                );
                (Reason::BeyondUserLimit, Refusal::Busy, text)
            }
        };
        self.monitor.turned_away(reason);
        refuse(&mut wire, refusal, &text);
        wire.close();
    }

    /// Returns true if the limit on sessions is reached, and logs a line: a client is about to be
    /// refused.
    pub(super) fn is_full(&mut self) -> bool {
        let limit = self.options.max_sessions;
        let foreign = Arc::strong_count(&self.foreign) - 1;
        let full = self.destination.sessions() + foreign >= limit;
        if full && let Some(suppressed) = self.log.refused.admit() {
            tracing::warn!(
                limit,
                suppressed,
                "client refused: as many sessions as max_sessions allows are open"
            );
        }
        full
    }

    /// Returns true if a client's user has reached the limit on sessions of a user. Over TCP the
    /// user is unknown, so the limit does not apply.
    fn user_has_enough(&mut self, peer: &Peer) -> bool {
        let Some(limit) = self.options.max_sessions_of_user else { return false };
        let full = peer.remote.is_none() && self.monitor.sessions_of(peer.uid) >= limit;
        if full && let Some(suppressed) = self.log.refused.admit() {
            let user = peer.uid;
            tracing::warn!(
                limit,
                ?user,
                suppressed,
                "client refused: its user has as many sessions as max_sessions_of_user allows"
            );
        }
        full
    }

    /// Asks the policy; one that panics admits no client. A process whose descriptors arrive faster
    /// than they can be closed is refused too.
    fn authorize(&self, peer: &Peer) -> Result<(), String> {
        if has_too_many_to_close(peer) {
            return Err(TOO_MANY_TO_CLOSE.to_owned());
        }
        let policy = &self.options.authorize;
        // A policy is a shared function without state of ours, so a panic leaves nothing half done.
        catch_unwind(AssertUnwindSafe(|| policy(peer)))
            .unwrap_or_else(|_| Err("the server's policy failed".to_owned()))
    }
}
