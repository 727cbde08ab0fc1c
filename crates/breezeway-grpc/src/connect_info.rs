//! Who calls, and how.

use breezeway::{Carrier, Peer};
use breezeway_tokio::{ForeignStream, Stream};

/// What a call travels by: in the extensions of every request that is served, and of every response
/// of a [`Channel`](crate::Channel).
///
/// ```
/// use breezeway_grpc::ConnectInfo;
///
/// fn may_call<T>(request: &tonic::Request<T>) -> bool {
///     let info = request.extensions().get::<ConnectInfo>();
///     info.is_some_and(|info| info.peer.is_same_user())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectInfo {
    /// Over shared memory and unix sockets the process on the other side: its user, group and
    /// process number when it connected, as the kernel says them. Over TCP its address.
    pub peer: Peer,
    /// What carries the bytes.
    pub carrier: Carrier,
    /// Whether there is HTTP/2 between.
    pub gear: Gear,
}

/// How a call is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gear {
    /// As HTTP/2, which any gRPC peer speaks.
    Http2,
    /// As a stream of a Breezeway session, between two sides that are both of this crate.
    Native,
}

impl ConnectInfo {
    pub(crate) fn of_stream(stream: &Stream, gear: Gear) -> Self {
        Self { peer: stream.peer().clone(), carrier: stream.carrier(), gear }
    }

    /// Of a client that speaks HTTP/2 on the socket itself.
    pub(crate) fn of_foreign(stream: &ForeignStream) -> Self {
        let carrier = match stream.carrier() {
            // The socket that negotiates shared memory carries the bytes.
            Carrier::Shm => Carrier::Unix,
            other => other,
        };
        Self { peer: stream.peer().clone(), carrier, gear: Gear::Http2 }
    }
}
