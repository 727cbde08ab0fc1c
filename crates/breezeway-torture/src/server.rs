//! Servers, each in a process that ends with its standard input.

use std::io::Read;
use std::path::Path;

use breezeway::{Address, Call};
use breezeway_grpc_interop::pb::test_service_server::TestServiceServer;
use breezeway_rpc::AsyncServer;
use breezeway_tokio::{IncomingCall, Stream};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::Failure;
use crate::engine::Engine;
use crate::services::{AsyncRoomServer, Echoes, Mirror, RoomServer};

/// Serves until standard input ends; says first where.
pub(crate) fn run(engine: Engine, folder: &Path) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A panic that a thread survives is a finding all the same.
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        say(panic);
        std::process::abort();
    }));
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let path = folder.display();
    let places = format!("shm:{path}/shm,unix:{path}/unix,tcp:127.0.0.1:0");
    match engine {
        Engine::Native | Engine::Unix | Engine::Tcp => native(&places.parse()?),
        Engine::Tokio => awaited(tokio(places.parse()?)),
        Engine::Rpc | Engine::Kitex => awaited(rpc(places.parse()?)),
        Engine::KitexBlocking => {
            let server = breezeway_rpc::Server::bind(&places.parse()?)?.with_thrift_clients();
            let server = server.add_service(RoomServer(Echoes))?;
            say_where(server.address());
            Ok(server.serve()?)
        }
        Engine::Grpc | Engine::GrpcHttp2 => awaited(grpc(places)),
        Engine::Shmipc => shmipc(folder),
        Engine::Go => Err("the Go module has a command of its own".into()),
    }
}

fn say_where(address: impl std::fmt::Display) {
    println!("listening on {address}");
}

fn awaited(serving: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build()?.block_on(serving)
}

fn native(address: &Address) -> Result<(), Failure> {
    let server = breezeway::Server::bind(address)?.on_stream(|_, mut stream| {
        while let Some(message) = stream.receive()? {
            stream.send(&message.to_vec())?;
        }
        Ok(stream.finish()?)
    });
    say_where(server.address());
    Ok(server.serve(|call: Call<'_>| {
        if call.is_one_way() {
            return call.done();
        }
        let len = call.request().len();
        let mut space = call.reserve(len)?;
        space.write_request(0);
        space.commit()
    })?)
}

async fn tokio(address: Address) -> Result<(), Failure> {
    let server = breezeway_tokio::Server::bind(&address)?;
    say_where(server.address());
    let echo = |call: IncomingCall| async move { call.echo() };
    let echo_stream = |_, mut stream: Stream| async move {
        while let Ok(Some(message)) = stream.receive().await {
            if stream.send(&message.to_vec()).await.is_err() {
                return;
            }
        }
        // The client may have reset it.
        let _ = stream.finish().await;
    };
    Ok(server.serve_streams(echo, echo_stream).await?)
}

async fn rpc(address: Address) -> Result<(), Failure> {
    let server = AsyncServer::bind(&address)?.with_thrift_clients();
    let server = server.add_service(AsyncRoomServer(Echoes))?;
    say_where(server.address());
    Ok(server.serve().await?)
}

async fn grpc(places: String) -> Result<(), Failure> {
    let service = TestServiceServer::new(Mirror);
    let bound = breezeway_grpc::Server::builder().add_service(service).bind(&places)?;
    say_where(bound.address());
    Ok(bound.serve().await?)
}

fn shmipc(folder: &Path) -> Result<(), Failure> {
    use breezeway_shmipc::{Address, Server, ServerOptions, Trust};

    let address = Address::Unix(folder.join("unix"));
    let options = ServerOptions::new(Trust::SameUser).folders([folder]);
    let server = Server::bind(&address, options)?;
    println!("listening on unix:{}", folder.join("unix").display());
    server.serve(|stream| {
        let (reader, writer) = stream.halves();
        writer.forward(reader).map(drop)
    });
    Ok(())
}
