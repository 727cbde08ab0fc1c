//! Kitex's program, on either side of ours.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::servers::Served;
use crate::table::Pairs;
use crate::{CLIENT_CPU, SERVER_CPU};

const ROUNDS: usize = 15;
const MILLIS: &str = "300";

/// A command that runs on one CPU only.
fn on(cpu: usize, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), program]).args(arguments);
    command
}

/// The median of a client's calls, in µs.
fn measured(mut client: Command) -> Result<f64> {
    let output = client.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

pub(crate) fn beside(kitex: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let place = |name: &str| format!("unix:{}", folder.path().join(name).display());
    let (theirs, ours) = (place("kitex"), place("ours"));
    let shm = format!("shm:{}", folder.path().join("shm").display());
    let _kitex = Served::run(on(SERVER_CPU, kitex, &["serve-echo", &theirs]))?;
    let _ours = Served::start("ours-blocking", &ours)?;
    let _shm = Served::start("ours", &shm)?;
    let program = std::env::current_exe()?.display().to_string();
    let own = |place: &str| measured(on(CLIENT_CPU, &program, &["call", place, MILLIS]));
    let kitexs = |place: &str| measured(on(CLIENT_CPU, kitex, &["bench-echo", place, MILLIS]));
    println!("{:<44} {:>10} {:>10}        ratio: median, quartiles", "", "ours", "Kitex's");
    let awaited = || measured(on(CLIENT_CPU, &program, &["call-awaited", shm.as_str(), MILLIS]));
    let [mut clients, mut servers, mut both, mut shared] = [(); 4].map(|()| Pairs::default());
    for _ in 0..ROUNDS {
        let bare = kitexs(&theirs)?;
        clients.add(own(&theirs)?, bare);
        servers.add(kitexs(&ours)?, bare);
        both.add(own(&ours)?, bare);
        shared.add(awaited()?, bare);
    }
    clients.print("our client, Kitex's, of Kitex's server", "µs p50");
    servers.print("our server, Kitex's, of Kitex's client", "µs p50");
    both.print("our client and server, Kitex's", "µs p50");
    shared.print("shm, awaited, Kitex's on unix", "µs p50");
    Ok(())
}
