//! The types of a server's services, by gRPC's server reflection, version 1.

use std::collections::HashSet;

use breezeway_grpc::Channel;
use prost::Message;
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::FileDescriptorProto;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use super::names::{is_named, one_of, split};
use crate::failure::Failure;

/// A stream of questions and answers.
struct Reflection {
    questions: mpsc::Sender<ServerReflectionRequest>,
    answers: Streaming<ServerReflectionResponse>,
}

impl Reflection {
    /// Opens the stream, and returns it with the names of the server's services.
    async fn open(channel: Channel) -> Result<(Self, Vec<String>), Status> {
        let (questions, asked) = mpsc::channel(1);
        // A server may send its headers with its first answer, so a question goes ahead.
        let list = request(MessageRequest::ListServices(String::new()));
        let _ = questions.send(list).await;
        let mut client = ServerReflectionClient::new(channel);
        let answers = client.server_reflection_info(ReceiverStream::new(asked)).await?;
        let mut reflection = Self { questions, answers: answers.into_inner() };
        match reflection.answer().await? {
            MessageResponse::ListServicesResponse(list) => {
                let names = list.service.into_iter().map(|service| service.name).collect();
                Ok((reflection, names))
            }
            other => Err(unexpected(other)),
        }
    }

    async fn answer(&mut self) -> Result<MessageResponse, Status> {
        let answer = self.answers.message().await?.and_then(|answer| answer.message_response);
        answer.ok_or_else(|| Status::internal("reflection ends without an answer"))
    }

    /// Returns the files that the answer to a question has.
    async fn files(
        &mut self,
        question: MessageRequest,
    ) -> Result<Vec<FileDescriptorProto>, Failure> {
        // If it cannot be sent, the stream's error is the answer.
        let _ = self.questions.send(request(question)).await;
        match self.answer().await? {
            MessageResponse::FileDescriptorResponse(found) => {
                let files = found.file_descriptor_proto.iter();
                Ok(files
                    .map(|file| FileDescriptorProto::decode(&**file))
                    .collect::<Result<_, _>>()?)
            }
            other => Err(unexpected(other).into()),
        }
    }
}

fn request(question: MessageRequest) -> ServerReflectionRequest {
    ServerReflectionRequest { host: String::new(), message_request: Some(question) }
}

fn unexpected(answer: MessageResponse) -> Status {
    match answer {
        MessageResponse::ErrorResponse(error) => {
            Status::new(Code::from(error.error_code), error.error_message)
        }
        other => Status::internal(format!("reflection answers another question: {other:?}")),
    }
}

/// Returns the names of the server's services.
pub(super) async fn services(channel: Channel) -> Result<Vec<String>, Status> {
    Ok(Reflection::open(channel).await?.1)
}

/// Returns the types of the service that has a method.
pub(super) async fn pool(channel: Channel, method: &str) -> Result<DescriptorPool, Failure> {
    let (wanted, _) = split(method)?;
    let without = |status: Status| match status.code() {
        Code::Unimplemented => {
            "the server has no reflection; give its .proto file by --proto".to_owned()
        }
        _ => format!("reflection: {:?}: {}", status.code(), status.message()),
    };
    let (mut reflection, services) = Reflection::open(channel).await.map_err(without)?;
    let Some(service) = services.iter().find(|service| is_named(service, wanted)) else {
        let services = one_of(&services);
        return Err(format!("the server has no service '{wanted}': {services}").into());
    };
    let question = MessageRequest::FileContainingSymbol(service.clone());
    let mut files = reflection.files(question).await?;
    let mut asked = HashSet::new();
    loop {
        let names: HashSet<_> = files.iter().map(|file| file.name().to_owned()).collect();
        let mut imports = files.iter().flat_map(|file| &file.dependency);
        let Some(next) = imports.find(|next| !names.contains(*next) && !asked.contains(*next))
        else {
            break;
        };
        let next = next.clone();
        asked.insert(next.clone());
        files.extend(reflection.files(MessageRequest::FileByFilename(next)).await?);
    }
    let mut pool = DescriptorPool::new();
    pool.add_file_descriptor_protos(files)?;
    Ok(pool)
}
