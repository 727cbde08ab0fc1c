//! The answering side.

use crate::Side;
use crate::stream::{Stream, Wait};
use breezeway_measure::process::ending::{self, Activity};
use breezeway_measure::{Failure, machine};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::{fs, process};

pub(crate) fn run(side: &Side) -> Result<(), Failure> {
    let listener = listen(&side.path)
        .map_err(|error| format!("cannot serve at {}: {error}", side.path.display()))?;
    let activity = Activity::default();
    let path = side.path.clone();
    ending::watch(&activity, move || {
        // Another process may have removed it.
        fs::remove_file(path).ok();
        process::exit(0);
    })?;
    machine::pin(side.cpu)?;
    println!("listening on {}", side.path.display());
    for connection in listener.incoming() {
        if let Err(error) = echo(connection?, side.wait, &activity) {
            eprintln!("unix-echo: a connection failed: {error}");
        }
    }
    Ok(())
}

/// Binds `path`, also if it is the leftover of a server that was killed.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_stale(path) => {
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        outcome => outcome,
    }
}

fn is_stale(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).is_err_and(refused)
}

/// Returns every message until the peer closes the connection.
fn echo(connection: UnixStream, wait: Wait, activity: &Activity) -> io::Result<()> {
    let (stream, size) = Stream::agree(connection, wait)?;
    let mut message = vec![0; size];
    while stream.receive(&mut message)? {
        stream.send(&message)?;
        activity.count();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_of_a_dead_server_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        drop(listen(&path).unwrap());
        assert!(path.exists());
        listen(&path).unwrap();
    }

    #[test]
    fn the_socket_of_a_living_server_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _server = listen(&path).unwrap();
        assert_eq!(listen(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "precious").unwrap();
        assert_eq!(listen(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }
}
