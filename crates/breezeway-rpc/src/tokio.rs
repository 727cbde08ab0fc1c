//! Services and channels that are awaited, under tokio.

mod channel;
mod running;
mod server;
pub(crate) mod stream;

pub use channel::AsyncChannel;
pub(crate) use running::caught;
pub(crate) use server::Shared;
#[cfg(feature = "shmipc")]
pub(crate) use server::last_replies;
pub use server::{AsyncServer, AsyncService, AsyncServices};
pub use stream::{
    AsyncDuplexStream, AsyncReplies, AsyncReplyStream, AsyncRequestSender, AsyncRequestStream,
    AsyncRequests, AsyncStreamChannel, OpenedAsync,
};
