//! The service that the tests serve and call.

use std::time::Duration;

use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{AsyncReplies, AsyncRequests, Context, Error, Replies, Requests};
use tokio::sync::Notify;

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/room.rs"));
pub(crate) use room::*;

pub(crate) fn line(text: &str) -> Line {
    Line { from: "Ada".to_owned(), text: text.to_owned() }
}

/// Notified when a handler runs that never ends.
pub(crate) static ASKED: Notify = Notify::const_new();

/// Acts by the text of the first line.
pub(crate) struct Hall;

/// Returns the reply to a line.
fn answer(cx: &Context, line: Line) -> Result<Line, Error> {
    match &*line.text {
        "fail" => Err(Error::new(ExceptionKind::INTERNAL_ERROR, "on purpose")),
        "panic" => panic!("on purpose"),
        "metadata" => Ok(Line { text: cx.metadata_pairs().count().to_string(), ..line }),
        _ => {
            tracing::info_span!("work").in_scope(|| ());
            Ok(line)
        }
    }
}

fn missing() -> NoSuchRoom {
    NoSuchRoom { name: "nowhere".to_owned() }
}

impl Room for Hall {
    fn listen(
        &self,
        cx: &Context,
        wanted: Line,
        mut replies: Replies<'_, Line>,
    ) -> Result<(), RoomListenError> {
        if wanted.text == "outlive" {
            assert!(replies.wait_cancelled(Duration::from_secs(60)), "the client stays");
            return Ok(());
        }
        Ok(replies.send(&answer(cx, wanted)?)?)
    }

    fn tell(&self, _: &Context, _: Requests<'_, Line>) -> Result<Heard, RoomTellError> {
        Err(missing().into())
    }

    fn talk(
        &self,
        _: &Context,
        mut requests: Requests<'_, Line>,
        mut replies: Replies<'_, Line>,
    ) -> Result<(), RoomTalkError> {
        let _work = tracing::info_span!("work").entered();
        while let Some(line) = requests.receive()? {
            replies.send(&line)?;
        }
        Ok(())
    }

    fn say(&self, cx: &Context, line: Line) -> Result<Line, RoomSayError> {
        if line.text == "nowhere" {
            return Err(missing().into());
        }
        Ok(answer(cx, line)?)
    }
}

impl AsyncRoom for Hall {
    async fn listen(
        &self,
        cx: &Context,
        wanted: Line,
        mut replies: AsyncReplies<'_, Line>,
    ) -> Result<(), RoomListenError> {
        tokio::task::yield_now().await;
        Ok(replies.send(&answer(cx, wanted)?).await?)
    }

    async fn tell(&self, _: &Context, _: AsyncRequests<'_, Line>) -> Result<Heard, RoomTellError> {
        Err(missing().into())
    }

    async fn talk(
        &self,
        _: &Context,
        mut requests: AsyncRequests<'_, Line>,
        mut replies: AsyncReplies<'_, Line>,
    ) -> Result<(), RoomTalkError> {
        tracing::info_span!("work").in_scope(|| ());
        while let Some(line) = requests.receive().await? {
            replies.send(&line).await?;
        }
        Ok(())
    }

    async fn say(&self, cx: &Context, line: Line) -> Result<Line, RoomSayError> {
        if line.text == "nowhere" {
            return Err(missing().into());
        }
        if line.text == "never" {
            ASKED.notify_one();
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        Ok(answer(cx, line)?)
    }
}
