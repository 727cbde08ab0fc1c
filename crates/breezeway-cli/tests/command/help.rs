//! The command's help, version and usage errors.

use crate::support::{PROMPT, Running, breezeway, refused, run};

#[test]
fn help_of_every_subcommand_has_examples() {
    for command in ["serve", "bench", "floor", "doctor", "inspect", "dump", "call"] {
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
fn help_lists_every_option_of_the_contract() {
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
    for command in ["serve", "bench", "floor", "doctor", "inspect", "dump", "call"] {
        assert!(text.contains(command), "{text}");
    }
    refused(&["server"], &["server", "--help"]);
    let output = run(&["--version"]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("breezeway "));
}

#[test]
fn page_lists_every_command() {
    const PAGE: &str = include_str!("../../../../docs/cli.md");
    let text = String::from_utf8(run(&["--help"]).stdout).unwrap();
    let (commands, _) = text.split_once("\nOptions:\n").unwrap();
    let lines = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let listed: Vec<_> = lines.filter_map(|line| line.split(' ').next()).collect();
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `breezeway "));
    assert_eq!(rows.map(|row| row.split_once('`').unwrap().0).collect::<Vec<_>>(), listed);
}

const EVERY_COMMAND: [&[&str]; 13] = [
    &[],
    &["serve"],
    &["bench"],
    &["floor"],
    &["compare"],
    &["plain"],
    &["doctor"],
    &["inspect"],
    &["gen"],
    &["thrift"],
    &["thrift", "dump"],
    &["completions"],
    &["man"],
];

#[test]
fn wrong_flag_points_to_the_help_of_its_command() {
    for command in EVERY_COMMAND {
        let help = ["breezeway", &command.join(" "), "--help"].join(" ").replace("  ", " ");
        let arguments = [command, &["--no-such-flag"]].concat();
        refused(&arguments, &["--no-such-flag", &format!("; see {help}")]);
    }
    refused(&["bench", "--size", "many"], &["many", "; see breezeway bench --help"]);
    refused(&["serve", "--workers=0"], &["; see breezeway serve --help"]);
    refused(&["thrift", "dum"], &["; see breezeway thrift --help"]);
}

#[test]
fn misspelt_word_is_answered_with_a_similar_one() {
    refused(&["benhc"], &["'benhc'; a similar subcommand exists: 'bench'; see breezeway --help"]);
    refused(&["bench", "--siez", "3"], &["'--siez'", "; a similar argument exists: '--size'; see"]);
    let wait = ["bench", "--addr", "shm:/it.sock", "--wait", "bussy"];
    refused(&wait, &["'bussy'", "; a similar value exists: 'busy'; see"]);
    refused(&["gen", "--ordred", "it.thrift"], &["found; a similar argument exists: '--ordered'"]);
}

/// Checks that these words stand in the text one after the other.
#[track_caller]
fn follow_each_other(text: &str, words: &[&str]) {
    let mut rest = text;
    for word in words {
        let (_, behind) = rest.split_once(word).unwrap_or_else(|| panic!("{word}: {text}"));
        rest = behind;
    }
}

#[test]
fn common_options_come_before_those_of_headings() {
    for (command, order) in [
        (
            "bench",
            &[
                "\nOptions:",
                "--addr <",
                "--protocol <",
                "--size <",
                "--seconds <",
                "--rate <",
                "--json",
                "--wait <",
                "\nLoad options:",
                "--pattern <",
                "--depth <",
                "--streams <",
                "\ngRPC options:",
                "--gear <",
                "\nSession options:",
                "--spin-bound <",
                "\nSettings from a file:",
                "--config <",
                "\nTLS options:",
                "--certificate <",
                "\nshmipc options:",
                "--memory <",
                "\nExamples:",
            ][..],
        ),
        (
            "serve",
            &[
                "\nOptions:",
                "--addr <",
                "--wait <",
                "\nServer options:",
                "--workers <",
                "\nSession options:",
                "--cap <",
                "\nRestart options:",
                "--take-over",
                "\nTLS options:",
                "\nshmipc options:",
                "\nExamples:",
            ],
        ),
    ] {
        for help in ["--help", "-h"] {
            let text = String::from_utf8(run(&[command, help]).stdout).unwrap();
            follow_each_other(&text, order);
        }
    }
}

#[test]
fn commands_are_listed_by_their_purpose() {
    let text = String::from_utf8(run(&["--help"]).stdout).unwrap();
    let order = [
        "\nOperate:",
        "\n  call ",
        "\n  top ",
        "\n  inspect ",
        "\n  dump ",
        "\n  doctor ",
        "\nMeasure:",
        "\n  serve ",
        "\n  bench ",
        "\n  compare ",
        "\n  floor ",
        "\n  plain ",
        "\nGenerate:",
        "\n  gen ",
        "\n  completions ",
        "\n  man ",
        "\nOptions:",
        "--version",
    ];
    follow_each_other(&text, &order);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Checks that text was filled line by line: no line is longer than the width, and none ends
/// although the next line's first word would have fitted.
fn is_filled(text: &str, width: usize) -> Result<(), String> {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.windows(2) {
        let [line, next] = pair else { continue };
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
        let first = next.split(' ').next().unwrap_or_default();
        if is_prose(line) && is_prose(next) && line.chars().count() + 1 + first.len() <= width {
            return Err(format!("{line:?} ends early before {next:?}"));
        }
    }
    match lines.iter().find(|line| line.chars().count() > width) {
        Some(line) => Err(format!("{line:?} is longer than {width}")),
        None => Ok(()),
    }
}

#[test]
fn the_paragraphs_at_the_end_of_help_are_filled_at_every_width() {
    for command in EVERY_COMMAND {
        for width in [80, 100] {
            let mut help = breezeway(&[command, &["--help"]].concat());
            help.env("COLUMNS", width.to_string());
            let output = Running::start(help).ends_within(PROMPT);
            let text = String::from_utf8(output.stdout).unwrap();
            if let Some((_, end)) = text.split_once("Examples:\n") {
                let prose: Vec<&str> = end.split("\n\n").skip(1).collect();
                let without = [["gen"], ["completions"], ["man"]];
                let is_without = without.iter().any(|one| command == one);
                assert!(!prose.is_empty() || is_without, "{command:?}");
                for paragraph in prose {
                    is_filled(paragraph.trim_end(), width).unwrap_or_else(|why| {
                        panic!("{command:?} at {width}: {why}");
                    });
                }
            }
        }
    }
}
