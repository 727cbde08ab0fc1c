//! Comments as Go's documentation: the same text, which gofmt leaves as it is.

/// Returns the lines of a comment, with the annotations below.
pub(crate) fn lines(docs: &[String], annotations: &[(String, String)]) -> Vec<String> {
    let mut lines: Vec<String> = docs.iter().map(|line| plain(line)).collect();
    if !annotations.is_empty() {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let pair = |(key, value): &(String, String)| format!("{key} = {value:?}");
        let pairs: Vec<_> = annotations.iter().map(pair).collect();
        lines.push(plain(&format!("IDL: ({})", pairs.join(", "))));
    }
    let is_empty = |line: &String| line.is_empty();
    let end = lines.iter().rposition(|line| !is_empty(line)).map_or(0, |last| last + 1);
    lines.truncate(end);
    let begin = lines.iter().position(|line| !is_empty(line)).unwrap_or(0);
    lines.drain(..begin);
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines
}

/// Returns a line that is neither a heading, nor an item of a list, nor the definition of a link,
/// nor a directive.
fn plain(line: &str) -> String {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (first, rest) = line.split_once(' ').unwrap_or((line.as_str(), ""));
    match first {
        "-" | "*" | "+" | "•" => return format!("– {rest}"),
        _ if first.starts_with('#') => return line.trim_start_matches('#').trim().to_owned(),
        _ => {}
    }
    let number = first.strip_suffix(['.', ')']).unwrap_or("");
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("({number}) {rest}");
    }
    line.replace("]:", "] :")
}
