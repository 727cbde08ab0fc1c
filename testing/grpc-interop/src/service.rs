//! The service that the cases call.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Response, Status, Streaming};

use crate::changed::Changed;
use crate::echo_metadata::echo_metadata;
use crate::pb;
use crate::pb::test_service_server::TestServiceServer;

/// Payloads as the caller asks for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct TestService;

/// The service, which takes messages of any size, and compressed ones.
pub fn server() -> Changed<TestServiceServer<TestService>> {
    let service = TestServiceServer::new(TestService)
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX)
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip);
    Changed::new(service, echo_metadata)
}

type Responses<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl pb::test_service_server::TestService for TestService {
    async fn empty_call(&self, _: Request<pb::Empty>) -> Result<Response<pb::Empty>, Status> {
        Ok(Response::new(pb::Empty {}))
    }

    async fn unary_call(
        &self,
        request: Request<pb::SimpleRequest>,
    ) -> Result<Response<pb::SimpleResponse>, Status> {
        let (metadata, _, message) = request.into_parts();
        is_as_expected(&metadata, &message.expect_compressed)?;
        status(&message.response_status)?;
        let payload = Some(payload(message.response_size)?);
        let mut response = Response::new(pb::SimpleResponse { payload });
        if !message.response_compressed.is_some_and(|compressed| compressed.value) {
            response.disable_compression();
        }
        Ok(response)
    }

    type StreamingOutputCallStream = Responses<pb::StreamingOutputCallResponse>;

    async fn streaming_output_call(
        &self,
        request: Request<pb::StreamingOutputCallRequest>,
    ) -> Result<Response<Self::StreamingOutputCallStream>, Status> {
        let message = request.into_inner();
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move { respond(message, &sender).await });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn streaming_input_call(
        &self,
        request: Request<Streaming<pb::StreamingInputCallRequest>>,
    ) -> Result<Response<pb::StreamingInputCallResponse>, Status> {
        let mut messages = request.into_inner();
        let mut size = 0;
        while let Some(message) = messages.message().await? {
            size += message.payload.map_or(0, |payload| payload.body.len());
        }
        let aggregated_payload_size = size as i32;
        Ok(Response::new(pb::StreamingInputCallResponse { aggregated_payload_size }))
    }

    type FullDuplexCallStream = Responses<pb::StreamingOutputCallResponse>;

    async fn full_duplex_call(
        &self,
        request: Request<Streaming<pb::StreamingOutputCallRequest>>,
    ) -> Result<Response<Self::FullDuplexCallStream>, Status> {
        let mut messages = request.into_inner();
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move {
            loop {
                let asked = match messages.message().await {
                    Ok(Some(message)) => respond(message, &sender).await,
                    Ok(None) => return,
                    Err(status) => Some(sender.send(Err(status)).await.is_ok()),
                };
                if asked.is_none() {
                    return;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn unimplemented_call(
        &self,
        _: Request<pb::Empty>,
    ) -> Result<Response<pb::Empty>, Status> {
        Err(Status::unimplemented("never implemented"))
    }
}

type Responder = mpsc::Sender<Result<pb::StreamingOutputCallResponse, Status>>;

/// Sends what one request asks for; `None` once nothing more is to be sent.
async fn respond(message: pb::StreamingOutputCallRequest, sender: &Responder) -> Option<bool> {
    if let Err(status) = status(&message.response_status) {
        // A client that no longer reads needs no status.
        let _ = sender.send(Err(status)).await;
        return None;
    }
    for asked in message.response_parameters {
        if let Ok(wait @ 1..) = u64::try_from(asked.interval_us) {
            tokio::time::sleep(Duration::from_micros(wait)).await;
        }
        let response = payload(asked.size)
            .map(|payload| pb::StreamingOutputCallResponse { payload: Some(payload) });
        sender.send(response).await.ok()?;
    }
    Some(true)
}

fn payload(size: i32) -> Result<pb::Payload, Status> {
    let size = usize::try_from(size).map_err(|_| Status::invalid_argument("a negative size"))?;
    Ok(pb::Payload { body: Bytes::from(vec![0; size]), ..Default::default() })
}

fn status(asked: &Option<pb::EchoStatus>) -> Result<(), Status> {
    match asked {
        Some(pb::EchoStatus { code, message }) if *code != 0 => {
            Err(Status::new(Code::from_i32(*code), message.clone()))
        }
        _ => Ok(()),
    }
}

/// Checks the client's claim about its own compression.
fn is_as_expected(metadata: &MetadataMap, asked: &Option<pb::BoolValue>) -> Result<(), Status> {
    let expected = asked.as_ref().is_some_and(|compressed| compressed.value);
    if expected && metadata.get("grpc-encoding").is_none() {
        return Err(Status::invalid_argument("the request is not compressed"));
    }
    Ok(())
}
