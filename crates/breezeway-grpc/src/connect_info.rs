//! Identity of the peer, and transport of a call.

use breezeway::{Carrier, Peer};
use breezeway_tokio::{ForeignStream, Stream};

/// Peer and transport of a call: in the extensions of every request that is served, and of every
/// response of a [`Channel`](crate::Channel).
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
    /// Over shared memory and unix sockets the process on the other side: the user, group and
    /// process number that it had when it connected, from the kernel. Over TCP its address.
    pub peer: Peer,
    /// Carrier of the bytes.
    pub carrier: Carrier,
    /// Gear of the call: with or without HTTP/2.
    pub gear: Gear,
}

/// Encoding of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gear {
    /// HTTP/2, which any gRPC peer supports.
    Http2,
    /// A stream of a Breezeway session, between two sides that both use this crate.
    Native,
}

impl ConnectInfo {
    pub(crate) fn of_stream(stream: &Stream, gear: Gear) -> Self {
        Self { peer: stream.peer().clone(), carrier: stream.carrier(), gear }
    }

    /// Returns the info of a client that uses HTTP/2 on the socket itself.
    pub(crate) fn of_foreign(stream: &ForeignStream) -> Self {
        let carrier = match stream.carrier() {
            // The socket on which shared memory could be negotiated carries the bytes.
            Carrier::Shm => Carrier::Unix,
            other => other,
        };
        Self { peer: stream.peer().clone(), carrier, gear: Gear::Http2 }
    }
}
