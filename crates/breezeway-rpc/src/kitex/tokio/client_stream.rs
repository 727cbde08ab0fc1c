//! Streams that a client opens, each on a connection of its own, for tasks.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use breezeway::CallError;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};

use super::AsyncThriftClient;
use super::client::Bytes;
use crate::caller::CallOptions;
use crate::error::Error;
use crate::kitex::frame::Writer;
use crate::kitex::streams::ClientStream;
use crate::kitex::{Receiver, opening};
use crate::method::Method;
use crate::stream::Received;
use crate::thrift::Limits;
use crate::tokio::stream::{
    AsyncStreamChannel, OpenedAsync, ReceivingReplies, SendingRequests, until,
};

/// The client's direction.
pub(crate) struct Requests {
    socket: WriteHalf<Box<dyn Bytes>>,
    writer: Writer,
    /// A message that was not completely written, because its future was dropped.
    unwritten: Vec<u8>,
    /// Written bytes of it.
    written: usize,
    deadline: Option<Instant>,
    has_ended: Arc<AtomicBool>,
}

/// The server's direction.
pub(crate) struct Replies {
    socket: ReadHalf<Box<dyn Bytes>>,
    receiver: Receiver,
    stream: ClientStream,
    deadline: Option<Instant>,
    /// True once the server's last frame was received.
    has_ended: Arc<AtomicBool>,
}

impl AsyncStreamChannel for AsyncThriftClient {
    async fn open(
        &self,
        method: &Method,
        request: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<OpenedAsync, Error> {
        let deadline = options.deadline();
        let (writer, bytes) = opening(method, request, options)?;
        let opened = async {
            let socket = self.socket().await?;
            options.took(socket.carrier());
            let mut socket = socket.into_bytes();
            let unanswered = |error| Error::from(error).unanswered();
            socket.write_all(&bytes).await.map_err(unanswered)?;
            socket.flush().await.map_err(unanswered)?;
            Ok::<_, Error>(socket)
        };
        let socket = until(deadline, opened).await.ok_or(CallError::DeadlinePassed)??;
        options.received(None)?;
        let has_ended = Arc::new(AtomicBool::new(false));
        let stream = ClientStream::new(writer.stream(), options.reply.clone());
        let (reading, writing) = split(socket);
        let requests = Requests {
            socket: writing,
            writer,
            unwritten: Vec::new(),
            written: 0,
            deadline,
            has_ended: Arc::clone(&has_ended),
        };
        let receiver = Receiver::new(Limits::default());
        let replies = Replies { socket: reading, receiver, stream, deadline, has_ended };
        Ok(OpenedAsync {
            sending: SendingRequests::Thrift(requests),
            receiving: ReceivingReplies::Thrift(replies),
        })
    }
}

impl Requests {
    /// Sends a message. Dropping the future before its end sends nothing, or the next send
    /// completes it.
    pub(crate) async fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.flush().await?;
        self.writer.data(message, &mut self.unwritten)?;
        self.flush().await
    }

    pub(crate) async fn finish(&mut self) -> Result<(), Error> {
        self.flush().await?;
        self.writer.end(&mut self.unwritten)?;
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Error> {
        if self.has_ended.load(Ordering::Acquire) {
            return Err(Error::StreamEnded);
        }
        while self.written < self.unwritten.len() {
            let writing = self.socket.write(&self.unwritten[self.written..]);
            let written =
                until(self.deadline, writing).await.ok_or(CallError::DeadlinePassed)??;
            if written == 0 {
                return Err(io::Error::from(io::ErrorKind::WriteZero).into());
            }
            self.written += written;
        }
        // Over TLS, written bytes may still need room.
        let flushing = self.socket.flush();
        until(self.deadline, flushing).await.ok_or(CallError::DeadlinePassed)??;
        self.unwritten.clear();
        self.written = 0;
        Ok(())
    }
}

impl Replies {
    pub(crate) async fn receive(&mut self) -> Result<Received, Error> {
        loop {
            if let Some(received) = self.next()? {
                return Ok(received);
            }
            let reading = self.socket.read(self.receiver.room());
            let read = match until(self.deadline, reading).await {
                None => Err(CallError::DeadlinePassed.into()),
                Some(Ok(0)) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Some(read) => read.map_err(|error| self.receiver.failure(error)),
            };
            if read.is_err() {
                self.end();
            }
            self.receiver.take(read?);
        }
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

    fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }
}
