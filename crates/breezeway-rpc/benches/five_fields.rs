//! Compares a service's call with a raw echo of the same bytes: two processes, one CPU each, both
//! waiting busily, the two kinds of call in turns.
//!
//! `cargo bench -p breezeway-rpc --bench five_fields`

use std::cell::RefCell;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use breezeway::{Call, ExclusiveSession, Handled, ServerOptions, SessionOptions, WaitPolicy};
use breezeway_os::cpu;
use breezeway_rpc::thrift::to_vec;
use breezeway_rpc::{Context, Server};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/five.rs"));
use five::{Five, Fives, FivesClient, FivesEchoArgs, FivesServer};

const ROUNDS: usize = 61;
const CALLS: u32 = 20_000;

struct Echo;

impl Fives for Echo {
    fn echo(&self, _: &Context, five: Five) -> Result<Five, breezeway_rpc::Error> {
        Ok(five)
    }

    fn take(&self, _: &Context, _: Five) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("serve-service") => serve_service(&std::env::args().nth(2).ok_or("no address")?),
        Some("serve-echo") => serve_echo(&std::env::args().nth(2).ok_or("no address")?),
        // `cargo test` runs the program without that argument, and it is not a test.
        _ if !std::env::args().any(|argument| argument == "--bench") => Ok(()),
        _ => compare(),
    }
}

fn busy() -> SessionOptions {
    SessionOptions::new().wait(WaitPolicy::Busy)
}

fn serve_service(address: &str) -> Result<(), Box<dyn Error>> {
    cpu::pin_current_thread(0)?;
    let options = ServerOptions::new().session(busy());
    let server = Server::bind_with(address, options)?.add_service(FivesServer(Echo))?;
    println!("ready");
    Ok(server.serve()?)
}

fn serve_echo(address: &str) -> Result<(), Box<dyn Error>> {
    cpu::pin_current_thread(0)?;
    let options = ServerOptions::new().session(busy());
    let server = breezeway::Server::bind_with(address, options)?;
    println!("ready");
    Ok(server.serve(|call: Call<'_>| -> Handled { call.echo() })?)
}

/// A server in another process, which ends when this is dropped.
struct Served(Child);

impl Served {
    fn start(kind: &str, address: &str) -> Result<Self, Box<dyn Error>> {
        let mut server = Command::new(std::env::current_exe()?);
        let mut child = server.args([kind, address]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self(child))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Both fail only if the process is gone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn compare() -> Result<(), Box<dyn Error>> {
    cpu::pin_current_thread(1)?;
    let folder = tempfile::tempdir()?;
    let address = |name: &str| format!("shm:{}/{name}.sock", folder.path().display());
    let five = Five { id: 1, count: 2, price: 3.0, open: true, changed: 5 };
    let bytes = to_vec(&FivesEchoArgs { five: five.clone() })?;
    let (mut raw, mut service) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // One server at a time, because each takes all of its CPU.
        let served = Served::start("serve-echo", &address("echo"))?;
        let mut session = ExclusiveSession::connect_with(address("echo"), &busy())?;
        let mut reply = [0; 104];
        raw.push(time(|| {
            // The reply is read, as a service's reply is.
            if let Ok(echoed) = session.call(0, black_box(&bytes)) {
                let echoed = echoed.bytes();
                echoed.copy_to(&mut reply[..echoed.len()]);
            }
            black_box(&reply);
        }));
        drop((session, served));
        let served = Served::start("serve-service", &address("service"))?;
        let session = ExclusiveSession::connect_with(address("service"), &busy())?;
        let fives = FivesClient::new(RefCell::new(session));
        service.push(time(|| drop(black_box(fives.echo(five.clone())))));
        drop((fives, served));
    }
    let mut ratios: Vec<_> = service.iter().zip(&raw).map(|(one, other)| one / other).collect();
    println!("request of {} bytes, {ROUNDS} rounds of {CALLS} calls each", bytes.len());
    println!("raw echo  {:>7.1} ns", median(&mut raw));
    println!("service   {:>7.1} ns", median(&mut service));
    println!("ratio     {:>7.2} (median of pairs)", median(&mut ratios));
    Ok(())
}

/// Returns the nanoseconds per call, after as many calls to warm up.
fn time(mut call: impl FnMut()) -> f64 {
    for _ in 0..CALLS {
        call();
    }
    let begun = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    let took: Duration = begun.elapsed();
    took.as_nanos() as f64 / f64::from(CALLS)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
