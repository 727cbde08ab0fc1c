//! Clients without a complete hello.
//!
//! Their number is limited. A further client pushes out the oldest one of the source with the most,
//! so that no user, and over TCP no host, keeps another one out however many silent connections it
//! opens. A client of the same user has the time in which as many others are accepted as the limit
//! allows.
//!
//! A client that may speak another protocol need not say anything: it may have connected ahead of
//! its first call. Once the time for its hello is over, such a client is silent. It has no deadline
//! then, and is pushed out before the other clients of its source.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Bound;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use breezeway_os::{Origin, Peer, open_files_limit};

use crate::carrier::Carrier;
use crate::carrier::wire::Wire;
use crate::error::HandshakeError;
use crate::handshake::GreetingReceiver;

/// Limit on half-open clients: more than are accepted in the milliseconds that an honest client
/// takes for its hello.
const MAX_HALF_OPEN: usize = 1024;

/// Returns the limit on clients without a complete hello: at most a quarter of the descriptors that
/// this process may have.
pub(super) fn most() -> usize {
    let quarter = usize::try_from(open_files_limit() / 4).unwrap_or(usize::MAX);
    quarter.clamp(1, MAX_HALF_OPEN)
}

/// A client without a complete hello.
pub(super) struct HalfOpen {
    pub(super) wire: Wire,
    pub(super) carrier: Carrier,
    pub(super) peer: Peer,
    pub(super) receiver: GreetingReceiver,
    /// Start of the time for its hello; `None` while it is silent.
    pub(super) since: Option<Instant>,
}

impl AsFd for HalfOpen {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wire.as_fd()
    }
}

/// Progress of the TLS handshake, which precedes a hello over `tls:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shaken {
    /// There is no TLS handshake, or it was complete before this call.
    Before,
    /// This call completed it: the client's identity is known from now on.
    Now,
    /// The handshake needs more bytes from the client, or, if `room` is set, room to write to it.
    NotYet { room: bool },
}

impl HalfOpen {
    /// Returns true if bytes to the client wait for room.
    pub(super) fn has_unwritten(&self) -> bool {
        matches!(&self.wire, Wire::Tls(tls) if tls.has_unwritten())
    }

    /// Returns true if nothing of its hello has arrived, but all that precedes it.
    pub(super) fn has_sent_nothing(&self) -> bool {
        let is_shaking = matches!(&self.wire, Wire::Tls(tls) if tls.is_shaking());
        !is_shaking && self.receiver.is_empty()
    }

    /// Continues the TLS handshake as far as possible without waiting.
    pub(super) fn shake(&mut self) -> Result<Shaken, HandshakeError> {
        match &mut self.wire {
            Wire::Tls(tls) if tls.is_shaking() => {
                if !tls.shake()? {
                    return Ok(Shaken::NotYet { room: tls.has_unwritten() });
                }
                self.peer.identity = tls.identity();
                Ok(Shaken::Now)
            }
            _ => Ok(Shaken::Before),
        }
    }
}

/// Source that a connection is accounted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// A user; all users that this user namespace does not map count as one.
    User(Option<u32>),
    /// A host: over IPv6 its 64-bit network, as a host may take any address of it.
    Host(IpAddr),
}

impl Source {
    fn of(peer: &Peer) -> Self {
        match peer.remote.map(|remote| remote.ip().to_canonical()) {
            None => Self::User(peer.uid),
            Some(IpAddr::V6(address)) => {
                Self::Host(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into())
            }
            Some(address) => Self::Host(address),
        }
    }
}

/// The clients without a complete hello, by token.
pub(super) struct HalfOpens {
    clients: HashMap<u64, HalfOpen>,
    /// The clients of each source in the order in which they are pushed out.
    order: HashMap<Source, BTreeSet<Place>>,
    next: u64,
    max: usize,
    origin: Origin,
}

/// Start of a client's time, and its token: silent clients come first, then the oldest.
type Place = (Option<Instant>, u64);

impl HalfOpens {
    pub(super) fn new(max: usize) -> Self {
        let (clients, order) = (HashMap::new(), HashMap::new());
        Self { clients, order, next: 0, max, origin: Origin::here() }
    }

    /// Returns true if no client has a deadline.
    pub(super) fn are_silent(&self) -> bool {
        self.oldest().is_none()
    }

    pub(super) fn is_full(&self) -> bool {
        self.clients.len() >= self.max
    }

    /// Returns the token of the next client.
    pub(super) fn next_token(&self) -> u64 {
        self.next
    }

    pub(super) fn insert(&mut self, client: HalfOpen) {
        let place = (client.since, self.next);
        self.order.entry(Source::of(&client.peer)).or_default().insert(place);
        self.clients.insert(self.next, client);
        self.next += 1;
    }

    pub(super) fn get_mut(&mut self, token: u64) -> Option<&mut HalfOpen> {
        self.clients.get_mut(&token)
    }

    /// Sets the start of a client's time, or makes the client silent.
    pub(super) fn set_since(&mut self, token: u64, since: Option<Instant>) {
        let Some(client) = self.clients.get_mut(&token) else { return };
        let order = self.order.get_mut(&Source::of(&client.peer)).expect("each client has a place");
        order.remove(&(client.since, token));
        order.insert((since, token));
        client.since = since;
    }

    pub(super) fn remove(&mut self, token: u64) -> Option<HalfOpen> {
        let client = self.clients.remove(&token)?;
        let source = Source::of(&client.peer);
        let order = self.order.get_mut(&source).expect("each client has a place");
        order.remove(&(client.since, token));
        if order.is_empty() {
            self.order.remove(&source);
        }
        Some(client)
    }

    /// Returns the client that is pushed out next: a silent one or the oldest one of the source
    /// with the most.
    pub(super) fn next_victim(&self) -> Option<u64> {
        let largest = self.order.values().max_by_key(|order| order.len())?;
        largest.first().map(|&(_, token)| token)
    }

    /// Returns the oldest client that is not silent.
    pub(super) fn oldest(&self) -> Option<(u64, Instant)> {
        let silent = Bound::Excluded((None, u64::MAX));
        let timed = self.order.values().filter_map(|order| {
            let (since, token) = order.range((silent, Bound::Unbounded)).next()?;
            Some((since.as_ref()?, *token))
        });
        timed.min().map(|(since, token)| (token, *since))
    }
}

impl Drop for HalfOpens {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            return;
        }
        for (_, client) in self.clients.drain() {
            // Closes it with the unread bytes and descriptors, which may be slow.
            client.wire.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;

    fn client(peer: Peer) -> HalfOpen {
        on(UnixStream::pair().unwrap().0, peer)
    }

    fn on(socket: UnixStream, peer: Peer) -> HalfOpen {
        HalfOpen {
            wire: OwnedFd::from(socket).into(),
            carrier: Carrier::Shm,
            peer,
            receiver: GreetingReceiver::new(Carrier::Shm),
            since: Some(Instant::now()),
        }
    }

    fn of_user(uid: u32) -> HalfOpen {
        client(Peer { pid: None, uid: Some(uid), gid: None, remote: None, identity: None })
    }

    fn source_of(address: &str) -> Source {
        Source::of(&Peer::remote(address.parse().unwrap()))
    }

    #[test]
    fn user_with_most_half_open_loses_the_oldest() {
        let mut all = HalfOpens::new(10);
        let honest = all.next_token();
        all.insert(of_user(2));
        let first = all.next_token();
        while !all.is_full() {
            all.insert(of_user(1));
        }
        for round in 0..1000 {
            let victim = all.next_victim().unwrap();
            assert_eq!(victim, first + round, "the oldest of user 1");
            all.remove(victim).unwrap();
            all.insert(of_user(1));
        }
        assert!(all.get_mut(honest).is_some());
        assert_eq!(all.oldest().unwrap().0, honest);
    }

    #[test]
    fn removed_connection_is_not_counted_or_found() {
        let mut all = HalfOpens::new(3);
        for uid in [1, 1, 2] {
            all.insert(of_user(uid));
        }
        all.remove(0).unwrap();
        assert!(all.remove(0).is_none());
        assert_eq!(all.oldest().unwrap().0, 1);
        all.remove(1).unwrap();
        assert_eq!(all.next_victim(), Some(2));
        all.remove(2).unwrap();
        assert_eq!(all.oldest().map(|found| found.0), None);
        assert!(all.order.is_empty());
    }

    #[test]
    fn silent_client_is_pushed_out_first_of_its_source() {
        let mut all = HalfOpens::new(5);
        for uid in [1, 1, 1, 2] {
            all.insert(of_user(uid));
        }
        all.set_since(1, None);
        assert_eq!(all.next_victim(), Some(1), "before older ones");
        all.set_since(3, None);
        assert_eq!(all.next_victim(), Some(1), "not one of a smaller source");
        all.set_since(0, None);
        assert_eq!(all.oldest().map(|found| found.0), Some(2));
        all.set_since(1, Some(Instant::now()));
        assert_eq!(all.next_victim(), Some(0));
        all.set_since(2, None);
        assert_eq!(all.oldest().map(|found| found.0), Some(1));
        for token in 0..4 {
            all.remove(token).unwrap();
        }
        assert!(all.are_silent() && all.order.is_empty());
    }

    #[test]
    fn connections_end_with_server_despite_copied_sockets() {
        let (socket, mut other) = UnixStream::pair().unwrap();
        let _of_a_forked_child = socket.try_clone().unwrap();
        let mut all = HalfOpens::new(1);
        all.insert(on(socket, Peer::of(&other).unwrap()));
        drop(all);
        other.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert_eq!(other.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn over_tcp_each_host_is_accounted_for_itself() {
        assert_eq!(source_of("192.0.2.1:1"), source_of("192.0.2.1:2"));
        assert_ne!(source_of("192.0.2.1:1"), source_of("192.0.2.2:1"));
        assert_eq!(source_of("[2001:db8::1]:1"), source_of("[2001:db8::2]:1"));
        assert_ne!(source_of("[2001:db8::1]:1"), source_of("[2001:db8:0:1::1]:1"));
        assert_eq!(source_of("[::ffff:192.0.2.1]:1"), source_of("192.0.2.1:1"));
        assert_ne!(source_of("[::ffff:192.0.2.1]:1"), source_of("[::ffff:192.0.2.2]:1"));
    }
}
