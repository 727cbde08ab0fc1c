//! Streams that a client opens, each on a connection of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::caller::CallOptions;
use crate::error::Error;
use crate::kitex::connected::Connected;
use crate::kitex::frame::Writer;
use crate::kitex::streams::ClientStream;
use crate::kitex::{Receiver, ThriftClient, opening};
use crate::method::Method;
use crate::stream::{Opened, Received, ReceivingReplies, SendingRequests, StreamChannel};
use crate::thrift::Limits;

/// The client's direction.
pub(crate) struct Requests {
    socket: Arc<Connected>,
    writer: Writer,
    deadline: Option<Instant>,
    has_ended: Arc<AtomicBool>,
}

/// The server's direction.
pub(crate) struct Replies {
    socket: Arc<Connected>,
    receiver: Receiver,
    stream: ClientStream,
    deadline: Option<Instant>,
    /// True once the server's last frame was received.
    has_ended: Arc<AtomicBool>,
}

impl StreamChannel for ThriftClient {
    fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<Opened, Error> {
        let deadline = options.deadline();
        let (writer, bytes) = opening(method, request, options)?;
        let socket = self.connect(deadline)?;
        socket.write(&bytes, deadline).map_err(Error::unanswered)?;
        options.received(None)?;
        let (socket, has_ended) = (Arc::new(socket), Arc::new(AtomicBool::new(false)));
        let stream = ClientStream::new(writer.stream(), options.reply.clone());
        let requests = Requests {
            socket: Arc::clone(&socket),
            writer,
            deadline,
            has_ended: Arc::clone(&has_ended),
        };
        let receiver = Receiver::new(Limits::default());
        let replies = Replies { socket, receiver, stream, deadline, has_ended };
        Ok(Opened {
            sending: SendingRequests::Thrift(requests),
            receiving: ReceivingReplies::Thrift(replies),
        })
    }
}

impl Requests {
    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(message.len() + 64);
        self.writer.data(message, &mut bytes)?;
        self.write(&bytes)
    }

    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        let mut bytes = Vec::new();
        self.writer.end(&mut bytes)?;
        self.write(&bytes)
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        if self.has_ended.load(Ordering::Acquire) {
            return Err(Error::StreamEnded);
        }
        let written = self.socket.write(bytes, self.deadline);
        if written.is_err() {
            // A part of it may have been written.
            self.socket.shut_down();
        }
        written
    }
}

impl Replies {
    pub(crate) fn receive(&mut self) -> Result<Received, Error> {
        loop {
            if let Some(received) = self.next().transpose() {
                return received;
            }
            let read = self.socket.read(self.receiver.room(), self.deadline);
            self.take(read)?;
        }
    }

    /// Returns a received frame's content, if there is one.
    pub(crate) fn try_receive(&mut self) -> Option<Result<Received, Error>> {
        loop {
            if let Some(received) = self.next().transpose() {
                return Some(received);
            }
            let read =
                self.socket.try_read(self.receiver.room()).map_err(Error::from).transpose()?;
            if let Err(error) = self.take(read) {
                return Some(Err(error));
            }
        }
    }

    fn take(&mut self, read: Result<usize, Error>) -> Result<(), Error> {
        let read = match read {
            Ok(0) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Err(error) => Err(self.receiver.failure(error)),
            read => read,
        };
        if read.is_err() {
            self.end();
        }
        self.receiver.take(read?);
        Ok(())
    }

    /// Returns the content of the next frame received so far.
    fn next(&mut self) -> Result<Option<Received>, Error> {
        if self.has_ended.load(Ordering::Acquire) {
            return Ok(Some(Received::End));
        }
        while let Some(frame) = self.receiver.next_frame().map_err(Error::wire)? {
            let came = self.stream.take(frame);
            if matches!(came, Err(_) | Ok(Some(Received::End))) {
                self.end();
            }
            if let Some(received) = came? {
                return Ok(Some(received));
            }
        }
        Ok(None)
    }

    /// Ends the stream: the server learns that its client is gone.
    fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.socket.shut_down();
    }
}
