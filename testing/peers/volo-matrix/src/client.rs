//! The clients, and their cases.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use breezeway::{Address, ClientOptions};
use breezeway_tokio::Client;
use breezeway_volo::CallOver;
use metainfo::{Backward, Forward, METAINFO, MetaInfo};
use pilota::FastStr;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};
use volo_thrift::{ClientError, MaybeException};

use crate::Outcome;
use crate::generated::volo_gen::matrix::{
    AbsentClient, AbsentClientBuilder, Line, MatrixClient, MatrixClientBuilder, MatrixEchoException,
};

const PATIENCE: Duration = Duration::from_secs(20);
const LATE: Duration = Duration::from_millis(100);
const LARGE: usize = (16 << 20) - 1024;
const MANY: usize = 500;

fn address(path: &str) -> volo::net::Address {
    let address = std::os::unix::net::SocketAddr::from_pathname(path);
    volo::net::Address::Unix(address.expect("a path"))
}

/// Maker of clients of one server.
pub(crate) enum Clients {
    /// At a socket, without Breezeway.
    Plain(String),
    /// On a session.
    Native(Client),
}

impl Clients {
    pub(crate) async fn native(address: &str) -> Result<Self, String> {
        let address = address.parse::<Address>().map_err(|error| error.to_string())?;
        let options = ClientOptions::new().wait_for_server(PATIENCE);
        let client = Client::connect_with(&address, options).await;
        Ok(Self::Native(client.map_err(|error| error.to_string())?))
    }

    fn client(&self, time: Duration) -> MatrixClient {
        let builder = MatrixClientBuilder::new("Matrix").rpc_timeout(Some(time));
        match self {
            Self::Plain(path) => builder.address(address(path)).build(),
            Self::Native(client) => builder.call_over(client.clone()).build(),
        }
    }

    fn absent(&self) -> AbsentClient {
        let builder = AbsentClientBuilder::new("Absent");
        match self {
            Self::Plain(path) => builder.address(address(path)).build(),
            Self::Native(client) => builder.call_over(client.clone()).build(),
        }
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, wanted: T) -> Outcome {
    if got == wanted { Ok(()) } else { Err(format!("{what}: {got:.300?}, not {wanted:.300?}")) }
}

fn failed(what: &str) -> impl Fn(ClientError) -> String {
    move |error| format!("{what}: {error}")
}

/// Runs a case.
pub(crate) async fn call(clients: &Clients, case: &str) -> Outcome {
    let matrix = clients.client(PATIENCE);
    match case {
        "call" => echoed(&matrix, "hello".into()).await,
        "void" => {
            matrix.mark("void".into()).await.map_err(failed("mark"))?;
            noted(&matrix, "void").await
        }
        "exception" => {
            let thrown = echo(&matrix, "missing".into()).await.map_err(failed("echo"))?;
            expect("name", thrown, Err("missing".into()))
        }
        "business error" => match echo(&matrix, "refused".into()).await {
            Err(ClientError::Biz(error)) => {
                expect("refusal", (error.status_code, &*error.status_message), (410, "too late"))
            }
            other => Err(format!("{other:?}")),
        },
        "oneway" => {
            matrix.post("oneway".into()).await.map_err(failed("post"))?;
            noted(&matrix, "oneway").await
        }
        "unknown method" => match clients.absent().nothing().await {
            Err(ClientError::Application(_)) => echoed(&matrix, "next".into()).await,
            other => Err(format!("{other:?}")),
        },
        "cancel" => cancelled(matrix).await,
        "deadline" => late(clients, &matrix, "deadline", LATE).await,
        "deadline at handler" => deadline_reaches_handler(clients, &matrix).await,
        "metadata" => expect("name", &*asked(&matrix).await?.0, "Ada"),
        "reply metadata" => {
            let greeting = asked(&matrix).await?.1;
            expect("greeting", greeting.as_deref(), Some("hello Ada"))
        }
        "16 MiB" => echoed(&matrix, "x".repeat(LARGE).into()).await,
        "many" => many(&matrix).await,
        "unary stream" => {
            let line = Line { text: Some("one".into()), number: Some(1) };
            let back = matrix.unary(line).await.map_err(failed("unary"))?;
            expect("line", (back.text.as_deref(), back.number), (Some("one"), Some(2)))
        }
        "restart" | "kill" => replaced(matrix, case).await,
        _ => Err(format!("no case {case}")),
    }
}

/// Returns the text that comes back, or the name of the exception.
async fn echo(
    matrix: &MatrixClient,
    text: FastStr,
) -> Result<Result<FastStr, FastStr>, ClientError> {
    Ok(match matrix.echo(text).await? {
        MaybeException::Ok(back) => Ok(back),
        MaybeException::Exception(MatrixEchoException::Missing(missing)) => {
            Err(missing.name.unwrap_or_default())
        }
    })
}

async fn echoed(matrix: &MatrixClient, text: FastStr) -> Outcome {
    let back = echo(matrix, text.clone()).await.map_err(failed("echo"))?;
    expect("the text comes back", back == Ok(text), true)
}

/// Waits until the server has counted an event.
async fn noted(matrix: &MatrixClient, event: &str) -> Outcome {
    let begun = Instant::now();
    while matrix.marks(event.to_owned().into()).await.map_err(failed("marks"))? == 0 {
        if begun.elapsed() > PATIENCE {
            return Err(format!("the server does not note {event}"));
        }
        sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Makes a call that the server does not answer in time, and another one.
async fn late(clients: &Clients, matrix: &MatrixClient, name: &str, limit: Duration) -> Outcome {
    let begun = Instant::now();
    let error = match echo(&clients.client(limit), format!("wait:{name}").into()).await {
        Err(error) => error.to_string(),
        other => return Err(format!("not late: {other:?}")),
    };
    // With the deadline in TTHeader, the server may be the first to give up.
    if !error.contains("timeout") && !error.contains("deadline") {
        return Err(format!("not late: {error}"));
    }
    // TTHeader has the time in milliseconds.
    if begun.elapsed() + Duration::from_millis(1) < limit {
        return Err(format!("not late after {:?}: {error}", begun.elapsed()));
    }
    echoed(matrix, "next".into()).await
}

/// Makes late calls until one has reached its handler, which ends at the deadline: on a busy
/// machine, a short time may pass before the server has the call.
async fn deadline_reaches_handler(clients: &Clients, matrix: &MatrixClient) -> Outcome {
    let mut limit = LATE;
    while limit < PATIENCE {
        late(clients, matrix, "told", limit).await?;
        if matrix.marks("begun:told".into()).await.map_err(failed("marks"))? > 0 {
            return noted(matrix, "ended:told").await;
        }
        limit *= 2;
    }
    Err("no call reaches its handler".to_owned())
}

/// Drops a call that has begun.
async fn cancelled(matrix: MatrixClient) -> Outcome {
    let caller = matrix.clone();
    let held = tokio::spawn(async move { caller.echo("wait:cancel".into()).await.map(drop) });
    noted(&matrix, "begun:cancel").await?;
    held.abort();
    noted(&matrix, "ended:cancel").await
}

/// Returns the name that the server has got, and its greeting.
async fn asked(matrix: &MatrixClient) -> Result<(FastStr, Option<FastStr>), String> {
    let asking = async {
        METAINFO.with(|values| values.borrow_mut().set_transient("name", "Ada"));
        let name = echo(matrix, "metadata".into()).await.map_err(failed("echo"))?;
        let name = name.map_err(|thrown| format!("throws {thrown}"))?;
        let greeting = METAINFO.with(|values| values.borrow().get_backward_downstream("greeting"));
        Ok((name, greeting))
    };
    METAINFO.scope(RefCell::new(MetaInfo::new()), asking).await
}

async fn many(matrix: &MatrixClient) -> Outcome {
    let mut calls = JoinSet::new();
    for number in 0..MANY {
        let matrix = matrix.clone();
        let text = number.to_string().repeat(number);
        calls.spawn(async move { echoed(&matrix, text.into()).await });
    }
    while let Some(call) = calls.join_next().await {
        call.expect("no panic")?;
    }
    Ok(())
}

/// Calls before and after another server replaces the first, which is killed during a call.
async fn replaced(matrix: MatrixClient, case: &str) -> Outcome {
    echoed(&matrix, "before".into()).await?;
    let caller = matrix.clone();
    let held = (case == "kill")
        .then(|| tokio::spawn(async move { caller.echo("wait:kill".into()).await }));
    if held.is_some() {
        noted(&matrix, "begun:kill").await?;
    }
    println!("ready");
    let read = spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await;
    read.expect("no panic").map_err(|error| error.to_string())?;
    if let Some(held) = held {
        let held = timeout(PATIENCE, held).await.map_err(|_| "the call in flight hangs")?;
        expect("the call in flight fails", held.expect("no panic").is_err(), true)?;
    }
    echoed(&matrix, "after".into()).await
}
