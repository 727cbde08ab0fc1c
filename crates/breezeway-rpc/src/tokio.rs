//! Services and channels that are awaited, under tokio.

mod channel;
mod running;
mod server;
pub(crate) mod stream;

pub use channel::AsyncChannel;
pub(crate) use running::caught;
pub use server::{AsyncServer, AsyncService, AsyncServices};
pub(crate) use server::{Shared, last_replies};
pub use stream::{
    AsyncDuplexStream, AsyncReplies, AsyncReplyStream, AsyncRequestSender, AsyncRequestStream,
    AsyncRequests, AsyncStreamChannel, OpenedAsync,
};
