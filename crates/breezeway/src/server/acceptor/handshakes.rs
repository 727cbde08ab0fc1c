//! The handshakes of accepted clients, each advanced as its bytes arrive.

use std::sync::Arc;
use std::time::Instant;

use breezeway_os::{exit_descriptor, has_too_many_to_close, open_files_limit};
use breezeway_proto::hello::HelloError;

use super::admission::{Objection, TOO_MANY_TO_CLOSE};
use super::{Accepted, Acceptor, Destination};
use crate::error::{HandshakeError, describe};
use crate::foreign::{ForeignConnection, ForeignProtocol};
use crate::handshake::{Received, welcome};
use crate::server::half_open::{HalfOpen, Shaken};
use crate::server::monitor::Reason;

impl<D: Destination> Acceptor<D> {
    /// Reads the bytes of one hello that have arrived.
    pub(super) fn advance(&mut self, token: u64) {
        let Some(client) = self.half_open.get_mut(token) else { return };
        // Since it was admitted, others of its process may have sent the descriptors that it is
        // refused for.
        if has_too_many_to_close(&client.peer) {
            if let Some(client) = self.remove(token) {
                self.turn_away(client, Objection::Denied(TOO_MANY_TO_CLOSE.to_owned()));
            }
            return;
        }
        match client.shake() {
            Ok(Shaken::Before) => {}
            Ok(Shaken::Now) => {
                let peer = client.peer.clone();
                if let Some(objection) = self.objection(&peer) {
                    if let Some(client) = self.remove(token) {
                        self.turn_away(client, objection);
                    }
                    return;
                }
            }
            Ok(Shaken::NotYet { room: false }) => return,
            Ok(Shaken::NotYet { room: true }) => {
                if let Err(error) = self.sleeper.watch_room(&*client, token, true) {
                    self.finish(token, Err(error.into()));
                }
                return;
            }
            Err(error) => return self.finish(token, Err(error)),
        }
        let Some(client) = self.half_open.get_mut(token) else { return };
        match client.receiver.receive(&mut client.wire).transpose() {
            Some(received) => self.finish(token, received),
            None if client.since.is_none() && !client.has_sent_nothing() => {
                self.half_open.set_since(token, Some(Instant::now()));
            }
            None => {}
        }
    }

    /// Removes a client from those in their handshake.
    pub(super) fn remove(&mut self, token: u64) -> Option<HalfOpen> {
        let client = self.half_open.remove(token)?;
        if let Err(error) = self.sleeper.forget(&client) {
            tracing::warn!(%error, "cannot stop watching a client");
        }
        Some(client)
    }

    /// Ends one handshake, if it has not ended.
    pub(super) fn finish(&mut self, token: u64, received: Result<Received, HandshakeError>) {
        if let Some(client) = self.remove(token) {
            self.complete(client, received);
        }
    }

    /// Handles the first bytes of a client: opens a session by answering its hello, or hands over a
    /// client of another protocol.
    pub(super) fn complete(
        &mut self,
        client: HalfOpen,
        received: Result<Received, HandshakeError>,
    ) {
        match (&received, &self.options.foreign) {
            // Descriptors that came with its first bytes would be lost.
            (Err(HandshakeError::Hello(HelloError::Magic(_))), Some(protocol))
                if !client.receiver.has_descriptors() =>
            {
                let protocol = protocol.clone();
                self.hand_over(client, &protocol);
            }
            _ => self.open(client, received),
        }
    }

    /// Hands a client of another protocol to the handler for it.
    fn hand_over(&mut self, client: HalfOpen, protocol: &ForeignProtocol) {
        let HalfOpen { wire, carrier, peer, receiver, .. } = client;
        if self.is_full() {
            // The client would not understand a refusal in this protocol.
            return wire.close();
        }
        let (first, place) = (receiver.into_bytes(), Arc::clone(&self.foreign));
        protocol.take_over(ForeignConnection::new(wire, first, (carrier, peer), place));
    }

    /// Answers a hello and hands the session over.
    fn open(&mut self, client: HalfOpen, received: Result<Received, HandshakeError>) {
        if received.is_ok()
            && let Some(objection) = self.reached_limit(&client.peer)
        {
            return self.turn_away(client, objection);
        }
        let HalfOpen { wire, carrier, peer, .. } = client;
        let was_pushed_out = matches!(received, Err(HandshakeError::PushedOut));
        let is_plain = received.as_ref().is_ok_and(|(greeting, _)| greeting.is_plain());
        let plain = (is_plain && self.destination.prefers_plain())
            .then(|| self.options.session.for_plain_calls());
        let options = plain.as_ref().unwrap_or(&self.options.session);
        // Without the exit descriptor, the client's death might never be noticed.
        let (exit, received) = match exit_descriptor(&wire) {
            Ok(exit) => (exit, received),
            Err(_) => (None, received.and(Err(HandshakeError::OpenFiles))),
        };
        let account = self.monitor.memory_of(peer.uid);
        match welcome(wire, carrier, options, account, &mut self.ready_control, received) {
            Ok(agreed) => {
                self.monitor.enters(agreed.link.meter());
                let trusted = self.options.session.trust.ask(&peer);
                self.destination.deliver(Accepted { agreed, peer, exit, trusted });
            }
            Err(error) if error.is_shortage() => {
                let is_limit = error.is_memory_limit();
                let reason = if is_limit { Reason::BeyondMemory } else { Reason::Failed };
                self.monitor.turned_away(reason);
                let (limit, error) = (open_files_limit(), describe(&error));
                match self.log.short.admit() {
                    Some(suppressed) => {
                        tracing::warn!(?peer, %error, open_files = limit, suppressed, "no session");
                    }
                    None => tracing::debug!(?peer, %error, "no session"),
                }
            }
            Err(error) => {
                let reason = if was_pushed_out { Reason::PushedOut } else { Reason::Failed };
                self.monitor.turned_away(reason);
                let error = describe(&error);
                match self.log.failed.admit() {
                    Some(0) => tracing::info!(?peer, %error, "no session"),
                    Some(suppressed) => tracing::info!(?peer, %error, suppressed, "no session"),
                    None => tracing::debug!(?peer, %error, "no session"),
                }
            }
        }
    }
}
