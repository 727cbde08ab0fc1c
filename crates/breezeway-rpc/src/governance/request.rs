//! What a client's layers see of a call.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::caller::CallOptions;
use crate::method::Method;
use crate::tokio::OpenedAsync;

/// A call on its way to a server. A clone is cheap, and makes the same call again.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// Which method. One that is [`oneway`](Method::oneway) has an empty reply, once it was sent;
    /// so has a [stream](Method::is_stream), once it was opened.
    pub method: Method,
    /// The arguments, a bare Thrift Binary struct; empty where a stream's requests come later.
    pub arguments: Bytes,
    /// What goes beside them. Layers may add metadata, or lower the time-out.
    pub options: CallOptions,
}

impl CallRequest {
    /// Gives up after this time, unless it would give up earlier anyway: for a layer below those
    /// that try again, so that each attempt has its own time. The server learns it. A stream's time
    /// stays as it is, as it is not that of its opening.
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
        if self.method.is_stream() {
            return self;
        }
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
#[derive(Default)]
pub struct CallReply {
    /// A bare Thrift Binary struct; empty after a oneway call, and of a stream.
    pub body: Bytes,
    /// The stream that was opened.
    pub(crate) opened: Option<OpenedAsync>,
}

impl CallReply {
    /// The reply of a service that answers itself.
    pub fn new(body: Bytes) -> Self {
        Self { body, opened: None }
    }
}

impl fmt::Debug for CallReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("CallReply");
        debug.field("body", &self.body).field("stream", &self.opened.is_some()).finish()
    }
}
