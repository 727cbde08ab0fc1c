//! `breezeway doctor`: its report about this machine.

use serde_json::Value;

use crate::support::{breezeway, run};

#[test]
fn the_doctor_grades_every_line_and_its_status_follows() {
    let output = run(&["doctor"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let graded = |line: &str| ["ok ", "warn ", "FAIL "].iter().any(|grade| line.starts_with(grade));
    assert!(text.lines().count() >= 10 && text.lines().all(graded), "{text}");
    assert_eq!(output.status.success(), !text.contains("\nFAIL"), "{text}");
}

#[test]
fn json_agrees_with_the_lines() {
    let output = run(&["doctor", "--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let report: Value = serde_json::from_str(&text).unwrap();
    let lines = String::from_utf8(run(&["doctor"]).stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(checks.len(), lines.lines().count());
    for (check, line) in checks.iter().zip(lines.lines()) {
        let grade = check["grade"].as_str().unwrap();
        assert!(line.to_lowercase().starts_with(grade), "{check} and {line}");
        assert!(line.contains(check["name"].as_str().unwrap()), "{check} and {line}");
        assert_eq!(check["advice"].is_null(), grade == "ok", "{check}");
        assert!(check["seen"].is_string(), "{check}");
    }
    assert_eq!(report["fit"], output.status.success());
}

#[test]
fn doctor_compares_open_file_limit_with_wanted_sessions() {
    let check = |shell: &str, sessions: &str| -> Value {
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &format!("{shell}; exec \"$0\" doctor --json --max-sessions {sessions}")]);
        let output = command.arg(breezeway(&[]).get_program()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "open files").unwrap()
    };
    let few = check("ulimit -n 300", "1000");
    assert_eq!(few["grade"], "warn", "{few}");
    let (seen, advice) = (few["seen"].as_str().unwrap(), few["advice"].as_str().unwrap());
    assert!(seen.contains("300") && seen.contains("1000 sessions"), "{few}");
    assert!(advice.contains("LimitNOFILE=") && advice.contains("--max-sessions"), "{few}");
    // A limit that serve can raise itself is not a problem.
    let soft = check("ulimit -Sn 300; ulimit -Hn 3000", "1000");
    assert_eq!(soft["grade"], "ok", "{soft}");
    assert_eq!(check("ulimit -n 300", "10")["grade"], "ok");
}
