//! Bytes into and out of a stream.

use anyhow::Result;
use shmipc::Error;
use shmipc::buffer::{BufferReader, BufferWriter};
use shmipc::stream::Stream;

/// Waits for bytes and gives all that there are to `take`, slice by slice; false at the end of the
/// stream.
pub(crate) async fn read_available(
    stream: &mut Stream,
    mut take: impl FnMut(&[u8]),
) -> Result<bool> {
    match stream.peek(1).await {
        Ok(_) => {}
        Err(Error::EndOfStream | Error::StreamClosed) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    let buffer = stream.recv_buf();
    while !buffer.is_empty() {
        take(&buffer.read_chunk()?);
    }
    Ok(true)
}

/// Reads exactly `size` bytes.
pub(crate) async fn read_exactly(stream: &mut Stream, size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size);
    while bytes.len() < size {
        stream.peek(1).await?;
        let chunk = stream.recv_buf().read_chunk()?;
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Sends `bytes` as one message.
pub(crate) async fn send(stream: &mut Stream, bytes: &[u8]) -> Result<()> {
    stream.send_buf().write_bytes(bytes)?;
    flush(stream).await
}

/// Sends the written bytes, however long the queue is full.
pub(crate) async fn flush(stream: &mut Stream) -> Result<()> {
    loop {
        match stream.flush(false).await {
            Err(Error::QueueFull) => {}
            outcome => return Ok(outcome?),
        }
    }
}
