//! The socket file, of either carrier that has one: servers that are not there, left-overs, files
//! in the way, and two servers that want the same address.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use breezeway::{
    Address, Call, ConnectError, ExclusiveSession, ServeError, ServerOptions, SessionOptions,
    WaitPolicy,
};
use rustix::process::Signal;

use crate::support::server::{self, assert_serves, assert_takes_clients};
use crate::support::{
    Folder, PROMPT, Process, Role, Server, Settings, carrier, eventually, hear, patient, say,
    within,
};

/// Roles of the other processes of these tests.
pub(crate) const ROLES: &[(&str, Role)] = &[("bidder", bid), ("several servers", serve_several)];

/// Returns the error of a client, which must come at once.
#[track_caller]
fn connect_error(address: &Address) -> ConnectError {
    let address = address.clone();
    within(PROMPT, "the error", move || {
        ExclusiveSession::connect(&address).err().expect("no server")
    })
}

/// Returns the error of a server that is started at `folder`'s address.
#[track_caller]
fn failure_to_listen(folder: &Folder) -> String {
    let settings = Settings::new().with("address", folder.address());
    let mut process = Process::start("server", &settings);
    let reason = process.expect("failed");
    process.succeeds();
    reason
}

// ---- clients without a server ----

#[test]
fn absent_server_is_named_with_remedy() {
    let folder = Folder::new();
    let error = connect_error(&folder.address());
    assert!(matches!(error, ConnectError::NoSocket(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(folder.socket().to_str().unwrap()), "{text}");
    assert!(text.contains("start the server"), "{text}");
}

#[test]
fn a_folder_that_does_not_exist_is_an_absent_server() {
    let error = connect_error(&format!("{}:/no/such/folder/test.sock", carrier()).parse().unwrap());
    assert!(matches!(error, ConnectError::NoSocket(_)), "{error:?}");
}

#[test]
fn socket_of_killed_server_is_reported_as_left_over() {
    let mut server = Server::waiting(WaitPolicy::Adaptive);
    server.process.kill();
    let error = connect_error(&server.address());
    assert!(matches!(error, ConnectError::NotListening(_)), "{error:?}");
    assert!(error.to_string().contains("left-over"), "{error}");
}

#[test]
fn suspended_server_fails_connect_at_handshake_timeout() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    server.process.suspend();
    let error = connect_error(&server.address());
    assert!(error.to_string().contains("hangs"), "{error}");
    server.process.resume();
    assert_takes_clients(&server.address());
}

#[test]
fn full_backlog_fails_connect_at_handshake_timeout() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    server.process.suspend();
    let waiting = fill_backlog(&server.address());
    let error = connect_error(&server.address());
    assert!(matches!(error, ConnectError::NotAccepting { .. }), "{error:?}");
    drop(waiting);
    server.process.resume();
    eventually("the server takes clients again", || {
        ExclusiveSession::connect(server.address()).is_ok()
    });
}

/// Connects until the kernel takes no more.
fn fill_backlog(address: &Address) -> Vec<std::os::fd::OwnedFd> {
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    };
    let to = SocketAddrUnix::new(address.places()[0].path().unwrap()).unwrap();
    let mut waiting = Vec::new();
    loop {
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::NONBLOCK, None)
                .unwrap();
        match connect(&socket, &to) {
            Ok(()) => waiting.push(socket),
            Err(rustix::io::Errno::AGAIN) => return waiting,
            Err(errno) => panic!("{errno}"),
        }
    }
}

#[test]
fn a_folder_or_a_plain_file_at_the_address_is_no_server() {
    let folder = Folder::new();
    let path = folder.socket().to_owned();
    let expected = format!("no server at {}: it is not a socket", path.display());
    let assert_named = || {
        let error = connect_error(&folder.address());
        assert!(matches!(error, ConnectError::NotASocket(_)), "{error:?}");
        assert!(error.to_string().starts_with(&expected), "{error}");
    };
    fs::write(&path, "not a socket").unwrap();
    assert_named();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_named();
}

// ---- left-overs ----

#[test]
fn socket_of_killed_server_is_taken_over_repeatedly() {
    let folder = Arc::new(Folder::new());
    for _ in 0..10 {
        let mut server = Server::start_in(Arc::clone(&folder), Settings::new());
        assert_takes_clients(&server.address());
        server.process.kill();
        assert!(folder.socket().exists());
    }
}

#[test]
fn socket_file_of_earlier_server_refuses_clients() {
    let mut first = Server::waiting(WaitPolicy::Adaptive);
    // The same file under another name, as where it alone is mounted into a container.
    let kept = first.folder.path().join("kept.sock");
    fs::hard_link(first.socket(), &kept).unwrap();
    let address = first.address().to_string();
    let kept: Address = address
        .replace(&*first.socket().to_string_lossy(), &kept.to_string_lossy())
        .parse()
        .unwrap();
    assert_takes_clients(&kept);
    first.process.kill();
    let second = Server::start_in(Arc::clone(&first.folder), Settings::new());
    let error = connect_error(&kept);
    assert!(matches!(error, ConnectError::NotListening(_)), "{error:?}");
    assert!(error.to_string().contains("mount its folder"), "{error}");
    assert_takes_clients(&second.address());
}

#[test]
fn stopped_server_removes_its_socket_and_no_other_file() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let folder = Arc::clone(&server.folder);
    let neighbour = folder.path().join("neighbour.sock");
    let _listener = UnixListener::bind(&neighbour).unwrap();
    server.stop();
    assert!(!folder.socket().exists());
    assert!(neighbour.exists());
}

#[test]
fn a_server_does_not_remove_the_socket_of_its_successor() {
    let first = Server::waiting(WaitPolicy::Adaptive);
    // A user removes the file, and starts another server.
    fs::remove_file(first.socket()).unwrap();
    let second = Server::start_in(Arc::clone(&first.folder), Settings::new());
    first.stop();
    assert_takes_clients(&second.address());
}

#[test]
fn server_without_socket_file_serves_its_sessions() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    fs::remove_file(server.socket()).unwrap();
    assert_serves(&mut session);
    server.stop();
}

// ---- what is in the way ----

#[test]
fn a_running_servers_socket_is_not_taken_over() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    let mut session = server.connect(&SessionOptions::new());
    for _ in 0..5 {
        let reason = failure_to_listen(&server.folder);
        assert!(reason.contains("in use by a running server"), "{reason}");
        assert_serves(&mut session);
        assert_takes_clients(&server.address());
    }
}

#[test]
fn a_socket_whose_server_stands_still_is_not_taken_over() {
    let server = Server::waiting(WaitPolicy::Adaptive);
    server.process.suspend();
    let reason = failure_to_listen(&server.folder);
    assert!(reason.contains("in use by a running server"), "{reason}");
    let waiting = fill_backlog(&server.address());
    let reason = failure_to_listen(&server.folder);
    assert!(reason.contains("in use by a running server"), "{reason}");
    drop(waiting);
    server.process.resume();
    eventually("the server takes clients again", || {
        ExclusiveSession::connect(server.address()).is_ok()
    });
}

#[test]
fn a_socket_that_another_protocol_serves_is_not_taken_over() {
    let folder = Folder::new();
    let _listener = UnixListener::bind(folder.socket()).unwrap();
    let reason = failure_to_listen(&folder);
    assert!(reason.contains("in use by a running server"), "{reason}");
    assert!(UnixStream::connect(folder.socket()).is_ok());
}

#[test]
fn a_plain_file_in_the_way_is_named_and_left_as_it_is() {
    let folder = Folder::new();
    let path = folder.socket().to_owned();
    fs::write(&path, "precious").unwrap();
    let reason = failure_to_listen(&folder);
    assert!(
        reason.contains("is not a socket") && reason.contains(path.to_str().unwrap()),
        "{reason}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_folder_in_the_way_is_named_and_left_as_it_is() {
    let folder = Folder::new();
    fs::create_dir(folder.socket()).unwrap();
    let reason = failure_to_listen(&folder);
    assert!(reason.contains("is not a socket"), "{reason}");
    assert!(folder.socket().is_dir());
}

#[test]
fn a_link_in_the_way_is_not_followed() {
    let folder = Folder::new();
    let target = folder.path().join("target.sock");
    drop(UnixListener::bind(&target).unwrap());
    std::os::unix::fs::symlink(&target, folder.socket()).unwrap();
    let reason = failure_to_listen(&folder);
    assert!(reason.contains("is not a socket"), "{reason}");
    assert!(fs::symlink_metadata(&target).unwrap().file_type().is_socket());
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let folder = Folder::new();
    fs::remove_dir(folder.path()).unwrap();
    let reason = failure_to_listen(&folder);
    assert!(reason.contains(folder.socket().to_str().unwrap()), "{reason}");
    fs::create_dir(folder.path()).unwrap();
}

// ---- the mode ----

#[test]
fn socket_mode_is_independent_of_umask() {
    for mask in [0o022, 0o077, 0] {
        for mode in [0o600, 0o660, 0o666, 0o777] {
            let server = Server::start(Settings::new().with("mode", mode).with("umask", mask));
            let metadata = fs::metadata(server.socket()).unwrap();
            let found = metadata.permissions().mode() & 0o7777;
            assert_eq!(found, mode, "mode {mode:o} with umask {mask:o} gave {found:o}");
        }
    }
}

#[test]
fn only_the_owner_may_connect_unless_asked_otherwise() {
    let server = Server::start(Settings::new().with("umask", 0));
    let metadata = fs::metadata(server.socket()).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
}

#[test]
fn a_mode_that_is_no_permission_is_refused() {
    let folder = Folder::new();
    let options = breezeway::ServerOptions::new().socket_mode(0o1777);
    let error = breezeway::Server::bind_with(folder.address(), options).err().unwrap();
    assert!(matches!(error, ServeError::Option(_)), "{error:?}");
    assert!(error.to_string().contains("socket_mode"), "{error}");
    assert!(!folder.socket().exists());
}

// ---- two servers ----

/// The role: at each word, tries to listen, and prints the outcome; at the next word it ends that.
fn bid(settings: &Settings) {
    let address: Address = settings.get("address");
    say("ready");
    while hear().is_some() {
        let server = breezeway::Server::bind(&address);
        match &server {
            Ok(_) => say("won"),
            Err(ServeError::InUse(_)) => say("lost"),
            Err(other) => say(format!("failed {}", breezeway::describe(other))),
        }
        hear();
        drop(server);
        say("ended");
    }
}

/// Leaves a socket file on which no process listens. (A process that another test starts has a copy
/// of the listener until it is executed.)
fn leave_over(folder: &Folder) {
    drop(UnixListener::bind(folder.socket()).unwrap());
    eventually("nobody listens", || UnixStream::connect(folder.socket()).is_err());
}

#[test]
fn of_servers_that_race_for_a_left_over_exactly_one_wins() {
    const BIDDERS: usize = 4;
    let folder = Folder::new();
    let settings = Settings::new().with("address", folder.address());
    let mut bidders: Vec<_> = (0..BIDDERS).map(|_| Process::start("bidder", &settings)).collect();
    for bidder in &mut bidders {
        bidder.expect("ready");
    }
    for round in 0..100 {
        leave_over(&folder);
        bidders.iter_mut().for_each(|bidder| bidder.write_line("bid"));
        let outcomes: Vec<_> = bidders.iter_mut().map(|bidder| bidder.expect("")).collect();
        let won = outcomes.iter().filter(|outcome| *outcome == "won").count();
        let lost = outcomes.iter().filter(|outcome| *outcome == "lost").count();
        assert_eq!((won, lost), (1, BIDDERS - 1), "round {round}: {outcomes:?}");
        assert!(UnixStream::connect(folder.socket()).is_ok());
        for bidder in &mut bidders {
            bidder.write_line("end");
            bidder.expect("ended");
        }
        assert!(!folder.socket().exists());
    }
}

#[test]
fn exactly_one_of_racing_servers_wins_a_new_address() {
    let folder = Folder::new();
    let settings = Settings::new().with("address", folder.address());
    for _ in 0..10 {
        let mut bidders = [(); 2].map(|()| Process::start("bidder", &settings));
        for bidder in &mut bidders {
            bidder.expect("ready");
            bidder.write_line("bid");
        }
        let mut outcomes = bidders.each_mut().map(|bidder| bidder.expect(""));
        outcomes.sort();
        assert_eq!(outcomes, ["lost", "won"]);
        // Both die with the socket in place.
        bidders.iter().for_each(|bidder| bidder.signal(Signal::KILL));
    }
}

#[test]
fn client_between_servers_gets_one_or_a_clear_error() {
    let folder = Arc::new(Folder::new());
    let address = folder.address();
    let (sender, ended) = std::sync::mpsc::channel::<()>();
    let caller = std::thread::spawn(move || {
        let options = patient();
        let mut served = 0;
        while ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            match ExclusiveSession::connect_with(&address, &options) {
                Ok(mut session) => served += u32::from(session.call(server::ECHO, b"hi").is_ok()),
                Err(
                    ConnectError::NoSocket(_)
                    | ConnectError::NotListening(_)
                    | ConnectError::Handshake(breezeway::HandshakeError::Closed),
                ) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        served
    });
    for round in 0..20 {
        let server = Server::start_in(Arc::clone(&folder), Settings::new());
        assert_takes_clients(&server.address());
        if round % 2 == 0 {
            server.stop();
        }
    }
    drop(sender);
    assert!(caller.join().unwrap() > 0);
}

/// Only root can play other users.
mod needs_root {
    use super::*;

    #[test]
    #[ignore = "needs root: `make needs` runs it where there is"]
    fn a_folder_that_may_not_be_written_is_named() {
        let folder = Folder::new();
        folder.open_to_others();
        let settings = Settings::new().with("address", folder.address());
        let mut process = Process::start_as(12_345, "server", &settings);
        let reason = process.expect("failed");
        assert!(reason.contains("ermission denied"), "{reason}");
    }

    /// Leaves over a socket file of this user with these permission bits, in a folder of another
    /// mode, and gives the reason why a server of another user cannot have it.
    #[track_caller]
    fn failure_of_a_stranger(folder_mode: u32, socket_mode: u32) -> (Folder, String) {
        let folder = Folder::new();
        leave_over(&folder);
        let mode = fs::Permissions::from_mode;
        fs::set_permissions(folder.socket(), mode(socket_mode)).unwrap();
        fs::set_permissions(folder.path(), mode(folder_mode)).unwrap();
        let settings = Settings::new().with("address", folder.address());
        let mut process = Process::start_as(12_345, "server", &settings);
        let reason = process.expect("failed");
        assert!(reason.starts_with(folder.socket().to_str().unwrap()), "{reason}");
        assert!(folder.socket().exists());
        (folder, reason)
    }

    #[test]
    #[ignore = "needs root: `make needs` runs it where there is"]
    fn forbidden_socket_of_another_user_is_named() {
        let (_folder, reason) = failure_of_a_stranger(0o1777, 0o600);
        let expected = "belongs to user 0, and this user may not connect to it";
        assert!(reason.contains(expected), "{reason}");
    }

    #[test]
    #[ignore = "needs root: `make needs` runs it where there is"]
    fn unremovable_left_over_of_another_user_is_named() {
        for folder_mode in [0o1777, 0o755] {
            let (_folder, reason) = failure_of_a_stranger(folder_mode, 0o666);
            let expected = "is a left-over of user 0, which this user may not remove";
            assert!(reason.contains(expected), "{reason}");
        }
    }
}

// ---- sockets that were passed on ----

#[test]
fn each_server_gets_the_sockets_passed_on_for_it() {
    let (passed_on, other) = (Folder::new(), Folder::new());
    let manager = UnixListener::bind(passed_on.socket()).unwrap();
    let settings =
        Settings::new().with("other", other.address()).with("passed on", passed_on.address());
    let socket = manager.try_clone().unwrap();
    let mut servers = Process::start_listening("several servers", &settings, socket);
    for _ in 0..3 {
        assert_eq!(servers.expect("served"), "again");
    }
    servers.succeeds();
    assert!(passed_on.socket().exists());
}

/// Serves at one address and then, twice, at the one whose socket was passed on.
fn serve_several(settings: &Settings) {
    let (other, passed_on): (Address, Address) = (settings.get("other"), settings.get("passed on"));
    for address in [&other, &passed_on, &passed_on] {
        let options = ServerOptions::new().take_over(true);
        let server = breezeway::Server::bind_with(address, options).unwrap();
        let stopper = server.stopper();
        let serving = std::thread::spawn(move || {
            server.serve(|call: Call<'_>| {
                let same = call.request().to_vec();
                call.reply(&same)
            })
        });
        let mut session = ExclusiveSession::connect_with(address, &patient()).unwrap();
        let reply = session.call(0, b"again").unwrap().to_vec();
        say(format!("served {}", String::from_utf8_lossy(&reply)));
        drop(session);
        stopper.stop();
        serving.join().unwrap().unwrap();
    }
}
