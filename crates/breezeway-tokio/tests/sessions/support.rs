//! Runtimes, servers and processes of tests.

use std::future::Future;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use breezeway_tokio::{Address, OwnedCall, Server, ServerOptions, Session, SessionOptions, Stream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Maximum wait for something that must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A runtime with everything on one thread.
pub(crate) fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs a test on a runtime of one thread, and on one of two workers, within [`PATIENCE`].
pub(crate) fn on_both_runtimes<F: Future<Output = ()>>(test: impl Fn() -> F) {
    let two_workers = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for runtime in [one_thread(), two_workers] {
        runtime.block_on(async {
            tokio::time::timeout(2 * PATIENCE, test()).await.expect("the test hangs");
        });
    }
}

/// Waits for what must come.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it does not come")
}

/// Polls a future so many times, with other tasks in between, and drops it. Gives what it gave, if
/// it did.
pub(crate) async fn poll_and_drop<T>(future: impl Future<Output = T>, polls: usize) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(given) = future.as_mut().poll(&mut cx) {
            return Some(given);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// Sends back what comes on a stream, until its end.
pub(crate) async fn echo_stream(_: u32, mut stream: Stream) {
    while let Ok(Some(message)) = stream.receive().await {
        if message.is_message() && stream.send(&message.to_vec()).await.is_err() {
            return;
        }
    }
    // The client may have reset it.
    let _ = stream.finish().await;
}

/// Sends a request back.
pub(crate) async fn echo(call: OwnedCall) {
    let _ = call.echo();
}

/// An address of every carrier.
pub(crate) fn addresses(folder: &Path) -> Vec<Address> {
    let path = folder.display();
    let mut all =
        vec![format!("shm:{path}/shm"), format!("unix:{path}/unix"), "tcp:127.0.0.1:0".to_owned()];
    if cfg!(feature = "tls") {
        install_certificates();
        all.push("tls:127.0.0.1:0".to_owned());
    }
    all.into_iter().map(|address| address.parse().unwrap()).collect()
}

/// Lets every session of this process identify itself by a certificate, and request one: the
/// processes of a run share an authority.
pub(crate) fn install_certificates() {
    #[cfg(feature = "tls")]
    {
        use breezeway_adversary::certificates::{Authority, Valid};

        let own = tempfile::tempdir().unwrap();
        let key = Path::new(env!("CARGO_TARGET_TMPDIR")).join("authority.key");
        let authority = Authority::shared(&key, own.path());
        let issued = authority.issue(&["127.0.0.1"], Valid::Now);
        let tls = breezeway::Tls::new().certificate(issued.chain, issued.key).unwrap();
        // Another test may have done it.
        let _ = tls.roots(authority.root()).unwrap().install_default();
    }
}

/// A server that echoes, in this process.
pub(crate) struct Echo {
    pub(crate) address: Address,
    pub(crate) stopper: breezeway_tokio::Stopper,
    pub(crate) serving: JoinHandle<Result<(), breezeway_tokio::ServeError>>,
}

impl Echo {
    pub(crate) fn start(address: &Address, options: &SessionOptions) -> Self {
        let options = ServerOptions::new().session(options.clone());
        let server = Server::bind_with(address, options).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let serving = tokio::spawn(server.serve_streams(echo, echo_stream));
        Self { address, stopper, serving }
    }

    pub(crate) async fn stop(self) {
        self.stopper.stop();
        soon(self.serving).await.unwrap().unwrap();
    }
}

/// A server that echoes over shared memory, and a session to it.
pub(crate) async fn echo_pair(options: &SessionOptions) -> (Session, Echo, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let echo = Echo::start(&addresses(folder.path())[0], options);
    let session = Session::connect_with(&echo.address, options).await.unwrap();
    (session, echo, folder)
}

const ROLE: &str = "BREEZEWAY_TEST_ROLE";
const ADDRESS: &str = "BREEZEWAY_TEST_ADDRESS";

/// Far longer than a test lets one live: one that hangs ends, and with it the test that waits.
const LONGEST: Duration = Duration::from_secs(300);

/// This test binary once more, in a role, killed when dropped.
pub(crate) struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Process {
    pub(crate) fn start(role: &str, address: &Address) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "another_process"])
            .env(ROLE, role)
            .env(ADDRESS, address.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next line that the role prints.
    pub(crate) fn hear(&mut self) -> String {
        for line in &mut self.lines {
            if let Some((_, said)) = line.unwrap().split_once('@') {
                return said.to_owned();
            }
        }
        panic!("the process has ended");
    }

    /// Returns the rest of the role's lines, once it has ended, which must be a success.
    pub(crate) fn ends(&mut self) -> Vec<String> {
        let rest = self.lines.by_ref().map_while(Result::ok);
        let said = rest.filter_map(|line| Some(line.split_once('@')?.1.to_owned())).collect();
        assert!(self.child.wait().unwrap().success());
        said
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the number of open descriptors of the role.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints a line to the test.
pub(crate) fn say(line: impl std::fmt::Display) {
    println!("\n@{line}");
}

/// The function of a process; it takes an address.
pub(crate) type Role = fn(&Address);

/// Plays the role that this process was started for. Does nothing in an ordinary test run.
pub(crate) fn play(roles: &[(&str, Role)]) {
    let Ok(name) = std::env::var(ROLE) else { return };
    install_certificates();
    // SAFETY: an integer in, none out.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    std::thread::spawn(|| {
        std::thread::sleep(LONGEST);
        eprintln!("a role that still runs after {LONGEST:?}: a hang");
        std::process::exit(1);
    });
    let address = std::env::var(ADDRESS).unwrap().parse().unwrap();
    let (_, act) = roles.iter().find(|(other, _)| *other == name).expect("a role");
    act(&address);
}

/// A server that echoes, in a process of its own.
pub(crate) fn serve_echo(address: &Address) {
    one_thread().block_on(async {
        let echo = Echo::start(address, &SessionOptions::new());
        say(&echo.address);
        echo.serving.await.unwrap().unwrap();
    });
}
