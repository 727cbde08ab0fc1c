//! A server that is attacked, and the honest client that must not notice.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use breezeway_shmipc::{
    Address, Client, ClientOptions, Server, ServerOptions, SessionEnd, SessionOptions, Stopper,
    Stream, StreamError, Trust, Violation,
};
use tempfile::TempDir;

pub(crate) use breezeway_adversary::PATIENCE;

/// An echo server, and a stream of an honest client to it.
pub(crate) struct Victim {
    pub(crate) path: PathBuf,
    pub(crate) folder: TempDir,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    ends: Receiver<SessionEnd>,
    honest: Stream,
    client: Client,
}

impl Victim {
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    pub(crate) fn with(change: impl FnOnce(ServerOptions) -> ServerOptions) -> Self {
        watch_panics();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("echo.sock");
        let address = Address::Unix(path.clone());
        let session = SessionOptions::new().handshake_timeout(PATIENCE);
        let options = ServerOptions::new(Trust::SameUser).folders([folder.path()]).session(session);
        let server = Server::bind(&address, change(options)).unwrap();
        let stopper = server.stopper();
        let (ended, ends) = channel();
        let thread = Some(std::thread::spawn(move || serve(&server, &ended)));
        let client = Client::connect(&address, honest_options()).unwrap();
        let honest = client.open().unwrap();
        let mut victim = Self { path, folder, stopper, thread, ends, honest, client };
        victim.is_well();
        victim
    }

    /// Returns the rule for which a session was ended.
    pub(crate) fn punishment(&self) -> Violation {
        loop {
            // Sessions that end otherwise broke no rule.
            if let SessionEnd::Violation(violation) = self.ends.recv_timeout(PATIENCE).unwrap() {
                return violation;
            }
        }
    }

    /// Checks that the earlier session is still served, and that a new client gets one.
    pub(crate) fn is_well(&mut self) {
        echo(&mut self.honest);
        let address = Address::Unix(self.path.clone());
        let another = Client::connect(&address, honest_options()).unwrap();
        echo(&mut another.open().unwrap());
        echo(&mut self.client.open().unwrap());
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "a thread of the server panicked");
    }
}

/// Returns the options of the honest client, which waits as long for a session as the server does.
fn honest_options() -> ClientOptions {
    let session = SessionOptions::new().handshake_timeout(PATIENCE);
    ClientOptions::new(Trust::SameUser).session(session).buffer_size(1 << 20).slices([(1004, 100)])
}

/// Panics in threads of the attacked side. A panic in a handshake would look like a refusal.
static PANICS: AtomicUsize = AtomicUsize::new(0);

fn watch_panics() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let say = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let thread = std::thread::current();
            if thread.name().is_some_and(|name| name.starts_with("shmipc-")) {
                PANICS.fetch_add(1, Ordering::Relaxed);
            }
            say(panic);
        }));
    });
}

/// Serves like [`Server::serve`], and reports the end of each session.
fn serve(server: &Server, ended: &Sender<SessionEnd>) {
    std::thread::scope(|scope| {
        while let Some(session) = server.accept() {
            scope.spawn(move || {
                let _ = ended.send(session.serve(send_back));
            });
        }
        server.close_sessions();
    });
}

/// Echoes the data of each stream.
pub(crate) fn send_back(stream: &mut Stream) -> Result<(), StreamError> {
    let (reader, writer) = stream.halves();
    writer.forward(reader).map(|_| ())
}

fn echo(stream: &mut Stream) {
    stream.set_read_timeout(Some(PATIENCE));
    let mut reply = [0; 6];
    stream.write_all(b"honest").unwrap();
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"honest");
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}
