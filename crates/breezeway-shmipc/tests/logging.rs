//! Log lines about a peer's violations and this side's refusals, at the level of warnings.
//!
//! In a program of its own, because it observes the log of a whole process.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};

use breezeway_adversary::shmipc::message::{message, names};
use breezeway_adversary::stopwatch::eventually;
use breezeway_shmipc::{
    Address, Client, ClientOptions, Server, ServerOptions, SessionOptions, Trust,
};
use tracing::level_filters::LevelFilter;

/// Log lines at the usual level of programs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn start() -> Self {
        let log = Self::default();
        let writer = log.clone();
        tracing_subscriber::fmt()
            .with_max_level(LevelFilter::WARN)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .init();
        log
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    #[track_caller]
    fn says(&self, words: &str) {
        eventually(words, || self.text().contains(words));
    }

    fn count(&self, words: &str) -> usize {
        self.text().matches(words).count()
    }
}

fn send(path: &Path, messages: &[Vec<u8>]) {
    let mut socket = UnixStream::connect(path).unwrap();
    for message in messages {
        socket.write_all(message).unwrap();
    }
    // Until it hangs up, possibly with bytes unread.
    let _ = socket.read_to_end(&mut Vec::new());
}

#[test]
fn rejections_and_limits_are_logged_as_bounded_warnings() {
    let log = Log::start();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let bind = |name: &str, options: ServerOptions| {
        Server::bind(&Address::Unix(at(name)), options.folders([folder.path()])).unwrap()
    };
    let connect = |name: &str, options: ClientOptions| {
        Client::connect(
            &Address::Unix(at(name)),
            options.buffer_size(1 << 20).slices([(1004, 100)]),
        )
    };
    let ours = || ClientOptions::new(Trust::SameUser);

    let session = SessionOptions::new().max_streams(1);
    let server = bind("one", ServerOptions::new(Trust::SameUser).session(session).max_sessions(1));
    send(&at("one"), &[b"GET / HTTP/1.1\r\n".to_vec()]);
    log.says("magic 0x");
    send(&at("one"), &[message(2, 0, &names("/etc/passwd", "/etc/passwd"))]);
    log.says("/etc/passwd, which is in none of the folders");
    let client = connect("one", ours()).unwrap();
    let served = server.accept().unwrap();
    assert!(connect("one", ours()).is_err());
    log.says("raise max_sessions");
    let mut streams = [client.open().unwrap(), client.open().unwrap()];
    for stream in &mut streams {
        stream.send(b"hello").unwrap();
    }
    let mut accepted = served.accept().unwrap();
    drop(streams);
    accepted.read_to_end(&mut Vec::new()).unwrap();
    log.says("raise max_streams");

    let stranger = rustix::process::geteuid().as_raw() + 1;
    let _other = bind("other", ServerOptions::new(Trust::Users(vec![stranger])));
    assert!(connect("other", ours()).is_err());
    log.says(&format!("user ({}) is not trusted", rustix::process::geteuid().as_raw()));

    let _flooded = bind("flooded", ServerOptions::new(Trust::SameUser));
    for _ in 0..500 {
        send(&at("flooded"), &[b"GET / HTTP/1.1\r\n".to_vec()]);
    }
    let lines = log.count("magic 0x");
    assert!(lines < 100, "{lines} lines for 500 strangers");
    assert_eq!(log.count("DEBUG"), 0);
}
