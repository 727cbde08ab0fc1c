//! Clients without a complete hello.
//!
//! Their number is limited. A further client pushes out the oldest one of the source with the most,
//! so that no user, and over TCP no host, keeps another one out however many silent connections it
//! opens. A client of the same user has the time in which as many others are accepted as the limit
//! allows.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
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
    pub(super) accepted: Instant,
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
    /// The tokens of each source, the oldest first. Those of removed clients stay until they reach
    /// the front.
    order: HashMap<Source, VecDeque<u64>>,
    /// Number of clients of each source.
    counts: HashMap<Source, usize>,
    next: u64,
    max: usize,
    origin: Origin,
}

impl HalfOpens {
    pub(super) fn new(max: usize) -> Self {
        Self {
            clients: HashMap::new(),
            order: HashMap::new(),
            counts: HashMap::new(),
            next: 0,
            max,
            origin: Origin::here(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.clients.len() >= self.max
    }

    /// Returns the token of the next client.
    pub(super) fn next_token(&self) -> u64 {
        self.next
    }

    pub(super) fn insert(&mut self, client: HalfOpen) {
        let source = Source::of(&client.peer);
        self.order.entry(source).or_default().push_back(self.next);
        *self.counts.entry(source).or_default() += 1;
        self.clients.insert(self.next, client);
        self.next += 1;
    }

    pub(super) fn get_mut(&mut self, token: u64) -> Option<&mut HalfOpen> {
        self.clients.get_mut(&token)
    }

    pub(super) fn remove(&mut self, token: u64) -> Option<HalfOpen> {
        let client = self.clients.remove(&token)?;
        let source = Source::of(&client.peer);
        let count = self.counts.get_mut(&source).expect("each client is counted");
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&source);
            self.order.remove(&source);
        }
        Some(client)
    }

    /// Returns the oldest client of the source with the most.
    pub(super) fn oldest_of_largest(&mut self) -> Option<u64> {
        let (&source, _) = self.counts.iter().max_by_key(|(_, count)| **count)?;
        self.oldest_of(source)
    }

    /// Returns the oldest client.
    pub(super) fn oldest(&mut self) -> Option<(u64, Instant)> {
        let sources: Vec<Source> = self.counts.keys().copied().collect();
        let fronts = sources.into_iter().filter_map(|source| self.oldest_of(source));
        let token = fronts.min()?;
        Some((token, self.clients[&token].accepted))
    }

    fn oldest_of(&mut self, source: Source) -> Option<u64> {
        let order = self.order.get_mut(&source)?;
        while let Some(token) = order.front() {
            if self.clients.contains_key(token) {
                return Some(*token);
            }
            order.pop_front();
        }
        None
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
            accepted: Instant::now(),
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
            let victim = all.oldest_of_largest().unwrap();
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
        assert_eq!(all.oldest_of_largest(), Some(2));
        all.remove(2).unwrap();
        assert_eq!(all.oldest().map(|found| found.0), None);
        assert!(all.order.is_empty() && all.counts.is_empty());
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
