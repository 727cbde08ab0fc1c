//! Kitex's multiplexed client with servers of ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use breezeway_rpc::{Context, Server};

use super::*;

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/users.rs"));
use users::{Users, UsersAgeError, UsersServer};

/// Calls that run at one time, and the most of them so far.
#[derive(Clone, Default)]
struct Running(Arc<[AtomicUsize; 2]>);

impl Users for Running {
    fn age(&self, _: &Context, _: String) -> Result<i64, UsersAgeError> {
        let [now, most] = &*self.0;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(100));
        now.fetch_sub(1, Ordering::SeqCst);
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
        let server = Server::bind(&place.parse().unwrap()).unwrap().with_thrift_clients();
        let server = server.add_service(UsersServer(running.clone())).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = std::thread::spawn(move || server.serve());
        kitex_tries("call-multiplexed", &address, &[]);
        stopper.stop();
        serving.join().unwrap().unwrap();
        let most = running.0[1].load(Ordering::SeqCst);
        println!("{carrier}: {most} calls at one time");
        // A connection has up to 128 threads, so 200 may run. One after the other, two would.
        assert!(most >= 64, "{carrier}: {most} calls at one time");
    }
}
