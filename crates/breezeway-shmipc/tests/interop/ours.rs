//! This crate in the same roles and with the same options as `bench/shmipc-go` and
//! `bench/shmipc-rs`.

mod call;
mod client;
mod hello;
mod serve;
mod settings;
#[cfg(feature = "tokio")]
mod tasks;

use std::error::Error;
use std::fmt::Display;
use std::io::Write;
use std::process::Command;

use settings::Settings;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Argument before a role.
const PLAY: &str = "play";

/// Runs this test binary once more, in the role of the arguments.
pub(crate) fn command() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test binary"));
    command.arg(PLAY);
    command
}

/// Plays the role that this process was started for and ends it. Does nothing in a test run.
pub(crate) fn play() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(PLAY) {
        return;
    }
    let role = arguments.next().expect("a role");
    let settings = Settings::parse(arguments);
    let outcome = match role.as_str() {
        "serve" => serve::run(&settings),
        "client" => client::run(&settings),
        "call" => call::run(&settings),
        #[cfg(feature = "tokio")]
        "serve-tasks" => tasks::serve(&settings),
        #[cfg(feature = "tokio")]
        "client-tasks" => tasks::call(&settings),
        "hello-server" => hello::serve(&settings),
        "hello-client" => hello::call(&settings),
        _ => Err(format!("no role {role}").into()),
    };
    if let Err(error) = &outcome {
        eprintln!("ours: {error}");
    }
    std::process::exit(i32::from(outcome.is_err()));
}

/// Prints a line to the test.
fn say(line: impl Display) {
    // One write, so that lines of several threads do not mix. Fails if the test has ended.
    let _ = std::io::stdout().lock().write_all(format!("{line}\n").as_bytes());
    let _ = std::io::stdout().lock().flush();
}

/// Returns the lines that the test sends.
fn commands() -> impl Iterator<Item = String> {
    std::io::stdin().lines().map_while(Result::ok)
}
