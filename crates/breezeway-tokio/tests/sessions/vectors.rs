//! The conversations of `docs/vectors`, held by a server under tokio.

use std::future::poll_fn;

use breezeway_adversary::vectors::{
    DROP, HOLD, MAX_METADATA, MAX_STREAMS, RESET, RESET_CODE, WINDOW, conversations,
};
use breezeway_tokio::{
    Address, ErrorCode, OwnedCall, Server, ServerOptions, SessionOptions, Stream, StreamError,
};

use super::support::soon;

async fn on_call(call: OwnedCall) {
    if call.method() == HOLD {
        return poll_fn(|cx| call.poll_cancelled(cx)).await;
    }
    let _ = call.echo();
}

async fn on_stream(method: u32, mut stream: Stream) {
    match method {
        HOLD => drop(poll_fn(|cx| stream.sender().poll_reset(cx)).await),
        RESET => {
            // That it came is enough.
            let _ = stream.receive().await;
            stream.reset(ErrorCode::Application(RESET_CODE));
        }
        DROP => {
            while let Ok(Some(message)) = stream.receive().await
                && !message.is_empty()
            {}
        }
        // The client may reset the stream.
        _ => drop(echo(stream).await),
    }
}

async fn echo(mut stream: Stream) -> Result<(), StreamError> {
    while let Some(message) = stream.receive().await? {
        if message.is_message() {
            stream.send(&message.to_vec()).await?;
        }
    }
    stream.finish().await
}

/// Plays the conversations with clients that take streams, or the others.
async fn play(session: SessionOptions, with_streams: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    let options = ServerOptions::new().session(session);
    let server = Server::bind_with(Address::unix(path.clone()), options).unwrap();
    let stopper = server.stopper();
    let serving = tokio::spawn(server.serve_streams(on_call, on_stream));
    let playing = tokio::task::spawn_blocking(move || {
        let ours = conversations()
            .into_iter()
            .filter(|conversation| conversation.takes_streams() == with_streams);
        ours.filter_map(|conversation| conversation.check("tokio", &path).err()).collect::<Vec<_>>()
    });
    let wrong = playing.await.unwrap();
    stopper.stop();
    soon(serving).await.unwrap().unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn server_answers_match_the_vectors() {
    play(SessionOptions::new().max_streams(0).max_metadata(0), false).await;
}

#[tokio::test]
async fn answers_of_server_with_streams_match_the_vectors() {
    let session = SessionOptions::new()
        .max_streams(MAX_STREAMS)
        .stream_window(WINDOW.0, WINDOW.1)
        .max_metadata(MAX_METADATA.into());
    play(session, true).await;
}
