//! Messages in owned space: reserved, filled by any task, and sent without a copy.

use std::future::poll_fn;
use std::task::{Context, Poll};

use breezeway::{CallError, OwnedCall, OwnedSpace, StreamError};

use crate::session::Session;
use crate::stream::{SendHalf, Stream};

/// Calls and one-way messages in owned space.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use breezeway_tokio::{Incoming, Session, SessionOptions};
///
/// const ECHO: u32 = 0;
///
/// let (session, server) = Session::pair(&SessionOptions::new()).await?;
/// tokio::spawn(async move {
///     while let Ok(Some(Incoming::Call(call))) = server.accept().await {
///         let _ = call.echo();
///     }
/// });
/// let mut space = session.reserve(100_000).await?;
/// space.bytes_mut()[..5].copy_from_slice(b"frame");
/// space.truncate(5);
/// assert_eq!(session.request(ECHO).send_space(space).await?.to_vec(), b"frame");
/// # Ok(())
/// # }
/// ```
impl Session {
    /// Reserves space for a message of `len` bytes, which any of this session's calls and streams
    /// may send. Waits, at most for the call timeout, while the memory is lent or reserved: a task
    /// that keeps spaces or messages while it reserves more may wait for itself.
    pub async fn reserve(&self, len: usize) -> Result<OwnedSpace, CallError> {
        self.request(0).reserve(len).await
    }

    /// Reserves space like [`Self::reserve`] if there is memory now; else the error names the
    /// resource that is short.
    pub fn try_reserve(&self, len: usize) -> Result<OwnedSpace, CallError> {
        self.session.try_reserve(len)
    }
}

/// A stream's messages in owned space.
impl Stream {
    /// Reserves space for a message, as [`SendHalf::reserve`] does.
    pub async fn reserve(&mut self, len: usize) -> Result<OwnedSpace, CallError> {
        self.sender().reserve(len).await
    }

    /// Sends the content of `space`, as [`SendHalf::send_space`] does.
    pub async fn send_space(&mut self, space: OwnedSpace) -> Result<(), StreamError> {
        self.sender().send_space(space).await
    }
}

/// A stream's messages in owned space. Reserved space counts as held by the stream, so that a part
/// of the memory is available to it regardless of other holders. Any space of the session may be
/// sent.
impl SendHalf {
    /// Reserves space for a message of `len` bytes. Waits while the memory is lent or reserved.
    /// (The send checks the stream's window.)
    pub async fn reserve(&mut self, len: usize) -> Result<OwnedSpace, CallError> {
        poll_fn(|cx| self.poll_reserve(cx, len)).await
    }

    /// Reserves space like [`Self::reserve`], with a metadata block, which is sent in front of the
    /// message: the first or the last of this direction.
    pub async fn reserve_with_metadata(
        &mut self,
        metadata: &[u8],
        len: usize,
    ) -> Result<OwnedSpace, CallError> {
        poll_fn(|cx| self.half.poll_reserve_with_metadata(cx, metadata, len)).await
    }

    /// Reserves space like [`Self::reserve`] if there is memory now; else the error names the
    /// resource that is short.
    pub fn try_reserve(&mut self, len: usize) -> Result<OwnedSpace, CallError> {
        self.half.try_reserve(len)
    }

    /// Reserves space like [`Self::reserve`] if there is memory now; else wakes `cx` when there may
    /// be.
    pub fn poll_reserve(
        &mut self,
        cx: &mut Context<'_>,
        len: usize,
    ) -> Poll<Result<OwnedSpace, CallError>> {
        self.half.poll_reserve(cx, len)
    }

    /// Sends the content of `space`. Waits until the peer has read enough and there is room.
    pub async fn send_space(&mut self, mut space: OwnedSpace) -> Result<(), StreamError> {
        poll_fn(|cx| self.poll_space(cx, &mut space, false)).await
    }

    /// Ends this direction like [`Self::finish`], with the content of `space` as the last message.
    pub async fn finish_with_space(&mut self, mut space: OwnedSpace) -> Result<(), StreamError> {
        poll_fn(|cx| self.poll_space(cx, &mut space, true)).await
    }

    /// Sends the content of `space`, as the last message or not, if that is possible without
    /// waiting, and leaves `space` empty; else wakes `cx` when it may be.
    ///
    /// # Panics
    ///
    /// Panics if the space was sent before.
    pub fn poll_space(
        &mut self,
        cx: &mut Context<'_>,
        space: &mut OwnedSpace,
        last: bool,
    ) -> Poll<Result<(), StreamError>> {
        self.half.poll_space(cx, space, last)
    }
}

/// Reserves space for a reply of `len` bytes, to be sent by [`OwnedCall::reply_space`]. Waits while
/// the memory is lent or reserved; [`cancelled`](crate::cancelled) completes if the client cancels
/// the call before.
pub async fn reserve(call: &OwnedCall, len: usize) -> Result<OwnedSpace, CallError> {
    poll_fn(|cx| call.poll_reserve(cx, len)).await
}

/// Reserves space like [`reserve`], with a metadata block, which is sent in front of the reply.
pub async fn reserve_with_metadata(
    call: &OwnedCall,
    metadata: &[u8],
    len: usize,
) -> Result<OwnedSpace, CallError> {
    poll_fn(|cx| call.poll_reserve_with_metadata(cx, metadata, len)).await
}
