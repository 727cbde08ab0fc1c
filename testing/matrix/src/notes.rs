//! The events that a server counts, and its answers that do not depend on how it waits.

use std::collections::HashMap;
use std::sync::Mutex;

use breezeway_rpc::{BusinessError, Context, Error};

use crate::idl::{Line, MatrixEchoError, MatrixListenError, Missing};

/// Events of a server, each with its count.
#[derive(Default)]
pub(crate) struct Notes(Mutex<HashMap<String, i64>>);

impl Notes {
    pub(crate) fn add(&self, event: String) {
        *self.0.lock().expect("no panic").entry(event).or_default() += 1;
    }

    pub(crate) fn count(&self, event: &str) -> i64 {
        self.0.lock().expect("no panic").get(event).copied().unwrap_or_default()
    }
}

/// Returns the result of `echo`, except for a call that waits.
pub(crate) fn echo(cx: &Context, text: String) -> Result<String, MatrixEchoError> {
    match &*text {
        "missing" => Err(Missing { name: text }.into()),
        "refused" => Err(refusal().into()),
        "metadata" => Ok(greet(cx)),
        _ => Ok(text),
    }
}

/// Returns the client's name, and greets it beside the reply.
pub(crate) fn greet(cx: &Context) -> String {
    let name = String::from_utf8_lossy(cx.metadata("name").unwrap_or_default()).into_owned();
    if !name.is_empty() {
        cx.set_reply_metadata("greeting", format!("hello {name}"));
    }
    name
}

pub(crate) fn refusal() -> Error {
    BusinessError { status: 410, message: "too late".to_owned(), extra: [].into() }.into()
}

/// Returns the end of `listen` behind its lines.
pub(crate) fn end_of(wanted: Line) -> Result<(), MatrixListenError> {
    match &*wanted.text {
        "missing" => Err(Missing { name: wanted.text }.into()),
        "refused" => Err(refusal().into()),
        _ => Ok(()),
    }
}

/// Returns the reply to a line.
pub(crate) fn answer(line: Line) -> Line {
    Line { number: line.number + 1, ..line }
}
