//! Conversations on a unix socket: bytes of a client and the answers of a server, which every
//! engine gives alike (`docs/vectors/README.md`).

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::socket;

/// Conversations with a server that echoes method 0.
const ECHO: &str = include_str!("../../../docs/vectors/conversations.txt");
/// Conversations with a server of [`HOLD`], [`RESET`] and [`DROP`] as well.
const SERVICE: &str = include_str!("../../../docs/vectors/service.txt");
/// Engines, conversations that they do not hold yet, and their own answers.
const PENDING: &str = include_str!("../../../docs/vectors/pending.txt");

/// The method of calls without a reply, and of streams without a reader and a message.
pub const HOLD: u32 = 9;
/// The method of streams that the server resets behind the first message.
pub const RESET: u32 = 10;
/// The application's error code in that reset.
pub const RESET_CODE: u16 = 7;
/// The method of streams that the server drops behind a message of 0 bytes, or the end.
pub const DROP: u32 = 11;
/// Streams that a client may have open.
pub const MAX_STREAMS: u16 = 2;
/// Messages and bytes of a stream's window.
pub const WINDOW: (u32, u64) = (4, 1000);
/// Bytes of the longest metadata block.
pub const MAX_METADATA: u16 = 64;

/// Time limit of an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time for which nothing may arrive if no answer is expected.
const SILENCE: Duration = Duration::from_millis(300);
/// Bytes in front of the body of a frame.
const FRAME: usize = 16;
/// The kind of window entries, which a server sends when it likes.
const WINDOW_KIND: u8 = 4;
/// Offset of `max_streams` in a hello.
const MAX_STREAMS_AT: usize = 56;

/// One conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    name: &'static str,
    lines: Vec<&'static str>,
}

/// Returns the conversations of all files.
pub fn conversations() -> Vec<Conversation> {
    let parts = [ECHO, SERVICE].map(|text| text.split("\nconversation ").skip(1));
    let all: Vec<_> = parts.into_iter().flatten().map(Conversation::parse).collect();
    for pending in pending() {
        let known = all.iter().find(|known| known.name == pending.name);
        known.unwrap_or_else(|| panic!("no conversation {pending:?}")).with(&pending);
    }
    all
}

/// An engine's answer in place of the one that a conversation has.
#[derive(Debug)]
struct Pending {
    engine: &'static str,
    name: &'static str,
    /// Number of the answer, from 1 on.
    number: usize,
    /// A line of a conversation, or `< nothing`.
    line: &'static str,
}

fn pending() -> impl Iterator<Item = Pending> {
    let lines = PENDING.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|text| {
        let mut parts = text.splitn(4, " : ");
        let mut part = || parts.next().unwrap_or_else(|| panic!("{text}: not four parts"));
        let (engine, name, number) = (part(), part(), part().parse().expect("a number"));
        Pending { engine, name, number, line: part() }
    })
}

impl Conversation {
    fn parse(text: &'static str) -> Self {
        let mut lines = text.lines().filter(|line| !line.is_empty());
        let name = lines.next().expect("a conversation has a name");
        Self { name, lines: lines.collect() }
    }

    /// Returns true if the client's hello takes streams.
    pub fn takes_streams(&self) -> bool {
        let sent = |line: &&'static str| line.starts_with('>').then(|| line.split_once(' '));
        let hello = self.lines.iter().find_map(sent).flatten().map(|(_, hex)| bytes_of(hex));
        let field = hello.as_ref().and_then(|hello| hello.get(MAX_STREAMS_AT..MAX_STREAMS_AT + 2));
        field.is_some_and(|field| field != [0, 0])
    }

    /// Plays the client against the server of an engine.
    ///
    /// # Errors
    ///
    /// The server answers in another way than written or, where the conversation is pending for
    /// this engine, than is written there.
    pub fn check(&self, engine: &str, path: &Path) -> Result<(), String> {
        let is_this = |pending: &Pending| (pending.engine, pending.name) == (engine, self.name);
        match pending().find(is_this) {
            None => self.play(path, &self.lines),
            Some(pending) => self
                .play(path, &self.with(&pending))
                .map_err(|found| format!("{found}; is it held, and not pending any more?")),
        }
        .map_err(|found| format!("{} ({engine}): {found}", self.name))
    }

    /// Returns the lines up to another answer.
    fn with(&self, pending: &Pending) -> Vec<&'static str> {
        let is_answer = |line: &&str| line.starts_with('<');
        let (at, line) = self
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| is_answer(line))
            .nth(pending.number - 1)
            .unwrap_or_else(|| panic!("{pending:?}: no such answer"));
        assert_ne!(*line, pending.line, "{pending:?}: it is the same answer");
        [&self.lines[..at], &[pending.line]].concat()
    }

    fn play(&self, path: &Path, lines: &[&str]) -> Result<(), String> {
        let mut socket = UnixStream::connect(path).expect("the server listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket has a timeout");
        for line in lines {
            self.play_line(&mut socket, line).map_err(|found| {
                let shown: String = line.chars().take(200).collect();
                format!("{shown}: {found}")
            })?;
        }
        Ok(())
    }

    fn play_line(&self, socket: &mut UnixStream, line: &str) -> Result<(), String> {
        match line.split_once(' ') {
            // A server that refuses at once may have closed; its answer can still be read.
            Some((">", hex)) => drop(socket.write_all(&bytes_of(hex))),
            Some((direction, hex)) if direction.starts_with('>') => {
                let count = direction[1..].parse().expect("a number of descriptors");
                let fd = File::open("/dev/null").expect("a descriptor");
                let _ = socket::send(&*socket, &bytes_of(hex), &vec![fd.as_fd(); count]);
            }
            Some(("<", "hello")) => expect(&status(socket)?, &0)?,
            Some(("<", "end")) => expect_end(socket)?,
            Some(("<", "nothing")) => expect_nothing(socket)?,
            Some(("<", answer)) => match answer.strip_prefix("refusal ") {
                Some(number) => expect(&status(socket)?, &number.parse().expect("a status"))?,
                None => expect(&frame(socket)?, &bytes_of(answer))?,
            },
            _ => panic!("{}: a line without a direction: {line}", self.name),
        }
        Ok(())
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty(), "half a byte in {hex}");
    let digits = |pair| std::str::from_utf8(pair).expect("hexadecimal digits");
    let byte = |pair| u8::from_str_radix(digits(pair), 16).expect("hexadecimal digits");
    pairs.iter().map(|pair| byte(pair)).collect()
}

fn expect<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("got {found:02x?}")) }
}

fn read(socket: &mut UnixStream, len: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; len];
    socket.read_exact(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Reads a hello, and returns its status.
fn status(socket: &mut UnixStream) -> Result<u32, String> {
    let hello = read(socket, 64)?;
    expect(&&hello[..8], &&b"BRZWHELO"[..])?;
    let len = usize::from(u16::from_le_bytes([hello[10], hello[11]]));
    read(socket, len - 64)?;
    Ok(u32::from_le_bytes([40, 41, 42, 43].map(|at| hello[at])))
}

/// Reads a frame that gives back no window.
fn frame(socket: &mut UnixStream) -> Result<Vec<u8>, String> {
    loop {
        let mut frame = read(socket, FRAME)?;
        let len = u32::from_le_bytes([0, 1, 2, 3].map(|at| frame[at]));
        frame.extend(read(socket, len as usize)?);
        if frame[4] != WINDOW_KIND {
            return Ok(frame);
        }
    }
}

/// Reads until the connection ends, and nothing but windows before that.
fn expect_end(socket: &mut UnixStream) -> Result<(), String> {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => return Err(error.to_string()),
        _ => {}
    }
    let mut frames = &rest[..];
    while frames.len() >= FRAME + 8 && frames[4] == WINDOW_KIND {
        frames = &frames[FRAME + 8..];
    }
    expect(&frames, &&[][..])
}

/// Waits for anything to come.
fn expect_nothing(socket: &mut UnixStream) -> Result<(), String> {
    socket.set_read_timeout(Some(SILENCE)).expect("a socket has a timeout");
    match socket.read(&mut [0]) {
        Ok(0) => Err("got the end".to_owned()),
        Ok(_) => Err("got an answer".to_owned()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
