//! The comparison as text for a terminal.

use super::rare;
use super::units::{bytes, duration, microseconds, percent, rate, significant};
use crate::comparison::{
    Comparison, DEPTH, Figures, Found, MIN_MESSAGES, Pattern, SHARE, STREAMS, Series, THREADS,
};
use crate::statistics::Level;

/// Mark of a ratio during which the machine changed its speed.
pub(crate) const UNSTEADY: &str = "?";
/// Mark of a figure that other programs disturbed in every round.
pub(crate) const DISTURBED: &str = "~";
/// Mark of a figure of too few messages.
pub(crate) const FEW: &str = "!";
/// Mark of a ratio that was measured at another level of the floor than most.
pub(crate) const OTHER_LEVEL: &str = "*";
/// Cell of a figure that was not measured.
pub(crate) const ABSENT: &str = "-";

/// The warning, if the machine was busy, all tables, and the notes below them.
#[must_use]
pub fn comparison(comparison: &Comparison) -> String {
    let mut text = header(comparison);
    for pattern in Pattern::ALL {
        text += &matrix(comparison, pattern);
    }
    text += &against_plain(comparison);
    text += &rare::text(comparison);
    text += &notes(comparison);
    text
}

fn header(comparison: &Comparison) -> String {
    let mut text = String::new();
    if let Some(warning) = warning(comparison) {
        line(&mut text, &format!("WARNING: {warning}\n"));
    }
    for (label, value) in comparison.machine.facts() {
        line(&mut text, &format!("{label:<8} {value}"));
    }
    line(&mut text, &format!("{:<8} {}", "floor", levels(comparison)));
    line(&mut text, &format!("{:<8} {}", "others", others(comparison)));
    line(
        &mut text,
        "\nBelow each figure: the same in floors, and the CPUs that both sides used together, 2 if \
         both spin.",
    );
    text
}

/// Returns the CPU usage of other programs during the run.
pub(crate) fn others(comparison: &Comparison) -> String {
    let Some(background) = comparison.background else {
        return "not counted on this system".to_owned();
    };
    format!(
        "{} % of the time of both CPUs, the hypervisor {} %; {} of {} measurements disturbed, {} \
         of them repetitions",
        percent(background.others),
        percent(background.stolen),
        background.disturbed,
        background.measurements,
        background.repeated
    )
}

/// Warns of a machine that was busy with something else, so that figures are worse than they could
/// be.
pub(crate) fn warning(comparison: &Comparison) -> Option<String> {
    let rows = comparison.rows.iter().filter_map(|row| Some(row.figures.as_ref()?.disturbed));
    let rare = comparison.rare_calls.iter();
    let all = rows.chain(rare.filter_map(|rare| Some(rare.figures.as_ref()?.disturbed)));
    let (rows, disturbed) = (all.clone().count(), all.filter(|disturbed| *disturbed).count());
    let lost = comparison.background.map_or(0.0, |all| all.others + all.stolen);
    let floors = comparison.method.floor_disturbed;
    (disturbed > 0 || lost > SHARE || floors > 0).then(|| {
        format!(
            "this machine was busy. Other programs and machines took {} % of the time of both \
             CPUs; {disturbed} of {rows} rows stay disturbed (marked {DISTURBED}), and {floors} of \
             {} readings of the floor. Stop them and run again.",
            percent(lost),
            comparison.method.floor_readings
        )
    })
}

/// The levels of the floor for people.
pub(crate) fn levels(comparison: &Comparison) -> String {
    let one = |level: &Level| {
        let spread = level.nanoseconds;
        format!(
            "{} {} ({} to {}, {} readings)",
            level.name,
            duration(spread.median),
            duration(spread.min),
            duration(spread.max),
            level.readings
        )
    };
    comparison.levels.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Returns the caption of a pattern's table.
pub(crate) fn caption(pattern: Pattern) -> String {
    let unit = unit(pattern);
    match pattern {
        Pattern::PingPong => format!("Ping-pong: median round trip, {unit}"),
        Pattern::Pipelined => {
            format!("Pipelined, {DEPTH} in flight: time for each round trip, {unit}")
        }
        Pattern::OneWay => format!("One-way: {unit}"),
        Pattern::Tokio => format!("Both sides under tokio: median round trip, {unit}"),
        Pattern::Streams => format!("{STREAMS} streams on one session, under tokio: {unit}"),
        Pattern::Threads => format!("{THREADS} threads on one session: {unit}"),
        Pattern::Cold => format!("Cold start: connect, one call and close, median, {unit}"),
        Pattern::Grpc => format!("gRPC, natively: median of an echo, {unit}"),
        Pattern::GrpcHttp2 => format!("gRPC, as HTTP/2: median of an echo, {unit}"),
        Pattern::Thrift => format!("Thrift: median of an echo, {unit}"),
    }
}

/// The unit of the figures of a pattern.
pub(crate) fn unit(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::OneWay | Pattern::Streams => "messages a second",
        Pattern::Threads => "calls a second",
        _ => "µs",
    }
}

/// A row's part of a table: three columns.
pub(crate) struct Cell {
    /// The time of a message in µs, or messages a second, with its mark.
    pub(crate) lead: String,
    /// The time of a message in floors.
    pub(crate) floors: String,
    /// CPUs that both sides used.
    pub(crate) cpus: String,
}

impl Cell {
    pub(crate) fn new(found: &Found, main: Option<&str>) -> Self {
        let absent = || ABSENT.to_owned();
        let Some(figures) = &found.figures else {
            return Self { lead: absent(), floors: String::new(), cpus: String::new() };
        };
        let lead = match unit(found.pattern) {
            "µs" => microseconds(figures.ns_per_message),
            _ => figures.messages_per_second.map_or_else(absent, rate),
        };
        Self {
            lead: lead + mark(figures, main),
            floors: significant(figures.floors.median),
            cpus: figures.cpus.both().map_or_else(absent, significant),
        }
    }
}

pub(crate) fn mark(figures: &Figures, main: Option<&str>) -> &'static str {
    let doubt = doubt(figures);
    if !doubt.is_empty() {
        doubt
    } else if Some(figures.level.as_str()) != main {
        OTHER_LEVEL
    } else {
        ""
    }
}

/// The mark of figures that mean little, whatever their level.
pub(crate) fn doubt(figures: &Figures) -> &'static str {
    if figures.few {
        FEW
    } else if figures.disturbed {
        DISTURBED
    } else if !figures.steady {
        UNSTEADY
    } else {
        ""
    }
}

fn matrix(comparison: &Comparison, pattern: Pattern) -> String {
    let main = comparison.main_level();
    let series = comparison.series(pattern);
    if series.is_empty() {
        return String::new();
    }
    let sizes = comparison.sizes_of(pattern);
    rows(&sizes, &caption(pattern), &series, |series, size| {
        let cell = Cell::new(comparison.find(series, pattern, size)?, main);
        let beside = [cell.floors, cell.cpus].into_iter().filter(|figure| !figure.is_empty());
        Some((cell.lead, beside.collect::<Vec<_>>().join(", ")))
    })
}

fn against_plain(comparison: &Comparison) -> String {
    let compared = comparison.compared_series();
    if compared.is_empty() {
        return String::new();
    }
    let caption = "Ours over a plain blocking socket echo of the same kind, round trips";
    rows(&comparison.sizes_of(Pattern::PingPong), caption, &compared, |series, size| {
        let ratio = comparison.over_plain(series, size)?;
        Some((significant(ratio.median), String::new()))
    })
}

/// Series down, sizes across; a line below those that have something below a figure.
fn rows(
    sizes: &[usize],
    caption: &str,
    all: &[Series],
    cell: impl Fn(Series, usize) -> Option<(String, String)>,
) -> String {
    let mut text = format!("\n{caption}\n");
    let mut row = |name: &str, cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.map(|cell| format!("{cell:>13}")).collect();
        line(&mut text, format!("{name:<18}{cells}").trim_end());
    };
    row("", &mut sizes.iter().map(|&size| bytes(size)));
    for &series in all {
        let cells = sizes.iter().map(|&size| cell(series, size).unwrap_or_default());
        let (leads, below): (Vec<_>, Vec<_>) = cells.unzip();
        row(&series.name(), &mut leads.into_iter());
        if below.iter().any(|text| !text.is_empty()) {
            row("  floors, CPUs", &mut below.into_iter());
        }
    }
    text
}

fn notes(comparison: &Comparison) -> String {
    let mut text = String::new();
    for (what, reason) in comparison.missing() {
        line(&mut text, &format!("{what}: {reason}"));
    }
    let marked = |wanted: &str| {
        let figures = comparison.rows.iter().filter_map(|row| row.figures.as_ref());
        let marks = figures.map(|figures| mark(figures, comparison.main_level()));
        marks.chain(rare::marks(comparison)).any(|mark| mark == wanted)
    };
    for (wanted, meaning) in meanings() {
        if marked(wanted) {
            line(&mut text, &format!("{wanted} {meaning}"));
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Returns the marks and their meanings.
pub(crate) fn meanings() -> [(&'static str, String); 4] {
    [
        (
            FEW,
            format!("fewer than {MIN_MESSAGES} messages in all rounds: the figure means nothing"),
        ),
        (
            DISTURBED,
            "other programs used the two CPUs in every round: the figure may be worse than the \
             machine's"
                .to_owned(),
        ),
        (
            UNSTEADY,
            "the floors before and after differ in every round: the figure means little".to_owned(),
        ),
        (
            OTHER_LEVEL,
            "measured only while the floor was at another level than for most rows".to_owned(),
        ),
    ]
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Background, sample};

    fn table(text: &str) -> usize {
        text.find("Ping-pong").unwrap()
    }

    #[test]
    fn a_quiet_run_has_no_warning() {
        let found = sample();
        let text = comparison(&found);
        assert!(!text.contains("WARNING") && !text.contains(DISTURBED), "{text}");
        assert!(text.contains("others   0.0 % of the time of both CPUs"), "{text}");
    }

    #[test]
    fn a_disturbed_row_is_marked_and_warned_of_above() {
        let mut found = sample();
        found.rows[0].figures.as_mut().unwrap().disturbed = true;
        let text = comparison(&found);
        let rows = found.rows.iter().filter(|row| row.figures.is_some()).count();
        let rows = rows + found.rare_calls.len();
        let warning = text.find(&format!("1 of {rows} rows stay disturbed (marked ~)"));
        assert!(warning.is_some_and(|at| at < table(&text)), "{text}");
        assert!(text.contains("0.264~") && text.contains("\n~ other programs used"), "{text}");
    }

    #[test]
    fn much_time_of_others_is_warned_of() {
        let mut found = sample();
        found.background =
            Some(Background { others: 0.3, stolen: 0.1, ..found.background.unwrap() });
        let text = comparison(&found);
        assert!(text.starts_with("WARNING: this machine was busy."), "{text}");
        assert!(text.contains("took 40 % of the time of both CPUs"), "{text}");
        assert!(text.contains("30 % of the time of both CPUs, the hypervisor 10 %"), "{text}");
    }

    #[test]
    fn microseconds_lead_and_floors_and_cpus_follow() {
        let text = comparison(&sample());
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.starts_with("shm busy ")).unwrap();
        let figures: Vec<_> = lines[at].split_whitespace().skip(2).collect();
        assert_eq!(figures, ["0.264", "65.7"]);
        let below: Vec<_> = lines[at + 1].split_whitespace().collect();
        assert_eq!(below, ["floors,", "CPUs", "2.64,", "1.50", "657,", "1.50"]);
    }
}
