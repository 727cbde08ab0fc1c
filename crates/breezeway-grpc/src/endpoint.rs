//! Options of a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use breezeway::{Address, SessionOptions};
use tonic::transport;

use crate::connector::Connector;
use crate::error::Error;
use crate::http2;

type Http2Settings = Arc<dyn Fn(transport::Endpoint) -> transport::Endpoint + Send + Sync>;

/// Address of a service, and options for calling it.
///
/// ```no_run
/// use std::time::Duration;
/// use breezeway_grpc::Endpoint;
///
/// # async fn connect() -> Result<(), breezeway_grpc::Error> {
/// let endpoint = Endpoint::new("shm:/run/app.sock,unix:/run/app.sock")?;
/// let channel = endpoint.timeout(Duration::from_secs(1)).connect().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) address: Address,
    session: SessionOptions,
    connect_timeout: Duration,
    pub(crate) timeout: Option<Duration>,
    http2: Http2Settings,
}

impl Endpoint {
    /// Creates an endpoint at an address, which may list several places in the order of preference.
    pub fn new(address: impl AsRef<str>) -> Result<Self, Error> {
        Ok(Self {
            address: address.as_ref().parse()?,
            session: SessionOptions::new(),
            connect_timeout: Duration::from_secs(1),
            timeout: None,
            http2: Arc::new(|endpoint| endpoint),
        })
    }

    /// Sets the timeout of calls. A call's own `grpc-timeout` counts if it is shorter. By default a
    /// call waits as long as the server is there.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the maximum time to connect to one place, and the same again for the answer to the
    /// hello. A connection of HTTP/2 awaits the server's settings for this time. Default 1 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the options of the session: its wait policy, its memory, its windows. This crate
    /// overrides the service, the room for metadata, and the time to connect.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Changes settings of tonic's own endpoint, used where the calls travel as HTTP/2.
    pub fn http2(
        mut self,
        settings: impl Fn(transport::Endpoint) -> transport::Endpoint + Send + Sync + 'static,
    ) -> Self {
        self.http2 = Arc::new(settings);
        self
    }

    /// Connects like [`connect`](Self::connect), for tonic's own channel, in HTTP/2 only.
    pub async fn connect_http2(self) -> Result<transport::Channel, Error> {
        Ok(self.http2_endpoint().connect_with_connector(self.connector()).await?)
    }

    pub(crate) fn session_options(&self) -> SessionOptions {
        self.session.clone().handshake_timeout(self.connect_timeout)
    }

    pub(crate) fn connector(&self) -> Connector {
        Connector::new(self.address.clone(), self.session_options())
    }

    /// Returns tonic's own endpoint. The host name in its calls has no meaning here.
    pub(crate) fn http2_endpoint(&self) -> transport::Endpoint {
        let endpoint = http2::client(transport::Endpoint::from_static("http://localhost"));
        let endpoint = match self.timeout {
            Some(timeout) => endpoint.timeout(timeout),
            None => endpoint,
        };
        (self.http2)(endpoint)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Endpoint")
            .field("address", &self.address.to_string())
            .field("session", &self.session)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
