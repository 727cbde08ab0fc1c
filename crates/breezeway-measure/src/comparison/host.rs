//! The server processes of a comparison, and the command lines of both sides.

use std::path::Path;
use std::process::Command;

use super::plan::{Carrier, FLOOR, Pattern, Plan, Row, STREAMS, Series, Service, THREADS};
use crate::machine::Cpus;
use crate::process::Server;
use crate::{Failure, Wait};
use breezeway::describe;

/// Prefix of the names of settings in the environment.
const SETTINGS: &[u8] = b"BREEZEWAY_";

/// Subcommand by which the command serves, followed by `--parent` and the command line of a server;
/// the server [ends with that parent](crate::process::end_with).
pub const COMPARE_SERVER: &str = "compare-server";

/// A server process for all rows of one carrier, wait policy and service.
pub(super) struct Host {
    carrier: Carrier,
    wait: Wait,
    service: Service,
    /// The server, or why there is none.
    pub(super) server: Result<Server, String>,
}

/// Starts a server for every carrier, wait policy and service of `plan`, in `folder`. A carrier
/// that is not available is not an error.
pub(super) fn start_all(plan: &Plan, program: &Path, folder: &Path) -> Result<Vec<Host>, Failure> {
    let mut hosts: Vec<Host> = Vec::new();
    for &row in &plan.rows {
        let Series { carrier, wait, .. } = row.series;
        if of(&hosts, row).is_none() && carrier != Carrier::Memory {
            let number = hosts.len();
            let server = start(row, plan.cpus, program, folder, number);
            let server = server.map_err(|error| describe(&*error));
            hosts.push(Host { carrier, wait, service: row.pattern.service(), server });
        }
    }
    if hosts.iter().all(|host| host.server.is_err()) {
        let reason = hosts.into_iter().find_map(|host| host.server.err()).unwrap_or_default();
        return Err(format!("no server started: {reason}").into());
    }
    Ok(hosts)
}

fn start(
    row: Row,
    cpus: Cpus,
    program: &Path,
    folder: &Path,
    number: usize,
) -> Result<Server, Failure> {
    let socket = folder.join(format!("{number}.sock"));
    let address = address(row.series.carrier, &socket.display().to_string(), 0);
    let arguments = started_by_this_process(serve_arguments(row, &address, cpus));
    Server::start(command(program, &arguments), &folder.join(format!("{number}.log")))
}

/// Returns the arguments of a server that ends with this process.
pub(super) fn started_by_this_process(serve: Vec<String>) -> Vec<String> {
    let mut arguments = vec![COMPARE_SERVER.to_owned(), format!("--parent={}", std::process::id())];
    arguments.extend(serve);
    arguments
}

/// Returns the command with `arguments`, without settings from the environment, so that two runs
/// measure the same.
pub(super) fn command(program: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.as_encoded_bytes().starts_with(SETTINGS)) {
        command.env_remove(name);
    }
    command
}

/// The host that serves `row`.
pub(super) fn of(hosts: &[Host], row: Row) -> Option<&Host> {
    let wanted = (row.series.carrier, row.series.wait, row.pattern.service());
    hosts.iter().find(|host| (host.carrier, host.wait, host.service) == wanted)
}

fn address(carrier: Carrier, path: &str, port: u16) -> String {
    match carrier {
        Carrier::Shm | Carrier::Memory => format!("shm:{path}"),
        Carrier::Unix | Carrier::PlainUnix => format!("unix:{path}"),
        Carrier::Tcp | Carrier::PlainTcp => format!("tcp:127.0.0.1:{port}"),
    }
}

/// Returns the address at which a server listens that a person starts to repeat a row.
fn address_by_hand(carrier: Carrier) -> String {
    address(carrier, "/tmp/echo.sock", 7411)
}

fn serve_arguments(row: Row, address: &str, cpus: Cpus) -> Vec<String> {
    let Series { carrier, wait, .. } = row.series;
    let cpu = cpus.partner.to_string();
    match carrier {
        Carrier::Memory => Vec::new(),
        Carrier::PlainUnix | Carrier::PlainTcp => {
            owned_strings(&["plain", "serve", "--addr", address, "--cpu", &cpu])
        }
        _ => {
            let serve = ["serve", "--addr", address, "--wait", wait.name(), "--cpu", &cpu];
            let mut arguments = owned_strings(&serve);
            arguments.extend(owned_strings(match row.pattern.service() {
                Service::Blocking => &[],
                Service::Tokio => &["--runtime", "tokio"],
                Service::Grpc => &["--protocol", "grpc"],
                Service::Thrift => &["--protocol", "thrift"],
            }));
            arguments
        }
    }
}

/// The arguments that measure `row` at `address`.
pub(super) fn bench_arguments(row: Row, address: &str, plan: &Plan) -> Vec<String> {
    match row.series.carrier {
        Carrier::Memory => memory_arguments(row.size, plan),
        Carrier::PlainUnix | Carrier::PlainTcp => {
            owned_strings(&["plain", "bench", "--addr", address])
                .into_iter()
                .chain(load_arguments(row, plan))
                .collect()
        }
        _ => {
            owned_strings(&["bench", "--json", "--addr", address, "--wait", row.series.wait.name()])
                .into_iter()
                .chain(load_arguments(row, plan))
                .chain(pattern_arguments(row))
                .collect()
        }
    }
}

fn load_arguments(row: Row, plan: &Plan) -> Vec<String> {
    let (size, cpu) = (row.size.to_string(), plan.cpus.measurer.to_string());
    let seconds = plan.measuring.as_secs_f64().to_string();
    owned_strings(&["--size", &size, "--seconds", &seconds, "--cpu", &cpu])
}

fn pattern_arguments(row: Row) -> Vec<String> {
    let mut arguments = match row.pattern {
        Pattern::PingPong => Vec::new(),
        Pattern::Pipelined => owned_strings(&["--depth", &row.depth().to_string()]),
        Pattern::OneWay => {
            owned_strings(&["--pattern", "one-way", "--batch", &row.batch().to_string()])
        }
        Pattern::Tokio => owned_strings(&["--runtime", "tokio"]),
        Pattern::Streams => {
            owned_strings(&["--runtime", "tokio", "--streams", &STREAMS.to_string()])
        }
        Pattern::Threads => owned_strings(&["--threads", &THREADS.to_string()]),
        Pattern::Cold => owned_strings(&["--pattern", "cold"]),
        Pattern::Grpc => owned_strings(&["--protocol", "grpc"]),
        Pattern::GrpcHttp2 => owned_strings(&["--protocol", "grpc", "--gear", "http2"]),
        Pattern::Thrift => owned_strings(&["--protocol", "thrift"]),
    };
    if !row.series.touched {
        arguments.extend(owned_strings(&["--touch", "none"]));
    }
    arguments
}

fn memory_arguments(size: usize, plan: &Plan) -> Vec<String> {
    let (size, milliseconds) = (size.to_string(), plan.measuring.as_millis().max(1).to_string());
    let mut arguments = floor_arguments("touched", &milliseconds, plan.cpus);
    arguments.extend(owned_strings(&["--size", &size]));
    arguments
}

/// The arguments that measure the floor.
pub(super) fn line_arguments(cpus: Cpus) -> Vec<String> {
    floor_arguments("line", &FLOOR.as_millis().to_string(), cpus)
}

fn floor_arguments(only: &str, milliseconds: &str, cpus: Cpus) -> Vec<String> {
    let cpus = format!("{},{}", cpus.measurer, cpus.partner);
    owned_strings(&[
        "floor",
        "--json",
        "--only",
        only,
        "--milliseconds",
        milliseconds,
        "--cpus",
        &cpus,
    ])
}

/// The commands that a person types to repeat `row`: the server's, if there is one, and the
/// measuring side's.
pub(crate) fn commands(row: Row, plan: &Plan) -> Vec<String> {
    let address = address_by_hand(row.series.carrier);
    let serve = serve_arguments(row, &address, plan.cpus);
    let bench = bench_arguments(row, &address, plan);
    let both = [serve, bench].into_iter().filter(|arguments| !arguments.is_empty());
    both.map(|arguments| format!("breezeway {}", arguments.join(" "))).collect()
}

pub(super) fn owned_strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}
