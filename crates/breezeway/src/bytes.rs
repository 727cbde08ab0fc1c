//! A stream's messages as bytes without boundaries.

use std::io::{self, BufRead, IoSlice, Read, Write};

use breezeway_os::memory;

use crate::error::StreamError;
use crate::message::Message;
use crate::session::{OwnedSpace, ReceiveHalf, SendHalf, Stream};

/// Size of the longest message that [`ByteStream`] sends, in bytes: larger writes are split.
const LONGEST: usize = 1 << 20;

/// A reader of messages as bytes, in order.
///
/// A message that may be read as a slice stays lent until all of it was consumed; another is copied
/// once, into memory that is used again.
#[derive(Default)]
pub struct MessageBytes {
    message: Option<Message>,
    copied: Vec<u8>,
    at: usize,
    /// Message that could not be copied yet.
    uncopied: Option<Message>,
}

impl MessageBytes {
    /// Returns true if all bytes were consumed, so that the next message can be put in.
    pub fn is_empty(&self) -> bool {
        self.at == self.len()
    }

    fn len(&self) -> usize {
        match &self.message {
            Some(message) => message.len(),
            None => self.copied.len(),
        }
    }

    /// Puts in the next message, once all bytes were consumed. If there is no memory for a copy of
    /// it, fails and keeps it for [`retry`](Self::retry).
    pub fn put(&mut self, message: Message) -> io::Result<()> {
        debug_assert!(self.is_empty(), "unconsumed bytes");
        self.at = 0;
        self.copied.clear();
        if message.bytes().as_slice().is_some() {
            self.message = Some(message);
            return Ok(());
        }
        // The peer's memory has no slices; the lease ends with the copy.
        self.message = None;
        self.uncopied = Some(message);
        self.retry()
    }

    /// Puts in the message that was kept when [`put`](Self::put) failed, if any, before the next
    /// message. Fails like `put`.
    pub fn retry(&mut self) -> io::Result<()> {
        let Some(message) = &self.uncopied else { return Ok(()) };
        let bytes = message.bytes();
        let reserved = memory::reserve(&mut self.copied, bytes.len());
        reserved.map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
        bytes.append_to(&mut self.copied);
        self.uncopied = None;
        Ok(())
    }

    /// Returns the bytes that were not consumed.
    pub fn remaining(&self) -> &[u8] {
        match &self.message {
            Some(message) => &message.bytes().as_slice().unwrap_or_default()[self.at..],
            None => &self.copied[self.at..],
        }
    }

    /// Consumes `count` bytes. Panics if fewer are left.
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.len() - self.at, "more is consumed than there is");
        self.at += count;
        if self.is_empty() {
            // The memory is given back at once.
            self.message = None;
            self.copied.clear();
            self.at = 0;
        }
    }
}

/// Joins the written pieces into one message of at most 1 MiB; the rest is left out.
pub fn gather<'b>(pieces: &'b [IoSlice<'b>], buffer: &'b mut Vec<u8>) -> &'b [u8] {
    buffer.clear();
    if let Some(only) = single(pieces) {
        return &only[..only.len().min(LONGEST)];
    }
    for piece in pieces {
        let room = LONGEST - buffer.len();
        buffer.extend_from_slice(&piece[..piece.len().min(room)]);
    }
    buffer
}

fn single<'b>(pieces: &'b [IoSlice<'b>]) -> Option<&'b [u8]> {
    let mut filled = pieces.iter().filter(|piece| !piece.is_empty());
    match (filled.next(), filled.next()) {
        (None, _) => Some(&[]),
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Converts a stream's error into an IO error whose kind names the cause.
impl From<StreamError> for io::Error {
    fn from(error: StreamError) -> Self {
        let kind = match &error {
            StreamError::Reset(_) => io::ErrorKind::ConnectionReset,
            StreamError::Finished => io::ErrorKind::BrokenPipe,
            StreamError::DeadlinePassed(_) => io::ErrorKind::TimedOut,
            StreamError::Session(_) => io::ErrorKind::ConnectionAborted,
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// A stream of a session as a stream of bytes, with blocking `Read`, `BufRead` and `Write`.
///
/// Each write is sent as a message at once; boundaries mean nothing to the reader. The reader
/// reaches the end of file when the peer [finishes](Self::finish).
///
/// If it is dropped before it has finished, the stream is reset. If it is dropped after that, the
/// peer reads all that was written, as with TCP, and later writes of the peer fail.
pub struct ByteStream {
    send: SendHalf,
    receive: ReceiveHalf,
    received: MessageBytes,
    gathered: Vec<u8>,
}

impl ByteStream {
    /// Creates a byte stream from a stream that carries only bytes.
    pub fn new(stream: Stream) -> Self {
        let (send, receive) = stream.split();
        Self { send, receive, received: MessageBytes::default(), gathered: Vec::new() }
    }

    /// Reserves space for `len` bytes, to be filled in place and written by [`Self::write_space`]
    /// without a copy. Waits while the memory is lent or reserved.
    pub fn reserve(&mut self, len: usize) -> io::Result<OwnedSpace> {
        Ok(self.send.reserve(len).map_err(StreamError::from)?)
    }

    /// Writes all bytes of `space`, which belongs to this session.
    pub fn write_space(&mut self, space: OwnedSpace) -> io::Result<()> {
        Ok(self.send.send_space(space)?)
    }

    /// Ends the direction in which this side writes: the peer's reader reaches its end.
    pub fn finish(&mut self) -> io::Result<()> {
        Ok(self.send.finish()?)
    }
}

impl BufRead for ByteStream {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.received.retry()?;
        while self.received.is_empty() {
            match self.receive.receive()? {
                Some(message) => self.received.put(message)?,
                None => return Ok(&[]),
            }
        }
        Ok(self.received.remaining())
    }

    fn consume(&mut self, count: usize) {
        self.received.consume(count);
    }
}

impl Read for ByteStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let count = available.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl Write for ByteStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let message = gather(pieces, &mut self.gathered);
        if !message.is_empty() {
            self.send.send(message)?;
        }
        Ok(message.len())
    }

    /// Does nothing: each write is sent at once.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
