//! Clients and servers as [`tower::Service`]s, so that tower's layers govern calls.
//!
//! A client: [`ChannelService`] makes a service of any awaited channel, layers wrap it, and
//! [`ServiceChannel`] makes a channel of the whole, for a generated client. A server:
//! [`AsyncServer::layer`](crate::AsyncServer::layer). The request is plain on both sides: the
//! method, the bytes of the arguments, and the values beside them.
//!
//! The opening of a stream passes the layers of a client; a server's streams do not pass its
//! layers.
//!
//! ```
//! use std::time::Duration;
//!
//! use breezeway_rpc::governance::{ChannelService, RetryPolicy, ServiceChannel};
//! use tower::ServiceBuilder;
//!
//! // For a generated client: `AsyncUsersClient::new(governed(channel))`.
//! fn governed(channel: breezeway_tokio::Session) -> impl breezeway_rpc::AsyncChannel {
//!     let service = ServiceBuilder::new()
//!         .load_shed()
//!         .concurrency_limit(64)
//!         .timeout(Duration::from_secs(1))
//!         .retry(RetryPolicy::new(3))
//!         .service(ChannelService::new(channel));
//!     ServiceChannel::new(service)
//! }
//! ```

mod bare;
mod channel;
mod layered;
mod request;
mod retry;
mod service;

pub(crate) use bare::Bare;
pub use channel::ServiceChannel;
pub use layered::{Handlers, Layered, ServedReply, ServedRequest};
pub use request::{CallReply, CallRequest};
pub use retry::RetryPolicy;
pub use service::ChannelService;
pub(crate) use service::call;

/// Future of a service.
pub(crate) type BoxFuture<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;
