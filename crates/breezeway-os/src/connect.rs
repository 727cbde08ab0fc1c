//! Connecting with a deadline to a server that may hang.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::SocketAddrUnix;

use crate::deadline::Deadline;
use crate::shortage;
use crate::socket_file::stream_socket;
use crate::tcp::prepare_tcp;

/// Pause between two tries while the server's backlog is full: no event reports that it has room
/// again.
const BACKLOG_PAUSE: Duration = Duration::from_millis(2);
/// Minimum time for each address of a host, because a try of zero length cannot succeed.
const SHORTEST_TRY: Duration = Duration::from_millis(2);

/// `connect(2)` to the socket file at `path`. Waits until `deadline` while the server's backlog is
/// full ([`io::ErrorKind::TimedOut`]). [`io::ErrorKind::ConnectionRefused`] means that the file
/// exists and no server listens.
pub fn unix(path: &Path, deadline: Deadline) -> io::Result<OwnedFd> {
    unix_at(&SocketAddrUnix::new(path)?, deadline)
}

/// Connects like [`unix`], to a name in the abstract namespace (unix(7)).
pub fn abstract_unix(name: &[u8], deadline: Deadline) -> io::Result<OwnedFd> {
    unix_at(&SocketAddrUnix::new_abstract_name(name)?, deadline)
}

fn unix_at(address: &SocketAddrUnix, deadline: Deadline) -> io::Result<OwnedFd> {
    let socket = stream_socket()?;
    loop {
        match rustix::net::connect(&socket, address) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if !deadline.has_passed() => std::thread::sleep(BACKLOG_PAUSE),
            Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
            Err(errno) => return Err(errno.into()),
        }
    }
    // From here on each read chooses with a flag whether it blocks.
    ioctl_fionbio(&socket, false)?;
    Ok(socket)
}

/// Places for the threads that resolve names: only the resolver decides when each ends.
static PLACES: Places = Places::new(64);

/// Returns the addresses of a host, or [`io::ErrorKind::TimedOut`] at `deadline`. The system's
/// resolver has no deadline, so a name is resolved on a thread; a process has up to 64 of these.
///
/// # Errors
///
/// Those of the resolver, and those of [`shortage::spawn`].
pub fn resolve(host: &str, port: u16, deadline: Deadline) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let name = (host.to_owned(), port);
    resolve_by(move || Ok(name.to_socket_addrs()?.collect()), &PLACES, deadline)
}

fn resolve_by(
    resolver: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
    places: &'static Places,
    deadline: Deadline,
) -> io::Result<Vec<SocketAddr>> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, "the name was not resolved in time");
    let place = places.take(deadline).ok_or_else(late)?;
    let (sender, resolved) = mpsc::sync_channel(1);
    shortage::spawn("breezeway-names", move || {
        let addresses = resolver();
        drop(place);
        // The receiver is gone if the caller gave up.
        let _ = sender.send(addresses);
    })?;
    match deadline.time_left() {
        None => resolved.recv().map_err(io::Error::other)?,
        Some(left) => resolved.recv_timeout(left).map_err(|_| late())?,
    }
}

/// A counting semaphore.
struct Places {
    free: Mutex<usize>,
    freed: Condvar,
}

/// One of the places, given back when dropped.
struct Place(&'static Places);

impl Places {
    const fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), freed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place, as soon as one is free; `None` at `deadline`.
    fn take(&'static self, deadline: Deadline) -> Option<Place> {
        let mut free = self.lock();
        while *free == 0 {
            free = match deadline.time_left() {
                None => self.freed.wait(free).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return None,
                Some(left) => {
                    let woken = self.freed.wait_timeout(free, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *free -= 1;
        Some(Place(self))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.lock() += 1;
        self.0.freed.notify_one();
    }
}

/// Connects to the first of a host's addresses that answers, until `deadline`
/// ([`io::ErrorKind::TimedOut`]) for all of them together. The connection is prepared by
/// [`prepare_tcp`]. The error is that of the last address.
pub fn tcp(addresses: &[SocketAddr], deadline: Deadline) -> io::Result<OwnedFd> {
    let mut last = io::ErrorKind::AddrNotAvailable.into();
    for (index, address) in addresses.iter().enumerate() {
        // A host that does not answer at one address may answer at the next.
        let rest = (addresses.len() - index) as u32;
        let connected = match deadline.time_left() {
            None => TcpStream::connect(address),
            Some(left) => TcpStream::connect_timeout(address, (left / rest).max(SHORTEST_TRY)),
        };
        match connected {
            Ok(stream) => {
                prepare_tcp(&stream)?;
                return Ok(stream.into());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsFd;
    use std::time::Instant;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

    use super::*;

    /// Returns a port that accepts no connection, because its backlog is full.
    fn full() -> (OwnedFd, SocketAddr, Vec<TcpStream>) {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&socket, 0).unwrap();
        let address = rustix::net::getsockname(socket.as_fd()).unwrap().try_into().unwrap();
        let mut kept = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(50)) {
            kept.push(stream);
        }
        (socket, address, kept)
    }

    #[test]
    fn addresses_that_do_not_answer_share_one_deadline() {
        let (_socket, address, _kept) = full();
        let timeout = Duration::from_millis(200);
        let start = Instant::now();
        let error = tcp(&[address; 10], Deadline::after(timeout)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() < 5 * timeout, "{:?}", start.elapsed());
    }

    #[test]
    fn an_address_that_does_not_answer_leaves_time_for_the_next() {
        let (_socket, silent, _kept) = full();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses = [silent, listener.local_addr().unwrap()];
        tcp(&addresses, Deadline::after(Duration::from_millis(400))).unwrap();
    }

    #[test]
    fn a_host_without_an_address_is_not_available() {
        let error = tcp(&[], Deadline::NEVER).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn a_full_backlog_is_waited_for_until_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("full.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut kept = Vec::new();
        let error = loop {
            match unix(&path, Deadline::after(Duration::from_millis(20))) {
                Ok(socket) => kept.push(socket),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn name_without_a_place_waits_until_its_deadline() {
        static PLACES: Places = Places::new(1);
        let short = || Deadline::after(Duration::from_millis(20));
        let (end, ended) = mpsc::channel::<()>();
        let silent = move || {
            // Until the test ends it.
            let _ = ended.recv();
            Ok(Vec::new())
        };
        let error = resolve_by(silent, &PLACES, short()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // It still has the only place.
        let error = resolve_by(|| Ok(Vec::new()), &PLACES, short()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let later = std::thread::spawn(|| {
            let long = Deadline::after(Duration::from_secs(60));
            resolve_by(|| Ok(Vec::new()), &PLACES, long)
        });
        drop(end);
        assert!(later.join().unwrap().is_ok());
    }

    #[test]
    fn more_names_than_places_are_all_resolved() {
        static PLACES: Places = Places::new(2);
        let names = std::iter::repeat_with(|| {
            std::thread::spawn(|| {
                let name = || Ok(("localhost", 1).to_socket_addrs()?.collect());
                resolve_by(name, &PLACES, Deadline::after(Duration::from_secs(60)))
            })
        });
        let names: Vec<_> = names.take(20).collect();
        assert!(names.into_iter().all(|name| !name.join().unwrap().unwrap().is_empty()));
    }
}
