//! Channels to a server, for callers that await.

use std::future::Future;
use std::time::Instant;

use breezeway::CallError;

use crate::bytes::{decode, keep_buffer, take_buffer};
use crate::caller::CallOptions;
use crate::error::Error;
use crate::method::Method;
use crate::thrift::{self, encode_vec, to_vec};

/// Maximum number of resends of a call that never ran, because the server was about to end.
const RESENDS: u32 = 16;

/// Carries calls to a server for tasks: a [`breezeway_tokio::Session`], or a
/// [`breezeway_tokio::Client`], which replaces its session when its server is replaced.
pub trait AsyncChannel: Sync {
    /// Calls a method and returns its reply. Dropping the future cancels the call.
    fn call<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> impl Future<Output = Result<A::Reply, Error>> + Send;

    /// Sends a oneway call, and waits only for room.
    fn post<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

impl<C: AsyncChannel> AsyncChannel for &C {
    async fn call<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        (**self).call(method, arguments, options).await
    }

    async fn post<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        (**self).post(method, arguments, options).await
    }
}

impl AsyncChannel for breezeway_tokio::Session {
    async fn call<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        call_until(self, method, arguments, options, options.deadline()).await
    }

    async fn post<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        post_until(self, method, arguments, options, options.deadline()).await
    }
}

/// Posts like [`call_until`], for a oneway call, which waits only for room.
async fn post_until<A: thrift::Call + Sync>(
    channel: &breezeway_tokio::Session,
    method: &Method,
    arguments: &A,
    options: &CallOptions,
    deadline: Option<Instant>,
) -> Result<(), Error> {
    if !options.metadata.0.is_empty() {
        return Err(Error::NoMetadata);
    }
    let message = to_vec(arguments)?;
    options.took(channel.carrier());
    match deadline {
        None => channel.post(method.tag, &message).await?,
        Some(deadline) => channel.post_until(method.tag, &message, deadline).await?,
    }
    Ok(())
}

/// Calls over a session until the deadline; a repeated call keeps the deadline of its first
/// attempt.
async fn call_until<A: thrift::Call + Sync>(
    channel: &breezeway_tokio::Session,
    method: &Method,
    arguments: &A,
    options: &CallOptions,
    deadline: Option<Instant>,
) -> Result<A::Reply, Error> {
    let block = options.block()?;
    let mut request = take_buffer();
    encode_vec(arguments, &mut request)?;
    options.took(channel.carrier());
    let reply = match (block, deadline) {
        (None, None) => channel.call(method.tag, &request).await,
        (None, Some(deadline)) => channel.call_until(method.tag, &request, deadline).await,
        (Some(block), None) => channel.call_with_metadata(method.tag, &block, &request).await,
        (Some(block), Some(deadline)) => {
            channel.call_with_metadata_until(method.tag, &block, &request, deadline).await
        }
    };
    keep_buffer(request);
    let reply = reply?;
    options.received(reply.metadata())?;
    decode(reply.bytes()).map_err(Error::Reply)
}

impl AsyncChannel for breezeway_tokio::Client {
    async fn call<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        let until = options.deadline().or_else(|| self.until());
        for _ in 0..RESENDS {
            let channel = self.session_until(until).await?;
            match call_until(&channel, method, arguments, options, until).await {
                Err(error) if !error.may_have_run() && channel.is_going_away() => {}
                outcome => return outcome,
            }
        }
        Err(CallError::GoingAway.into())
    }

    async fn post<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        let until = options.deadline().or_else(|| self.until());
        for _ in 0..RESENDS {
            let channel = self.session_until(until).await?;
            match post_until(&channel, method, arguments, options, until).await {
                Err(error) if !error.may_have_run() && channel.is_going_away() => {}
                outcome => return outcome,
            }
        }
        Err(CallError::GoingAway.into())
    }
}
