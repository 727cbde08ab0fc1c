//! The services of the servers: everything comes back as it was sent.

use std::pin::Pin;

use breezeway_grpc_interop::pb;
use breezeway_rpc::{AsyncReplies, AsyncRequests, Context, Replies, Requests};
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/breezeway-rpc/tests/golden/room.rs"));
pub(crate) use room::*;

/// Implementation of the room of `room.thrift`, with echoes only.
pub(crate) struct Echoes;

/// Returns the number of requested lines, bounded as in any service.
fn wanted(line: &Line) -> usize {
    line.text.parse::<usize>().unwrap_or(0).min(8)
}

impl AsyncRoom for Echoes {
    async fn listen(
        &self,
        _: &Context,
        asked: Line,
        mut replies: AsyncReplies<'_, Line>,
    ) -> Result<(), RoomListenError> {
        for _ in 0..wanted(&asked) {
            replies.send(&asked).await?;
        }
        Ok(())
    }

    async fn tell(
        &self,
        _: &Context,
        mut requests: AsyncRequests<'_, Line>,
    ) -> Result<Heard, RoomTellError> {
        let mut heard = Heard { lines: 0, bytes: 0 };
        while let Some(line) = requests.receive().await? {
            heard.lines += 1;
            heard.bytes += line.text.len() as i64;
        }
        Ok(heard)
    }

    async fn talk(
        &self,
        _: &Context,
        mut requests: AsyncRequests<'_, Line>,
        mut replies: AsyncReplies<'_, Line>,
    ) -> Result<(), RoomTalkError> {
        while let Some(line) = requests.receive().await? {
            replies.send(&line).await?;
        }
        Ok(())
    }

    async fn say(&self, _: &Context, line: Line) -> Result<Line, RoomSayError> {
        Ok(line)
    }
}

impl Room for Echoes {
    fn listen(
        &self,
        _: &Context,
        asked: Line,
        mut replies: Replies<'_, Line>,
    ) -> Result<(), RoomListenError> {
        for _ in 0..wanted(&asked) {
            replies.send(&asked)?;
        }
        Ok(())
    }

    fn tell(&self, _: &Context, mut requests: Requests<'_, Line>) -> Result<Heard, RoomTellError> {
        let mut heard = Heard { lines: 0, bytes: 0 };
        while let Some(line) = requests.receive()? {
            heard.lines += 1;
            heard.bytes += line.text.len() as i64;
        }
        Ok(heard)
    }

    fn talk(
        &self,
        _: &Context,
        mut requests: Requests<'_, Line>,
        mut replies: Replies<'_, Line>,
    ) -> Result<(), RoomTalkError> {
        while let Some(line) = requests.receive()? {
            replies.send(&line)?;
        }
        Ok(())
    }

    fn say(&self, _: &Context, line: Line) -> Result<Line, RoomSayError> {
        Ok(line)
    }
}

/// gRPC's test service, which sends payloads back.
pub(crate) struct Mirror;

type Responses<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

fn mirrored(
    request: pb::StreamingOutputCallRequest,
) -> Result<pb::StreamingOutputCallResponse, Status> {
    Ok(pb::StreamingOutputCallResponse { payload: request.payload })
}

#[tonic::async_trait]
impl pb::test_service_server::TestService for Mirror {
    async fn empty_call(&self, _: Request<pb::Empty>) -> Result<Response<pb::Empty>, Status> {
        Ok(Response::new(pb::Empty {}))
    }

    async fn unary_call(
        &self,
        request: Request<pb::SimpleRequest>,
    ) -> Result<Response<pb::SimpleResponse>, Status> {
        Ok(Response::new(pb::SimpleResponse { payload: request.into_inner().payload }))
    }

    type StreamingOutputCallStream = Responses<pb::StreamingOutputCallResponse>;

    async fn streaming_output_call(
        &self,
        request: Request<pb::StreamingOutputCallRequest>,
    ) -> Result<Response<Self::StreamingOutputCallStream>, Status> {
        let message = mirrored(request.into_inner());
        Ok(Response::new(Box::pin(tokio_stream::iter([message.clone(), message]))))
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
        let messages = request.into_inner();
        Ok(Response::new(Box::pin(messages.map(|message| message.and_then(mirrored)))))
    }

    async fn unimplemented_call(
        &self,
        _: Request<pb::Empty>,
    ) -> Result<Response<pb::Empty>, Status> {
        Err(Status::unimplemented("never implemented"))
    }
}
