//! The measuring side of the plain echo.

use breezeway_os::Peer;
use rustix::process::Pid;

use super::super::exchange::{closed_loop_with, open_loop_with};
use super::super::{Extent, Measurement, Rate};
use super::socket::{Address, Stream};
use crate::{Failure, pattern};

/// Round trips of `size` bytes to the server at `address`, every byte written before and compared
/// after each: as many as possible, or at a rate.
///
/// # Errors
///
/// Returns the socket's error, or an error if a message came back different.
pub fn measure(
    address: &Address,
    size: u32,
    extent: Extent,
    rate: Option<Rate>,
) -> Result<Measurement, Failure> {
    let mut stream = address.connect()?;
    stream.write_all(&size.to_le_bytes())?;
    measure_on(&mut *stream, size as usize, extent, rate)
}

fn measure_on(
    stream: &mut dyn Stream,
    size: usize,
    extent: Extent,
    rate: Option<Rate>,
) -> Result<Measurement, Failure> {
    let mut message = vec![0; size];
    // The kernel knows no process behind a TCP connection.
    let server = Peer::of(&*stream).ok().and_then(|peer| peer.pid);
    let server = server.and_then(|pid| Pid::from_raw(pid.cast_signed()));
    let exchange = |round| round_trip(stream, &mut message, pattern::seed(round));
    match rate {
        Some(rate) => open_loop_with(extent, rate, server, exchange),
        None => closed_loop_with(extent, server, exchange),
    }
}

fn round_trip(stream: &mut dyn Stream, message: &mut [u8], seed: u64) -> Result<(), Failure> {
    pattern::fill(message, seed);
    stream.write_all(message)?;
    stream.read_exact(message)?;
    let same = pattern::matches(message, seed);
    if same { Ok(()) } else { Err("a message changed on its way".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn changed_content_is_found_out() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let mut message = [0; 64];
            theirs.read_exact(&mut message).unwrap();
            message[63] ^= 1;
            theirs.write_all(&message).unwrap();
        });
        let extent = Extent { count: None, seconds: 60.0 };
        let error = measure_on(&mut ours, 64, extent, None).unwrap_err();
        assert!(error.to_string().contains("changed"), "{error}");
        server.join().unwrap();
    }
}
