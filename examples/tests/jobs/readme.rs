//! The commands of README.md, without cargo, and the code in the README of the project.

use crate::programs::{Server, output, program};

/// Returns the programs of a row of the table, with arguments that do not clash with other tests.
fn commands(row: &str, address: &str) -> Vec<(String, Vec<String>)> {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let parsed =
        row.split('`').filter_map(|code| code.strip_prefix("cargo run -p examples --bin "));
    parsed
        .map(|command| {
            let (name, arguments) = command.split_once(" -- ").unwrap_or((command, address));
            let arguments = arguments.replace("$(id -u)", &uid).replace(":9185", ":0");
            let arguments = arguments.replace("shm:/tmp/hello.sock", address);
            (name.to_owned(), arguments.split(' ').map(str::to_owned).collect())
        })
        .collect()
}

fn strings(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

#[test]
fn every_pair_of_the_table_runs() {
    let folder = tempfile::tempdir().unwrap();
    let rows = include_str!("../../README.md")
        .lines()
        .filter(|line| line.contains("-server`") || line.contains("-server -- "));
    let mut pairs = 0;
    for row in rows {
        let address = format!("shm:{}/{pairs}.sock", folder.path().display());
        let [(server, arguments), (client, to)] = &commands(row, &address)[..] else {
            panic!("{row} has no two commands");
        };
        pairs += 1;
        // The module `restart` runs it: its client waits for another server.
        if server == "restart-server" {
            assert!(program(client).exists());
            continue;
        }
        let _server = Server::start(server, &strings(arguments));
        assert!(!output(client, &strings(to)).is_empty(), "{row}");
    }
    assert!(pairs > 10, "{pairs}");
}

#[test]
fn table_names_every_program() {
    let page = include_str!("../../README.md");
    for line in include_str!("../../Cargo.toml").lines() {
        if let Some(path) = line.strip_prefix("path = ").filter(|path| path.contains('/')) {
            let name = path.trim_matches('"').replace(['/', '_'], "-").replace(".rs", "");
            assert!(page.contains(&format!("--bin {name}")), "{name} is not on the page");
        }
    }
}

#[test]
fn the_readme_shows_the_sync_programs_as_they_are() {
    const README: &str = include_str!("../../../README.md");
    for program in [include_str!("../../sync/server.rs"), include_str!("../../sync/client.rs")] {
        let code = &program[program.find("\nuse ").expect("a use line")..];
        assert!(README.contains(&format!("```rust{code}```")), "{code}");
    }
}
