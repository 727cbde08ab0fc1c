//! Calls as the layers of a client see them.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::caller::CallOptions;
use crate::method::Method;
use crate::tokio::OpenedAsync;

/// A call to a server. A clone is cheap, and makes the same call again.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// Method that is called. A [`oneway`](Method::oneway) method has an empty reply once it was
    /// sent; so has a [stream](Method::is_stream) once it was opened.
    pub method: Method,
    /// Arguments, a bare Thrift Binary struct; empty if a stream's requests come later.
    pub arguments: Bytes,
    /// Values beside the arguments. Layers may add metadata, or lower the time-out.
    pub options: CallOptions,
}

impl CallRequest {
    /// Lowers the call's time-out to `time`, for a layer below those that retry, so that each
    /// attempt has its own time. The server receives it. A stream's time-out is unchanged, because
    /// it is not that of its opening.
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

    /// Adds metadata like [`CallOptions::metadata`].
    pub fn metadata(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.options = self.options.metadata(name, value);
        self
    }

    /// Returns true if the call may run twice without harm ([`CallOptions::idempotent`]).
    pub fn is_idempotent(&self) -> bool {
        self.options.idempotent
    }
}

/// Reply to a call: a result, or an exception that the IDL declares.
#[derive(Default)]
pub struct CallReply {
    /// Body, a bare Thrift Binary struct; empty for a oneway call or a stream.
    pub body: Bytes,
    /// The opened stream.
    pub(crate) opened: Option<OpenedAsync>,
}

impl CallReply {
    /// Creates the reply of a service that answers itself.
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
