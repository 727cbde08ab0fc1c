//! The sending side of a client: requests and one-way messages, each sent as soon as there is room.

use breezeway_os::Deadline;
use breezeway_proto::Head;
use breezeway_proto::in_flight::CallId;
use breezeway_proto::throttle::{Admit, Hold, PATIENCE, THROTTLED_FROM};
use breezeway_shm::{SendError, Want};

use super::ExclusiveSession;
use crate::carrier::{Body, LinkError};
use crate::error::{CallError, SegmentError, Shortage};
use crate::link::Flush;

impl ExclusiveSession {
    /// Sends a request, and wakes the server.
    #[inline(always)]
    pub(super) fn request(
        &mut self,
        method: u32,
        body: Body<'_>,
        deadline: Deadline,
    ) -> Result<CallId, CallError> {
        let call = self.request_unflushed(method, body, deadline)?;
        self.flush(deadline)?;
        Ok(call)
    }

    /// Sends a one-way message, and wakes the server.
    #[inline(always)]
    pub(super) fn message(
        &mut self,
        method: u32,
        body: Body<'_>,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        self.message_unflushed(method, body, deadline)?;
        self.flush(deadline)
    }

    #[inline(always)]
    pub(super) fn request_unflushed(
        &mut self,
        method: u32,
        body: Body<'_>,
        deadline: Deadline,
    ) -> Result<CallId, CallError> {
        if !self.calls.has_room() {
            self.make_room_for_a_call()?;
        }
        let stream = self.calls.next_number();
        self.send_message(Head::of_call(stream, method, self.call_time), body, deadline)?;
        Ok(self.calls.call_sent())
    }

    #[inline(always)]
    pub(super) fn message_unflushed(
        &mut self,
        method: u32,
        body: Body<'_>,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        if let Body::Bytes(bytes) = body {
            self.hold_back(bytes.len(), deadline)?;
        }
        let stream = self.calls.next_number();
        // The message uses a number in any case, so the number also serves as a counter: a call
        // notices the server's end if a check is due at its number.
        if (stream >> 1) & self.check_mask == self.check_mask {
            self.check_server()?;
        }
        self.send_message(Head::of_one_way(stream, method), body, deadline)?;
        self.calls.one_way_sent();
        Ok(())
    }

    /// Sends a one-way message if there is room for it; returns true if it was sent.
    pub(super) fn try_message(&mut self, method: u32, message: &[u8]) -> Result<bool, CallError> {
        let stream = self.calls.next_number();
        let head = Head::of_one_way(stream, method);
        match self.link.send(head, Body::Bytes(message)) {
            Ok(()) => self.calls.one_way_sent(),
            Err(SendError::Full { .. } | SendError::NoMemory { .. }) => {
                // The server may be asleep with published messages before it, or gone.
                self.link.flush(Flush::All).map_err(|error| self.failed(error.into()))?;
                self.check_server()?;
                return Ok(false);
            }
            Err(error) => return Err(self.failed(CallError::of_send(error))),
        }
        self.link.flush(Flush::All).map_err(|error| self.failed(error.into()))?;
        self.check_receiver()?;
        Ok(true)
    }

    /// Checks, after a quarter of the ring, that one-way messages still have a receiver.
    #[cold]
    #[inline(never)]
    fn check_server(&mut self) -> Result<(), CallError> {
        self.link.check_peer().map_err(|error| self.failed(error.into()))?;
        self.check_receiver()
    }

    /// Returns an error if the server is gone and no reply would report it.
    #[inline(always)]
    fn check_receiver(&mut self) -> Result<(), CallError> {
        if !self.link.status().reads && self.calls.wanted() == 0 {
            return Err(self.not_waited(LinkError::Closed));
        }
        Ok(())
    }

    /// Sends a message, waiting for room.
    #[inline(always)]
    fn send_message(
        &mut self,
        head: Head,
        body: Body<'_>,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        while let Err(error) = self.link.send(head, body) {
            self.wait_for_room(error, deadline)?;
        }
        Ok(())
    }

    /// Reserves space, and waits while it is lent for messages that the server has not consumed.
    #[inline]
    pub(super) fn reserve_waiting(
        &mut self,
        len: usize,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        self.hold_back(len, deadline)?;
        while let Err(error) = self.link.reserve(len) {
            self.wait_for_room(error, deadline)?;
        }
        Ok(())
    }

    /// Waits for a moment while more bytes are in flight than a cache holds. Does not wait while a
    /// reply is to come, as releases may then be in the entries behind it.
    #[inline(always)]
    fn hold_back(&mut self, len: usize, deadline: Deadline) -> Result<(), CallError> {
        if len < THROTTLED_FROM || self.calls.wanted() > 0 {
            return Ok(());
        }
        self.hold_back_large(len, deadline)
    }

    #[inline(never)]
    fn hold_back_large(&mut self, len: usize, deadline: Deadline) -> Result<(), CallError> {
        let (mut hold, mut patience) = (Hold::default(), deadline);
        loop {
            let (in_flight, more) =
                self.link.in_flight(|bytes| self.throttle.is_exceeded(bytes, len));
            match self.throttle.admit(in_flight, len, &mut hold) {
                Admit::Now => return Ok(()),
                Admit::Anew => patience = Deadline::after(PATIENCE).min(deadline),
                Admit::Later => {}
            }
            match self.link.wait(more, patience) {
                Ok(()) if !patience.has_passed() => {}
                Ok(()) | Err(LinkError::DeadlinePassed) => {
                    self.throttle.expire(&mut hold);
                    if deadline.has_passed() {
                        return Ok(());
                    }
                }
                Err(failure) => return Err(self.not_waited(failure)),
            }
        }
    }

    /// Publishes messages to the server. Returns an error if the server is gone and no reply would
    /// report it.
    #[inline(always)]
    pub(super) fn flush(&mut self, deadline: Deadline) -> Result<(), CallError> {
        self.link.flush(Flush::AllBy(deadline)).map_err(|failure| self.not_flushed(failure))?;
        self.check_receiver()
    }

    /// Waits until a refused message may be tried again. The server never waits for the client, so
    /// it makes progress: replies in flight always fit into its ring.
    #[cold]
    #[inline(never)]
    fn wait_for_room(&mut self, error: SendError, deadline: Deadline) -> Result<(), CallError> {
        match error {
            SendError::Full { until, .. } => match self.link.wait(until, deadline) {
                Err(LinkError::ReceiveBufferFull) => self.make_room_for_replies(deadline),
                outcome => outcome.map_err(|error| self.not_waited(error)),
            },
            SendError::NoMemory { len, shortage, until } => {
                self.flush(deadline)?;
                let had_current = self.link.has_current();
                let dropped = self.drop_late_replies()?;
                let has_current = self.link.has_current();
                if dropped || has_current != had_current {
                    // An entry that was taken may have carried the release.
                    return Ok(());
                }
                match until {
                    Some(until) if !has_current => {
                        let outcome = self.link.wait(until, deadline);
                        outcome.map_err(|error| self.not_waited(error))
                    }
                    _ if self.link.head().is_shutdown() => Err(self.failed(CallError::Closed)),
                    // Further releases may be in the entries behind a reply that must be received
                    // first.
                    _ => Err(CallError::NoMemory { len, shortage: Shortage(shortage) }),
                }
            }
            SendError::TooLarge { len, cap } => Err(CallError::TooLarge { len, cap }),
            SendError::Segment(error) => Err(CallError::Segment(SegmentError(error))),
            SendError::Socket(error) => Err(self.failed(LinkError::from(error).into())),
        }
    }

    /// Makes room for a call by dropping replies to calls that were given up.
    #[cold]
    #[inline(never)]
    fn make_room_for_a_call(&mut self) -> Result<(), CallError> {
        if self.calls.wanted() == 0 {
            // No receive is running, so the server's end is checked here. Messages sent before its
            // end are dropped below.
            self.link.drain().map_err(|error| self.failed(error.into()))?;
        }
        self.drop_late_replies()?;
        if self.calls.has_room() {
            return Ok(());
        }
        if self.calls.wanted() == 0 {
            self.handle_control_entry()?;
            if self.link.status().closed && !self.link.has(Want::Data).unwrap_or(true) {
                return Err(self.failed(CallError::PeerDied));
            }
        }
        Err(CallError::TooManyInFlight(self.calls.limit()))
    }

    /// Drops replies to calls that were given up, of which enough have arrived to stop reading;
    /// other replies must be received first.
    #[cold]
    fn make_room_for_replies(&mut self, deadline: Deadline) -> Result<(), CallError> {
        self.drop_late_replies()?;
        match self.calls.wanted() {
            0 => {}
            wanted => return Err(CallError::TooManyInFlight(wanted)),
        }
        self.handle_control_entry()?;
        // A server that sends more and more, and reads nothing, does not hold the caller.
        if deadline.has_passed() {
            return Err(self.not_waited(LinkError::DeadlinePassed));
        }
        Ok(())
    }

    /// Handles the entry in front of all others if it is not a message.
    fn handle_control_entry(&mut self) -> Result<(), CallError> {
        if self.link.has_current() && !self.link.head().is_message() {
            self.session_entry().map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// Returns the error of a failed wait for the server to take messages.
    #[cold]
    fn not_waited(&mut self, failure: LinkError) -> CallError {
        let closed = matches!(failure, LinkError::Closed) && self.was_shut_down();
        let error = if closed { CallError::Closed } else { self.wait_error(failure) };
        self.failed(error)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::unstable::Tuning as _;
    use crate::{Call, ExclusiveServerSession, SessionOptions};

    const BOUND: usize = 64 << 10;

    fn pair() -> (ExclusiveSession, ExclusiveServerSession) {
        ExclusiveSession::pair(&SessionOptions::new().under_way(Some(BOUND as u64))).unwrap()
    }

    #[test]
    fn message_too_far_ahead_is_delayed_and_sent() {
        let (mut client, server) = pair();
        client.post(0, &[1; BOUND]).unwrap();
        for _ in 0..2 {
            let start = Instant::now();
            client.post(0, &[1; BOUND]).unwrap();
            assert!(start.elapsed() >= PATIENCE);
            // Messages admitted by this wait are not waited for again.
            client.throttle.admit(0, 0, &mut Hold::default());
        }
        let start = Instant::now();
        client.reserve(BOUND).unwrap().post(0).unwrap();
        assert!(start.elapsed() >= PATIENCE);
        drop(client);
        let served = AtomicUsize::new(0);
        let count = move |call: Call<'_>| {
            assert_eq!((call.request().len(), served.fetch_add(1, Relaxed) < 4), (BOUND, true));
            call.done()
        };
        server.serve(&count).unwrap();
    }

    /// Creates a session with all calls in flight that it may have, and a server that never serves
    /// them.
    fn given_up() -> (ExclusiveSession, ExclusiveServerSession) {
        let (mut client, server) =
            ExclusiveSession::pair(&SessionOptions::new().ring_capacity(8)).unwrap();
        client.set_call_timeout(Some(Duration::from_millis(1)));
        for _ in 0..client.max_in_flight() {
            let error = client.call(0, b"hi").map(drop).unwrap_err();
            assert!(matches!(error, CallError::DeadlinePassed), "{error:?}");
        }
        let error = client.call(0, b"hi").map(drop).unwrap_err();
        assert!(matches!(error, CallError::TooManyInFlight(4)), "{error:?}");
        assert!(!client.is_ended());
        (client, server)
    }

    #[test]
    fn server_end_is_seen_when_all_calls_are_given_up() {
        let (mut client, server) = given_up();
        drop(server);
        let error = client.call(0, b"hi").map(drop).unwrap_err();
        assert!(matches!(error, CallError::Closed), "{error:?}");
        assert!(client.is_ended());
    }

    #[test]
    fn server_death_is_seen_when_all_calls_are_given_up() {
        let (mut client, mut server) = given_up();
        let socket = server.link().socket();
        rustix::net::shutdown(socket, rustix::net::Shutdown::Both).unwrap();
        let error = client.call(0, b"hi").map(drop).unwrap_err();
        assert!(matches!(error, CallError::PeerDied), "{error:?}");
        assert!(client.is_ended());
    }

    #[test]
    fn requests_in_flight_do_not_hold_back_the_next() {
        let (mut client, server) = pair();
        for _ in 0..8 {
            client.send(0, &[1; BOUND]).unwrap();
        }
        assert!(client.throttle.is_exceeded(BOUND, 1), "nothing was waited for");
        let server = std::thread::spawn(move || server.serve(&|call: Call<'_>| call.echo()));
        for _ in 0..8 {
            assert_eq!(client.receive().unwrap().bytes().len(), BOUND);
        }
        drop(client);
        server.join().unwrap().unwrap();
    }

    #[test]
    fn the_bound_is_back_when_everything_has_come_back() {
        let (mut client, server) = pair();
        for _ in 0..8 {
            client.post(0, &[1; BOUND]).unwrap();
        }
        assert!(!client.throttle.is_exceeded(BOUND, 1), "the server has taken nothing");
        let server = std::thread::spawn(move || server.serve(&|call: Call<'_>| call.done()));
        client.call(0, &[]).unwrap();
        client.post(0, &[1; BOUND]).unwrap();
        client.call(0, &[]).unwrap();
        // Returned memory becomes known when memory is asked for.
        client.link.in_flight(|_| true);
        client.post(0, &[1; BOUND]).unwrap();
        assert!(client.throttle.is_exceeded(BOUND, 1));
        drop(client);
        server.join().unwrap().unwrap();
    }
}
