//! Streams: JSON values in, from the command line or standard input, and lines of JSON out.
//!
//! Whatever the form, a stream is opened in both directions; one that takes a single message each
//! way differs only in the number of messages.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};

use breezeway_idl::model::{Schema, Type};
use breezeway_os::shortage;
use breezeway_rpc::{Caller, Error, ReplyStream, StreamChannel};
use serde_json::{Deserializer, Value};

use super::raw::{Last, Raw, StreamFailure};
use super::reply::{self, Outcome, ReplyError};
use super::{Call, print, request};
use crate::failure::Failure;

/// Next event of a stream.
enum Event {
    /// A message to send.
    Input(Value),
    /// The end of the input, or its error.
    InputEnd(serde_json::Result<()>),
    /// The server's last word.
    End(Result<(), Ended>),
}

/// Failure of the server's direction.
enum Ended {
    Failed(StreamFailure),
    Unreadable(ReplyError),
    Output(io::Error),
}

/// Runs the command for a stream.
pub(super) fn run(call: &Call, channel: impl StreamChannel) -> Result<(), Failure> {
    let method = call.called.method;
    let ([argument], Some(result)) = (&*method.arguments.fields, &method.result) else {
        return Err(format!("{} is a stream without a message each way", call.name()).into());
    };
    let is_single = !method.streaming.of_requests();
    let given = match call.json.as_deref() {
        None if is_single => Some(collected("{}".as_bytes())),
        Some("-") if is_single => Some(collected(io::stdin().lock())),
        None | Some("-") => None,
        Some(text) => Some(collected(text.as_bytes())),
    };
    // A bad value is reported before anything is sent.
    let given = given.transpose().map_err(bad_input)?;
    for value in given.iter().flatten() {
        request::encode_message(call.schema(), &argument.ty, value)?;
    }
    if is_single && given.as_ref().is_some_and(|given| given.len() != 1) {
        return Err(format!("{} takes one message", call.name()).into());
    }
    let caller = Caller::new(channel);
    let caller = caller.with(call.options.clone());
    let stream = caller.duplex_stream::<Raw, Raw, Last>(&call.called.wire);
    let (mut sender, replies) = stream.map_err(|error| call.failed(error))?.split();
    let (events, happened) = sync_channel(0);
    let (schema, result) = (call.schema(), result.clone());
    let is_one = !method.streaming.of_replies();
    let ending = events.clone();
    shortage::spawn("replies", move || {
        // The receiver is gone once the command ends.
        let _ = ending.send(Event::End(receive(schema, &result, is_one, replies)));
    })?;
    shortage::spawn("input", move || read(given, &events))?;
    let mut sent = 0;
    for event in happened {
        match event {
            Event::Input(value) => {
                sent += 1;
                let message = request::encode_message(schema, &argument.ty, &value);
                let message = message.map_err(|error| format!("message {sent}: {error}"))?;
                // If it cannot be sent, the server's last message, which follows, names the reason.
                let _ = sender.send(&Raw(message));
            }
            Event::InputEnd(end) => {
                end.map_err(bad_input)?;
                let _ = sender.finish();
            }
            Event::End(ended) => return ended.map_err(|ended| call.ended(ended)),
        }
    }
    Ok(())
}

fn values<R: io::Read>(from: R) -> impl Iterator<Item = serde_json::Result<Value>> {
    Deserializer::from_reader(from).into_iter()
}

fn collected(from: impl io::Read) -> serde_json::Result<Vec<Value>> {
    values(from).collect()
}

fn bad_input(error: serde_json::Error) -> Failure {
    format!("a message is not JSON: {error}").into()
}

/// Passes on the messages to send.
fn read(given: Option<Vec<Value>>, events: &SyncSender<Event>) {
    let pass = |value| events.send(Event::Input(value)).is_ok();
    let end = match given {
        Some(values) => {
            values.into_iter().all(pass);
            Ok(())
        }
        None => values(io::stdin().lock()).try_for_each(|value| {
            pass(value?);
            Ok(())
        }),
    };
    // The receiver is gone once the command ends.
    let _ = events.send(Event::InputEnd(end));
}

/// Prints the received messages.
fn receive(
    schema: &Schema,
    ty: &Type,
    is_one: bool,
    mut replies: ReplyStream<Raw, Last>,
) -> Result<(), Ended> {
    let mut count = 0;
    while let Some(Raw(message)) = replies.receive().map_err(Ended::Failed)? {
        count += 1;
        let text = reply::message(schema, ty, &message).map_err(Ended::Unreadable)?;
        print(&text).map_err(Ended::Output)?;
    }
    if is_one && count == 0 { Err(Ended::Unreadable(ReplyError::Nothing)) } else { Ok(()) }
}

impl Call {
    fn ended(&self, ended: Ended) -> Failure {
        match ended {
            Ended::Failed(StreamFailure::Rpc(error)) => self.failed(error),
            Ended::Failed(StreamFailure::Thrown(Raw(reply))) => {
                match reply::read(self.schema(), self.called.method, &reply) {
                    Ok(Outcome::Thrown(exception, fields)) => self.thrown(exception, fields),
                    Ok(_) => self.failed(Error::MissingResult),
                    Err(error) => error.into(),
                }
            }
            Ended::Unreadable(error) => error.into(),
            Ended::Output(error) => error.into(),
        }
    }
}
