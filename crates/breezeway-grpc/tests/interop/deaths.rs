//! Servers that are killed, and that come back.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use breezeway_grpc::{Gear, Server};
use breezeway_grpc_interop::cases::{self, client, simple};
use breezeway_grpc_interop::{pb, server};
use rustix::process::{Pid, Signal, WaitOptions};
use tokio::time::timeout;
use tonic::Code;

use crate::support::{Serving, connect, run, soon};

const ADDRESS: &str = "BREEZEWAY_TEST_ADDRESS";
const GEAR: &str = "BREEZEWAY_TEST_NATIVE";
const CALL: &str = "BREEZEWAY_TEST_CALL";

/// A role in a process of its own, killed when dropped.
struct Process(Child);

impl Process {
    fn start(address: &str) -> Self {
        Self::role("deaths::another_process", "it listens", &[(ADDRESS, address)])
    }

    /// Starts a role, and waits for the line that it prints when ready.
    fn role(name: &str, line: &str, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", name])
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|read| read.unwrap().contains(line)));
        Self(child)
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Server role for other tests.
#[test]
#[ignore = "a role that other tests start"]
fn another_process() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let bound = Server::builder().add_service(server()).bind(&address).unwrap();
        println!("\nit listens");
        bound.serve().await.unwrap();
    });
}

/// Client role that is stopped, without a call or in one.
#[test]
#[ignore = "a role that other tests start"]
fn client_process() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let [gear, call] = [GEAR, CALL].map(|name| std::env::var(name).is_ok());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let gear = if gear { Gear::Native } else { Gear::Http2 };
        let mut client = client(connect(&address, gear).await);
        client.empty_call(pb::Empty {}).await.unwrap();
        let (_sender, requests) = tokio::sync::mpsc::channel(1);
        let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
        let _call = match call {
            true => Some(client.full_duplex_call(requests).await.unwrap()),
            false => None,
        };
        println!("\nit is ready");
        std::future::pending::<()>().await;
    });
}

#[test]
fn stopped_client_process_does_not_hold_the_servers_end() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let clients = [(Gear::Http2, false), (Gear::Http2, true), (Gear::Native, false)];
        for address in [format!("shm:{path}/shm"), format!("unix:{path}/unix")] {
            for (gear, call) in clients {
                let serving = Serving::start(&address);
                let mut roles = vec![(ADDRESS, &*address)];
                roles.extend((gear == Gear::Native).then_some((GEAR, "native")));
                roles.extend(call.then_some((CALL, "one")));
                let process = Process::role("deaths::client_process", "it is ready", &roles);
                let pid = Pid::from_child(&process.0);
                rustix::process::kill_process(pid, Signal::STOP).unwrap();
                // Its threads run on until the first one takes the signal.
                let waited = rustix::process::waitpid(Some(pid), WaitOptions::UNTRACED);
                assert!(waited.unwrap().unwrap().1.stopped());
                let ended = timeout(Duration::from_secs(20), serving.stop()).await;
                let ended = ended.unwrap_or_else(|_| panic!("{address} {gear:?}, call: {call}"));
                ended.unwrap().unwrap();
            }
        }
    });
}

#[test]
fn killed_server_fails_calls_until_a_successor_serves() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        for address in
            [format!("shm:{path}/shm"), format!("unix:{path}/unix"), format!("tcp:{free}")]
        {
            for gear in [Gear::Native, Gear::Http2] {
                let mut process = Process::start(&address);
                let channel = connect(&address, gear).await;
                let mut request = pb::StreamingOutputCallRequest::default();
                for interval_us in [0, 600_000_000] {
                    let asked = pb::ResponseParameters { size: 9, interval_us, compressed: None };
                    request.response_parameters.push(asked);
                }
                let mut caller = client(channel.clone());
                let response = caller.streaming_output_call(request).await.unwrap();
                let mut messages = response.into_inner();
                assert!(messages.message().await.unwrap().is_some());
                process.kill();
                let status = soon(messages.message()).await.unwrap_err();
                // hyper reports a broken connection by several errors.
                let expected: &[Code] = match gear {
                    Gear::Native => &[Code::Unavailable],
                    Gear::Http2 => {
                        &[Code::Unavailable, Code::Unknown, Code::Internal, Code::Cancelled]
                    }
                };
                assert!(expected.contains(&status.code()), "{address} {gear:?} {status:?}");
                let status = soon(caller.unary_call(simple(0, 0))).await.unwrap_err();
                assert!(expected.contains(&status.code()), "{address} {gear:?} {status:?}");
                let _successor = Process::start(&address);
                cases::large_unary(client(channel)).await;
            }
        }
    });
}
