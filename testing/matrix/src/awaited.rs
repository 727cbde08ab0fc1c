//! The service with handlers and callers that await.

use std::future::pending;
use std::io::stdin;
use std::sync::Arc;
use std::time::Instant;

use breezeway::{Address, ClientOptions};
use breezeway_rpc::{
    AsyncChannel, AsyncReplies, AsyncRequests, AsyncServer, AsyncStreamChannel, AsyncThriftClient,
    CallOptions, Context, Error, ReplyMetadata,
};
use breezeway_tokio::{Client, Session};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{Duration, sleep, timeout};

use crate::blocking::{has_waited, is_late, is_unknown, refused};
use crate::idl::{
    AsyncAbsentClient, AsyncMatrix, AsyncMatrixClient, AsyncMatrixServer, Line, MatrixEchoError,
    MatrixListenError,
};
use crate::notes::{Notes, answer, echo, end_of, greet};
use crate::{
    LARGE, LATE, LINES, MANY, Outcome, PATIENCE, expect, failed, growing_limits, text_of,
    wait_for_another_server,
};

struct Service(Arc<Notes>);

/// Notes the end of a handler.
struct Ending(Arc<Notes>, String);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.add(format!("ended:{}", self.1));
    }
}

impl AsyncMatrix for Service {
    async fn echo(&self, cx: &Context, text: String) -> Result<String, MatrixEchoError> {
        let Some(name) = text.strip_prefix("wait:") else { return echo(cx, text) };
        self.0.add(format!("begun:{name}"));
        let _ending = Ending(Arc::clone(&self.0), name.to_owned());
        pending().await
    }

    async fn mark(&self, _: &Context, text: String) -> Result<(), Error> {
        self.0.add(text);
        Ok(())
    }

    async fn post(&self, _: &Context, text: String) {
        self.0.add(text);
    }

    async fn marks(&self, _: &Context, text: String) -> Result<i64, Error> {
        Ok(self.0.count(&text))
    }

    async fn unary(&self, _: &Context, line: Line) -> Result<Line, Error> {
        Ok(answer(line))
    }

    async fn listen(
        &self,
        cx: &Context,
        wanted: Line,
        mut replies: AsyncReplies<'_, Line>,
    ) -> Result<(), MatrixListenError> {
        greet(cx);
        if let Some(name) = wanted.text.strip_prefix("endless:") {
            let _ending = Ending(Arc::clone(&self.0), name.to_owned());
            let line = Line { number: 0, ..wanted.clone() };
            while replies.send(&line).await.is_ok() {}
            return Ok(());
        }
        for number in 0..wanted.number {
            replies.send(&Line { number, ..wanted.clone() }).await?;
        }
        end_of(wanted)
    }

    async fn tell(
        &self,
        _: &Context,
        mut requests: AsyncRequests<'_, Line>,
    ) -> Result<Line, Error> {
        let mut told = Line::default();
        while let Some(line) = requests.receive().await? {
            told = Line { text: line.text, number: told.number + line.number };
        }
        Ok(told)
    }

    async fn talk(
        &self,
        _: &Context,
        mut requests: AsyncRequests<'_, Line>,
        mut replies: AsyncReplies<'_, Line>,
    ) -> Result<(), Error> {
        while let Some(line) = requests.receive().await? {
            replies.send(&answer(line)).await?;
        }
        Ok(())
    }
}

/// Serves until standard input ends.
pub(crate) fn serve(address: &Address) -> Outcome {
    crate::programs::raise_file_limit();
    Runtime::new().map_err(failed("runtime"))?.block_on(async {
        let server = AsyncServer::bind(address).map_err(failed("listen"))?.with_thrift_clients();
        let service = AsyncMatrixServer(Service(Arc::default()));
        let server = server.add_service(service).map_err(failed("service"))?;
        let stopper = server.stopper();
        println!("listening");
        std::thread::spawn(move || {
            let _ = stdin().read_line(&mut String::new());
            stopper.stop();
        });
        server.serve().await.map_err(failed("serve"))
    })
}

/// Runs a case of a client.
pub(crate) fn call(address: &Address, case: &str, is_ttheader: bool) -> Outcome {
    Runtime::new().map_err(failed("runtime"))?.block_on(async {
        if is_ttheader {
            let client = AsyncThriftClient::new(address.clone()).connect_timeout(PATIENCE);
            return match case {
                "restart" | "kill" => replaced(client, case).await,
                _ => session_case(client, case).await,
            };
        }
        match case {
            "restart" | "kill" => {
                let options = ClientOptions::new().wait_for_server(PATIENCE);
                let client = Client::connect_with(address, options).await;
                replaced(client.map_err(failed("connect"))?, case).await
            }
            _ => {
                session_case(Session::connect(address).await.map_err(failed("connect"))?, case)
                    .await
            }
        }
    })
}

async fn session_case<C: AsyncStreamChannel + Send + 'static>(channel: C, case: &str) -> Outcome {
    if case == "unknown method" {
        return match AsyncAbsentClient::new(&channel).nothing().await {
            Err(error) if is_unknown(&error) => {
                echoed(&AsyncMatrixClient::new(&channel), "next").await
            }
            other => Err(format!("{other:?}")),
        };
    }
    let client = Arc::new(AsyncMatrixClient::new(channel));
    match case {
        "many" => many(&client).await,
        "cancel" => cancelled(&client).await,
        _ => match call_case(&client, case).await {
            Some(outcome) => outcome,
            None => stream_case(&client, case).await,
        },
    }
}

/// Runs a case of calls; `None` for another case.
async fn call_case<C: AsyncChannel>(client: &AsyncMatrixClient<C>, case: &str) -> Option<Outcome> {
    Some(match case {
        "call" => echoed(client, "hello").await,
        "void" => match client.mark("void".to_owned()).await {
            Ok(()) => noted(client, "void").await,
            Err(error) => Err(format!("mark: {error}")),
        },
        "exception" => match client.echo("missing".to_owned()).await {
            Err(MatrixEchoError::Missing(missing)) => expect("name", &*missing.name, "missing"),
            other => Err(format!("{other:?}")),
        },
        "business error" => match client.echo("refused".to_owned()).await {
            Err(MatrixEchoError::Rpc(error)) => refused(&error),
            other => Err(format!("{other:?}")),
        },
        "oneway" => match client.post("oneway".to_owned()).await {
            Ok(()) => noted(client, "oneway").await,
            Err(error) => Err(format!("post: {error}")),
        },
        "deadline" => late(client, "deadline", LATE).await,
        "deadline at handler" => deadline_reaches_handler(client).await,
        "metadata" => metadata(client, false).await,
        "reply metadata" => metadata(client, true).await,
        "16 MiB" => echoed(client, &"x".repeat(LARGE)).await,
        "unary stream" => match client.unary(Line { text: "one".to_owned(), number: 1 }).await {
            Ok(line) => expect("line", (&*line.text, line.number), ("one", 2)),
            Err(error) => Err(format!("unary: {error}")),
        },
        _ => return None,
    })
}

async fn echoed<C: AsyncChannel>(client: &AsyncMatrixClient<C>, text: &str) -> Outcome {
    let back = client.echo(text.to_owned()).await.map_err(failed("echo"))?;
    expect("the text comes back", back == text, true)
}

/// Waits until the server has counted an event.
async fn noted<C: AsyncChannel>(client: &AsyncMatrixClient<C>, event: &str) -> Outcome {
    let begun = Instant::now();
    while client.marks(event.to_owned()).await.map_err(failed("marks"))? == 0 {
        if begun.elapsed() > PATIENCE {
            return Err(format!("the server does not note {event}"));
        }
        sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Makes a call that the server does not answer in time, and another one.
async fn late<C: AsyncChannel>(
    client: &AsyncMatrixClient<C>,
    name: &str,
    limit: Duration,
) -> Outcome {
    let begun = Instant::now();
    let late = client.with(CallOptions::new().timeout(limit)).echo(format!("wait:{name}")).await;
    match late {
        Err(error) if is_late(&error) && has_waited(begun, limit) => echoed(client, "next").await,
        other => Err(format!("not late after {:?}: {other:?}", begun.elapsed())),
    }
}

/// Makes late calls until one has reached its handler, which ends at the deadline.
async fn deadline_reaches_handler<C: AsyncChannel>(client: &AsyncMatrixClient<C>) -> Outcome {
    for limit in growing_limits() {
        late(client, "told", limit).await?;
        if client.marks("begun:told".to_owned()).await.map_err(failed("marks"))? > 0 {
            return noted(client, "ended:told").await;
        }
    }
    Err("no call reaches its handler".to_owned())
}

/// Drops a call that has begun.
async fn cancelled<C: AsyncChannel + Send + 'static>(
    client: &Arc<AsyncMatrixClient<C>>,
) -> Outcome {
    let caller = Arc::clone(client);
    let held = tokio::spawn(async move { caller.echo("wait:cancel".to_owned()).await });
    noted(client, "begun:cancel").await?;
    held.abort();
    noted(client, "ended:cancel").await
}

async fn metadata<C: AsyncChannel>(client: &AsyncMatrixClient<C>, is_reply: bool) -> Outcome {
    let reply = ReplyMetadata::new();
    let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
    let name = client.with(options).echo("metadata".to_owned()).await.map_err(failed("echo"))?;
    if is_reply {
        return expect("greeting", reply.get("greeting"), Some(b"hello Ada".to_vec()));
    }
    expect("name", &*name, "Ada")
}

async fn many<C: AsyncChannel + Send + 'static>(client: &Arc<AsyncMatrixClient<C>>) -> Outcome {
    let mut calls = JoinSet::new();
    for number in 0..MANY {
        let client = Arc::clone(client);
        calls.spawn(async move { echoed(&client, &text_of(number)).await });
    }
    while let Some(call) = calls.join_next().await {
        call.expect("no panic")?;
    }
    Ok(())
}

async fn stream_case<C: AsyncStreamChannel>(client: &AsyncMatrixClient<C>, case: &str) -> Outcome {
    match case {
        "server stream" => listened(client, LINES).await,
        "client stream" => {
            let mut stream = client.tell().await.map_err(failed("tell"))?;
            for number in 0..LINES {
                let line = Line { text: number.to_string(), number };
                stream.send(&line).await.map_err(failed("send"))?;
            }
            let told = stream.finish().await.map_err(failed("finish"))?;
            let sum = LINES * (LINES - 1) / 2;
            expect("told", (told.text, told.number), ((LINES - 1).to_string(), sum))
        }
        "two-way stream" => talked(client).await,
        "stream exception" => match ended(client, "missing", 1).await? {
            MatrixListenError::Missing(missing) => expect("name", &*missing.name, "missing"),
            other => Err(format!("{other}")),
        },
        "stream business error" => match ended(client, "refused", 0).await? {
            MatrixListenError::Rpc(error) => refused(&error),
            other => Err(format!("{other}")),
        },
        "stream metadata" => {
            let reply = ReplyMetadata::new();
            let options = CallOptions::new().metadata("name", "Ada").receive_metadata(&reply);
            listened(&client.with(options), 1).await?;
            expect("greeting", reply.get("greeting"), Some(b"hello Ada".to_vec()))
        }
        "stream cancelled" => {
            let wanted = Line { text: "endless:stream".to_owned(), number: 0 };
            let mut stream = client.listen(wanted).await.map_err(failed("listen"))?;
            stream.receive().await.map_err(failed("receive"))?;
            drop(stream);
            noted(client, "ended:stream").await
        }
        _ => Err(format!("no case {case}")),
    }
}

async fn listened<C: AsyncStreamChannel>(client: &AsyncMatrixClient<C>, count: i32) -> Outcome {
    let wanted = Line { text: "lines".to_owned(), number: count };
    let mut stream = client.listen(wanted).await.map_err(failed("listen"))?;
    for number in 0..count {
        let line = stream.receive().await.map_err(failed("receive"))?;
        expect("line", line, Some(Line { text: "lines".to_owned(), number }))?;
    }
    expect("end", stream.receive().await.map_err(failed("the end"))?, None)
}

/// Returns the error that a stream ends with behind its lines.
async fn ended<C: AsyncStreamChannel>(
    client: &AsyncMatrixClient<C>,
    text: &str,
    lines: i32,
) -> Result<MatrixListenError, String> {
    let wanted = Line { text: text.to_owned(), number: lines };
    let mut stream = client.listen(wanted).await.map_err(failed("listen"))?;
    for _ in 0..lines {
        stream.receive().await.map_err(failed("receive"))?;
    }
    match stream.receive().await {
        Err(error) => Ok(error),
        Ok(line) => Err(format!("not an error: {line:?}")),
    }
}

async fn talked<C: AsyncStreamChannel>(client: &AsyncMatrixClient<C>) -> Outcome {
    let mut stream = client.talk().await.map_err(failed("talk"))?;
    for number in 0..LINES {
        let line = Line { text: "x".repeat(1000 * number as usize), number };
        stream.send(&line).await.map_err(failed("send"))?;
        let back = stream.receive().await.map_err(failed("receive"))?;
        expect("line", back, Some(Line { number: number + 1, ..line }))?;
    }
    stream.finish().await.map_err(failed("finish"))?;
    expect("end", stream.receive().await.map_err(failed("the end"))?, None)
}

/// Calls before and after another server replaces the first, which is killed during a call.
async fn replaced<C: AsyncChannel + Send + 'static>(channel: C, case: &str) -> Outcome {
    let client = Arc::new(AsyncMatrixClient::new(channel));
    echoed(&client, "before").await?;
    let waiting = || tokio::task::spawn_blocking(wait_for_another_server);
    if case == "kill" {
        let caller = Arc::clone(&client);
        let held = tokio::spawn(async move { caller.echo("wait:kill".to_owned()).await });
        noted(&client, "begun:kill").await?;
        waiting().await.expect("no panic")?;
        let held = timeout(PATIENCE, held).await.map_err(failed("the call in flight hangs"))?;
        expect("the call in flight fails", held.expect("no panic").is_err(), true)?;
    } else {
        waiting().await.expect("no panic")?;
    }
    echoed(&client, "after").await
}
