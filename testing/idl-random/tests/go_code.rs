//! Random messages of every struct of the corpus, and of random IDLs, through generated Go.

mod needs_go {
    use std::fmt::Write as _;
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use breezeway_idl::model::{Id, Schema};
    use breezeway_idl::{generate_go, read};
    use breezeway_idl_random::dice::Dice;
    use breezeway_idl_random::messages::Messages;
    use breezeway_idl_random::random_idl::RandomIdl;

    /// Its stream takes no struct, which Go refuses.
    const REFUSED: &str = "chat";
    const MODULE: &str = "example.com/corpus";

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
    }

    /// Names that are alike in Go, or keys of Go.
    const NAMES: &str = "
        include 'base.thrift'
        struct User {} struct NewUser {} enum Mode { A = 1, B = 1, C = 2 }
        struct ModeFromString {}
        service Users { User get(1: User user), base.Reply f(1: base.Request base) }
        struct UserView {} struct ViewUser {} struct NextUserView {}
        struct UsersClient {} struct NewUsersClient {} struct RegisterUsers {}
        exception Refused { 1: i32 code, 2: optional string why, 3: User user }
        const map<Mode, i32> MODES = { Mode.A: 1, Mode.B: 2, Mode.C: 3 }
        const map<list<Mode>, map<list<i32>, set<binary>>> LISTS = {}
        struct Wanted { 1: required i32 a = 5, 2: i32 b } struct Wants { 1: list<Wanted> all = [{}, {'b': 7}] }
        struct Maps { 1: map<list<list<i32>>, map<list<User>, list<list<binary>>>> maps }";

    /// The corpus and random IDLs, as one schema.
    fn schema(dir: &Path) -> Schema {
        let corpus = repository().join("crates/breezeway-idl/tests/corpus");
        let mut files: Vec<_> =
            fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.file_stem().unwrap() != REFUSED);
        for seed in 1..=8 {
            let path = dir.join(format!("random_{seed}.thrift"));
            fs::write(&path, RandomIdl::new(seed).to_string()).unwrap();
            files.push(path);
        }
        let names = dir.join("names.thrift");
        fs::write(dir.join("base.thrift"), "struct Request {} struct Reply {}").unwrap();
        fs::write(&names, NAMES).unwrap();
        files.push(names);
        files.sort();
        let mut schema = read(&files, &[]).unwrap();
        schema.views = true;
        schema
    }

    /// Writes a module with the generated packages and a program that passes messages through them:
    /// each line of its input is the index of a struct and a message.
    fn write_module(dir: &Path, schema: &Schema) -> Vec<Id> {
        let go = repository().join("go");
        let text = format!(
            "module {MODULE}\n\ngo 1.22\n\nrequire github.com/breezeway-ipc/breezeway/go v0.0.0\n\n\
             require golang.org/x/sys v0.30.0 // indirect\n\n\
             replace github.com/breezeway-ipc/breezeway/go => {}\n",
            go.display()
        );
        fs::write(dir.join("go.mod"), text).unwrap();
        fs::copy(go.join("go.sum"), dir.join("go.sum")).unwrap();
        let (mut imports, mut kinds, mut ids) = (String::new(), String::new(), Vec::new());
        for (number, file) in generate_go(schema, dir, MODULE).unwrap().into_iter().enumerate() {
            let path = dir.join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &file.text).unwrap();
            if file.structs.is_empty() {
                continue;
            }
            let package = file.path.parent().unwrap().display().to_string();
            writeln!(imports, "\tp{number} \"{MODULE}/{package}\"").unwrap();
            for (id, name) in file.structs {
                let (package, view) = (format!("p{number}"), view_of(&file.text, &name));
                writeln!(
                    kinds,
                    "\t{{func() thrift.Struct {{ return new({package}.{name}) }}, \
                     anyView({package}.{view})}},"
                )
                .unwrap();
                ids.push(id);
            }
        }
        let program = include_str!("go_code.go.txt");
        let program = program.replace("// IMPORTS\n", &imports).replace("// KINDS\n", &kinds);
        fs::create_dir(dir.join("pass")).unwrap();
        fs::write(dir.join("pass/main.go"), program).unwrap();
        let compare = fs::read_to_string(go.join("thrift/view_compare_test.go")).unwrap();
        let compare = compare.replace("package thrift_test", "package main");
        fs::write(dir.join("pass/compare.go"), compare).unwrap();
        ids
    }

    /// Returns the function that makes views of a struct, by its comment: its name depends on
    /// others in the IDL.
    fn view_of<'a>(text: &'a str, name: &str) -> &'a str {
        let end = format!(" validates all of message, which is a {name} and stays as it is");
        let line = text.lines().find_map(|line| line.strip_suffix(&end));
        line.and_then(|line| line.strip_prefix("// ")).unwrap()
    }

    fn go(dir: &Path, arguments: &[&str]) -> Command {
        let mut go = Command::new("go");
        go.args(arguments).current_dir(dir).stderr(Stdio::inherit());
        go
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    }

    /// Returns the length of a value, and its bytes with the pairs of maps in the order of their
    /// bytes: Go's maps have none.
    fn sorted(kind: u8, bytes: &[u8]) -> (usize, Vec<u8>) {
        let count = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let elements = |at: usize, count: usize, kinds: &[u8]| {
            let (mut at, mut all) = (at, Vec::new());
            for _ in 0..count {
                let mut element = Vec::new();
                for &kind in kinds {
                    let (length, bytes) = sorted(kind, &bytes[at..]);
                    at += length;
                    element.extend(bytes);
                }
                all.push(element);
            }
            (at, all)
        };
        let (end, rest) = match kind {
            2 | 3 => (1, vec![]),
            6 => (2, vec![]),
            8 => (4, vec![]),
            4 | 10 => (8, vec![]),
            16 => (16, vec![]),
            11 => (4 + count(0), vec![]),
            12 => {
                let (mut at, mut all) = (0, Vec::new());
                while bytes[at] != 0 {
                    let (length, value) = sorted(bytes[at], &bytes[at + 3..]);
                    all.extend(&bytes[at..at + 3]);
                    all.extend(value);
                    at += 3 + length;
                }
                all.push(0);
                return (at + 1, all);
            }
            13 => {
                let (end, mut all) = elements(6, count(2), &bytes[..2]);
                all.sort();
                return (end, [bytes[..6].to_vec(), all.concat()].concat());
            }
            _ => {
                let (end, all) = elements(5, count(1), &bytes[..1]);
                return (end, [bytes[..5].to_vec(), all.concat()].concat());
            }
        };
        (end, [bytes[..end].to_vec(), rest].concat())
    }

    #[test]
    #[ignore = "needs Go"]
    fn go_code_is_clean_and_passes_every_message_and_survives_mutants() {
        let dir = tempfile::tempdir().unwrap();
        let schema = schema(dir.path());
        let ids = write_module(dir.path(), &schema);
        let unformatted = Command::new("gofmt").args(["-l", "."]).current_dir(&dir).output();
        let unformatted = String::from_utf8(unformatted.unwrap().stdout).unwrap();
        assert_eq!(unformatted.replace("pass/main.go\n", ""), "");
        assert!(go(dir.path(), &["vet", "./..."]).status().unwrap().success());
        let mut messages = Messages { schema: &schema, dice: Dice(1), tame: false };
        let (mut input, mut expected) = (String::new(), Vec::new());
        for (index, &id) in ids.iter().enumerate() {
            if !messages.exists(id) {
                continue;
            }
            for depth in 0..8 {
                let message = messages.message(id, depth);
                writeln!(input, "{index} {}", hex(&message)).unwrap();
                let mut mutant = message.clone();
                let at = messages.dice.below(mutant.len());
                mutant[at] = messages.dice.roll().to_be_bytes()[0];
                writeln!(input, "{index} {}", hex(&mutant)).unwrap();
                expected.push((id, message));
            }
        }
        let file = dir.path().join("messages");
        fs::write(&file, input).unwrap();
        let mut pass = go(dir.path(), &["run", "./pass"]);
        let output = pass.stdin(File::open(file).unwrap()).output().unwrap();
        assert!(output.status.success());
        let output = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<_> = output.lines().collect();
        assert_eq!(lines.len(), 2 * expected.len());
        for ((id, message), lines) in expected.iter().zip(lines.chunks(2)) {
            let name = &schema.definition(*id).name;
            let bytes: Option<Vec<u8>> = (0..lines[0].len() / 2)
                .map(|at| u8::from_str_radix(lines[0].get(2 * at..2 * at + 2)?, 16).ok())
                .collect();
            let bytes =
                bytes.unwrap_or_else(|| panic!("{name}: {} for {}", lines[0], hex(message)));
            assert_eq!(hex(&sorted(12, &bytes).1), hex(&sorted(12, message).1), "{name}");
        }
    }
}
