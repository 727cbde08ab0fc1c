//! The cases. Each panics if something differs from the description.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Streaming};

use crate::pb::test_service_client::TestServiceClient;
use crate::pb::unimplemented_service_client::UnimplementedServiceClient;
use crate::{AnyChannel, ECHO_INITIAL, ECHO_TRAILING, pb};

/// Client of the service, for messages of any size.
pub type Client = TestServiceClient<AnyChannel>;

/// A client on a channel.
pub fn client(channel: AnyChannel) -> Client {
    TestServiceClient::new(channel)
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX)
}

const LARGE_REQUEST: usize = 271_828;
const LARGE_RESPONSE: i32 = 314_159;
const REQUESTS: [usize; 4] = [27_182, 8, 1_828, 45_904];
const RESPONSES: [i32; 4] = [31_415, 9, 2_653, 58_979];
const SPECIAL: &str = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";

fn zeroes(size: usize) -> Option<pb::Payload> {
    Some(pb::Payload { body: Bytes::from(vec![0; size]), ..Default::default() })
}

/// A request for a response of a size.
pub fn simple(size: usize, response_size: i32) -> pb::SimpleRequest {
    pb::SimpleRequest { response_size, payload: zeroes(size), ..Default::default() }
}

fn output(sizes: &[i32], size: usize) -> pb::StreamingOutputCallRequest {
    let asked = |&size: &i32| pb::ResponseParameters { size, ..Default::default() };
    pb::StreamingOutputCallRequest {
        response_parameters: sizes.iter().map(asked).collect(),
        payload: zeroes(size),
        ..Default::default()
    }
}

fn size_of(payload: &Option<pb::Payload>) -> usize {
    payload.as_ref().map_or(0, |payload| payload.body.len())
}

/// One empty message each way.
pub async fn empty_unary(mut client: Client) {
    assert_eq!(client.empty_call(pb::Empty {}).await.unwrap().into_inner(), pb::Empty {});
}

/// One large message each way.
pub async fn large_unary(mut client: Client) {
    let response = client.unary_call(simple(LARGE_REQUEST, LARGE_RESPONSE)).await.unwrap();
    assert_eq!(size_of(&response.into_inner().payload), LARGE_RESPONSE as usize);
}

/// Several messages, and one back.
pub async fn client_streaming(mut client: Client) {
    let messages = REQUESTS
        .map(|size| pb::StreamingInputCallRequest { payload: zeroes(size), ..Default::default() });
    let response = client.streaming_input_call(tokio_stream::iter(messages)).await.unwrap();
    assert_eq!(response.into_inner().aggregated_payload_size, 74_922);
}

/// One message, and several back.
pub async fn server_streaming(mut client: Client) {
    let response = client.streaming_output_call(output(&RESPONSES, 0)).await.unwrap();
    let mut messages = response.into_inner();
    for size in RESPONSES {
        let message = messages.message().await.unwrap().expect("more is to come");
        assert_eq!(size_of(&message.payload), size as usize);
    }
    assert!(messages.message().await.unwrap().is_none());
}

/// Sender of the requests of a call.
pub type Requests = mpsc::Sender<pb::StreamingOutputCallRequest>;

/// Begins a call with its first request: a server may send its headers with its first message only,
/// and tonic waits for them.
async fn duplex(
    client: &mut Client,
    first: pb::StreamingOutputCallRequest,
) -> (Requests, Streaming<pb::StreamingOutputCallResponse>) {
    let (sender, requests) = mpsc::channel(1);
    sender.send(first).await.unwrap();
    let response = client.full_duplex_call(ReceiverStream::new(requests)).await.unwrap();
    (sender, response.into_inner())
}

/// Messages in turn.
pub async fn ping_pong(mut client: Client) {
    let first = output(&[RESPONSES[0]], REQUESTS[0]);
    let (sender, mut responses) = duplex(&mut client, first).await;
    for (number, size) in RESPONSES.into_iter().enumerate() {
        let message = responses.message().await.unwrap().expect("an answer");
        assert_eq!(size_of(&message.payload), size as usize);
        if let (Some(&request), Some(&size)) = (REQUESTS.get(number + 1), RESPONSES.get(number + 1))
        {
            sender.send(output(&[size], request)).await.unwrap();
        }
    }
    drop(sender);
    assert!(responses.message().await.unwrap().is_none());
}

/// No message either way.
pub async fn empty_stream(mut client: Client) {
    let requests = tokio_stream::empty::<pb::StreamingOutputCallRequest>();
    let mut responses = client.full_duplex_call(requests).await.unwrap().into_inner();
    assert!(responses.message().await.unwrap().is_none());
}

/// Metadata goes out and comes back, as headers and as trailers, for both kinds of call.
pub async fn custom_metadata(mut client: Client) {
    let initial: MetadataValue<_> = "test_initial_metadata_value".parse().unwrap();
    let trailing = MetadataValue::from_bytes(&[0xab, 0xab, 0xab]);
    fn with<T>(
        message: T,
        initial: &MetadataValue<tonic::metadata::Ascii>,
        trailing: &MetadataValue<tonic::metadata::Binary>,
    ) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert(ECHO_INITIAL, initial.clone());
        request.metadata_mut().insert_bin(ECHO_TRAILING, trailing.clone());
        request
    }
    let request = with(simple(LARGE_REQUEST, LARGE_RESPONSE), &initial, &trailing);
    let response = client.unary_call(request).await.unwrap();
    // tonic hands the trailers of a unary call out with its headers.
    assert_eq!(response.metadata().get(ECHO_INITIAL), Some(&initial));
    assert_eq!(response.metadata().get_bin(ECHO_TRAILING), Some(&trailing));

    let asked = tokio_stream::iter([output(&[LARGE_RESPONSE], LARGE_REQUEST)]);
    let request = with(asked, &initial, &trailing);
    let response = client.full_duplex_call(request).await.unwrap();
    assert_eq!(response.metadata().get(ECHO_INITIAL), Some(&initial));
    let mut messages = response.into_inner();
    assert!(messages.message().await.unwrap().is_some());
    assert!(messages.message().await.unwrap().is_none());
    let trailers = messages.trailers().await.unwrap().expect("trailers");
    assert_eq!(trailers.get_bin(ECHO_TRAILING), Some(&trailing));
}

/// A status that the server makes, for both kinds of call.
pub async fn status_code_and_message(mut client: Client) {
    let message = "test status message";
    let asked = Some(pb::EchoStatus { code: 2, message: message.into() });
    let request = pb::SimpleRequest { response_status: asked.clone(), ..Default::default() };
    let status = client.unary_call(request).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unknown, message));

    let request = pb::StreamingOutputCallRequest { response_status: asked, ..Default::default() };
    // A server without a message has no headers of its own: then the call itself fails.
    let response = client.full_duplex_call(tokio_stream::iter([request])).await;
    let status = match response {
        Ok(response) => response.into_inner().message().await.unwrap_err(),
        Err(status) => status,
    };
    assert_eq!((status.code(), status.message()), (Code::Unknown, message));
}

/// Checks a status with a message beyond plain text.
pub async fn special_status_message(mut client: Client) {
    let asked = Some(pb::EchoStatus { code: 2, message: SPECIAL.into() });
    let request = pb::SimpleRequest { response_status: asked, ..Default::default() };
    let status = client.unary_call(request).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unknown, SPECIAL));
}

/// A method that the service does not have.
pub async fn unimplemented_method(mut client: Client) {
    let status = client.unimplemented_call(pb::Empty {}).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
}

/// A service that the server does not have.
pub async fn unimplemented_service(channel: AnyChannel) {
    let mut client = UnimplementedServiceClient::new(channel);
    let status = client.unimplemented_call(pb::Empty {}).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
}

/// A deadline that passes while the server does nothing.
pub async fn timeout_on_sleeping_server(mut client: Client) {
    let (sender, requests) = mpsc::channel(1);
    let mut asked = output(&[31_415], 27_182);
    asked.response_parameters[0].interval_us = 30_000_000;
    sender.send(asked).await.unwrap();
    let mut request = Request::new(ReceiverStream::new(requests));
    request.set_timeout(Duration::from_millis(1));
    let outcome = match client.full_duplex_call(request).await {
        Ok(response) => response.into_inner().message().await.map(|_| ()),
        Err(status) => Err(status),
    };
    let status = outcome.expect_err("the deadline has passed");
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
}

/// A call that is dropped when it has begun.
pub async fn cancel_after_begin(mut client: Client) {
    let (sender, requests) = mpsc::channel::<pb::StreamingInputCallRequest>(1);
    let call =
        tokio::spawn(
            async move { client.streaming_input_call(ReceiverStream::new(requests)).await },
        );
    sender.send(pb::StreamingInputCallRequest::default()).await.unwrap();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    // The request's stream is dropped with the call.
    tokio::time::timeout(Duration::from_secs(10), sender.closed()).await.unwrap();
}

/// A call that is dropped after its first response. Gives where its requests come from: whether
/// that is dropped with it depends on the channel.
pub async fn cancel_after_first_response(mut client: Client) -> Requests {
    let (sender, mut responses) = duplex(&mut client, output(&[31_415], 27_182)).await;
    let message = responses.message().await.unwrap().expect("an answer");
    assert_eq!(size_of(&message.payload), 31_415);
    drop(responses);
    sender
}

/// Sends a compressed request, and one with the compressed flag that is not compressed.
pub async fn client_compressed_unary(client: Client) {
    let mut request = simple(LARGE_REQUEST, LARGE_RESPONSE);
    request.expect_compressed = Some(pb::BoolValue { value: true });
    let status = client.clone().unary_call(request.clone()).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let mut compressing = client.send_compressed(CompressionEncoding::Gzip);
    let response = compressing.unary_call(request).await.unwrap();
    assert_eq!(size_of(&response.into_inner().payload), LARGE_RESPONSE as usize);
}

/// A compressed response, and one that is not.
pub async fn server_compressed_unary(client: Client) {
    let mut client = client.accept_compressed(CompressionEncoding::Gzip);
    for compressed in [true, false] {
        let mut request = simple(LARGE_REQUEST, LARGE_RESPONSE);
        request.response_compressed = Some(pb::BoolValue { value: compressed });
        let response = client.unary_call(request).await.unwrap();
        // tonic names its encoding also where it does not use it.
        assert_eq!(response.metadata().get("grpc-encoding").unwrap(), "gzip");
        assert_eq!(size_of(&response.into_inner().payload), LARGE_RESPONSE as usize);
    }
}

/// Compressed messages of a stream each way.
pub async fn compressed_streaming(client: Client) {
    let mut client = client
        .send_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Gzip);
    client_streaming(client.clone()).await;
    let response = client.streaming_output_call(output(&RESPONSES, 0)).await.unwrap();
    assert_eq!(response.metadata().get("grpc-encoding").unwrap(), "gzip");
    server_streaming(client).await;
}
