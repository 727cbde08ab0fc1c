//! Methods of gRPC, whose messages are known from a .proto file or by the server's reflection.

mod codec;
mod names;
mod reflection;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use breezeway::Address;
use breezeway_grpc::{Channel, Endpoint};
use breezeway_measure::load::awaited::runtime;
use breezeway_os::shortage;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor, SerializeOptions};
use serde_json::{Deserializer, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::{Code, Request, Status};

use self::codec::Dynamic;
use self::names::{is_named, one_of, split};
use super::{Args, CallFailure, print};
use crate::failure::Failure;

/// Maximum number of messages that were read and not sent yet.
const AHEAD: usize = 16;

/// Runs the command for a method of gRPC.
pub(super) fn run(args: &Args, address: &Address) -> Result<(), Failure> {
    runtime(1)?.block_on(async {
        let pool =
            args.proto.as_deref().map(|file| parsed(file, &args.include_dirs)).transpose()?;
        let channel = Endpoint::new(address.to_string())?.connect().await?;
        let method = match &pool {
            Some(pool) => find(pool, &args.method)?,
            None => find(&reflection::pool(channel.clone(), &args.method).await?, &args.method)?,
        };
        let name = format!("{}/{}", method.parent_service().full_name(), method.name());
        match call(args, channel.clone(), method, &name).await {
            Err(Ended::Status(status)) => Err(failed(name, status, channel).await),
            Err(Ended::Other(failure)) => Err(failure),
            Ok(()) => Ok(()),
        }
    })
}

/// Returns the types of a .proto file.
fn parsed(file: &Path, include_dirs: &[PathBuf]) -> Result<DescriptorPool, Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let own = folder.unwrap_or(Path::new(".")).to_owned();
    let includes = include_dirs.iter().cloned().chain([own]);
    let mut compiler = protox::Compiler::new(includes)?;
    compiler.include_imports(true).open_file(file)?;
    Ok(compiler.descriptor_pool())
}

/// Finds a method in the types of its service.
fn find(pool: &DescriptorPool, name: &str) -> Result<MethodDescriptor, Failure> {
    let (service, method) = split(name)?;
    let found = pool.services().find(|found| is_named(found.full_name(), service));
    let found = found.ok_or_else(|| {
        let names: Vec<_> = pool.services().map(|found| found.full_name().to_owned()).collect();
        format!("there is no service '{service}': {}", one_of(&names))
    })?;
    let methods: Vec<_> = found.methods().collect();
    let called = methods.iter().find(|found| found.name() == method);
    Ok(called.cloned().ok_or_else(|| {
        let names: Vec<_> = methods.iter().map(|found| found.name().to_owned()).collect();
        format!("service {} has no method '{method}': {}", found.full_name(), one_of(&names))
    })?)
}

/// End of a call that has not succeeded.
enum Ended {
    Status(Status),
    Other(Failure),
}

impl<E: Into<Failure>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Calls, and prints each reply. Whatever the form, a stream is opened in both directions.
async fn call(
    args: &Args,
    channel: Channel,
    method: MethodDescriptor,
    name: &str,
) -> Result<(), Ended> {
    let (messages, received) = mpsc::channel(AHEAD);
    let input = method.input();
    let is_single = !method.is_client_streaming();
    let (bad_input, mut input_failed) = oneshot::channel();
    match args.json.as_deref() {
        None | Some("-") if !is_single => {
            shortage::spawn("input", move || {
                for message in values(io::stdin().lock(), &input) {
                    let sent = match message {
                        Ok(message) => messages.blocking_send(message),
                        Err(error) => {
                            let _ = bad_input.send(error);
                            // The stream must not end before the error is seen.
                            return std::mem::forget(messages);
                        }
                    };
                    // The receiver is gone once the command ends.
                    if sent.is_err() {
                        return;
                    }
                }
            })?;
        }
        given => {
            let all: Result<Vec<_>, String> = match given {
                None => values("{}".as_bytes(), &input).collect(),
                Some("-") => values(io::stdin().lock(), &input).collect(),
                Some(text) => values(text.as_bytes(), &input).collect(),
            };
            let all = all?;
            if is_single && all.len() != 1 {
                return Err(format!("{name} takes one message").into());
            }
            tokio::spawn(async move {
                for message in all {
                    // The receiver is gone once the command ends.
                    let _ = messages.send(message).await;
                }
            });
        }
    }
    let mut request = Request::new(ReceiverStream::new(received));
    for (name, value) in &args.metadata {
        let name: AsciiMetadataKey = name.parse().map_err(|_| format!("bad name '{name}'"))?;
        let value: AsciiMetadataValue =
            value.parse().map_err(|_| format!("bad value '{value}'"))?;
        request.metadata_mut().append(name, value);
    }
    if let Some(timeout) = args.timeout {
        request.set_timeout(timeout);
    }
    let path = PathAndQuery::try_from(format!("/{name}"))?;
    let codec = Dynamic::new(method.output());
    let calling = async {
        let mut client = Grpc::new(channel);
        client.ready().await?;
        let mut replies = client.streaming(request, path, codec).await.map_err(Ended::Status)?;
        let mut count = 0;
        while let Some(reply) = replies.get_mut().message().await.map_err(Ended::Status)? {
            count += 1;
            print(&text(&reply)?)?;
        }
        match method.is_server_streaming() || count == 1 {
            true => Ok(()),
            false => Err(Ended::Status(Status::internal(format!("{count} replies came")))),
        }
    };
    tokio::select! {
        Ok(error) = &mut input_failed => Err(error.into()),
        ended = calling => ended,
    }
}

/// Reads messages as JSON.
fn values<R: Read>(
    from: R,
    ty: &prost_reflect::MessageDescriptor,
) -> impl Iterator<Item = Result<DynamicMessage, String>> + use<R> {
    let ty = ty.clone();
    Deserializer::from_reader(from).into_iter::<Value>().map(move |value| {
        let value = value.map_err(|error| format!("a message is not JSON: {error}"))?;
        DynamicMessage::deserialize(ty.clone(), value)
            .map_err(|error| format!("a message is not a {}: {error}", ty.full_name()))
    })
}

/// Returns a message as one line of JSON, with the names of the .proto file.
fn text(message: &DynamicMessage) -> Result<String, serde_json::Error> {
    let options = SerializeOptions::new().use_proto_field_name(true).skip_default_fields(false);
    let mut line = Vec::new();
    message.serialize_with_options(&mut serde_json::Serializer::new(&mut line), &options)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Returns the error of a call. If the server has no such method, it names the services, as far as
/// the server has reflection.
async fn failed(method: String, status: Status, channel: Channel) -> Failure {
    let mut words = format!("{:?}: {}", status.code(), status.message());
    if status.code() == Code::Unimplemented
        && let Ok(services) = reflection::services(channel).await
    {
        words += &format!("; served here: {}", services.join(", "));
    }
    CallFailure::Status(method, words).into()
}
