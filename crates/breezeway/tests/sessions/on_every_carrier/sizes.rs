//! Messages of every size class, between two processes, with their content checked byte by byte.

use breezeway::{
    Call, CallError, ErrorCode, ExclusiveSession, Message, ServerOptions, SessionOptions,
    WaitPolicy,
};

use crate::support::content::{Random, message};
use crate::support::server::{ECHO, ECHO_COPY, ECHO_SLICE, GIVE, RESERVE, ask_for, assert_serves};
use crate::support::{
    EVERY_POLICY, Folder, MEBIBYTE, PATIENCE, Server, Settings, on_socket, within,
};

/// On both sides of everything that treats lengths differently: the entry's first line (40 bytes
/// inline), the entry (104), a granule (128), a page, the copy that passes the caches (64 KiB), the
/// first segment (64 KiB), and the cap.
const SIZES: [usize; 26] = [
    0,
    1,
    39,
    40,
    41,
    63,
    64,
    65,
    103,
    104,
    105,
    127,
    128,
    129,
    4095,
    4096,
    4097,
    65_535,
    65_536,
    65_537,
    262_143,
    262_144,
    262_145,
    524_288,
    MEBIBYTE - 1,
    MEBIBYTE,
];

fn options(policy: WaitPolicy) -> SessionOptions {
    SessionOptions::new().wait(policy).cap(MEBIBYTE as u64)
}

/// The ways to fill a request.
fn call_with_slice(session: &mut ExclusiveSession, method: u32, request: &[u8]) -> Vec<u8> {
    session.call(method, request).unwrap().to_vec()
}

fn call_with_reserved_bytes(
    session: &mut ExclusiveSession,
    method: u32,
    request: &[u8],
) -> Vec<u8> {
    let mut space = session.reserve(request.len()).unwrap();
    assert_eq!(space.bytes_mut().len(), request.len());
    space.bytes_mut().copy_from_slice(request);
    space.call(method).unwrap().to_vec()
}

fn call_with_reserved_writes(
    session: &mut ExclusiveSession,
    method: u32,
    request: &[u8],
) -> Vec<u8> {
    let mut space = session.reserve(request.len()).unwrap();
    let (first, rest) = request.split_at(request.len() / 3);
    space.write(first.len(), rest);
    space.write(0, first);
    space.call(method).unwrap().to_vec()
}

fn call_pipelined(session: &mut ExclusiveSession, method: u32, request: &[u8]) -> Vec<u8> {
    let call = session.send(method, request).unwrap();
    let reply = session.receive().unwrap();
    assert_eq!(reply.call(), call);
    reply.to_vec()
}

type Way = fn(&mut ExclusiveSession, u32, &[u8]) -> Vec<u8>;
const WAYS: [Way; 4] =
    [call_with_slice, call_with_reserved_bytes, call_with_reserved_writes, call_pipelined];

/// Every size there and back, each time by another way and with another content.
fn echo_every_size(session: &mut ExclusiveSession, sizes: impl Iterator<Item = usize>) {
    for (round, size) in sizes.enumerate() {
        for (turn, method) in [ECHO, ECHO_COPY, ECHO_SLICE].into_iter().enumerate() {
            let request = message((round * 3 + turn) as u64, size);
            let way = WAYS[(round + turn) % WAYS.len()];
            let reply = way(session, method, request);
            assert!(reply == request, "{size} bytes by way {turn} differ");
        }
    }
}

fn every_size_arrives_whole(policy: WaitPolicy) {
    let server = Server::start(
        Settings::new()
            .with("wait", crate::support::server::policy_name(policy))
            .with("cap", MEBIBYTE),
    );
    let mut session = server.connect(&options(policy));
    let session = within(PATIENCE, "echoes of every size", move || {
        echo_every_size(&mut session, SIZES.into_iter());
        echo_every_size(&mut session, SIZES.into_iter().rev());
        let mut random = Random::new(7);
        echo_every_size(
            &mut session,
            (0..60).map(|_| SIZES[random.below(SIZES.len() as u64) as usize]),
        );
        session
    });
    drop(session);
    server.stop();
}

#[test]
fn messages_of_every_size_class_arrive_whole_under_busy() {
    every_size_arrives_whole(WaitPolicy::Busy);
}

#[test]
fn messages_of_every_size_class_arrive_whole_under_adaptive() {
    every_size_arrives_whole(WaitPolicy::Adaptive);
}

#[test]
fn messages_of_every_size_class_arrive_whole_under_park() {
    every_size_arrives_whole(WaitPolicy::Park);
}

#[test]
fn every_length_up_to_a_few_entries_arrives_whole() {
    let server = Server::waiting(WaitPolicy::Park);
    let mut session = server.connect(&SessionOptions::new().wait(WaitPolicy::Park));
    for len in 0..=600 {
        let request = message(len as u64, len);
        assert_eq!(session.call(ECHO, request).unwrap().to_vec(), request);
    }
}

#[test]
fn one_way_messages_of_every_size_arrive_in_order() {
    let server = Server::start(Settings::new().with("cap", MEBIBYTE));
    let mut session = server.connect(&options(WaitPolicy::Adaptive));
    let bodies = SIZES.iter().filter_map(|size| size.checked_sub(16));
    let mut count = 0;
    for len in bodies {
        session
            .post(crate::support::server::SINK, &crate::support::server::sinkable(1, count, len))
            .unwrap();
        count += 1;
    }
    assert_eq!(crate::support::server::tally(&mut session), [count, 0, 0]);
}

#[test]
fn request_above_cap_is_refused_by_name() {
    for policy in EVERY_POLICY {
        let server = Server::start(Settings::new().with("cap", MEBIBYTE));
        let mut session = server.connect(&options(policy));
        assert_eq!(session.cap(), MEBIBYTE);
        let too_long = message(1, MEBIBYTE + 1);
        let errors = [
            session.call(ECHO, too_long).unwrap_err(),
            session.send(ECHO, too_long).unwrap_err(),
            session.post(ECHO, too_long).unwrap_err(),
            session.reserve(MEBIBYTE + 1).err().unwrap(),
        ];
        for error in errors {
            assert!(matches!(error, CallError::TooLarge { .. }), "{error:?}");
            assert!(error.session_goes_on());
            let text = error.to_string();
            assert!(text.contains("cap of 1048576 bytes"), "{text}");
            assert!(text.contains("raise the cap on both sides"), "{text}");
        }
        assert!(!session.is_ended());
        assert_serves(&mut session);
        let whole = message(2, MEBIBYTE);
        assert!(session.call(ECHO, whole).unwrap().to_vec() == whole);
    }
}

#[test]
fn reply_above_cap_fails_its_call_by_name() {
    let server = Server::start(Settings::new().with("cap", MEBIBYTE));
    let mut session = server.connect(&options(WaitPolicy::Adaptive));
    for (method, request) in
        [(RESERVE, (MEBIBYTE as u64 + 1).to_le_bytes().to_vec()), (GIVE, ask_for(1, MEBIBYTE + 1))]
    {
        match session.call(method, &request).unwrap_err() {
            CallError::Failed { code: ErrorCode::NoMemory, reason, .. } => {
                assert!(reason.contains("cap of 1048576 bytes"), "{reason}");
                assert!(reason.contains("raise the cap"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        assert_serves(&mut session);
    }
    let reply = session.call(GIVE, &ask_for(5, MEBIBYTE)).unwrap().to_vec();
    assert!(reply == message(5, MEBIBYTE));
}

#[test]
fn impossible_length_is_refused_like_one_above_cap() {
    let server = Server::start(Settings::new().with("cap", MEBIBYTE));
    let mut session = server.connect(&options(WaitPolicy::Adaptive));
    for _ in 0..2 {
        for len in [usize::MAX, usize::MAX - 127, usize::MAX - 128, isize::MAX as usize] {
            let error = session.reserve(len).err().unwrap();
            assert!(matches!(error, CallError::TooLarge { .. }), "{error:?}");
            let error = session.call(RESERVE, &(len as u64).to_le_bytes()).unwrap_err();
            let is_refused = matches!(error, CallError::Failed { code: ErrorCode::NoMemory, .. });
            assert!(is_refused, "{error:?}");
        }
        // The second time both sides have a payload segment.
        assert_serves(&mut session);
    }
}

#[test]
fn the_smaller_cap_of_both_sides_counts() {
    const SMALL: usize = 64 * 1024;
    for (client_cap, server_cap) in [(SMALL, MEBIBYTE), (MEBIBYTE, SMALL)] {
        let server = Server::start(Settings::new().with("cap", server_cap));
        let mut session = server.connect(&SessionOptions::new().cap(client_cap as u64));
        assert_eq!(session.cap(), SMALL);
        let whole = message(1, SMALL);
        assert!(session.call(ECHO, whole).unwrap().to_vec() == whole);
        let error = session.call(ECHO, message(1, SMALL + 1)).unwrap_err();
        assert!(error.to_string().contains("cap of 65536 bytes"), "{error}");
        let error = session.call(GIVE, &ask_for(1, SMALL + 1)).unwrap_err();
        assert!(error.to_string().contains("cap of 65536 bytes"), "{error}");
        assert_serves(&mut session);
    }
}

#[test]
fn the_smallest_cap_is_one_page() {
    let server = Server::start(Settings::new().with("cap", 1));
    let mut session = server.connect(&SessionOptions::new().cap(1));
    assert_eq!(session.cap(), 4096);
    for len in [0, 104, 105, 4095, 4096] {
        let request = message(len as u64, len);
        assert_eq!(session.call(ECHO, request).unwrap().to_vec(), request);
    }
    assert!(session.call(ECHO, message(1, 4097)).is_err());
    assert_eq!(session.call(ECHO, b"on").unwrap().to_vec(), b"on");
}

#[test]
fn space_that_was_reserved_and_not_sent_comes_back() {
    let server = Server::start(Settings::new().with("cap", MEBIBYTE));
    let mut session = server.connect(&options(WaitPolicy::Park));
    for _ in 0..100 {
        let mut space = session.reserve(MEBIBYTE).unwrap();
        space.bytes_mut()[MEBIBYTE - 1] = 1;
    }
    let whole = message(3, MEBIBYTE);
    assert!(session.call(ECHO, whole).unwrap().to_vec() == whole);
}

#[test]
fn only_small_or_socket_replies_are_private_slices() {
    let server = Server::waiting(WaitPolicy::Park);
    let mut session = server.connect(&SessionOptions::new());
    let large = on_socket();
    for (len, is_private) in [(0, true), (104, true), (105, large), (100_000, large)] {
        let request = message(9, len);
        let reply = session.call(ECHO, request).unwrap();
        assert_eq!(reply.bytes().as_slice(), is_private.then_some(request));
        let mut copy = Vec::new();
        std::io::Read::read_to_end(&mut reply.bytes().reader(), &mut copy).unwrap();
        assert_eq!(copy, request);
    }
}

#[test]
fn truncated_requests_and_replies_arrive_shortened() {
    for offloaded in [0, 2] {
        let folder = Folder::new();
        let server_options = ServerOptions::new().session(options(WaitPolicy::Adaptive));
        let server_options = match offloaded {
            0 => server_options,
            threads => server_options.offload(threads),
        };
        let server = breezeway::Server::bind_with(folder.address(), server_options).unwrap();
        let stopper = server.stopper();
        let serving = std::thread::spawn(move || {
            server.serve(|call: Call<'_>| {
                let len = call.request().len();
                let mut space = call.reserve(MEBIBYTE)?;
                let (request, bytes) = space.request_and_bytes_mut();
                request.copy_to(&mut bytes[..len]);
                space.truncate(len);
                space.commit()
            })
        });
        let mut session =
            ExclusiveSession::connect_with(folder.address(), &options(WaitPolicy::Adaptive))
                .unwrap();
        for (number, len) in SIZES.into_iter().enumerate() {
            let request = message(number as u64, len);
            let mut space = session.reserve(MEBIBYTE).unwrap();
            space.bytes_mut()[..len].copy_from_slice(request);
            space.truncate(len);
            space.truncate(len + 1);
            assert_eq!(space.bytes_mut().len(), len);
            assert!(space.call(0).unwrap().to_vec() == request, "{len} bytes");
            // All of it is free again, on both sides.
            assert!(session.call(0, request).unwrap().to_vec() == request, "{len} bytes");
        }
        drop(session);
        stopper.stop();
        within(PATIENCE, "the server ends", move || serving.join().unwrap().unwrap());
    }
}

#[test]
fn leased_request_is_readable_while_reply_is_written() {
    for offloaded in [0, 2] {
        let folder = Folder::new();
        let server_options = ServerOptions::new().session(options(WaitPolicy::Adaptive));
        let server_options = match offloaded {
            0 => server_options,
            threads => server_options.offload(threads),
        };
        let server = breezeway::Server::bind_with(folder.address(), server_options).unwrap();
        let stopper = server.stopper();
        let serving = std::thread::spawn(move || {
            server.serve(move |mut call: Call<'_>| {
                let len = call.request().len();
                let lease = call.lease();
                assert_eq!(lease.is_some(), !on_socket() && len > 104);
                if lease.is_some() {
                    assert!(call.lease().is_none() && call.request().is_empty());
                }
                let request = lease.as_ref().map_or(call.request(), Message::bytes).to_vec();
                // Space that is given back, as often as one likes, and then another way to reply.
                let mut space = call.reserve(MEBIBYTE)?;
                space.bytes_mut().fill(0xee);
                let mut space = space.abandon().reserve(len)?;
                match &lease {
                    Some(lease) => lease.bytes().copy_to(space.bytes_mut()),
                    None => space.write_request(0),
                }
                drop(lease);
                match request.first() {
                    Some(0) => space.fail(ErrorCode::Application(7), "nothing of it"),
                    Some(1) => space.abandon().reply(b"other"),
                    Some(2) => {
                        let (call, later) = space.abandon().defer()?;
                        call.reply(request)?;
                        Ok(later)
                    }
                    _ => space.commit(),
                }
            })
        });
        let mut session =
            ExclusiveSession::connect_with(folder.address(), &options(WaitPolicy::Adaptive))
                .unwrap();
        for (number, len) in SIZES.into_iter().enumerate() {
            for first in 0..4 {
                let mut request = message(number as u64, len).to_vec();
                request.iter_mut().take(1).for_each(|byte| *byte = first);
                let reply = session.call(0, &request).map(|reply| reply.to_vec());
                match (request.first(), reply) {
                    (Some(0), Err(CallError::Failed { code: ErrorCode::Application(7), .. })) => {}
                    (Some(1), Ok(reply)) => assert_eq!(reply, b"other"),
                    (Some(2 | 3) | None, Ok(reply)) => assert!(reply == request, "{len} bytes"),
                    (_, other) => panic!("{first}, {len} bytes: {other:?}"),
                }
            }
        }
        drop(session);
        stopper.stop();
        within(PATIENCE, "the server ends", move || serving.join().unwrap().unwrap());
    }
}
