//! Settings from flags, the environment and a file, as the command takes them.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Folder, Running, breezeway, refused, refused_command, run};
use breezeway::{ExclusiveSession, SessionOptions};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/breezeway.toml");
/// A value that exceeds that of any test.
const LARGE: u64 = 1 << 30;

/// A server to be started with flags, a file and an environment.
struct Setting {
    folder: Folder,
    command: Command,
}

impl Setting {
    fn new(flags: &[&str]) -> Self {
        let folder = Folder::new();
        let address = folder.address().to_string();
        let mut command = breezeway(&["serve", "--addr", &address]);
        command.args(flags);
        Self { folder, command }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    fn path(&self) -> PathBuf {
        self.folder.socket().with_file_name("breezeway.toml")
    }

    /// With a file that the environment names.
    fn file(self, text: &str) -> Self {
        let path = self.path();
        std::fs::write(&path, text).unwrap();
        self.env("BREEZEWAY_CONFIG", path.to_str().unwrap())
    }

    /// The cap of a session with this server.
    fn cap(self) -> usize {
        let running = Running::start(self.command);
        running.line();
        let options = SessionOptions::new().cap(LARGE);
        ExclusiveSession::connect_with(self.folder.address(), &options).unwrap().cap()
    }

    fn refused(self, words: &[&str]) {
        refused_command(self.command, words);
        assert!(!self.folder.socket().exists());
    }
}

#[test]
fn flag_beats_environment_beats_file_beats_default() {
    const FILE: &str = "[session]\ncap = \"1MiB\"";
    assert_eq!(Setting::new(&[]).cap(), 64 << 20);
    assert_eq!(Setting::new(&[]).file(FILE).cap(), 1 << 20);
    assert_eq!(Setting::new(&[]).file(FILE).env("BREEZEWAY_CAP", "2MiB").cap(), 2 << 20);
    let setting = Setting::new(&["--cap", "4MiB"]).file(FILE).env("BREEZEWAY_CAP", "2MiB");
    assert_eq!(setting.cap(), 4 << 20);
    assert_eq!(Setting::new(&["--cap", "8388608"]).file(FILE).cap(), 8 << 20);
    assert_eq!(Setting::new(&[]).env("BREEZEWAY_CAP", "2097152").cap(), 2 << 20);
}

#[test]
fn a_flag_names_the_file_before_the_environment_does() {
    let setting = Setting::new(&[]).file("[session]\ncap = \"1MiB\"");
    let other = setting.path().with_extension("other");
    std::fs::write(&other, "[session]\ncap = \"3MiB\"").unwrap();
    let mut setting = setting;
    setting.command.args(["--config", other.to_str().unwrap()]);
    assert_eq!(setting.cap(), 3 << 20);
}

#[test]
fn the_sample_file_changes_nothing() {
    assert_eq!(Setting::new(&["--config", SAMPLE]).cap(), 64 << 20);
}

#[test]
fn bad_file_is_refused_with_its_name_key_value_and_range() {
    for (text, words) in [
        ("[session]\ncap = 0", &["session.cap = 0", "1 byte to 1 TiB"][..]),
        ("[session]\nwait = \"never\"", &["session.wait = \"never\"", "busy, adaptive or park"]),
        ("[server]\nworkers = 5000", &["server.workers = 5000", "1..=1024"]),
        ("[session]\nspeed = 9", &["session.speed = 9", "not known", "wait, spin_bound, cap"]),
        ("[sesion]\ncap = 1", &["[sesion] is not known", "[session] and [server]"]),
        ("[session]\ncap = 64MiB", &["line 2"]),
    ] {
        Setting::new(&[]).file(text).refused(&[words, &["breezeway.toml: "]].concat());
    }
    let absent = Folder::new().socket().with_extension("toml");
    let absent = absent.to_str().unwrap();
    Setting::new(&["--config", absent]).refused(&[absent, "No such file"]);
}

#[test]
fn bad_environment_is_refused_with_variable_and_range() {
    for (name, value, flag, range) in [
        ("BREEZEWAY_WAIT", "never", "--wait", "busy, adaptive, park"),
        ("BREEZEWAY_SPIN_BOUND", "2s", "--spin-bound", "0 s to 1 s"),
        ("BREEZEWAY_CAP", "0", "--cap", "1 byte to 1 TiB"),
        ("BREEZEWAY_PREFAULT", "2TiB", "--prefault", "0 bytes to 1 TiB"),
        ("BREEZEWAY_SHRINK_AFTER", "2h", "--shrink-after", "0 s to 1 h"),
        ("BREEZEWAY_RING_CAPACITY", "9", "--ring-capacity", "a power of two in 8..=65536"),
        ("BREEZEWAY_HANDSHAKE_TIMEOUT", "0s", "--handshake-timeout", "1 ns to 1 h"),
        ("BREEZEWAY_CALL_TIMEOUT", "0s", "--call-timeout", "at least 1 ns, or none"),
        ("BREEZEWAY_WORKERS", "0", "--workers", "1..=1024"),
        ("BREEZEWAY_MAX_SESSIONS", "0", "--max-sessions", "1..=1000000"),
        ("BREEZEWAY_MAX_MEMORY", "0", "--max-memory", "1 byte to 2^63 bytes"),
        ("BREEZEWAY_MAX_MEMORY_OF_USER", "0", "--max-memory-of-user", "1 byte to 2^63 bytes"),
        ("BREEZEWAY_MAX_CALLS_IN_FLIGHT", "0", "--max-calls-in-flight", "in 1..=16777216"),
        ("BREEZEWAY_SOCKET_MODE", "1000", "--socket-mode", "in 0o000..=0o777"),
    ] {
        let words = [value, flag, range, "from the environment", name];
        Setting::new(&[]).env(name, value).refused(&words);
        // A bad flag of the same value is not blamed on the environment.
        let output = Setting::new(&[flag, value]).command.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(range) && text.contains(flag), "{text}");
        assert!(!text.contains("environment"), "{text}");
        // The environment has no effect then, either.
        let output = Setting::new(&[&format!("{flag}={value}")]).env(name, "?").command.output();
        let text = String::from_utf8(output.unwrap().stderr).unwrap();
        assert!(text.contains(range) && !text.contains("environment"), "{text}");
    }
}

#[test]
fn help_documents_every_setting_with_default_and_variable() {
    let text = |command| String::from_utf8(run(&[command, "--help"]).stdout).unwrap();
    let unwrapped = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (serve, bench) = (unwrapped(text("serve")), unwrapped(text("bench")));
    let sample = std::fs::read_to_string(SAMPLE).unwrap();
    let (session, server) = sample.split_once("[server]").unwrap();
    let keys = |part: &str| -> Vec<(String, String)> {
        let lines = part.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| line.split_once(" = "));
        pairs.map(|(key, value)| (key.to_owned(), value.trim_matches('"').to_owned())).collect()
    };
    let both = [(&serve, keys(session)), (&bench, keys(session)), (&serve, keys(server))];
    for (help, keys) in both {
        assert!(keys.len() >= 3);
        for (key, default) in keys {
            let flag = format!("--{}", key.replace('_', "-"));
            let variable = format!("[env: BREEZEWAY_{}", key.to_uppercase());
            let default = default.replace("0o600", "0600");
            let (_, rest) =
                help.split_once(&format!("{flag} <")).unwrap_or_else(|| panic!("{flag}"));
            let rest = rest.split("[env:").next().unwrap();
            assert!(rest.contains(&format!("[default: {default}]")), "{flag}: {rest}");
            assert!(help.contains(&variable), "{flag}: {rest}");
        }
        assert!(help.contains("--config <FILE>") && help.contains("[env: BREEZEWAY_CONFIG"));
    }
}

#[test]
fn bench_takes_its_side_of_a_session_from_the_same_file() {
    let folder = Folder::new();
    let path = folder.socket().with_file_name("breezeway.toml");
    std::fs::write(&path, "[session]\ncap = \"8KiB\"\n").unwrap();
    let serve = crate::support::Serve::start(&[]);
    let address = serve.folder.address().to_string();
    let path = path.to_str().unwrap();
    let common = ["bench", "--addr", &address, "--config", path, "--count", "1"];
    refused(&[&common[..], &["--size", "8193"]].concat(), &["--size 8193", "cap of 8192"]);
    let output = run(&[&common[..], &["--size", "8193", "--cap", "12KiB"]].concat());
    assert!(output.status.success(), "{output:?}");
}
