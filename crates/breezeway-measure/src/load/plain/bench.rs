//! The measuring side of the plain echo.

use super::super::{Extent, Measurement, closed_loop};
use super::socket::{Address, Stream};
use crate::{Failure, pattern};

/// Round trips of `size` bytes to the server at `address`, every byte written before and compared
/// after each.
///
/// # Errors
///
/// Returns the socket's error, or an error if a message came back different.
pub fn measure(address: &Address, size: u32, extent: Extent) -> Result<Measurement, Failure> {
    let mut stream = address.connect()?;
    stream.write_all(&size.to_le_bytes())?;
    measure_on(&mut *stream, size as usize, extent)
}

fn measure_on(
    stream: &mut dyn Stream,
    size: usize,
    extent: Extent,
) -> Result<Measurement, Failure> {
    let mut message = vec![0; size];
    closed_loop(extent, |round| round_trip(stream, &mut message, pattern::seed(round)))
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
        let error = measure_on(&mut ours, 64, Extent { count: None, seconds: 60.0 }).unwrap_err();
        assert!(error.to_string().contains("changed"), "{error}");
        server.join().unwrap();
    }
}
