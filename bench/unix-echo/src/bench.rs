//! The measuring side.

use crate::Side;
use crate::stream::Stream;
use breezeway_measure::load::{Extent, Rate, closed_loop, open_loop};
use breezeway_measure::report::bench::{Report, Setup};
use breezeway_measure::{Failure, machine, pattern};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;

pub(crate) fn run(
    side: &Side,
    size: u32,
    extent: Extent,
    rate: Option<f64>,
) -> Result<(), Failure> {
    machine::pin(side.cpu)?;
    let stream = connect(side, size)?;
    let mut message = vec![0; size as usize];
    let exchange = |round| exchange(&stream, &mut message, round);
    let measurement = match rate {
        Some(rate) => open_loop(extent, Rate(rate), exchange)?,
        None => closed_loop(extent, exchange)?,
    };
    let setup = Setup::round_trips("unix socket", side.wait.name(), size as usize);
    println!("{}", Report::new(setup, &measurement).json());
    Ok(())
}

fn connect(side: &Side, size: u32) -> Result<Stream, Failure> {
    let path = side.path.display();
    let socket = UnixStream::connect(&side.path).map_err(|error| {
        format!("no server at {path} ({error}): start unix-echo serve --path {path}")
    })?;
    Stream::announce(socket, size, side.wait).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => {
            format!("the server at {path} does not answer: it serves one bench at a time").into()
        }
        _ => format!("{path} is not served by unix-echo: {error}").into(),
    })
}

/// One round trip: every byte written before it and compared after it.
fn exchange(stream: &Stream, message: &mut [u8], round: u64) -> Result<(), Failure> {
    let seed = pattern::seed(round);
    pattern::fill(message, seed);
    let gone = |error| format!("the server is gone: {error}");
    stream.send(message).map_err(gone)?;
    if !stream.receive(message).map_err(gone)? {
        return Err("the server is gone".into());
    }
    if !pattern::matches(message, seed) {
        return Err(format!("round trip {round} changed its payload").into());
    }
    Ok(())
}
