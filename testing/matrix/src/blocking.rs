//! The service with handlers and callers that block.

use std::io::stdin;
use std::thread::{park, sleep, spawn};
use std::time::{Duration, Instant};

use breezeway::{Address, CallError, Client, ClientOptions, ErrorCode, ServerOptions, Session};
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{
    CallOptions, Channel, Context, Error, Replies, ReplyMetadata, Requests, Server, StreamChannel,
    ThriftClient,
};

use crate::idl::{
    AbsentClient, Line, Matrix, MatrixClient, MatrixEchoError, MatrixListenError, MatrixServer,
};
use crate::notes::{Notes, answer, echo, end_of, greet};
use crate::{
    LARGE, LATE, LINES, MANY, Outcome, PATIENCE, expect, failed, growing_limits, text_of,
    wait_for_another_server,
};

/// Number of handlers that may wait at the same time.
const HANDLERS: usize = 32;

#[derive(Default)]
struct Service(Notes);

impl Matrix for Service {
    fn echo(&self, cx: &Context, text: String) -> Result<String, MatrixEchoError> {
        let Some(name) = text.strip_prefix("wait:") else { return echo(cx, text) };
        self.0.add(format!("begun:{name}"));
        let Some(left) = cx.time_left() else {
            loop {
                park();
            }
        };
        sleep(left);
        self.0.add(format!("ended:{name}"));
        // Mostly, the client is the first to give up.
        sleep(LATE);
        Err(Error::from(CallError::DeadlinePassed).into())
    }

    fn mark(&self, _: &Context, text: String) -> Result<(), Error> {
        self.0.add(text);
        Ok(())
    }

    fn post(&self, _: &Context, text: String) {
        self.0.add(text);
    }

    fn marks(&self, _: &Context, text: String) -> Result<i64, Error> {
        Ok(self.0.count(&text))
    }

    fn unary(&self, _: &Context, line: Line) -> Result<Line, Error> {
        Ok(answer(line))
    }

    fn listen(
        &self,
        cx: &Context,
        wanted: Line,
        mut replies: Replies<'_, Line>,
    ) -> Result<(), MatrixListenError> {
        greet(cx);
        if let Some(name) = wanted.text.strip_prefix("endless:") {
            let line = Line { number: 0, ..wanted.clone() };
            while replies.send(&line).is_ok() {}
            self.0.add(format!("ended:{name}"));
            return Ok(());
        }
        for number in 0..wanted.number {
            replies.send(&Line { number, ..wanted.clone() })?;
        }
        end_of(wanted)
    }

    fn tell(&self, _: &Context, mut requests: Requests<'_, Line>) -> Result<Line, Error> {
        let mut told = Line::default();
        while let Some(line) = requests.receive()? {
            told = Line { text: line.text, number: told.number + line.number };
        }
        Ok(told)
    }

    fn talk(
        &self,
        _: &Context,
        mut requests: Requests<'_, Line>,
        mut replies: Replies<'_, Line>,
    ) -> Result<(), Error> {
        while let Some(line) = requests.receive()? {
            replies.send(&answer(line))?;
        }
        Ok(())
    }
}

/// Serves until standard input ends.
pub(crate) fn serve(address: &Address) -> Outcome {
    crate::programs::raise_file_limit();
    let options = ServerOptions::new().offload(HANDLERS);
    let server = Server::bind_with(address, options).map_err(failed("listen"))?;
    let server = server.with_thrift_clients();
    let server = server.add_service(MatrixServer(Service::default())).map_err(failed("service"))?;
    let stopper = server.stopper();
    println!("listening");
    spawn(move || {
        let _ = stdin().read_line(&mut String::new());
        stopper.stop();
    });
    server.serve().map_err(failed("serve"))
}

/// Runs a case of a client.
pub(crate) fn call(address: &Address, case: &str, is_ttheader: bool) -> Outcome {
    if is_ttheader {
        let client = ThriftClient::new(address.clone()).connect_timeout(PATIENCE);
        return match case {
            "restart" | "kill" => replaced(&client, case),
            _ => session_case(&client, case),
        };
    }
    match case {
        "restart" | "kill" => {
            let options = ClientOptions::new().wait_for_server(PATIENCE);
            let client = Client::connect_with(address, options).map_err(failed("connect"))?;
            replaced(&client, case)
        }
        _ => session_case(&Session::connect(address).map_err(failed("connect"))?, case),
    }
}

fn session_case<C: StreamChannel + Sync>(channel: &C, case: &str) -> Outcome {
    let client = MatrixClient::new(channel);
    match case {
        "unknown method" => return unknown(channel),
        "many" => return many(&client),
        _ => {}
    }
    call_case(&client, case).unwrap_or_else(|| stream_case(&client, case))
}

/// Runs a case of calls; `None` for another case.
fn call_case<C: Channel>(client: &MatrixClient<C>, case: &str) -> Option<Outcome> {
    Some(match case {
        "call" => echoed(client, "hello"),
        "void" => client
            .mark("void".to_owned())
            .map_err(failed("mark"))
            .and_then(|()| noted(client, "void")),
        "exception" => match client.echo("missing".to_owned()) {
            Err(MatrixEchoError::Missing(missing)) => expect("name", &*missing.name, "missing"),
            other => Err(format!("{other:?}")),
        },
        "business error" => match client.echo("refused".to_owned()) {
            Err(MatrixEchoError::Rpc(error)) => refused(&error),
            other => Err(format!("{other:?}")),
        },
        "oneway" => client
            .post("oneway".to_owned())
            .map_err(failed("post"))
            .and_then(|()| noted(client, "oneway")),
        "deadline" => late(client, "deadline", LATE),
        "deadline at handler" => deadline_reaches_handler(client),
        "metadata" => metadata(client, false),
        "reply metadata" => metadata(client, true),
        "16 MiB" => echoed(client, &"x".repeat(LARGE)),
        "unary stream" => client
            .unary(Line { text: "one".to_owned(), number: 1 })
            .map_err(failed("unary"))
            .and_then(|line| expect("line", (&*line.text, line.number), ("one", 2))),
        _ => return None,
    })
}

fn echoed<C: Channel>(client: &MatrixClient<C>, text: &str) -> Outcome {
    let back = client.echo(text.to_owned()).map_err(failed("echo"))?;
    expect("the text comes back", back == text, true)
}

/// Waits until the server has counted an event.
fn noted<C: Channel>(client: &MatrixClient<C>, event: &str) -> Outcome {
    let begun = Instant::now();
    while client.marks(event.to_owned()).map_err(failed("marks"))? == 0 {
        if begun.elapsed() > PATIENCE {
            return Err(format!("the server does not note {event}"));
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

pub(crate) fn refused(error: &Error) -> Outcome {
    match error {
        Error::Business(error) => {
            expect("refusal", (error.status, &*error.message), (410, "too late"))
        }
        other => Err(format!("not a business error: {other}")),
    }
}

/// Returns true if the call's deadline has passed, by the client's clock or the server's. In
/// TTHeader only the text of an exception says the latter.
pub(crate) fn is_late(error: &MatrixEchoError) -> bool {
    match error {
        MatrixEchoError::Rpc(Error::Call(CallError::DeadlinePassed)) => true,
        MatrixEchoError::Rpc(Error::Call(CallError::Failed { code, .. })) => {
            matches!(code, ErrorCode::DeadlinePassed | ErrorCode::Cancelled)
        }
        MatrixEchoError::Rpc(Error::Application(error)) => error.message.contains("deadline"),
        _ => false,
    }
}

/// Returns true for the error of a method that no service has.
pub(crate) fn is_unknown(error: &Error) -> bool {
    let kinds = [ExceptionKind::UNKNOWN_METHOD, ExceptionKind::UNKNOWN_SERVICE];
    matches!(error, Error::Application(error) if kinds.contains(&error.kind))
}

/// Returns true if a late call took its time. (TTHeader has it in milliseconds.)
pub(crate) fn has_waited(begun: Instant, limit: Duration) -> bool {
    begun.elapsed() + Duration::from_millis(1) >= limit
}

/// Makes a call that the server does not answer in time, and another one.
fn late<C: Channel>(client: &MatrixClient<C>, name: &str, limit: Duration) -> Outcome {
    let begun = Instant::now();
    match client.with(CallOptions::new().timeout(limit)).echo(format!("wait:{name}")) {
        Err(error) if is_late(&error) && has_waited(begun, limit) => echoed(client, "next"),
        other => Err(format!("not late after {:?}: {other:?}", begun.elapsed())),
    }
}

/// Makes late calls until one has reached its handler, which ends at the deadline.
fn deadline_reaches_handler<C: Channel>(client: &MatrixClient<C>) -> Outcome {
    for limit in growing_limits() {
        late(client, "told", limit)?;
        if client.marks("begun:told".to_owned()).map_err(failed("marks"))? > 0 {
            return noted(client, "ended:told");
        }
    }
    Err("no call reaches its handler".to_owned())
}

fn metadata<C: Channel>(client: &MatrixClient<C>, is_reply: bool) -> Outcome {
    let reply = ReplyMetadata::new();
    let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
    let name = client.with(options).echo("metadata".to_owned()).map_err(failed("echo"))?;
    if is_reply {
        return expect("greeting", reply.get("greeting"), Some(b"hello Ada".to_vec()));
    }
    expect("name", &*name, "Ada")
}

fn many<C: Channel + Sync>(client: &MatrixClient<C>) -> Outcome {
    std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..MANY).map(|number| scope.spawn(move || echoed(client, &text_of(number)))).collect();
        calls.into_iter().try_for_each(|call| call.join().expect("no panic"))
    })
}

fn unknown<C: Channel>(channel: &C) -> Outcome {
    match AbsentClient::new(channel).nothing() {
        Err(error) if is_unknown(&error) => echoed(&MatrixClient::new(channel), "next"),
        other => Err(format!("{other:?}")),
    }
}

fn stream_case<C: StreamChannel>(client: &MatrixClient<C>, case: &str) -> Outcome {
    match case {
        "server stream" => listened(client, LINES),
        "client stream" => {
            let mut stream = client.tell().map_err(failed("tell"))?;
            for number in 0..LINES {
                let line = Line { text: number.to_string(), number };
                stream.send(&line).map_err(failed("send"))?;
            }
            let told = stream.finish().map_err(failed("finish"))?;
            let sum = LINES * (LINES - 1) / 2;
            expect("told", (told.text, told.number), ((LINES - 1).to_string(), sum))
        }
        "two-way stream" => talked(client),
        "stream exception" => match ended(client, "missing", 1)? {
            MatrixListenError::Missing(missing) => expect("name", &*missing.name, "missing"),
            other => Err(format!("{other}")),
        },
        "stream business error" => match ended(client, "refused", 0)? {
            MatrixListenError::Rpc(error) => refused(&error),
            other => Err(format!("{other}")),
        },
        "stream metadata" => {
            let reply = ReplyMetadata::new();
            let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
            listened(&client.with(options), 1)?;
            expect("greeting", reply.get("greeting"), Some(b"hello Ada".to_vec()))
        }
        "stream cancelled" => {
            let wanted = Line { text: "endless:stream".to_owned(), number: 0 };
            let mut stream = client.listen(wanted).map_err(failed("listen"))?;
            stream.receive().map_err(failed("receive"))?;
            drop(stream);
            noted(client, "ended:stream")
        }
        _ => Err(format!("no case {case}")),
    }
}

fn listened<C: StreamChannel>(client: &MatrixClient<C>, count: i32) -> Outcome {
    let wanted = Line { text: "lines".to_owned(), number: count };
    let mut stream = client.listen(wanted).map_err(failed("listen"))?;
    for number in 0..count {
        let line = stream.receive().map_err(failed("receive"))?;
        expect("line", line, Some(Line { text: "lines".to_owned(), number }))?;
    }
    expect("end", stream.receive().map_err(failed("the end"))?, None)
}

/// Returns the error that a stream ends with behind its lines.
fn ended<C: StreamChannel>(
    client: &MatrixClient<C>,
    text: &str,
    lines: i32,
) -> Result<MatrixListenError, String> {
    let wanted = Line { text: text.to_owned(), number: lines };
    let mut stream = client.listen(wanted).map_err(failed("listen"))?;
    for _ in 0..lines {
        stream.receive().map_err(failed("receive"))?;
    }
    match stream.receive() {
        Err(error) => Ok(error),
        Ok(line) => Err(format!("not an error: {line:?}")),
    }
}

fn talked<C: StreamChannel>(client: &MatrixClient<C>) -> Outcome {
    let mut stream = client.talk().map_err(failed("talk"))?;
    for number in 0..LINES {
        let line = Line { text: "x".repeat(1000 * number as usize), number };
        stream.send(&line).map_err(failed("send"))?;
        let back = stream.receive().map_err(failed("receive"))?;
        expect("line", back, Some(Line { number: number + 1, ..line }))?;
    }
    stream.finish().map_err(failed("finish"))?;
    expect("end", stream.receive().map_err(failed("the end"))?, None)
}

/// Calls before and after another server replaces the first, which is killed during a call.
fn replaced<C: Channel + Sync>(channel: &C, case: &str) -> Outcome {
    let client = &MatrixClient::new(channel);
    echoed(client, "before")?;
    std::thread::scope(|scope| {
        if case == "kill" {
            let held = scope.spawn(|| client.echo("wait:kill".to_owned()));
            noted(client, "begun:kill")?;
            wait_for_another_server()?;
            let held = held.join().expect("no panic");
            expect("the call in flight fails", held.is_err(), true)?;
        } else {
            wait_for_another_server()?;
        }
        echoed(client, "after")
    })
}
