//! Channels to a server, for callers that await.

use std::future::Future;

use breezeway_tokio::{Message, Request};

use crate::bytes::{decode, keep_buffer, take_buffer};
use crate::caller::{Block, CallOptions};
use crate::error::Error;
use crate::method::Method;
use crate::thrift::{self, encode_vec, to_vec};

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
        let (mut block, bytes) = encoded(arguments, options)?;
        options.took(self.carrier());
        let reply = loop {
            match within_options(self.request(method.tag), &block).send(&bytes).await {
                Ok(reply) => break reply,
                Err(error) => block.shorten(error.into())?,
            }
        };
        decoded::<A>(reply, bytes, options)
    }

    async fn post<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        let message = one_way(arguments, options)?;
        options.took(self.carrier());
        Ok(within_options(self.request(method.tag), &options.no_block()).post(&message).await?)
    }
}

impl AsyncChannel for breezeway_tokio::Client {
    async fn call<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<A::Reply, Error> {
        let (mut block, bytes) = encoded(arguments, options)?;
        let reply = loop {
            let reply = within_options(self.request(method.tag), &block).send(&bytes).await;
            options.took(self.carrier());
            match reply {
                Ok(reply) => break reply,
                Err(error) => block.shorten(error.into())?,
            }
        };
        decoded::<A>(reply, bytes, options)
    }

    async fn post<A: thrift::Call + Sync>(
        &self,
        method: &Method,
        arguments: &A,
        options: &CallOptions,
    ) -> Result<(), Error> {
        let message = one_way(arguments, options)?;
        let posted =
            within_options(self.request(method.tag), &options.no_block()).post(&message).await;
        options.took(self.carrier());
        Ok(posted?)
    }
}

/// Returns a request with the options of a call and its metadata block.
pub(crate) fn within_options<'a, S>(
    request: Request<'a, S>,
    block: &'a Block<'_>,
) -> Request<'a, S> {
    let request = match block.options.timeout {
        None => request,
        Some(timeout) => request.timeout(timeout),
    };
    request.metadata(block.bytes())
}

/// Returns the metadata block and the encoded arguments.
fn encoded<'o, A: thrift::Call>(
    arguments: &A,
    options: &'o CallOptions,
) -> Result<(Block<'o>, Vec<u8>), Error> {
    let block = options.block()?;
    let mut bytes = take_buffer();
    encode_vec(arguments, &mut bytes)?;
    Ok((block, bytes))
}

/// Keeps the buffer of the arguments, and decodes the reply.
fn decoded<A: thrift::Call>(
    reply: Message,
    arguments: Vec<u8>,
    options: &CallOptions,
) -> Result<A::Reply, Error> {
    keep_buffer(arguments);
    options.received(reply.metadata())?;
    decode(reply.bytes()).map_err(Error::Reply)
}

/// Returns an encoded one-way message.
fn one_way<A: thrift::Call>(arguments: &A, options: &CallOptions) -> Result<Vec<u8>, Error> {
    if !options.metadata.0.is_empty() {
        return Err(Error::NoMetadata);
    }
    Ok(to_vec(arguments)?)
}
