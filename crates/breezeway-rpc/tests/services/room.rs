//! The service with streams that the tests serve and call.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use breezeway::{CallError, ErrorCode, StreamError};
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{
    AsyncReplies, AsyncRequests, BusinessError, Context, Error, Replies, Requests,
};
use tokio::sync::mpsc::UnboundedSender;

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/room.rs"));
pub(crate) use room::*;

/// A room that reports its events.
pub(crate) struct Hall {
    pub(crate) events: UnboundedSender<String>,
    /// Event that blocking handlers sleep until.
    pub(crate) morning: Arc<Morning>,
}

/// Event that happens once.
#[derive(Default)]
pub(crate) struct Morning {
    has_come: Mutex<bool>,
    comes: Condvar,
}

impl Morning {
    pub(crate) fn come(&self) {
        *self.has_come.lock().unwrap() = true;
        self.comes.notify_all();
    }

    fn wait(&self) {
        let has_come = self.has_come.lock().unwrap();
        drop(self.comes.wait_while(has_come, |has_come| !*has_come).unwrap());
    }
}

pub(crate) fn line(from: &str, text: impl ToString) -> Line {
    Line { from: from.to_owned(), text: text.to_string() }
}

/// Reports that it was dropped.
struct Told(UnboundedSender<String>);

impl Drop for Told {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send("dropped".to_owned());
    }
}

impl Hall {
    fn told(&self, event: impl ToString) {
        let _ = self.events.send(event.to_string());
    }

    /// Reports a client that has cancelled, and a deadline.
    fn noted<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        match outcome {
            Err(Error::Stream(StreamError::Reset(ErrorCode::Cancelled))) => self.told("cancelled"),
            Err(Error::Call(CallError::DeadlinePassed)) => self.told("too late"),
            _ => {}
        }
        outcome
    }
}

fn missing(name: &str) -> NoSuchRoom {
    NoSuchRoom { name: name.to_owned() }
}

/// The lines that are wanted, or why there are none.
fn wanted(cx: &Context, wanted: &Line) -> Result<usize, RoomListenError> {
    greet(cx);
    match &*wanted.text {
        "deadline" => {
            let left = cx.time_left().unwrap_or_default();
            Ok(left.as_secs() as usize)
        }
        "nowhere" => Err(missing("nowhere").into()),
        "panic" => panic!("the ceiling came down"),
        "forged" => Err(Error::new(ExceptionKind(77), "no such coupon").into()),
        "refused" => {
            let extra = [("since".to_owned(), "\"May\"".to_owned())].into();
            let refusal = BusinessError { status: 410, message: "too late".to_owned(), extra };
            Err(Error::from(refusal).into())
        }
        number => number.parse().map_err(|_| missing(number).into()),
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
        asked: Line,
        mut replies: AsyncReplies<'_, Line>,
    ) -> Result<(), RoomListenError> {
        let _told = Told(self.events.clone());
        if asked.text == "endless" {
            for number in 0.. {
                self.noted(replies.send(&line(&asked.from, number)).await)?;
                self.told(number);
            }
        }
        if asked.text == "silent" {
            self.told("begun");
            std::future::pending::<()>().await;
        }
        for number in 0..wanted(cx, &asked)? {
            replies.send(&line(&asked.from, number)).await?;
        }
        cx.set_reply_metadata("said", "all");
        Ok(())
    }

    async fn tell(
        &self,
        cx: &Context,
        mut requests: AsyncRequests<'_, Line>,
    ) -> Result<Heard, RoomTellError> {
        greet(cx);
        let mut heard = Heard { lines: 0, bytes: 0 };
        while let Some(line) = self.noted(requests.receive().await)? {
            heard.lines += 1;
            heard.bytes += line.text.len() as i64;
            match &*line.text {
                "nowhere" => return Err(missing(&line.from).into()),
                "enough" => return Ok(heard),
                "sleep" => {
                    self.told("asleep");
                    std::future::pending::<()>().await;
                }
                _ => {}
            }
        }
        Ok(heard)
    }

    async fn talk(
        &self,
        cx: &Context,
        mut requests: AsyncRequests<'_, Line>,
        mut replies: AsyncReplies<'_, Line>,
    ) -> Result<(), RoomTalkError> {
        greet(cx);
        while let Some(line) = self.noted(requests.receive().await)? {
            match &*line.text {
                "nowhere" => return Err(missing(&line.from).into()),
                "enough" => return Ok(()),
                _ => replies.send(&line).await?,
            }
        }
        replies.send(&line("room", "bye")).await?;
        Ok(())
    }

    async fn say(&self, _: &Context, line: Line) -> Result<Line, RoomSayError> {
        Ok(line)
    }
}

impl Room for Hall {
    fn listen(
        &self,
        cx: &Context,
        asked: Line,
        mut replies: Replies<'_, Line>,
    ) -> Result<(), RoomListenError> {
        let _told = Told(self.events.clone());
        if asked.text == "endless" {
            self.told("begun");
            for number in 0.. {
                self.noted(replies.send(&line(&asked.from, number)))?;
                self.told(number);
            }
        }
        // There is nothing to send.
        if asked.text == "watch" {
            self.told("begun");
            while !replies.wait_cancelled(Duration::from_secs(60)) {}
            return Ok(());
        }
        if asked.text == "look" {
            self.told("begun");
            while !replies.is_cancelled() {
                std::thread::yield_now();
            }
            return Ok(());
        }
        for number in 0..wanted(cx, &asked)? {
            replies.send(&line(&asked.from, number))?;
        }
        cx.set_reply_metadata("said", "all");
        Ok(())
    }

    fn tell(&self, cx: &Context, mut requests: Requests<'_, Line>) -> Result<Heard, RoomTellError> {
        greet(cx);
        let mut heard = Heard { lines: 0, bytes: 0 };
        while let Some(line) = self.noted(requests.receive())? {
            heard.lines += 1;
            heard.bytes += line.text.len() as i64;
            match &*line.text {
                "nowhere" => return Err(missing(&line.from).into()),
                "enough" => return Ok(heard),
                "sleep" => {
                    self.told("asleep");
                    self.morning.wait();
                }
                _ => {}
            }
        }
        Ok(heard)
    }

    fn talk(
        &self,
        cx: &Context,
        mut requests: Requests<'_, Line>,
        mut replies: Replies<'_, Line>,
    ) -> Result<(), RoomTalkError> {
        greet(cx);
        while let Some(line) = self.noted(requests.receive())? {
            match &*line.text {
                "nowhere" => return Err(missing(&line.from).into()),
                "enough" => return Ok(()),
                _ => replies.send(&line)?,
            }
        }
        replies.send(&line("room", "bye"))?;
        Ok(())
    }

    fn say(&self, cx: &Context, mut line: Line) -> Result<Line, RoomSayError> {
        if let ("who", Some(name)) = (&*line.text, cx.metadata("name")) {
            line.text = String::from_utf8_lossy(name).into_owned();
        }
        Ok(line)
    }
}
