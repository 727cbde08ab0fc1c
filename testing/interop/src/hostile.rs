//! Peers that do anything, by chance.

use std::os::unix::net::UnixListener;
use std::path::Path;

use breezeway_adversary::Chance;
use breezeway_adversary::native::Peer;
use breezeway_adversary::native::by_chance;

/// Plays `sessions` sessions with the server at `path`.
pub(crate) fn attack(path: &Path, seed: u64, sessions: u64) {
    let mut chance = Chance::new(seed);
    for _ in 0..sessions {
        let mut peer = Peer::connect(path, by_chance::terms(&mut chance));
        by_chance::attack(&mut peer, &mut chance, true);
    }
}

/// Serves `sessions` sessions at `path`, one client after the other.
pub(crate) fn ambush(path: &Path, seed: u64, sessions: u64) {
    let mut chance = Chance::new(seed);
    let listener = UnixListener::bind(path).expect("a new socket file");
    println!("listening on shm:{}", path.display());
    for _ in 0..sessions {
        let (socket, _) = listener.accept().expect("a client");
        let mut peer = Peer::server(socket.into(), by_chance::terms(&mut chance));
        by_chance::attack(&mut peer, &mut chance, false);
    }
}
