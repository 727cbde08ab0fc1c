//! A server of ours that is attacked, and the honest client that must not notice.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use breezeway_shmipc::{
    Address, Client, ClientOptions, EchoServer, ServerOptions, SessionOptions, Stopper, Stream,
    Trust,
};
use tempfile::TempDir;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// An echo server, and a stream of an honest client to it.
pub(crate) struct Victim {
    pub(crate) path: PathBuf,
    pub(crate) folder: TempDir,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    honest: Stream,
    client: Client,
}

impl Victim {
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    pub(crate) fn with(change: impl FnOnce(ServerOptions) -> ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("echo.sock");
        let address = Address::Unix(path.clone());
        let session = SessionOptions::new().handshake_timeout(PATIENCE);
        let options = ServerOptions::new(Trust::SameUser).folders([folder.path()]).session(session);
        let server = EchoServer::bind(&address, change(options)).unwrap();
        let stopper = server.stopper();
        let thread = Some(std::thread::spawn(move || server.run()));
        let options =
            ClientOptions::new(Trust::SameUser).buffer_size(1 << 20).slices([(1004, 100)]);
        let client = Client::connect(&address, options).unwrap();
        let honest = client.open().unwrap();
        let mut victim = Self { path, folder, stopper, thread, honest, client };
        victim.is_well();
        victim
    }

    /// The session that was there before is served as ever, and a new client gets one.
    pub(crate) fn is_well(&mut self) {
        echo(&mut self.honest);
        let options =
            ClientOptions::new(Trust::SameUser).buffer_size(1 << 20).slices([(1004, 100)]);
        let another = Client::connect(&Address::Unix(self.path.clone()), options).unwrap();
        echo(&mut another.open().unwrap());
        echo(&mut self.client.open().unwrap());
    }
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
