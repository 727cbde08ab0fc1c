//! The answering side of the plain echo.

use std::io;

use super::socket::{Address, Listener, Stream};

/// A bound plain echo.
#[derive(Debug)]
pub struct Server(Listener);

/// Binds a plain echo to `address`.
///
/// # Errors
///
/// The error of `bind` or `listen`.
pub fn bind(address: &Address) -> io::Result<Server> {
    address.listen().map(Server)
}

impl Server {
    /// Returns the address at which it listens, with the port that the kernel chose.
    ///
    /// # Errors
    ///
    /// The error of `getsockname`.
    pub fn address(&self) -> io::Result<String> {
        self.0.address()
    }

    /// Returns every message, one connection after the other, without end.
    ///
    /// # Errors
    ///
    /// The error of `accept`.
    pub fn serve(&self) -> io::Result<()> {
        loop {
            // A client that goes away in the middle of a message takes its connection with it, and
            // nothing else.
            let _ = echo(&mut *self.0.accept()?);
        }
    }
}

/// Returns every message until the peer closes the connection.
fn echo(stream: &mut dyn Stream) -> io::Result<()> {
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let mut message = vec![0; u32::from_le_bytes(size) as usize];
    loop {
        stream.read_exact(&mut message)?;
        stream.write_all(&message)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn messages_of_the_announced_size_come_back() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || echo(&mut theirs));
        ours.write_all(&3u32.to_le_bytes()).unwrap();
        ours.write_all(b"onetwo").unwrap();
        let mut returned = [0; 6];
        ours.read_exact(&mut returned).unwrap();
        assert_eq!(&returned, b"onetwo");
        drop(ours);
        assert_eq!(server.join().unwrap().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
