//! Transport of calls to one instance: a session, or connections in Thrift's framings.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use breezeway::unstable::timeouts;
use breezeway::{CallError, ConnectError};
use breezeway_tokio::Session;

use super::reach::To;
use crate::caller::CallOptions;
use crate::error::Error;
use crate::governance::{Bare, CallReply, CallRequest, call};
use crate::kitex::tokio::AsyncThriftClient;
use crate::method::Method;
use crate::thrift::Streaming;
use crate::tokio::AsyncChannel;

/// Errors of a connection that its server has closed.
const CLOSED: [io::ErrorKind; 3] =
    [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];

#[derive(Clone)]
pub(super) enum Line {
    Native(Session),
    Thrift(Arc<AsyncThriftClient>),
}

impl Line {
    /// Connects to an instance. An instance without sessions has no hello to answer: if it has
    /// hung, it has to answer a call, of a method that no service has.
    pub(super) async fn connect(to: &To, has_hung: bool) -> Result<Self, Error> {
        let Some(framing) = to.framing else {
            return Ok(Self::Native(Session::connect_with(&to.address, &to.options).await?));
        };
        // Validated as for a session: a connection would ignore most of them.
        to.options.validate().map_err(ConnectError::from)?;
        let client =
            AsyncThriftClient::with_options(to.address.clone(), framing, to.options.clone());
        client.connect().await?;
        if has_hung {
            // The same limit as for the hello of a session.
            let (time, _) = timeouts(&to.options);
            answers(&client, time).await?;
        }
        Ok(Self::Thrift(Arc::new(client)))
    }

    pub(super) fn is_going_away(&self) -> bool {
        match self {
            Self::Native(channel) => channel.is_going_away(),
            // Its connections are checked before they are used.
            Self::Thrift(_) => false,
        }
    }

    pub(super) async fn call(&self, request: CallRequest) -> Result<CallReply, Error> {
        match self {
            Self::Native(channel) => call(channel, request).await,
            Self::Thrift(client) => call(&**client, request).await,
        }
    }
}

/// Fails unless there is an answer in time, of any kind: also closing the connection, as some
/// servers do for an unknown method.
async fn answers(client: &AsyncThriftClient, time: Duration) -> Result<(), Error> {
    let method = Method::new("", "breezeway.answer", false, Streaming::None);
    let options = CallOptions::new().timeout(time);
    let nothing = Bare(vec![0].into());
    match client.call(&method, &nothing, &options).await {
        Err(Error::Io(error)) if CLOSED.contains(&error.kind()) => Ok(()),
        Err(
            error @ (Error::Connecting(..)
            | Error::Connect(_)
            | Error::Io(_)
            | Error::Call(CallError::DeadlinePassed)),
        ) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use breezeway::{Place, SessionOptions};
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::kitex::ThriftFraming;

    /// Time limit for events that must come.
    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn invalid_option_is_refused_alike_in_every_framing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: breezeway::Address = Place::from(listener.local_addr().unwrap()).into();
        let refused = async |framing, options| {
            let to = To { name: "one".into(), address: address.clone(), options, framing };
            Line::connect(&to, false).await.err().map(|error| error.to_string())
        };
        let framings = [ThriftFraming::TtHeader, ThriftFraming::Framed, ThriftFraming::Unframed];
        for framing in framings.map(Some) {
            assert_eq!(refused(framing, SessionOptions::new()).await, None);
            for wrong in [
                SessionOptions::new().ring_capacity(100),
                SessionOptions::new().handshake_timeout(Duration::ZERO),
                SessionOptions::new().call_timeout(Some(Duration::ZERO)),
            ] {
                let of_session = refused(None, wrong.clone()).await;
                assert!(of_session.is_some(), "{wrong:?}");
                assert_eq!(refused(framing, wrong).await, of_session);
            }
        }
    }

    #[tokio::test]
    async fn closed_connection_is_an_answer_and_silence_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Place::from(listener.local_addr().unwrap()).into();
        let client = AsyncThriftClient::with_framing(address, ThriftFraming::Framed);
        client.connect().await.unwrap();
        let (mut mute, _) = listener.accept().await.unwrap();
        let failed = answers(&client, Duration::from_millis(10)).await;
        let is_late = matches!(failed, Err(Error::Call(CallError::DeadlinePassed)));
        assert!(is_late, "{failed:?}");
        mute.read_to_end(&mut Vec::new()).await.unwrap();
        for has_read in [true, false] {
            client.connect().await.unwrap();
            let (mut closing, _) = listener.accept().await.unwrap();
            let closed = tokio::spawn(async move {
                // Unread bytes make the close a reset.
                let mut first = [0; 64];
                let room = if has_read { &mut first[..] } else { &mut first[..1] };
                assert!(closing.read(room).await.unwrap() > 0);
            });
            answers(&client, PATIENCE).await.unwrap();
            closed.await.unwrap();
        }
    }
}
