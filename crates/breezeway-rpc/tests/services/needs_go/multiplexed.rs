//! Kitex's multiplexed client with servers of ours.

use std::sync::{Arc, Condvar, Mutex};

use breezeway_rpc::{Context, Server};

use super::*;

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users.rs"));
use users::{Users, UsersAgeError, UsersServer};

/// Minimum of concurrent calls: a connection has up to 128 threads.
const AT_ONE_TIME: usize = 64;

/// The number of calls that run, and the most so far. A call waits until as many have run at one
/// time as should.
#[derive(Clone, Default)]
struct Running(Arc<(Mutex<[usize; 2]>, Condvar)>);

impl Users for Running {
    fn age(&self, _: &Context, _: String) -> Result<i64, UsersAgeError> {
        let (calls, reached) = &*self.0;
        let mut running = calls.lock().unwrap();
        running[0] += 1;
        running[1] = running[1].max(running[0]);
        reached.notify_all();
        let few = |running: &mut [usize; 2]| running[1] < AT_ONE_TIME;
        running = reached.wait_timeout_while(running, Duration::from_secs(10), few).unwrap().0;
        running[0] -= 1;
        Ok(36)
    }

    fn seen(&self, _: &Context, _: String) {}
}

#[test]
#[ignore = "needs Go"]
fn multiplexed_calls_run_side_by_side_at_a_blocking_server() {
    for carrier in ["unix", "tcp"] {
        let folder = tempfile::tempdir().unwrap();
        let place = match carrier {
            "tcp" => "tcp:127.0.0.1:0".to_owned(),
            file => format!("{file}:{}/users.sock", folder.path().display()),
        };
        let running = Running::default();
        let server = Server::bind(&place).unwrap().with_thrift_clients();
        let server = server.add_service(UsersServer(running.clone())).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = std::thread::spawn(move || server.serve());
        kitex_tries("call-multiplexed", &address, &[]);
        stopper.stop();
        serving.join().unwrap().unwrap();
        let [_, most] = *running.0.0.lock().unwrap();
        println!("{carrier}: {most} calls at one time");
        assert!(most >= AT_ONE_TIME, "{carrier}: {most} calls at one time");
    }
}
