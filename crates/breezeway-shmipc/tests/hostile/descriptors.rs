//! Received descriptors that take a number of this process. (Slow closes: unit tests of the
//! handshake and of the session, where the order of the last two closes is known.)

use std::fs::File;
use std::os::fd::AsRawFd;

use breezeway_shmipc::{ClientOptions, ServerOptions, Session, Trust};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::child;

/// Leaves this process `count` descriptors that it may open.
fn leave_descriptors(count: u64) -> Vec<File> {
    let mut fillers = Vec::new();
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let number = |entry: std::fs::DirEntry| entry.file_name().into_string().unwrap().parse();
    let highest: i32 = open.map(|entry| number(entry.unwrap()).unwrap()).max().unwrap();
    // Without gaps, so that the available numbers follow behind the last.
    loop {
        let filler = File::open("/dev/null").unwrap();
        let number = filler.as_raw_fd();
        fillers.push(filler);
        if number > highest {
            let mut limits = getrlimit(Resource::Nofile);
            limits.current = Some(number as u64 + 1 + count);
            setrlimit(Resource::Nofile, limits).unwrap();
            return fillers;
        }
    }
}

#[test]
fn descriptor_limit_error_names_our_limit() {
    let test = "descriptors::descriptor_limit_error_names_our_limit";
    let outcome = child::run(test, || {
        // Two sockets and two memfds of the client; one of the two that are passed finds no number.
        for left in [4, 5] {
            let limit = getrlimit(Resource::Nofile);
            let fillers = leave_descriptors(left);
            let (client, server) =
                (ClientOptions::new(Trust::SameUser), ServerOptions::new(Trust::SameUser));
            let error = Session::pair(&client, &server).err().unwrap().to_string();
            let current = getrlimit(Resource::Nofile).current.unwrap();
            setrlimit(Resource::Nofile, limit).unwrap();
            drop(fillers);
            assert!(error.contains("RLIMIT_NOFILE"), "{error}");
            assert!(error.contains(&current.to_string()), "{error}");
            assert!(error.contains("ulimit -n"), "{error}");
        }
    });
    if let Some(outcome) = outcome {
        outcome.assert_success();
    }
}
