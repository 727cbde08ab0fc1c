//! Feeds bytes of Thrift's framings to the modules without IO, as connections do.

use std::collections::HashMap;

use breezeway::{Carrier, Peer};

use super::calling::{outcome, stays};
use super::connection;
use super::frame::{Frame, Writer};
use super::streams::{Came, ClientStream, Streams};
use super::{Message, Receiver, Served, WireError};
use crate::caller::CallOptions;
use crate::metadata::{Pairs, ReplyMetadata};
use crate::server::Services;
use crate::stream::{Ended, Received};
use crate::thrift::{self, ExceptionKind, Limits};

const MAX_OPEN: usize = 4;

/// Received bytes, with their count.
struct Coming {
    receiver: Receiver,
    came: usize,
}

impl Coming {
    fn new() -> Self {
        Self { receiver: Receiver::new(Limits::default()), came: 0 }
    }

    /// Takes a piece; `next` is then called until it returns false.
    fn take(
        &mut self,
        mut piece: &[u8],
        mut next: impl FnMut(&mut Receiver) -> Result<bool, WireError>,
    ) -> Result<(), WireError> {
        while !piece.is_empty() {
            let room = self.receiver.room();
            let count = room.len().min(piece.len());
            room[..count].copy_from_slice(&piece[..count]);
            self.receiver.take(count);
            (piece, self.came) = (&piece[count..], self.came + count);
            // Vectors grow by doubling.
            let most = 2 * (self.came + (128 << 10));
            assert!(self.receiver.memory() <= most, "{} bytes for {}", most, self.came);
            while next(&mut self.receiver)? {}
        }
        Ok(())
    }
}

fn peer() -> Peer {
    Peer { pid: None, uid: None, gid: None, remote: None, identity: None }
}

/// A server's connection, with stream handlers that echo each message.
struct Serving<'s> {
    services: &'s Services,
    streams: Streams,
    writers: HashMap<i32, (Writer, bool)>,
    written: Vec<u8>,
}

/// Serves the bytes in these pieces, and returns the written bytes.
pub(crate) fn serve(services: &Services, pieces: &[&[u8]]) -> Vec<u8> {
    let (streams, writers) = (Streams::new(MAX_OPEN), HashMap::new());
    let mut serving = Serving { services, streams, writers, written: Vec::new() };
    let mut coming = Coming::new();
    let mut has_streams = false;
    for piece in pieces {
        let taken = coming.take(piece, |receiver| {
            has_streams = has_streams || receiver.begins_with_stream() == Some(true);
            if has_streams { serving.frame(receiver) } else { serving.message(receiver) }
        });
        if let Err(error) = taken {
            assert!(!error.to_string().is_empty());
            break;
        }
    }
    read_again(&serving.written);
    serving.written
}

/// Checks that a client can read the server's output.
fn read_again(written: &[u8]) {
    let mut coming = Coming::new();
    let read = coming.take(written, |receiver| match receiver.begins_with_stream() {
        Some(true) => Ok(receiver.next_frame()?.is_some()),
        _ => Ok(receiver.next()?.is_some()),
    });
    assert!(read.is_ok(), "{read:?}: {}", written.escape_ascii());
    assert!(coming.receiver.is_empty(), "half a message: {}", written.escape_ascii());
}

impl Serving<'_> {
    fn message(&mut self, receiver: &mut Receiver) -> Result<bool, WireError> {
        let Some(message) = receiver.next()? else { return Ok(false) };
        let served = Served::new(message);
        let reply = connection::serve(self.services, Carrier::Unix, peer(), served);
        self.written.extend(reply.into_iter().flatten());
        Ok(true)
    }

    fn frame(&mut self, receiver: &mut Receiver) -> Result<bool, WireError> {
        let Some(frame) = receiver.next_frame()? else { return Ok(false) };
        match self.streams.take(frame)? {
            Came::Opened(mut opening) => {
                let found = opening.find(&self.services.registry);
                drop(opening.context(Carrier::Unix, peer()));
                let writer = Writer::new(opening.stream, opening.method);
                self.writers.insert(opening.stream, (writer, false));
                if let Err(error) = found {
                    self.finish(opening.stream, Ended::Failed(error));
                }
            }
            Came::Refused(opening, words) => {
                let error = crate::Error::new(ExceptionKind::INTERNAL_ERROR, words);
                let writer = Writer::new(opening.stream, opening.method);
                let last = writer.last(false, Ended::Failed(error), Pairs::new());
                self.written.extend(last);
            }
            Came::Message(stream, message) => self.echo(stream, &message),
            Came::End(stream) => self.finish(stream, Ended::Well(None)),
            Came::Reset(stream) => {
                self.writers.remove(&stream);
                self.streams.close(stream);
            }
            Came::Nothing => {}
        }
        assert!(self.writers.len() <= MAX_OPEN, "too many streams are open");
        Ok(true)
    }

    fn echo(&mut self, stream: i32, message: &[u8]) {
        let (writer, has_begun) = self.writers.get_mut(&stream).expect("a message of an open one");
        let begun =
            if *has_begun { Ok(()) } else { writer.header(Pairs::new(), &mut self.written) };
        *has_begun = begun.is_ok();
        let _ = begun.and_then(|()| writer.data(message, &mut self.written));
    }

    fn finish(&mut self, stream: i32, ended: Ended) {
        if let Some((writer, has_begun)) = self.writers.remove(&stream) {
            self.written.extend(writer.last(has_begun, ended, Pairs::new()));
        }
        self.streams.close(stream);
    }
}

/// Reads these pieces as replies to calls of sequence number 1, or as the frames of stream 1.
pub(crate) fn replies<A: thrift::Call>(pieces: &[&[u8]]) {
    let metadata = ReplyMetadata::new();
    let options = CallOptions::new().receive_metadata(&metadata);
    let mut stream = ClientStream::new(1, Some(metadata));
    let mut coming = Coming::new();
    let mut has_streams = false;
    for piece in pieces {
        let taken = coming.take(piece, |receiver| {
            has_streams = has_streams || receiver.begins_with_stream() == Some(true);
            if has_streams {
                Ok(receiver.next_frame()?.is_some_and(|frame| goes_on(&mut stream, frame)))
            } else {
                Ok(receiver.next()?.is_some_and(|message| is_reply::<A>(&message, &options)))
            }
        });
        if let Err(error) = taken {
            return assert!(!error.to_string().is_empty());
        }
    }
}

fn goes_on(stream: &mut ClientStream, frame: Frame) -> bool {
    match stream.take(frame) {
        Ok(Some(Received::End)) => false,
        Ok(_) => true,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

fn is_reply<A: thrift::Call>(message: &Message, options: &CallOptions) -> bool {
    if let Err(error) = outcome::<A>(message, 1, options) {
        assert!(!error.to_string().is_empty());
    }
    stays(message, 1)
}
