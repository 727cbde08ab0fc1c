//! What a client's layers see of a call.

use std::time::Duration;

use bytes::Bytes;

use crate::caller::CallOptions;
use crate::method::Method;

/// A call on its way to a server. A clone is cheap, and makes the same call again.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// Which method. One that is [`oneway`](Method::oneway) has an empty reply, once it was sent.
    pub method: Method,
    /// The arguments, a bare Thrift Binary struct.
    pub arguments: Bytes,
    /// What goes beside them. Layers may add metadata, or lower the time-out.
    pub options: CallOptions,
}

impl CallRequest {
    /// Gives up after this time, unless it would give up earlier anyway: for a layer below those
    /// that try again, so that each attempt has its own time. The server learns it.
    ///
    /// ```
    /// use breezeway_rpc::governance::CallRequest;
    /// use std::time::Duration;
    /// use tower::ServiceBuilder;
    ///
    /// let attempts = ServiceBuilder::new()
    ///     .map_request(|request: CallRequest| request.within(Duration::from_millis(100)));
    /// ```
    pub fn within(mut self, time: Duration) -> Self {
        self.options.timeout = Some(self.options.timeout.map_or(time, |given| given.min(time)));
        self
    }

    /// As [`CallOptions::metadata`].
    pub fn metadata(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.options = self.options.metadata(name, value);
        self
    }

    /// Whether the call does no harm when it runs twice, as [`CallOptions::idempotent`] says.
    pub fn is_idempotent(&self) -> bool {
        self.options.idempotent
    }
}

/// What came back: a result, or an exception that the IDL declares.
#[derive(Clone, Debug, Default)]
pub struct CallReply {
    /// A bare Thrift Binary struct; empty after a oneway call.
    pub body: Bytes,
}
