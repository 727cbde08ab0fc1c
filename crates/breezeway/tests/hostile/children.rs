//! Peers as processes of their own: this test program again, with its role in the environment.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use breezeway_adversary::native::layout::{hello, kind};
use breezeway_adversary::native::{Entry, Hello, Peer, Terms, control_segment};
use breezeway_adversary::socket;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid,
};

use super::service::{ECHO, REPLY_OF};

const ROLE: &str = "BREEZEWAY_HOSTILE_ROLE";
const PATH: &str = "BREEZEWAY_HOSTILE_PATH";

/// A child process, which does not outlive this value, nor the thread that started it.
pub(crate) struct Child {
    process: std::process::Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Child {
    /// Starts a child and waits until it has done the steps of its role.
    pub(crate) fn ready(role: &str, path: &Path) -> Self {
        let mut child = Self::start(role, path);
        assert!(child.says("ready"), "the child ended before it was ready");
        child
    }

    pub(crate) fn start(role: &str, path: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["children::role_of_a_child", "--exact", "--nocapture"])
            .env(ROLE, role)
            .env(PATH, path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("start this program again");
        let output = BufReader::new(process.stdout.take().expect("piped"));
        Self { process, output }
    }

    /// Waits for a line; false at the end of the child. Where tests run one at a time, the test
    /// harness has begun the first line with the test's name.
    pub(crate) fn says(&mut self, wanted: &str) -> bool {
        let mut line = String::new();
        while self.output.read_line(&mut line).expect("read from the child") > 0 {
            if line.trim_end().ends_with(wanted) {
                return true;
            }
            line.clear();
        }
        false
    }

    /// Waits for a line that ends with a number.
    pub(crate) fn says_number(&mut self) -> i32 {
        let mut line = String::new();
        while self.output.read_line(&mut line).expect("read from the child") > 0 {
            if let Some(number) = line.split_whitespace().last().and_then(|word| word.parse().ok())
            {
                return number;
            }
            line.clear();
        }
        panic!("the child says no number");
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Mappings of memfds, which are segments but for one of statistics.
    pub(crate) fn mapped_segments(&self) -> usize {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.process.id())).unwrap();
        maps.lines().filter(|line| line.contains("/memfd:")).count()
    }

    /// Returns the number of open descriptors of the child.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    /// Stops it, and returns once it has stopped.
    pub(crate) fn stop(&self) {
        kill_process(self.pid(), Signal::STOP).unwrap();
        let (_, status) = waitpid(Some(self.pid()), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped());
    }

    pub(crate) fn go_on(&self) {
        kill_process(self.pid(), Signal::CONT).unwrap();
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // The child may have ended before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// No test: what a child process does, and nothing in the test program itself.
#[test]
fn role_of_a_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let path = PathBuf::from(std::env::var_os(PATH).expect("a path"));
    play(&role, &path);
    std::process::exit(0);
}

pub(crate) fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().unwrap();
}

/// Prints `ready`, and does nothing more.
pub(crate) fn rest() -> ! {
    say("ready");
    loop {
        std::thread::park();
    }
}

fn play(role: &str, path: &Path) {
    match role {
        "leaks" => super::leaks::child(),
        "slow to close" => super::leaks::slow_to_close_one_by_one(),
        "never closed" => super::leaks::never_closed(),
        "room for descriptors" => super::fairness::room_for_descriptors(path),
        "server with few numbers" => super::fairness::server_with_few_numbers(path),
        "client without descriptors" => super::shortage::client_without_descriptors(path),
        "server without descriptors" => super::shortage::server_without_descriptors(path),
        "serving without descriptors" => super::shortage::serving_without_descriptors(),
        "exit watch without descriptors" => super::shortage::exit_watch_without_descriptors(),
        "hellos with few numbers" => super::shortage::hellos_with_few_numbers(),
        "session with one number" => super::shortage::session_with_one_number(),
        "client short of memory" => super::shortage::client_short_of_memory(path),
        "server that does not accept" => {
            let _listener = UnixListener::bind(path).unwrap();
            rest()
        }
        "server that echoes" => echo(path),
        "client that executes a program" => executing(path),
        _ => {
            let _peer = client(role, UnixStream::connect(path).unwrap().into());
            rest()
        }
    }
}

/// A client that executes a program which has all that the session has.
#[expect(clippy::zombie_processes, reason = "the program outlives this process")]
fn executing(path: &Path) {
    let peer = Peer::client(UnixStream::connect(path).unwrap().into(), Terms::default());
    for fd in [peer.socket.as_fd(), peer.ring.shared.fd.as_fd()] {
        fcntl_setfd(fd, FdFlags::empty()).unwrap();
    }
    let program = Command::new("sleep").arg("600").spawn().unwrap();
    say(&format!("executed {}", program.id()));
    rest()
}

/// Values that a client keeps while it rests.
#[expect(dead_code, reason = "kept, not used")]
enum Kept {
    Socket(OwnedFd),
    Peer(Peer),
}

/// Runs a client up to the step that its role names.
fn client(role: &str, socket: OwnedFd) -> Kept {
    if role == "client without a hello" {
        return Kept::Socket(socket);
    }
    if role == "client with half a hello" {
        let terms = Terms::default();
        let own = control_segment(&terms);
        socket::send(&socket, &Hello::new(&terms).0[..hello::LEN / 2], &[own.fd.as_fd()]).unwrap();
        return Kept::Socket(socket);
    }
    let mut peer = Peer::client(socket, Terms::default());
    match role {
        "client at rest" => {}
        "client that does not read its replies" => {
            for call in 0..20 {
                let len = 5_000u64.to_le_bytes();
                peer.publish(&Entry::request(2 * call + 1, REPLY_OF, &len));
            }
        }
        "client that keeps its replies" => {
            for call in 0..20 {
                let len = 5_000u64.to_le_bytes();
                peer.publish(&Entry::request(2 * call + 1, REPLY_OF, &len));
                peer.next_message().unwrap();
            }
        }
        "client within a publication" => {
            peer.call(1, ECHO, b"x");
            peer.ring.write(peer.ring.tail, &Entry::request(3, ECHO, b"x"));
        }
        "client between a segment and its entry" => {
            peer.send_segment(&breezeway_adversary::Shared::fit(4096).fd);
        }
        "client that asked for the doorbell" => {
            peer.ring
                .shared
                .store(breezeway_adversary::native::layout::control::DATA_WAKE_AT, peer.view.head);
        }
        other => panic!("no role {other}"),
    }
    Kept::Peer(peer)
}

/// Serves one session: the request's bytes come back, as long as they are inline.
fn echo(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    say("ready");
    let (socket, _) = listener.accept().unwrap();
    let mut peer = Peer::server(socket.into(), Terms::default());
    // Stopped, it is silent for as long as the test likes.
    rustix::net::sockopt::set_socket_timeout(
        &peer.socket,
        rustix::net::sockopt::Timeout::Recv,
        None,
    )
    .unwrap();
    while let Some(request) = peer.next_entry() {
        peer.consume();
        if request.kind() == kind::MESSAGE
            && request.flags() & breezeway_adversary::native::layout::flag::NO_REPLY == 0
        {
            peer.publish(&Entry::reply(request.stream(), request.body()));
        }
    }
}
