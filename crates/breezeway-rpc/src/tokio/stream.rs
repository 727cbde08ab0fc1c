//! Streams with awaited handlers and callers.

mod calling;
mod client;
mod native_client;
mod native_server;
mod serving;

pub use calling::{AsyncStreamChannel, OpenedAsync};
pub(crate) use calling::{ReceivingReplies, SendingRequests};
pub use client::{AsyncDuplexStream, AsyncReplyStream, AsyncRequestSender, AsyncRequestStream};
pub(crate) use native_client::until;
pub(crate) use native_server::serve_stream;
pub use serving::{AsyncReplies, AsyncRequests};
pub(crate) use serving::{ReceivingRequests, SendingReplies, Served};
