//! Honest clients, which check every byte that comes back.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use breezeway::{Address, SessionOptions, WaitPolicy};
use breezeway_grpc::Endpoint;
use breezeway_grpc_interop::pb::test_service_client::TestServiceClient;
use breezeway_grpc_interop::{AnyChannel, pb};
use breezeway_rpc::{AsyncStreamChannel, AsyncThriftClient};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

use crate::Failure;
use crate::engine::Engine;
use crate::services::{AsyncRoomClient, Line};

/// Time limit of an honest client for every answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Time limit of a handshake if calls fail: longer than it takes on any busy machine.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);

/// Time for which shmipc's client, which reconnects itself, lets a new stream wait for that.
const RECONNECTION: Duration = Duration::from_secs(1);

/// An honest client. Numbers make its messages differ.
pub(crate) trait Client: Send {
    /// Makes a call of `size` bytes.
    fn call(&mut self, number: u64, size: usize) -> Result<(), Failure>;

    /// A stream of a few messages each way.
    fn stream(&mut self, number: u64) -> Result<(), Failure>;

    /// Calls of every kind of size, and a stream.
    fn round(&mut self, number: u64) -> Result<(), Failure> {
        for size in [0, 40, 104, 105, 5_000, 70_000] {
            self.call(number, size)?;
        }
        self.stream(number)
    }
}

/// Connects to a server of the engine.
pub(crate) fn connect(engine: Engine, address: &str) -> Result<Box<dyn Client>, Failure> {
    connect_with(engine, address, WaitPolicy::Adaptive)
}

/// Connects like [`connect`], with sessions of this wait policy, if the engine has a choice.
pub(crate) fn connect_with(
    engine: Engine,
    address: &str,
    policy: WaitPolicy,
) -> Result<Box<dyn Client>, Failure> {
    let options = SessionOptions::new().wait(policy);
    let options = match policy {
        WaitPolicy::Park => options.handshake_timeout(HANDSHAKE),
        _ => options,
    };
    let one_thread = || Builder::new_current_thread().enable_all().build();
    Ok(match engine {
        Engine::Native | Engine::Unix | Engine::Tcp | Engine::Go => {
            Box::new(Native(breezeway::Session::connect_with(address, &options)?))
        }
        Engine::Tokio => {
            let runtime = one_thread()?;
            let connecting = breezeway_tokio::Session::connect_with(address, &options);
            Box::new(Tokio(wait(&runtime, connecting)??, runtime))
        }
        Engine::Shmipc => {
            use breezeway_shmipc::{Address, ClientOptions, Trust};
            let path = PathBuf::from(address.trim_start_matches("unix:"));
            let options = ClientOptions::new(Trust::SameUser);
            let options = options
                .connect_timeout(RECONNECTION)
                .buffer_size(4 << 20)
                .slices([(1004, 70), (65_516, 30)]);
            Box::new(Shmipc(breezeway_shmipc::Client::connect(&Address::Unix(path), options)?))
        }
        Engine::Rpc => {
            let runtime = one_thread()?;
            let connecting = breezeway_tokio::Session::connect_with(address, &options);
            Box::new(Room(AsyncRoomClient::new(wait(&runtime, connecting)??), runtime))
        }
        Engine::Kitex | Engine::KitexBlocking => {
            let address: Address = address.parse()?;
            Box::new(Room(AsyncRoomClient::new(AsyncThriftClient::new(address)), one_thread()?))
        }
        Engine::Grpc | Engine::GrpcHttp2 => {
            let runtime = one_thread()?;
            let endpoint = Endpoint::new(address)?;
            let session = if engine == Engine::Grpc {
                AnyChannel::new(wait(&runtime, endpoint.connect())??)
            } else {
                let session = wait(&runtime, endpoint.connect_http2())??;
                AnyChannel::new(session.map_err(|error: tonic::transport::Error| {
                    tonic::Status::from_error(error.into())
                }))
            };
            Box::new(Grpc(TestServiceClient::new(session), runtime))
        }
    })
}

fn bytes(number: u64, size: usize) -> Vec<u8> {
    (0..size).map(|at| (at as u64 ^ number.wrapping_mul(0x9e37_79b9)) as u8).collect()
}

fn text(number: u64, size: usize) -> String {
    bytes(number, size).iter().map(|byte| char::from(b'a' + byte % 26)).collect()
}

fn check<T: PartialEq>(got: T, wanted: T) -> Result<(), Failure> {
    if got == wanted { Ok(()) } else { Err("an honest message came back changed".into()) }
}

fn wait<T>(runtime: &Runtime, what: impl Future<Output = T>) -> Result<T, Failure> {
    Ok(runtime.block_on(async { tokio::time::timeout(PATIENCE, what).await })?)
}

struct Native(breezeway::Session);

impl Client for Native {
    fn call(&mut self, number: u64, size: usize) -> Result<(), Failure> {
        let request = bytes(number, size);
        let reply = self.0.request(0).deadline(Instant::now() + PATIENCE).send(&request)?;
        check(reply.to_vec(), request)
    }

    fn stream(&mut self, number: u64) -> Result<(), Failure> {
        let mut stream = self.0.request(0).timeout(PATIENCE).open()?;
        let deadline = Instant::now() + PATIENCE;
        for size in [0, 100, 3_000] {
            stream.sender().send_until(&bytes(number, size), deadline)?;
            let reply = stream.receiver().receive_until(deadline)?;
            let reply = reply.ok_or("a stream ended early")?;
            check(reply.to_vec(), bytes(number, size))?;
        }
        stream.finish()?;
        check(stream.receiver().receive_until(deadline)?.is_none(), true)
    }
}

struct Tokio(breezeway_tokio::Session, Runtime);

impl Client for Tokio {
    fn call(&mut self, number: u64, size: usize) -> Result<(), Failure> {
        let request = bytes(number, size);
        let reply = wait(&self.1, self.0.call(0, &request))??;
        check(reply.to_vec(), request)
    }

    fn stream(&mut self, number: u64) -> Result<(), Failure> {
        let session = &self.0;
        wait(&self.1, async {
            let mut stream = session.open(0).await?;
            for size in [0, 100, 3_000] {
                stream.send(&bytes(number, size)).await?;
                let reply = stream.receive().await?.ok_or("a stream ended early")?;
                check(reply.to_vec(), bytes(number, size))?;
            }
            stream.finish().await?;
            check(stream.receive().await?.is_none(), true)
        })?
    }
}

struct Shmipc(breezeway_shmipc::Client);

impl Client for Shmipc {
    fn call(&mut self, number: u64, size: usize) -> Result<(), Failure> {
        // A stream without a byte has nothing to echo.
        let request = bytes(number, size.max(1));
        let mut stream = self.0.open()?;
        stream.set_read_timeout(Some(PATIENCE));
        stream.set_write_timeout(Some(PATIENCE));
        stream.write_all(&request)?;
        let mut reply = vec![0; request.len()];
        stream.read_exact(&mut reply)?;
        check(reply, request)
    }

    fn stream(&mut self, number: u64) -> Result<(), Failure> {
        let mut stream = self.0.open()?;
        stream.set_read_timeout(Some(PATIENCE));
        stream.set_write_timeout(Some(PATIENCE));
        for size in [1, 100, 3_000] {
            stream.write_all(&bytes(number, size))?;
            let mut reply = vec![0; size];
            stream.read_exact(&mut reply)?;
            check(reply, bytes(number, size))?;
        }
        Ok(())
    }
}

struct Room<C>(AsyncRoomClient<C>, Runtime);

impl<C: AsyncStreamChannel + Send> Client for Room<C> {
    fn call(&mut self, number: u64, size: usize) -> Result<(), Failure> {
        let line = Line { from: number.to_string(), text: text(number, size) };
        check(wait(&self.1, self.0.say(line.clone()))??, line)
    }

    fn stream(&mut self, number: u64) -> Result<(), Failure> {
        let room = &self.0;
        wait(&self.1, async {
            let asked = Line { from: number.to_string(), text: "3".to_owned() };
            let mut lines = room.listen(asked.clone()).await?;
            for _ in 0..3 {
                check(lines.receive().await?, Some(asked.clone()))?;
            }
            check(lines.receive().await?, None)?;
            let mut talk = room.talk().await?;
            for size in [0, 100, 3_000] {
                let line = Line { from: number.to_string(), text: text(number, size) };
                talk.send(&line).await?;
                check(talk.receive().await?, Some(line))?;
            }
            talk.finish().await?;
            check(talk.receive().await?, None)
        })?
    }
}

struct Grpc(TestServiceClient<AnyChannel>, Runtime);

fn payload(number: u64, size: usize) -> Option<pb::Payload> {
    Some(pb::Payload { body: bytes(number, size).into(), ..Default::default() })
}

impl Client for Grpc {
    fn call(&mut self, number: u64, size: usize) -> Result<(), Failure> {
        let request = pb::SimpleRequest { payload: payload(number, size), ..Default::default() };
        let response = wait(&self.1, self.0.unary_call(request))??;
        check(response.into_inner().payload, payload(number, size))
    }

    fn stream(&mut self, number: u64) -> Result<(), Failure> {
        let client = &mut self.0;
        wait(&self.1, async {
            let sizes = [0, 100, 3_000];
            let requests = sizes.map(|size| pb::StreamingOutputCallRequest {
                payload: payload(number, size),
                ..Default::default()
            });
            let response = client.full_duplex_call(tokio_stream::iter(requests)).await?;
            let mut messages = response.into_inner();
            for size in sizes {
                let message = messages.message().await?.ok_or("a stream ended early")?;
                check(message.payload, payload(number, size))?;
            }
            check(messages.message().await?.is_none(), true)
        })?
    }
}
