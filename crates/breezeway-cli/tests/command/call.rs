//! `breezeway call` against servers of services, natively and in Kitex's framing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use breezeway::{ServerOptions, SessionOptions, Tls};
use breezeway_adversary::certificates::{Authority, Valid};
use breezeway_rpc::thrift::ExceptionKind;
use breezeway_rpc::{BusinessError, Context, Error, Replies, Requests, Server, ShmipcServer};
use breezeway_shmipc as shmipc;

use crate::support::{Folder, PATIENCE, Serve, breezeway};

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../breezeway-rpc/tests/golden/kinds.rs"));
use kinds::*;

const IDL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../breezeway-rpc/tests/idl/kinds.thrift");

/// A service that returns its arguments.
struct Mirror {
    hears: Mutex<Sender<String>>,
    /// Channel that wakes a sleeping handler by its end.
    morning: Mutex<Receiver<()>>,
}

fn refused(all: &All) -> Result<(), Refused> {
    match &*all.name {
        "refuse" => Err(Refused { reason: "not today".to_owned(), mood: Mood::BAD }),
        _ => Ok(()),
    }
}

impl Base for Mirror {
    fn who(&self, cx: &Context, name: String) -> Result<String, Error> {
        let value = |name| String::from_utf8_lossy(cx.metadata(name).unwrap_or(b"-")).into_owned();
        let deadline = if cx.deadline().is_some() { "in time" } else { "whenever" };
        Ok(format!("{name} {} {} {deadline}", value("user"), value("trace")))
    }
}

impl Kinds for Mirror {
    fn echo(&self, _: &Context, all: All) -> Result<All, KindsEchoError> {
        refused(&all)?;
        match &*all.name {
            "business" => Err(Error::from(BusinessError::new(410, "too late")).into()),
            "fail" => Err(Error::new(ExceptionKind(77), "no such coupon").into()),
            "panic" => panic!("the ceiling came down"),
            "sleep" => {
                let _ = self.morning.lock().unwrap().recv();
                Ok(all)
            }
            _ => Ok(all),
        }
    }

    fn greet(&self, _: &Context, name: String, times: i32) -> Result<String, Error> {
        Ok(format!("hello {name} {times}"))
    }

    fn nothing(&self, _: &Context) -> Result<(), Error> {
        Ok(())
    }

    fn hear(&self, _: &Context, text: String) {
        self.hears.lock().unwrap().send(text).unwrap();
    }

    fn listen(
        &self,
        _: &Context,
        all: All,
        mut replies: Replies<'_, All>,
    ) -> Result<(), KindsListenError> {
        for number in 0..all.middle.unwrap_or_default() {
            replies.send(&All { middle: Some(number), ..all.clone() })?;
        }
        Ok(refused(&all)?)
    }

    fn tell(&self, _: &Context, mut requests: Requests<'_, All>) -> Result<All, KindsTellError> {
        let mut told = All::default();
        while let Some(all) = requests.receive()? {
            refused(&all)?;
            told.name += &all.name;
        }
        Ok(told)
    }

    fn talk(
        &self,
        _: &Context,
        mut requests: Requests<'_, All>,
        mut replies: Replies<'_, All>,
    ) -> Result<(), KindsTalkError> {
        while let Some(all) = requests.receive()? {
            refused(&all)?;
            if all.name == "enough" {
                return Ok(());
            }
            replies.send(&all)?;
        }
        Ok(())
    }
}

type Stop = Box<dyn Fn() + Send + Sync>;

/// Serves at a `shmipc:` address.
fn in_streams(place: &str, service: KindsServer<Mirror>) -> (String, Stop, JoinHandle<()>) {
    let options = shmipc::ServerOptions::new(shmipc::Trust::SameUser);
    let server = shmipc::Server::bind(&place.parse().unwrap(), options).unwrap();
    let server = ShmipcServer::new(server).add_service(service).unwrap();
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.serve());
    (place.to_owned(), Box::new(move || stopper.stop()), serving)
}

/// A server in this process, which ends with it.
struct Served {
    address: String,
    heard: Receiver<String>,
    folder: Folder,
    /// Arguments that a client of it needs.
    arguments: Vec<String>,
    night: Option<Sender<()>>,
    stop: Stop,
    serving: Option<JoinHandle<()>>,
}

impl Served {
    fn new(carrier: &str) -> Self {
        let folder = Folder::new();
        let place = match carrier {
            "tcp" | "tls" => format!("{carrier}:127.0.0.1:0"),
            file => format!("{file}:{}", folder.socket().display()),
        };
        let (hears, heard) = channel();
        let (mut session, mut arguments) = (SessionOptions::new(), Vec::new());
        if carrier == "tls" {
            let authority = Authority::new(folder.path());
            let issued = authority.issue(&["127.0.0.1"], Valid::Now);
            session = session.tls(Tls::new().certificate(issued.chain, issued.key).unwrap());
            arguments = vec!["--roots".to_owned(), authority.root().display().to_string()];
        }
        let (night, morning) = channel();
        let mirror = Mirror { hears: Mutex::new(hears), morning: Mutex::new(morning) };
        let service = KindsServer(mirror);
        let (address, stop, serving) = match carrier {
            "shmipc" => in_streams(&place, service),
            _ => {
                let options = ServerOptions::new().session(session);
                let server = Server::bind_with(&place, options).unwrap();
                let server = server.with_thrift_clients().add_service(service).unwrap();
                let (address, stopper) = (server.address().to_string(), server.stopper());
                let serving = std::thread::spawn(move || server.serve().unwrap());
                (address, Box::new(move || stopper.stop()) as Stop, serving)
            }
        };
        let (night, serving) = (Some(night), Some(serving));
        Self { address, heard, folder, arguments, night, stop, serving }
    }

    /// Calls the served service.
    fn command(&self, rest: &[&str]) -> Command {
        let mut command = breezeway(&["call", &self.address, "--idl", IDL]);
        command.args(&self.arguments).args(rest);
        command
    }

    fn call(&self, rest: &[&str], input: &str) -> Output {
        output(self.command(rest), input)
    }

    #[track_caller]
    fn gives(&self, rest: &[&str], output: &str) {
        self.gives_to(rest, "", output);
    }

    #[track_caller]
    fn gives_to(&self, rest: &[&str], input: &str, output: &str) {
        let called = self.call(rest, input);
        assert_eq!(text(&called.stderr), "", "{called:?}");
        assert_eq!(text(&called.stdout), output, "{called:?}");
        assert_eq!(called.status.code(), Some(0), "{called:?}");
    }

    #[track_caller]
    fn fails(&self, rest: &[&str], status: i32, complaint: &str) {
        self.fails_of(rest, "", status, complaint);
    }

    #[track_caller]
    fn fails_of(&self, rest: &[&str], input: &str, status: i32, complaint: &str) {
        let called = self.call(rest, input);
        let stderr = text(&called.stderr);
        assert!(stderr.contains(complaint), "{called:?}");
        assert_eq!(stderr.lines().count(), 1, "{called:?}");
        assert_eq!(called.status.code(), Some(status), "{called:?}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.night = None;
        (self.stop)();
        self.serving.take().unwrap().join().unwrap();
    }
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

fn call(address: &str, rest: &[&str], input: &str) -> Output {
    output(breezeway(&[&["call", address, "--idl", IDL], rest].concat()), input)
}

fn output(mut command: Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // A command that needs no input may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Each way to a server: natively over every carrier that sessions have, and in Kitex's framing.
fn each_way(test: impl Fn(&Served, &[&str]) + Sync) {
    std::thread::scope(|scope| {
        for (carrier, framing) in [
            ("shm", "auto"),
            ("unix", "native"),
            ("tcp", "auto"),
            ("tls", "auto"),
            ("unix", "ttheader"),
            ("tcp", "ttheader"),
            ("tls", "ttheader"),
            ("shmipc", "auto"),
            ("shmipc", "ttheader"),
        ] {
            let test = &test;
            scope.spawn(move || test(&Served::new(carrier), &["--framing", framing]));
        }
    });
}

/// One of each kind, as it comes back: fields in the IDL's order.
const ALL: &str = concat!(
    r#"{"name":"é","yes":true,"tiny":-128,"small":32767,"middle":-1,"#,
    r#""large":-9223372036854775808,"fraction":1.5,"bytes":"/wA=","#,
    r#""id":"00010203-0405-0607-0809-0a0b0c0d0e0f","mood":"BAD","either":{"text":"or"},"#,
    r#""inner":[{"name":""},{"name":"b","inner":[]}],"numbers":[3],"#,
    r#""moods":{"now":["GOOD","BAD"]},"names":{"-7":"seven"},"odd":[[[1,2],true]]}"#,
);

#[test]
fn every_kind_of_type_comes_back_as_it_was_given() {
    each_way(|served, framing| {
        let given = format!(r#"{{"all":{ALL}}}"#);
        served.gives(&[framing, &["Kinds.echo", &given]].concat(), &format!("{ALL}\n"));
    });
}

#[test]
fn values_may_be_given_in_other_words() {
    let served = Served::new("shm");
    let given = concat!(
        r#"{"all":{"name":"a","large":"9007199254740993","fraction":"NaN","mood":2,"#,
        r#""id":"000102030405060708090A0B0C0D0E0F","names":[[5,"five"]],"tiny":null}}"#,
    );
    let expected = concat!(
        r#"{"name":"a","large":9007199254740993,"fraction":"NaN","#,
        r#""id":"00010203-0405-0607-0809-0a0b0c0d0e0f","mood":"BAD","names":{"5":"five"}}"#,
        "\n",
    );
    served.gives(&["Kinds.echo", given], expected);
    served.gives(
        &["kinds.Kinds/echo", r#"{"all":{"name":"a","mood":9}}"#],
        "{\"name\":\"a\",\"mood\":9}\n",
    );
}

#[test]
fn calls_of_every_form_print_their_results() {
    each_way(|served, framing| {
        let gives = |rest: &[&str], output| served.gives(&[framing, rest].concat(), output);
        gives(&["Kinds.greet", r#"{"name":"Ada","times":3}"#], "\"hello Ada 3\"\n");
        gives(&["Kinds.greet", r#"{"name":"Ada"}"#], "\"hello Ada 2\"\n");
        gives(&["Kinds.nothing"], "null\n");
        gives(&["Kinds.who", r#"{"name":"Ada"}"#], "\"Ada - - whenever\"\n");
        gives(&["Kinds.hear", r#"{"text":"psst"}"#], "");
        assert_eq!(served.heard.recv_timeout(PATIENCE).unwrap(), "psst");
        let told = [framing, &["Kinds.greet", "-"]].concat();
        served.gives_to(&told, "{\"name\":\n\"Bob\"}\n", "\"hello Bob 2\"\n");
    });
}

#[test]
fn metadata_and_the_deadline_reach_the_handler() {
    each_way(|served, framing| {
        let options = ["--metadata", "user=ada", "--metadata", "trace=a=b", "--timeout", "60s"];
        let rest = ["Kinds.who", r#"{"name":"Ada"}"#];
        served.gives(&[framing, &options, &rest].concat(), "\"Ada ada a=b in time\"\n");
    });
}

#[test]
fn other_framings_of_thrift_are_spoken() {
    for (carrier, framing) in
        [("unix", "framed"), ("unix", "unframed"), ("shmipc", "framed"), ("shmipc", "unframed")]
    {
        let served = Served::new(carrier);
        let greet = ["--framing", framing, "Kinds.greet", r#"{"name":"Ada"}"#];
        served.gives(&greet, "\"hello Ada 2\"\n");
        let with = ["--metadata", "a=b", "--framing", framing, "Kinds.nothing"];
        served.fails(&with, 1, "carries no metadata");
    }
}

#[test]
fn a_shmipc_address_has_no_sessions_and_needs_a_server() {
    let served = Served::new("shmipc");
    served.fails(&["--framing", "native", "Kinds.nothing"], 1, "take ttheader, framed or unframed");
    let nobody = format!("shmipc:{}-not", served.folder.socket().display());
    let called = call(&nobody, &["Kinds.nothing"], "");
    assert!(text(&called.stderr).contains("cannot connect to shmipc:"), "{called:?}");
    assert_eq!(called.status.code(), Some(1), "{called:?}");
    let wrong = call("shmipc:", &["Kinds.nothing"], "");
    assert!(text(&wrong.stderr).contains("not a shmipc address"), "{wrong:?}");
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}

#[test]
fn streams_are_lines_of_json_in_and_out() {
    each_way(|served, framing| {
        let gives_to = |rest: &[&str], input, output| {
            served.gives_to(&[framing, rest].concat(), input, output);
        };
        let three = "{\"name\":\"n\",\"middle\":0}\n{\"name\":\"n\",\"middle\":1}\n";
        gives_to(&["Kinds.listen", r#"{"name":"n","middle":2}"#], "", three);
        gives_to(&["Kinds.listen", "-"], r#"{"name":"n","middle":2}"#, three);
        gives_to(&["Kinds.listen", r#"{"name":"n","middle":0}"#], "", "");
        let two = "{\"name\":\"a\"}\n{\"name\":\"b\"}\n";
        gives_to(&["Kinds.tell"], two, "{\"name\":\"ab\"}\n");
        gives_to(&["Kinds.tell", two], "", "{\"name\":\"ab\"}\n");
        gives_to(&["Kinds.tell"], "", "{\"name\":\"\"}\n");
        gives_to(&["Kinds.talk"], two, two);
        gives_to(&["Kinds.talk"], "", "");
    });
}

#[test]
fn stream_runs_both_ways_at_once_and_ends_with_the_server() {
    each_way(|served, framing| {
        let mut command = served.command(&[&["Kinds.talk"], framing].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        for number in 0..10 {
            let line = format!("{{\"name\":\"{number}\"}}");
            writeln!(input, "{line}").unwrap();
            assert_eq!(output.next().unwrap().unwrap(), line);
        }
        // Its input stays open.
        writeln!(input, "{{\"name\":\"enough\"}}").unwrap();
        assert!(output.next().is_none());
        assert_eq!(child.wait().unwrap().code(), Some(0));
    });
}

#[test]
fn declared_exception_prints_name_and_fields_with_status_3() {
    each_way(|served, framing| {
        let thrown = r#"threw Refused: {"reason":"not today","mood":"BAD"}"#;
        let echo = [framing, &["Kinds.echo", r#"{"all":{"name":"refuse"}}"#]].concat();
        served.fails(&echo, 3, &format!("Kinds.echo {thrown}"));
    });
    // In Kitex's framing exceptions of streams are words.
    let served = Served::new("shm");
    for (method, input) in [("tell", ""), ("talk", ""), ("listen", "-")] {
        let rest = [&format!("Kinds.{method}"), input];
        let rest = &rest[..if input.is_empty() { 1 } else { 2 }];
        let complaint = r#"threw Refused: {"reason":"not today","mood":"BAD"}"#;
        served.fails_of(rest, r#"{"name":"refuse"}"#, 3, complaint);
    }
}

#[test]
fn a_business_error_has_status_3_and_other_failures_have_4() {
    each_way(|served, framing| {
        let fails = |name: &str, status, complaint| {
            let echo = format!(r#"{{"all":{{"name":"{name}"}}}}"#);
            served.fails(&[framing, &["Kinds.echo", &echo]].concat(), status, complaint);
        };
        fails("business", 3, "Kinds.echo refuses: too late (status 410)");
        fails("fail", 4, "Kinds.echo failed: no such coupon");
        fails("panic", 4, "Kinds.echo failed: ");
        let late = ["--timeout", "500ms", "Kinds.echo", r#"{"all":{"name":"sleep"}}"#];
        served.fails(&[framing, &late].concat(), 4, "deadline passed");
        let late = ["--timeout", "500ms", "Kinds.talk"];
        let mut command = served.command(&[framing, &late].concat());
        // Its input stays open.
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(4));
        drop(input);
    });
}

#[test]
fn json_unlike_the_idl_is_refused_with_field_and_type() {
    let served = Served::new("shm");
    for (given, complaint) in [
        ("{", "the arguments are not JSON: EOF while parsing"),
        ("{} {}", "the arguments are not JSON: trailing characters"),
        ("[]", "the JSON: expected the arguments, found []"),
        (r#"{"al":{}}"#, "unknown field 'al' of the arguments; there are: all"),
        (r#"{"all":{}}"#, "all: All needs field 'name'"),
        (r#"{"all":{"name":null}}"#, "all: All needs field 'name'"),
        (r#"{"all":{"name":7}}"#, "all.name: expected string, found 7"),
        (
            r#"{"all":{"name":"","nam":1}}"#,
            "all: unknown field 'nam' of All; there are: name, yes,",
        ),
        (r#"{"all":{"name":"","yes":1}}"#, "all.yes: expected bool, found 1"),
        (r#"{"all":{"name":"","tiny":128}}"#, "all.tiny: expected i8, found 128"),
        (r#"{"all":{"name":"","middle":1.5}}"#, "all.middle: expected i32, found 1.5"),
        (r#"{"all":{"name":"","large":9223372036854775808}}"#, "all.large: expected i64"),
        (r#"{"all":{"name":"","fraction":"x"}}"#, "all.fraction: expected double, found \"x\""),
        (r#"{"all":{"name":"","bytes":"?"}}"#, "all.bytes: expected binary (in base64)"),
        (r#"{"all":{"name":"","id":"12"}}"#, "all.id: expected uuid, found \"12\""),
        (r#"{"all":{"name":"","mood":"UGLY"}}"#, "all.mood: expected Mood (GOOD, BAD), found"),
        (r#"{"all":{"name":"","either":{}}}"#, "expected one field of union Either, found 0"),
        (
            r#"{"all":{"name":"","either":{"number":1,"text":""}}}"#,
            "expected one field of union Either, found 2",
        ),
        (r#"{"all":{"name":"","numbers":{}}}"#, "all.numbers: expected set<i32>, found {}"),
        (r#"{"all":{"name":"","numbers":[1,"x"]}}"#, "all.numbers[1]: expected i32, found \"x\""),
        (
            r#"{"all":{"name":"","inner":[{"name":"","inner":[{"name":1}]}]}}"#,
            "all.inner[0].inner[0].name: expected string, found 1",
        ),
        (
            r#"{"all":{"name":"","moods":{"now":["GOOD",[]]}}}"#,
            "all.moods[\"now\"][1]: expected Mood",
        ),
        (
            r#"{"all":{"name":"","moods":7}}"#,
            "all.moods: expected map<string, list<Mood>>, found 7",
        ),
        (r#"{"all":{"name":"","names":{"x":""}}}"#, "all.names[\"x\"]: expected i32, found \"x\""),
        (r#"{"all":{"name":"","odd":[[1]]}}"#, "all.odd: expected map<list<i32>, bool>, found"),
    ] {
        served.fails(&["Kinds.echo", given], 1, complaint);
    }
    let deep = "[".repeat(10_000);
    served.fails(&["Kinds.echo", &deep], 1, "recursion limit exceeded");
}

#[test]
fn a_message_of_a_stream_that_is_wrong_ends_the_stream() {
    each_way(|served, framing| {
        let fails = |rest: &[&str], input, complaint| {
            served.fails_of(&[framing, rest].concat(), input, 1, complaint);
        };
        fails(
            &["Kinds.talk"],
            "{\"name\":\"a\"}\n{\"name\":1}\n",
            "message 2: name: expected string",
        );
        fails(&["Kinds.talk"], "{\"name\":\"a\"}\n{", "a message is not JSON: EOF");
        fails(&["Kinds.tell", r#"{"name":1}"#], "", "name: expected string, found 1");
        fails(&["Kinds.listen"], "", "All needs field 'name'");
        let two = r#"{"name":"a"} {"name":"b"}"#;
        fails(&["Kinds.listen", two], "", "Kinds.listen takes one message");
        fails(&["Kinds.listen", "-"], two, "Kinds.listen takes one message");
        fails(&["Kinds.listen", "-"], "", "Kinds.listen takes one message");
    });
}

#[test]
fn missing_methods_and_services_are_refused_with_existing_ones() {
    let served = Served::new("shm");
    served.fails(&["echo"], 1, "'echo' is not a method: name it as Service.method");
    served.fails(&["Nobody.echo"], 1, "the IDL has no service 'Nobody': it has Base, Kinds");
    let methods = "service Kinds has no method 'eco': it has echo, greet, nothing, hear, listen, \
                   tell, talk, who";
    served.fails(&["Kinds.eco"], 1, methods);
    served.fails(&["Base.echo"], 1, "service Base has no method 'echo': it has who");
    // The server itself has no such service.
    served.fails(&["Base.who", "{}"], 4, "Base.who failed: ");
    served.fails(&["--framing", "ttheader", "Base.who", "{}"], 4, "(served here: Kinds)");
}

#[test]
fn addresses_without_server_and_bad_command_lines_are_refused() {
    let folder = Folder::new();
    let nobody = format!("unix:{}", folder.socket().display());
    for framing in ["auto", "native", "ttheader", "framed"] {
        let called = call(&nobody, &["--framing", framing, "Kinds.nothing"], "");
        assert_eq!(called.status.code(), Some(1), "{called:?}");
        assert!(text(&called.stderr).contains(&folder.socket().display().to_string()));
    }
    for (rest, complaint) in [
        (&["--metadata", "x", "Kinds.nothing"][..], "a name and a value, such as user=ada"),
        (&["--metadata", "=x", "Kinds.nothing"], "a name and a value, such as user=ada"),
        (&["--timeout", "0s", "Kinds.nothing"], "no time at all"),
        (&["--timeout", "soon", "Kinds.nothing"], "expected number"),
        (&["--framing", "http", "Kinds.nothing"], "ttheader"),
        (&[], "SERVICE.METHOD"),
    ] {
        let called = call(&nobody, rest, "");
        assert_eq!(called.status.code(), Some(2), "{called:?}");
        assert!(text(&called.stderr).contains(complaint), "{called:?}");
    }
    let called = breezeway(&["call", &nobody, "--idl", "nowhere.thrift", "A.b"]).output().unwrap();
    assert_eq!(called.status.code(), Some(1), "{called:?}");
    assert!(text(&called.stderr).contains("nowhere.thrift"), "{called:?}");
}

/// A place where each connection is given to `serve`, on a thread of its own.
fn listening(folder: &Folder, serve: impl Fn(UnixStream) + Clone + Send + 'static) -> String {
    let path = folder.path().join("other.sock");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream.unwrap()));
        }
    });
    format!("unix:{}", path.display())
}

#[test]
fn thrift_only_server_is_called_in_ttheader_without_an_option() {
    let served = Served::new("unix");
    let path = served.folder.socket();
    let place = listening(&served.folder, move |mut client| {
        let mut begin = [0; 8];
        client.read_exact(&mut begin).unwrap();
        if begin.starts_with(b"BRZW") {
            return;
        }
        let mut server = UnixStream::connect(&path).unwrap();
        server.write_all(&begin).unwrap();
        let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        let _ = std::io::copy(&mut client, &mut server);
        let _ = server.shutdown(Shutdown::Write);
    });
    let called = call(&place, &["Kinds.greet", r#"{"name":"Ada"}"#], "");
    assert_eq!(text(&called.stdout), "\"hello Ada 2\"\n", "{called:?}");
    let called = call(&place, &["Kinds.talk"], r#"{"name":"a"}"#);
    assert_eq!(text(&called.stdout), "{\"name\":\"a\"}\n", "{called:?}");
    let called = call(&place, &["--framing", "native", "Kinds.nothing"], "");
    assert!(text(&called.stderr).contains("may not speak Breezeway"), "{called:?}");
}

#[test]
fn server_of_neither_protocol_is_named() {
    let folder = Folder::new();
    let place = listening(&folder, |mut client| {
        let _ = client.read(&mut [0; 8]);
        let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let called = call(&place, &["Kinds.nothing"], "");
    let complaint = text(&called.stderr);
    assert!(complaint.contains("in TTHeader") && complaint.contains("natively"), "{called:?}");
    assert_eq!(called.status.code(), Some(1), "{called:?}");
}

#[test]
fn server_without_the_method_is_named_with_remedy() {
    let numbers = Serve::start(&[]);
    let address = numbers.folder.address().to_string();
    for (method, arguments) in [("Kinds.nothing", "{}"), ("Kinds.listen", r#"{"name":"n"}"#)] {
        let called = call(&address, &[method, arguments], "");
        let expected = format!(
            "breezeway: {method} failed: the server has no such method, or does not serve Thrift; \
             check the address, and --idl\n"
        );
        assert_eq!(text(&called.stderr), expected);
        assert_eq!(called.status.code(), Some(4));
    }
}

#[test]
fn unknown_service_fails_with_names_of_served_ones() {
    each_way(|served, way| {
        let other = served.folder.path().join("other.thrift");
        let idl = "struct Line { 1: string text }\nservice Other { void nothing() \
            Line talk(1: Line line) (streaming.mode = \"bidirectional\") }";
        std::fs::write(&other, idl).unwrap();
        for method in ["Other.nothing", "Other.talk"] {
            let other = other.display().to_string();
            let mut command = breezeway(&["call", &served.address, "--idl", &other]);
            command.args(&served.arguments).args(way).arg(method);
            let called = output(command, "");
            assert!(text(&called.stderr).contains("(served here: Kinds)"), "{called:?}");
            assert_eq!(called.status.code(), Some(4), "{called:?}");
        }
    });
}

#[test]
fn reply_unlike_the_idl_is_refused_with_its_field() {
    // An IDL in which echo returns other types.
    let served = Served::new("shm");
    let other = served.folder.path().join("other.thrift");
    for (all, complaint) in [
        ("struct All { 1: i32 name }", "field 'name' is string, not i32"),
        ("struct All { 1: string name, 13: list<string> numbers }", "field 'numbers' is"),
        ("struct All { 1: string name, 8: string bytes }", "field 'bytes' is not UTF-8"),
        ("struct All { 1: string name, 12: list<i32> inner }", "field 'inner' is struct, not i32"),
    ] {
        let idl = format!(
            "{all}\nstruct Asked {{ 1: string name, 8: binary bytes, 12: list<Inner> inner, \
             13: set<i32> numbers }}\nstruct Inner {{ 1: string name }}\n\
             service Kinds {{ All echo(1: Asked all) }}\n"
        );
        std::fs::write(&other, idl).unwrap();
        let given = r#"{"all":{"name":"a","bytes":"/w==","inner":[{"name":"b"}],"numbers":[1]}}"#;
        let address = served.address.clone();
        let other = other.display().to_string();
        let called =
            breezeway(&["call", &address, "--idl", &other, "Kinds.echo", given]).output().unwrap();
        assert!(text(&called.stderr).contains(complaint), "{called:?}");
        assert_eq!(called.status.code(), Some(1), "{called:?}");
    }
    // Fields that are not in its IDL are left out.
    std::fs::write(&other, "struct All { 1: string name }\nservice Kinds { All echo(1: All all) }")
        .unwrap();
    let address = served.address.clone();
    let rest = ["Kinds.echo", r#"{"all":{"name":"a"}}"#];
    let other = other.display().to_string();
    let called =
        breezeway(&[&["call", &address, "--idl", &other], &rest[..]].concat()).output().unwrap();
    assert_eq!(text(&called.stdout), "{\"name\":\"a\"}\n", "{called:?}");
}
