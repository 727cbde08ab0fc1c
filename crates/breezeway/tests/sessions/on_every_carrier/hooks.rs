//! What a server's owner hears of sessions: their start, their end, and which one a call came by.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use breezeway::{
    Call, Client, ClientOptions, ExclusiveSession, Handled, Pool, Server, ServerOptions, Session,
    SessionId, Stopper, TrustedPeer,
};

use crate::support::{Folder, PATIENCE, connect, eventually, on_socket, patient, wait_for, within};

/// Events that the hooks and the handler of a server have recorded.
#[derive(Default)]
struct Heard {
    started: Vec<SessionId>,
    /// Each with its error.
    ended: Vec<(SessionId, Option<String>)>,
    /// Calls of each session that has started and not ended.
    calls: HashMap<SessionId, u64>,
}

struct Watched {
    heard: Arc<Mutex<Heard>>,
    stopper: Stopper,
    serving: std::thread::JoinHandle<()>,
}

/// A server whose hooks make and remove what belongs to a session, and whose handler uses it.
fn watched(folder: &Folder) -> Watched {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let (starts, ends, calls) = (Arc::clone(&heard), Arc::clone(&heard), Arc::clone(&heard));
    let options = ServerOptions::new()
        .session(patient())
        .workers(2)
        .on_session_start(move |id, _peer| {
            let mut heard = starts.lock().unwrap();
            heard.started.push(id);
            assert_eq!(heard.calls.insert(id, 0), None);
        })
        .on_session_end(move |id, error| {
            let mut heard = ends.lock().unwrap();
            heard.ended.push((id, error.map(ToString::to_string)));
            assert!(heard.calls.remove(&id).is_some());
        });
    let server = Server::bind_with(folder.address(), options).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || {
        let handler = move |call: Call<'_>| -> Handled {
            let mut heard = calls.lock().unwrap();
            let count =
                heard.calls.get_mut(&call.session()).ok_or("the session has not started")?;
            *count += 1;
            let reply = [call.session().number(), *count].map(u64::to_le_bytes).concat();
            call.reply(&reply)
        };
        server.serve(handler).unwrap();
    });
    Watched { heard, stopper, serving }
}

/// The session's number and how many calls it has made.
fn ask(session: &mut breezeway::ExclusiveSession) -> [u64; 2] {
    let reply = session.call(0, b"").unwrap().to_vec();
    [&reply[..8], &reply[8..]].map(|word| u64::from_le_bytes(word.try_into().unwrap()))
}

#[test]
fn each_session_has_one_start_own_state_and_one_end() {
    let folder = Folder::new();
    let watched = watched(&folder);
    let mut sessions: Vec<_> = (0..5).map(|_| connect(&folder)).collect();
    let numbers: Vec<_> = sessions.iter_mut().map(|session| ask(session)[0]).collect();
    for (session, number) in sessions.iter_mut().zip(&numbers) {
        assert_eq!(ask(session), [*number, 2]);
    }
    sessions.truncate(2);
    eventually("three have ended", || watched.heard.lock().unwrap().ended.len() == 3);
    watched.stopper.stop();
    within(PATIENCE, "the end", move || watched.serving.join().unwrap());
    let heard = watched.heard.lock().unwrap();
    let sorted = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers
    };
    let started = sorted(heard.started.iter().map(|id| id.number()).collect());
    let ended = sorted(heard.ended.iter().map(|(id, _)| id.number()).collect());
    assert_eq!(started, sorted(numbers));
    assert_eq!(started, ended, "those that the stop has ended as well");
    assert!(heard.ended.iter().all(|(_, error)| error.is_none()), "{:?}", heard.ended);
}

#[test]
fn session_has_one_id_in_hooks_calls_and_streams() {
    for offload in [0, 1] {
        let folder = Folder::new();
        let (sender, heard) = std::sync::mpsc::channel();
        let (starts, ends, streams) = (sender.clone(), sender.clone(), Mutex::new(sender.clone()));
        let options = ServerOptions::new()
            .session(patient())
            .offload(offload)
            .on_session_start(in_turn(starts, "start"))
            .on_session_end({
                let heard = in_turn(ends, "end");
                move |id, _| heard(id, &())
            });
        let server = Server::bind_with(folder.address(), options).unwrap();
        let server = server.on_stream(move |_, mut stream| {
            streams.lock().unwrap().send((stream.session(), "stream"))?;
            Ok(stream.finish()?)
        });
        let stopper = server.stopper();
        let calls = in_turn(sender, "call");
        let serving = std::thread::spawn(move || {
            server.serve(move |call: Call<'_>| {
                calls(call.session(), &());
                call.done()
            })
        });
        let channel = Session::connect_with(folder.address(), &patient()).unwrap();
        let mut ids = Vec::new();
        let mut next = |what: &str| {
            let (id, heard) = wait_for(&heard, PATIENCE).unwrap();
            assert_eq!(heard, what);
            ids.push(id);
        };
        next("start");
        for _ in 0..2 {
            channel.call(0, b"").unwrap();
            next("call");
            assert!(channel.open(0).unwrap().receive().unwrap().is_none());
            next("stream");
        }
        drop(channel);
        next("end");
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        stopper.stop();
        within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
    }
}

/// Reports each session that it is called for.
fn in_turn<T>(
    sender: Sender<(SessionId, &'static str)>,
    what: &'static str,
) -> impl Fn(SessionId, &T) + Send + Sync {
    let sender = Mutex::new(sender);
    move |id, _| sender.lock().unwrap().send((id, what)).unwrap()
}

#[test]
fn hooks_that_panic_harm_no_session() {
    let folder = Folder::new();
    let options = ServerOptions::new()
        .session(patient())
        .on_session_start(|_, _| panic!("on purpose"))
        .on_session_end(|_, _| panic!("on purpose"));
    let server = Server::bind_with(folder.address(), options).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve(|call: Call<'_>| call.echo()));
    for _ in 0..3 {
        assert_eq!(connect(&folder).call(0, b"hello").unwrap().to_vec(), b"hello");
    }
    stopper.stop();
    within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
}

#[test]
fn a_policy_decides_whose_requests_are_slices() {
    // A message over a socket can be read as a slice without trust.
    for (trusts, slices) in [(true, true), (false, on_socket())] {
        let folder = Folder::new();
        let session = patient().trust(move |peer| {
            assert!(peer.is_same_user() || peer.remote.is_some());
            // SAFETY: the client is this test, which uses the safe API alone.
            trusts.then(|| unsafe { TrustedPeer::assume() })
        });
        let options = ServerOptions::new().session(session);
        let server = Server::bind_with(folder.address(), options).unwrap();
        let server = server.on_stream(|_, mut stream| {
            let message = stream.receive()?.ok_or("no message")?;
            stream.send(&[u8::from(message.bytes().as_slice().is_some())])?;
            Ok(stream.finish()?)
        });
        let stopper = server.stopper();
        let serving = std::thread::spawn(move || {
            server.serve(|call: Call<'_>| {
                let is_slice = call.request().as_slice().is_some();
                call.reply([u8::from(is_slice)])
            })
        });
        let (request, expected) = ([7; 10_000], [u8::from(slices)]);
        let plain = connect(&folder).call(0, &request).unwrap().to_vec();
        assert_eq!(plain, expected, "a plain session, trusts: {trusts}");
        let channel = Session::connect_with(folder.address(), &patient()).unwrap();
        let reply = channel.call(0, &request).unwrap().to_vec();
        assert_eq!(reply, expected, "a shared one, trusts: {trusts}");
        let mut stream = channel.open(0).unwrap();
        stream.send(&request).unwrap();
        let reply = stream.receive().unwrap().unwrap().to_vec();
        assert_eq!(reply, expected, "a stream, trusts: {trusts}");
        stopper.stop();
        within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
    }
}

#[test]
fn panicking_trust_policy_grants_no_trust() {
    let folder = Folder::new();
    let options = ServerOptions::new().session(patient().trust(|_| panic!("on purpose")));
    let server = Server::bind_with(folder.address(), options).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || {
        server.serve(|call: Call<'_>| {
            let is_slice = call.request().as_slice().is_some();
            call.reply([u8::from(is_slice)])
        })
    });
    let mut session = connect(&folder);
    let reply = session.call(0, &[7; 10_000]).unwrap().to_vec();
    assert_eq!(reply, [u8::from(on_socket())]);
    stopper.stop();
    within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
}

#[test]
fn trust_policy_decides_slices_of_each_session() {
    for (trusts, slices) in [(true, true), (false, on_socket())] {
        let folder = Folder::new();
        let options = ServerOptions::new().session(patient());
        let server = Server::bind_with(folder.address(), options).unwrap();
        let stopper = server.stopper();
        let serving = std::thread::spawn(move || server.serve(|call: Call<'_>| call.echo()));
        let asked = Arc::new(AtomicUsize::new(0));
        let options = patient().trust({
            let asked = Arc::clone(&asked);
            move |peer| {
                asked.fetch_add(1, Ordering::Relaxed);
                assert!(peer.is_same_user() || peer.remote.is_some());
                // SAFETY: the server is this test, which uses the safe API alone.
                trusts.then(|| unsafe { TrustedPeer::assume() })
            }
        });
        let (address, request) = (folder.address(), [7; 10_000]);
        let mut session = ExclusiveSession::connect_with(&address, &options).unwrap();
        assert_eq!(session.call(0, &request).unwrap().bytes().as_slice().is_some(), slices);
        let channel = Session::connect_with(&address, &options).unwrap();
        assert_eq!(channel.call(0, &request).unwrap().bytes().as_slice().is_some(), slices);
        let options = ClientOptions::new().session(options);
        let client = Pool::connect_with(&address, options.clone()).unwrap();
        assert_eq!(client.call(0, &request).unwrap().bytes().as_slice().is_some(), slices);
        let client = Client::connect_with(&address, options).unwrap();
        assert_eq!(client.call(0, &request).unwrap().bytes().as_slice().is_some(), slices);
        assert_eq!(asked.load(Ordering::Relaxed), 4);
        stopper.stop();
        within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
    }
}

#[test]
fn both_ends_of_a_socket_of_ones_own_ask_their_policies() {
    // SAFETY: both are this test, which uses the safe API alone.
    let options = patient().trust(|_| Some(unsafe { TrustedPeer::assume() }));
    let (channel, server) = Session::pair(&options).unwrap();
    let serving = std::thread::spawn(move || {
        server.serve(|call| {
            let is_slice = call.request().as_slice().is_some();
            assert!(is_slice);
            let _ = call.echo();
        })
    });
    assert!(channel.call(0, &[7; 10_000]).unwrap().bytes().as_slice().is_some());
    drop(channel);
    within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
    let panics = patient().trust(|_| panic!("on purpose"));
    let (mut session, server) = ExclusiveSession::pair(&panics).unwrap();
    let serving = std::thread::spawn(move || server.serve(&|call: Call<'_>| call.echo()));
    assert!(session.call(0, &[7; 10_000]).unwrap().bytes().as_slice().is_none());
    drop(session);
    within(PATIENCE, "the end", move || serving.join().unwrap().unwrap());
}
