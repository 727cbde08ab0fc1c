//! Completions and man pages.

use std::fs;
use std::process::Command;

use crate::support::{Folder, refused, run};

/// Returns the commands that the help lists.
fn listed() -> Vec<String> {
    let text = String::from_utf8(run(&["--help"]).stdout).unwrap();
    let (commands, _) = text.split_once("\nOptions:\n").unwrap();
    let lines = commands.lines().filter_map(|line| line.strip_prefix("  "));
    lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn completions_offer_commands_options_and_values() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for word in listed().iter().map(|name| &name[..]).chain(["addr", "adaptive"]) {
            // PowerShell's and Elvish's have no values of options.
            let is_expected = word != "adaptive" || !["elvish", "powershell"].contains(&shell);
            assert!(text.contains(word) || !is_expected, "{shell}: {word}");
        }
        for hidden in ["floor-partner", "compare-server"] {
            assert!(!text.contains(hidden), "{shell}: {hidden}");
        }
    }
    refused(&["completions", "basj"], &["'basj'", "a similar value exists: 'bash'"]);
}

#[test]
fn completions_of_bash_complete_a_command_line() {
    let folder = Folder::new();
    let script = folder.path().join("breezeway.bash");
    fs::write(&script, run(&["completions", "bash"]).stdout).unwrap();
    for (words, expected) in [
        ("breezeway be", "bench"),
        ("breezeway bench --siz", "--size"),
        ("breezeway serve --wait par", "park"),
    ] {
        let complete = format!(
            "set -e; . '{}'; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _breezeway breezeway \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; \
             echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let output = Command::new("bash").args(["-c", &complete]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{output:?}");
    }
}

#[test]
fn man_writes_a_page_for_every_command() {
    let folder = Folder::new();
    let pages = folder.path().join("share/man1");
    let output = run(&["man", pages.to_str().unwrap()]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    for command in listed() {
        let page = fs::read_to_string(pages.join(format!("breezeway-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    let page = fs::read_to_string(pages.join("breezeway-serve.1")).unwrap();
    assert!(page.contains("\\-\\-drain") && page.contains("BREEZEWAY_CAP"), "{page}");
    let page = fs::read_to_string(pages.join("breezeway.1")).unwrap();
    assert!(page.contains("breezeway\\-serve(1)") && !page.contains("partner"), "{page}");
    let file = pages.join("breezeway.1");
    refused(&["man", file.to_str().unwrap()], &["cannot write into", "breezeway.1"]);
}
