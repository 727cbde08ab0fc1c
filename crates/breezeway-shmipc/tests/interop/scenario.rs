//! Scenarios that every client must pass with every server.

use breezeway_adversary::stopwatch::eventually;

use super::folder::Folder;
use super::process::Process;
use super::program::{Client, Program, Sharing};

/// A client, a server, and their mode of sharing memory.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    client: Program,
    pub(crate) server: Program,
    sharing: Sharing,
}

/// The default slices hold 8172, 32748 and 131052 bytes: each edge, chains of the largest, and
/// chains that need all of them.
const EDGES: &str =
    "1,2,8171,8172,8173,32747,32748,32749,131051,131052,131053,262104,262105,1048576,8388608,3";
/// With slices of 64 and 256 bytes a message is a chain of up to a thousand.
const LONG_CHAINS: &str = "1,63,64,65,255,256,257,512,513,40000,200000,7";
/// More than a region of 1 MiB holds goes over the socket, and later data of that stream too.
const TOO_LARGE: &str = "10,2000000,10,70000,3000000";
const MEBIBYTE: &str = "1048576";
const SLICES_OF_A_MEBIBYTE: &str = "8172:50,32748:50";
/// Upstream refuses new streams for half a minute after a fallback, unless this is set.
const NO_CIRCUIT_BREAKER: (&str, &str) = ("SHMIPC_DEBUG_MODE", "1");

impl Cell {
    pub(crate) const fn new(client: Program, server: Program, sharing: Sharing) -> Self {
        Self { client, server, sharing }
    }

    pub(crate) const fn programs(self) -> [Program; 2] {
        [self.client, self.server]
    }

    fn client(self, folder: &Folder) -> Client {
        self.client.client("client", &folder.socket(), &folder.prefix(), self.sharing)
    }

    /// Starts an echo server and a client of it.
    fn echo(self, configure: impl FnOnce(Client) -> Client) -> Session {
        let folder = Folder::new();
        let server = self.server.serve(&folder.socket(), &[]);
        let client = configure(self.client(&folder)).obey();
        Session { client, server, folder }
    }

    pub(crate) fn messages_of_every_size_come_back(self) {
        let mut session = self.echo(|client| client);
        session.exchange(EDGES, 1, 2);
        session.exchange("1,4096,131053", 3, 5);
    }

    pub(crate) fn chains_of_a_thousand_slices_come_back(self) {
        let configure =
            |client: Client| client.option("--buffer", MEBIBYTE).option("--slices", "64:50,256:50");
        let mut session = self.echo(configure);
        session.exchange(LONG_CHAINS, 1, 3);
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn slices_and_queues_of_odd_sizes(self) {
        // With 1025 the words of the second list are unaligned, but none crosses a cache line: a
        // locked access across lines traps on processors that detect bus locks, and shmipc-go then
        // needs more than 30 s on a busy machine.
        let configure = |client: Client| {
            let client = client.option("--buffer", MEBIBYTE).option("--slices", "1025:50,4075:50");
            client.option("--queue", "1001")
        };
        let mut session = self.echo(configure);
        session.exchange("1,1024,1025,1026,4075,4076,70000,5", 10, 20);
    }

    pub(crate) fn five_hundred_streams_at_once(self) {
        let mut session = self.echo(|client| client);
        session.exchange("1,1000,9000", 500, 3);
        assert_eq!(session.server.ask("streams"), "streams 500");
    }

    pub(crate) fn several_sessions_of_a_client_share_its_streams(self) {
        let mut session = self.echo(|client| client.option("--sessions", "3"));
        session.exchange("1,9000,140000", 150, 2);
    }

    pub(crate) fn more_streams_than_the_queue_has_places(self) {
        let mut session = self.echo(|client| client.option("--queue", "8"));
        session.exchange("64,2000", 100, 2);
    }

    pub(crate) fn what_exceeds_the_memory_goes_over_the_socket(self) {
        let mut session = self.echo(with_little_memory);
        session.exchange(TOO_LARGE, 1, 2);
        session.exchange("100,10000", 10, 3);
    }

    pub(crate) fn streams_that_compete_for_little_memory_get_everything(self) {
        let mut session = self.echo(with_little_memory);
        session.exchange("60000,100,200000", 40, 2);
    }

    pub(crate) fn a_client_that_closes_at_once_loses_nothing(self) {
        let folder = Folder::new();
        let server = self.server.serve(&folder.socket(), &["--role", "sink"]);
        let mut client = self.client(&folder).obey();
        for size in [1, 8173, 300_000, 8_000_000] {
            assert_eq!(client.ask(format!("send {size}")), format!("done {size}"));
            assert_eq!(server.hear(), format!("received {size} intact"));
        }
    }

    pub(crate) fn a_server_that_closes_first_loses_nothing_and_ends_the_stream(self) {
        for amount in ["1", "300000", "8000000"] {
            let folder = Folder::new();
            let role = ["--role", "source", "--amount", amount];
            let _server = self.server.serve(&folder.socket(), &role);
            let mut client = self.client(&folder).obey();
            assert_eq!(client.ask(format!("drain {amount}")), format!("done {amount}"));
            assert_eq!(client.ask(format!("drain {amount}")), format!("done {amount}"));
        }
    }

    pub(crate) fn a_client_connects_again_after_its_server_was_killed(self) {
        let mut session = self.echo(|client| client);
        session.exchange("64,100000", 3, 1);
        session.server.kill();
        let socket = session.folder.socket();
        session.server = self.server.serve(&socket, &[]);
        eventually("the client reaches the next server", || {
            session.client.ask("exchange 64,100000 3 2") == "done 600384"
        });
    }

    pub(crate) fn a_server_goes_on_after_a_client_was_killed(self) {
        let mut session = self.echo(|client| client);
        let mut killed = self.client(&session.folder).obey();
        killed.write_line("exchange 64,100000 20 1000000");
        eventually("its streams are busy", || session.streams() == 20);
        killed.kill();
        session.exchange("64,100000", 20, 2);
    }

    pub(crate) fn no_file_outlives_a_client_that_ends(self) {
        let mut session = self.echo(|client| client);
        session.exchange("64", 1, 1);
        session.client.tell_no_more();
        let folder = &session.folder;
        eventually("its files are removed", || folder.regions().is_empty());
    }
}

fn with_little_memory(client: Client) -> Client {
    let (name, value) = NO_CIRCUIT_BREAKER;
    let client = client.option("--buffer", MEBIBYTE).option("--slices", SLICES_OF_A_MEBIBYTE);
    client.environment(name, value)
}

/// A client that is connected to a server.
struct Session {
    client: Process,
    server: Process,
    folder: Folder,
}

impl Session {
    /// Sends every size in turn on each of `streams` concurrent streams, all of that `count` times.
    #[track_caller]
    fn exchange(&mut self, sizes: &str, streams: usize, count: usize) {
        let sum: usize = sizes.split(',').map(|size| size.parse::<usize>().expect("a size")).sum();
        let answer = self.client.ask(format!("exchange {sizes} {streams} {count}"));
        assert_eq!(answer, format!("done {}", sum * streams * count));
    }

    /// Returns the number of streams that the server has seen.
    fn streams(&mut self) -> usize {
        let answer = self.server.ask("streams");
        answer.strip_prefix("streams ").and_then(|count| count.parse().ok()).expect(&answer)
    }
}
