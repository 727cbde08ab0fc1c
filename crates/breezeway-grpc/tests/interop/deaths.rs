//! Servers that are killed, and that come back.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use breezeway_grpc::{Gear, Server};
use breezeway_grpc_interop::cases::{self, client, simple};
use breezeway_grpc_interop::{pb, server};
use tonic::Code;

use crate::support::{connect, run, soon};

const ADDRESS: &str = "BREEZEWAY_TEST_ADDRESS";

/// A server in a process of its own, killed when dropped.
struct Process(Child);

impl Process {
    fn start(address: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "deaths::another_process"])
            .env(ADDRESS, address)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("it listens")));
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

/// Not a test: the server of the others.
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

#[test]
fn a_server_killed_in_the_middle_costs_the_calls_in_flight_and_the_next_ones_find_its_successor() {
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
                // hyper has more than one word for a connection that breaks.
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
