//! The service of `room.thrift`, with streams, for callers of other languages.

use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{AsyncReplies, AsyncRequests, BusinessError, Context, Error};

mod generated {
    #![allow(dead_code, reason = "other programs use the rest")]
    include!("../../../crates/breezeway-rpc/tests/golden/room.rs");
}
pub(crate) use generated::room::AsyncRoomServer;
use generated::room::{
    AsyncRoom, Heard, Line, NoSuchRoom, RoomListenError, RoomSayError, RoomTalkError, RoomTellError,
};

/// The room. It prints "given up" when a client no longer wants its stream.
pub(crate) struct Hall;

/// Prints that a handler was dropped.
pub(crate) struct GivenUp;

impl Drop for GivenUp {
    fn drop(&mut self) {
        println!("given up");
    }
}

fn greet(cx: &Context) {
    if let Some(name) = cx.metadata("name") {
        cx.set_reply_metadata("greeting", [b"hello ", name].concat());
    }
}

impl AsyncRoom for Hall {
    async fn listen(
        &self,
        cx: &Context,
        wanted: Line,
        mut replies: AsyncReplies<'_, Line>,
    ) -> Result<(), RoomListenError> {
        greet(cx);
        let extra = [("since".to_owned(), "May".to_owned())].into();
        let refusal = BusinessError { status: 410, message: "too late".to_owned(), extra };
        let count = match &*wanted.text {
            "nowhere" => return Err(NoSuchRoom { name: wanted.from }.into()),
            "refused" => return Err(Error::from(refusal).into()),
            "forged" => return Err(Error::new(ExceptionKind(77), "no such coupon").into()),
            "panic" => panic!("of this stream"),
            "endless" => usize::MAX,
            number => number.parse().map_err(|_| Error::Protocol("no number".to_owned()))?,
        };
        let _given_up = (count == usize::MAX).then_some(GivenUp);
        for number in 0..count {
            replies.send(&Line { from: wanted.from.clone(), text: number.to_string() }).await?;
        }
        Ok(())
    }

    async fn tell(
        &self,
        _: &Context,
        mut requests: AsyncRequests<'_, Line>,
    ) -> Result<Heard, RoomTellError> {
        let mut heard = Heard::default();
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
