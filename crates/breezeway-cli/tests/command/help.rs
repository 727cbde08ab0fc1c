//! What the command says of itself.

use crate::support::{refused, run};

#[test]
fn help_of_every_subcommand_has_examples() {
    for command in ["serve", "bench", "floor", "doctor"] {
        for help in ["--help", "-h"] {
            let output = run(&[command, help]);
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains("Examples:"), "{text}");
            assert!(text.contains(&format!("breezeway {command}")), "{text}");
        }
    }
}

#[test]
fn help_says_what_each_option_of_the_contract_does() {
    for (command, options) in [
        ("serve", &["--addr", "--wait", "--cpu", "--workers", "--cap"][..]),
        (
            "bench",
            &[
                "--addr",
                "--pattern",
                "--size",
                "--count",
                "--seconds",
                "--rate",
                "--depth",
                "--batch",
                "--sessions",
                "--wait",
                "--touch",
                "--cpu",
                "--cap",
                "--json",
            ],
        ),
    ] {
        let text = String::from_utf8(run(&[command, "--help"]).stdout).unwrap();
        for option in options {
            assert!(text.contains(option), "{command} {option}");
        }
        assert!(text.contains("NUMA"), "--cpu binds memory as well: {text}");
    }
}

#[test]
fn the_command_without_a_subcommand_lists_them() {
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    for command in ["serve", "bench", "floor", "doctor"] {
        assert!(text.contains(command), "{text}");
    }
    refused(&["server"], &["server", "--help"]);
    let output = run(&["--version"]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("breezeway "));
}
