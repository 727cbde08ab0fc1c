//! Health checks, one at a time: how long they take, and how much they allocate.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use breezeway_grpc_interop::AnyChannel;
use tonic_health::pb::health_client::HealthClient;

use crate::link::Link;
use crate::load::check;
use crate::server::{Places, Server, serve};
use crate::{CLIENT_CPU, SERVER_CPU, allocations, at};

/// Number of calls before the first one that counts.
const WARM_UP: usize = 1_000;
/// Calls whose allocations are counted.
const COUNTED: usize = 10_000;

/// Runs every way to call, with `count` calls each; with grpc-go if there is its program.
pub(crate) async fn run(count: usize, grpc_go: Option<&str>) -> Result<()> {
    println!("link            p50 µs   p99 µs   calls/s   allocations of a call, both sides");
    let folder = tempfile::tempdir()?;
    for socket in ["unix", "tcp"] {
        let Some(program) = grpc_go else { continue };
        let place = match socket {
            "unix" => format!("unix:{}/grpc-go", folder.path().display()),
            _ => "tcp:127.0.0.1:0".to_owned(),
        };
        grpc_go_checks(&format!("grpc-go {socket}"), program, &place, count)?;
    }
    let server = Server::start(folder.path())?;
    let here = serve_here()?;
    for link in Link::ALL {
        let mut client = HealthClient::new(link.connect(&server.places).await?);
        checks(&mut client, WARM_UP).await?;
        let start = Instant::now();
        let times = checks(&mut client, count).await?;
        let seconds = start.elapsed().as_secs_f64();
        drop(client);
        let mut client = HealthClient::new(link.connect(&here).await?);
        checks(&mut client, WARM_UP).await?;
        let before = allocations::count();
        for _ in 0..COUNTED {
            check(&mut client).await?;
        }
        let allocations = (allocations::count() - before) as f64 / COUNTED as f64;
        let [p50, p99] = [0.5, 0.99].map(|part| at(times.clone(), part));
        row(&link.name(), [p50, p99], count as f64 / seconds, allocations);
    }
    Ok(())
}

fn row(name: &str, [p50, p99]: [f64; 2], rate: f64, allocations: f64) {
    println!("{name:<14} {p50:>7.1}  {p99:>7.1}  {rate:>8.0}   {allocations:.1}");
}

/// Returns the times of `count` calls in µs.
async fn checks(client: &mut HealthClient<AnyChannel>, count: usize) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let sent = Instant::now();
        check(client).await?;
        times.push(sent.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}

/// A server in a thread of this process, so that the allocations of both sides are counted.
fn serve_here() -> Result<Places> {
    let (sender, places) = mpsc::channel();
    std::thread::spawn(move || -> Result<()> {
        let folder = tempfile::tempdir()?;
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build()?;
        // The other end is there, or the server is not needed.
        runtime.block_on(serve(folder.path(), |places| drop(sender.send(places))))
    });
    places.recv().context("no server in this process")
}

/// grpc-go's own client and server.
fn grpc_go_checks(name: &str, program: &str, place: &str, count: usize) -> Result<()> {
    let mut server = pinned(SERVER_CPU, program);
    let mut server = server.arg(place).stdout(Stdio::piped()).spawn()?;
    let outcome = grpc_go_client(&mut server, program, count);
    server.kill()?;
    server.wait()?;
    let figures = outcome?;
    let [p50, p99, seconds, allocations] = figures[..] else { bail!("{figures:?}") };
    row(name, [p50 / 1e3, p99 / 1e3], count as f64 / seconds, allocations);
    Ok(())
}

/// Another program, on one CPU.
fn pinned(cpu: usize, program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), program]);
    command
}

fn grpc_go_client(server: &mut Child, program: &str, count: usize) -> Result<Vec<f64>> {
    let output = server.stdout.take().context("its output")?;
    let mut place = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut place)?;
    let count = count.to_string();
    let client = pinned(CLIENT_CPU, program).args(["check", place.trim(), &count]).output()?;
    let said = String::from_utf8(client.stdout)?;
    said.split_whitespace().map(|figure| Ok(figure.parse()?)).collect()
}
