//! One hostile session against a server of any engine.

use std::path::{Path, PathBuf};

use breezeway_adversary::native::{Peer, Terms, by_chance};
use breezeway_adversary::recording::{Recording, record};
use breezeway_adversary::{Chance, Connection, shmipc};

use crate::engine::{Carrier, Engine};
use crate::sequences::Filling;
use crate::{Failure, client, sequences};

/// Target of attacks, with recordings of honest clients.
pub(crate) struct Target {
    engine: Engine,
    folder: PathBuf,
    port: u16,
    recordings: Vec<Recording>,
}

impl Target {
    /// The server of an engine that listens in the folder, and over TCP.
    pub(crate) fn new(engine: Engine, folder: &Path, tcp: &str) -> Result<Self, Failure> {
        let port = tcp.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(0);
        let recordings =
            if engine == Engine::Shmipc { Vec::new() } else { recordings(engine, folder)? };
        Ok(Self { engine, folder: folder.to_owned(), port, recordings })
    }

    /// Plays the session of this number, or its first steps.
    ///
    /// # Panics
    ///
    /// Panics if the server does something that no attack provokes.
    pub(crate) fn attack(&self, seed: u64, number: u64, most: u64) {
        let mut chance = Chance::new(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        let chance = &mut chance;
        let (memory, unix) = (self.folder.join("shm"), self.folder.join("unix"));
        let recording = |chance: &mut Chance| {
            &self.recordings[chance.below(self.recordings.len() as u64) as usize]
        };
        match chance.of(self.engine.carriers()) {
            Carrier::Memory => {
                let mut peer = in_memory(&memory, chance);
                match chance.below(16) {
                    0 => sequences::own_end_by_chance(&mut peer, chance),
                    1 => {
                        let other = in_memory(&memory, chance);
                        sequences::crossed_ends(&[peer, other]);
                    }
                    2 => {
                        // Terms by chance may allow fewer entries, or less memory.
                        let mut peer = Peer::connect(&memory, Terms::default());
                        let (filling, mut left) = (chance.of(&Filling::ALL), most);
                        filling.call(&mut peer, || {
                            left = left.saturating_sub(1);
                            left > 0
                        });
                    }
                    _ => by_chance::attack_for(&mut peer, chance, true, most),
                }
            }
            Carrier::Replayed => {
                let mut peer = in_memory(&memory, chance);
                let recording = recording(chance);
                recording.play_in_memory(&self.recordings, &mut peer, chance, most);
            }
            Carrier::Unix => {
                let mut peer = Connection::unix(&unix).expect("connect");
                recording(chance).play(&self.recordings, &mut peer, chance, most);
            }
            Carrier::Tcp => {
                let mut peer = Connection::tcp("127.0.0.1", self.port).expect("connect");
                recording(chance).play(&self.recordings, &mut peer, chance, most);
            }
            Carrier::Shmipc => {
                let mut peer = shmipc::Peer::connect(&unix);
                shmipc::by_chance::attack_for(&mut peer, chance, most);
            }
        }
    }
}

fn in_memory(path: &Path, chance: &mut Chance) -> Peer {
    let terms = by_chance::terms(chance);
    match chance.below(3) {
        0 => Peer::connect(path, terms),
        _ => Peer::connect_with_streams(path, terms, chance.of(&[1, 8, 64])),
    }
}

/// Records honest clients of the engine on a unix socket.
fn recordings(engine: Engine, folder: &Path) -> Result<Vec<Recording>, Failure> {
    let (at, to) = (folder.join("record"), folder.join("unix"));
    let mut outcome = Ok(());
    let recordings = record(&at, &to, || {
        outcome = (|| {
            for number in 0..4 {
                let mut client = client::connect(engine, &format!("unix:{}", at.display()))?;
                (0..=number).try_for_each(|round| client.round(10 * number + round))?;
            }
            Ok(())
        })();
    })?;
    outcome.map(|()| recordings)
}
