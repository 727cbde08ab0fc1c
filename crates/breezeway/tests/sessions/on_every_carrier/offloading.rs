//! Handlers that run on threads of their own.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use breezeway::unstable::reply_from;
use breezeway::{Call, CallError, ErrorCode, Server, ServerOptions, WaitPolicy};

use crate::support::content::message;
use crate::support::server::{
    ECHO, ECHO_COPY, ECHO_SLICE, FAIL, GIVE, PANIC, SINK, ask_for, assert_serves, policy_name,
    sinkable, tally,
};
use crate::support::{
    EVERY_POLICY, Folder, MEBIBYTE, PATIENCE, Settings, connect, patient, wait_for, within,
};

#[test]
fn offloaded_calls_are_answered_as_others_are() {
    for policy in EVERY_POLICY {
        let settings = Settings::new().with("wait", policy_name(policy)).with("offload", 2);
        let server = crate::support::Server::start(settings.with("cap", MEBIBYTE));
        let mut session = server.connect(&patient().wait(policy));
        for (number, len) in [0, 1, 40, 104, 105, 5000, MEBIBYTE / 2].into_iter().enumerate() {
            let request = message(number as u64, len);
            for method in [ECHO, ECHO_COPY, ECHO_SLICE] {
                assert!(session.call(method, request).unwrap().to_vec() == request);
            }
        }
        let given = session.call(GIVE, &ask_for(9, 70_000)).unwrap().to_vec();
        assert!(given == message(9, 70_000));
        match session.call(FAIL, b"no such file").map(|reply| reply.to_vec()) {
            Err(CallError::Failed { code: ErrorCode::Failed, reason, .. }) => {
                assert_eq!(reason, "no such file");
            }
            other => panic!("{other:?}"),
        }
        match session.call(PANIC, &0u64.to_le_bytes()).map(|reply| reply.to_vec()) {
            Err(CallError::Failed { code: ErrorCode::Panicked, .. }) => {}
            other => panic!("{other:?}"),
        }
        match session.call(999, b"").map(|reply| reply.to_vec()) {
            Err(CallError::Failed { .. }) => {}
            other => panic!("{other:?}"),
        }
        match session.call(GIVE, &ask_for(1, MEBIBYTE + 1)).map(|reply| reply.to_vec()) {
            Err(CallError::Failed { reason, .. }) => assert!(reason.contains("cap of"), "{reason}"),
            other => panic!("{other:?}"),
        }
        assert_serves(&mut session);
        drop(session);
        server.stop();
    }
}

#[test]
fn one_way_messages_are_all_served() {
    let server = crate::support::Server::start(Settings::new().with("offload", 1));
    let mut session = server.connect(&patient());
    for number in 0..2000 {
        session.post(SINK, &sinkable(1, number, 30)).unwrap();
    }
    // One thread keeps their order.
    assert_eq!(tally(&mut session), [2000, 0, 0]);
}

#[test]
fn reply_from_answers_once_here_and_offloaded() {
    for threads in [0, 1] {
        let folder = Folder::new();
        let options = ServerOptions::new().session(patient());
        let options = if threads == 0 { options } else { options.offload(threads) };
        let server = Server::bind_with(folder.address(), options).unwrap();
        let stopper = server.stopper();
        let (tell, seconds) = channel();
        let tell = Mutex::new(tell);
        let serving = std::thread::spawn(move || {
            server.serve(move |call: Call<'_>| {
                let request = call.request().to_vec();
                let mut place = Some(call);
                let replied = reply_from(&mut place, &request);
                assert!(place.is_none());
                let second = reply_from(&mut place, b"again").map(drop);
                tell.lock().unwrap().send(second.map_err(|error| error.to_string())).unwrap();
                replied
            })
        });
        let mut session = connect(&folder);
        for len in [0, 40, 104, 105, 70_000] {
            let request = message(len as u64, len);
            assert!(session.call(0, request).unwrap().to_vec() == request, "{len}");
            let second = wait_for(&seconds, PATIENCE).unwrap();
            assert_eq!(second, Err("a call is replied to once".to_owned()));
        }
        session.post(0, b"wants none").unwrap();
        assert!(wait_for(&seconds, PATIENCE).unwrap().is_err());
        drop(session);
        stopper.stop();
        serving.join().unwrap().unwrap();
    }
}

const BLOCK: u32 = 0;
const QUICK: u32 = 1;

#[test]
fn blocking_handler_delays_no_other_session() {
    for policy in [WaitPolicy::Adaptive, WaitPolicy::Park] {
        let folder = Folder::new();
        let options = ServerOptions::new().session(patient().wait(policy)).offload(2);
        let server = Server::bind_with(folder.address(), options).unwrap();
        let stopper = server.stopper();
        let (gate, opened) = channel::<()>();
        let opened = Mutex::new(opened);
        let served = Arc::new(Mutex::new(Vec::new()));
        let order = Arc::clone(&served);
        let serving = std::thread::spawn(move || {
            server.serve(move |call: Call<'_>| {
                if call.method() == BLOCK {
                    wait_for(&opened.lock().unwrap(), PATIENCE).expect("the gate opens");
                }
                order.lock().unwrap().push(call.method());
                call.echo()
            })
        });
        let (mut blocked, mut other) = (connect(&folder), connect(&folder));
        blocked.send(BLOCK, b"late").unwrap();
        for number in 0..20 {
            let request = message(number, 50);
            assert!(other.call(QUICK, request).unwrap().to_vec() == request);
            // Calls of the same session as well.
            let quick = blocked.send(QUICK, request).unwrap();
            let reply = blocked.receive().unwrap();
            assert_eq!(reply.call(), quick);
        }
        gate.send(()).unwrap();
        assert_eq!(blocked.receive().unwrap().to_vec(), b"late");
        assert_eq!(served.lock().unwrap().iter().position(|&method| method == BLOCK), Some(40));
        stopper.stop();
        within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
    }
}
