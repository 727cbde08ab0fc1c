//! Rare calls, as text for a terminal and as a table of the page.

use maud::{Markup, html};

use super::text::{ABSENT, DISTURBED, FEW};
use super::units::{microseconds, significant};
use crate::comparison::{Comparison, Rare, RareFigures, RareSide, RatioOfMedians};

/// Caption of the table.
pub(crate) const CAPTION: &str = "Rare calls: a 64-byte echo, both programs asleep in between, \
    default options, not pinned, µs";
/// Names of the groups of columns.
const GROUPS: [&str; 3] = ["p50", "p99", "CPU time a call"];
/// Names of the columns of each group.
const COLUMNS: [&str; 3] = ["shm", "plain", "ratio"];

/// The cells of a rate: three for each group, with the mark behind the first.
fn cells(figures: &RareFigures) -> [String; 9] {
    let (ours, theirs) = (figures.shm, figures.plain_unix);
    let cpu = |side: RareSide| side.cpu_ns_per_call;
    let shown = |cpu: Option<f64>| cpu.map_or(ABSENT.to_owned(), microseconds);
    let cpus = cpu(ours).zip(cpu(theirs)).map(|(ours, theirs)| significant(ours / theirs));
    [
        microseconds(ours.p50_ns) + mark(figures),
        microseconds(theirs.p50_ns),
        ratio(figures.p50_ratio),
        microseconds(ours.p99_ns),
        microseconds(theirs.p99_ns),
        ratio(figures.p99_ratio),
        shown(cpu(ours)),
        shown(cpu(theirs)),
        cpus.unwrap_or_else(|| ABSENT.to_owned()),
    ]
}

fn mark(figures: &RareFigures) -> &'static str {
    if figures.few {
        FEW
    } else if figures.disturbed {
        DISTURBED
    } else {
        ""
    }
}

fn ratio(ratio: RatioOfMedians) -> String {
    let [median, min, max] = [ratio.ratio, ratio.min, ratio.max].map(significant);
    format!("{median} ({min}–{max})")
}

/// Returns a line for each side that did not keep a rate, and the note on percentiles.
pub(crate) fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = vec![
        "plain: the same calls over a unix socket. ratio: of the medians over the rounds, and its \
         range. The p99 of fewer than 100 calls a round is the longest call."
            .to_owned(),
    ];
    for rare in &comparison.rare_calls {
        let Some(figures) = &rare.figures else { continue };
        for (side, name) in [(figures.shm, COLUMNS[0]), (figures.plain_unix, COLUMNS[1])] {
            if !side.reached {
                let (asked, made) = (rare.rate, side.per_second);
                notes.push(format!("{asked}/s not reached: {name} made {made:.0}/s"));
            }
        }
    }
    notes
}

fn measured(comparison: &Comparison) -> impl Iterator<Item = (&Rare, &RareFigures)> {
    comparison.rare_calls.iter().filter_map(|rare| Some((rare, rare.figures.as_ref()?)))
}

/// The mark of each rate; empty of figures without doubt.
pub(crate) fn marks(comparison: &Comparison) -> impl Iterator<Item = &'static str> {
    measured(comparison).map(|(_, figures)| mark(figures))
}

/// The table for a terminal, rates down; empty without figures.
pub(crate) fn text(comparison: &Comparison) -> String {
    if measured(comparison).next().is_none() {
        return String::new();
    }
    let line = |name: &str, cells: [String; 9]| {
        let cells = cells.iter().zip([8, 8, 17, 8, 8, 17, 8, 8, 7]);
        let cells: String = cells.map(|(cell, width)| format!("{cell:>width$}")).collect();
        format!("{}\n", format!("{name:<8}{cells}").trim_end())
    };
    let mut text = format!("\n{CAPTION}\n");
    text += &line(
        "",
        std::array::from_fn(|index| match index % 3 {
            2 => GROUPS[index / 3].to_owned(),
            _ => String::new(),
        }),
    );
    text += &line("", std::array::from_fn(|index| COLUMNS[index % 3].to_owned()));
    for (rare, figures) in measured(comparison) {
        text += &line(&format!("{}/s", rare.rate), cells(figures));
    }
    for note in notes(comparison) {
        text += &format!("{note}\n");
    }
    text
}

/// The section of the page; empty without figures.
pub(crate) fn section(comparison: &Comparison) -> Markup {
    html! {
        @if measured(comparison).next().is_some() {
            section {
                h2 { "Rare calls" }
                p { (CAPTION) ". Each round starts new processes." }
                div class="scrolling" tabindex="0" role="region" aria-label="Table" {
                    (table(comparison))
                }
                @for note in notes(comparison) { p class="quiet" { (note) } }
                details {
                    summary { "Commands of each rate" }
                    @for rare in &comparison.rare_calls {
                        @for command in &rare.commands { pre { code { (command) } } }
                    }
                }
            }
        }
    }
}

fn table(comparison: &Comparison) -> Markup {
    html! { table {
        caption class="hidden" { (CAPTION) }
        thead {
            tr {
                th scope="col" rowspan="2" { "calls a second" }
                @for group in GROUPS { th class="group" scope="colgroup" colspan="3" { (group) } }
            }
            tr { @for index in 0..9_usize {
                th scope="col" class=[group_class(index)] { (COLUMNS[index % 3]) }
            } }
        }
        tbody { @for (rare, figures) in measured(comparison) { tr {
            th scope="row" { (rare.rate) }
            @for (index, cell) in cells(figures).iter().enumerate() {
                td class=[group_class(index)] { (cell) }
            }
        } } }
    } }
}

/// The class of the first column of a group.
fn group_class(index: usize) -> Option<&'static str> {
    index.is_multiple_of(3).then_some("group")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::sample;

    fn first(found: &mut Comparison) -> &mut RareFigures {
        found.rare_calls[0].figures.as_mut().unwrap()
    }

    #[test]
    fn each_rate_has_medians_ratio_and_range() {
        let text = text(&sample());
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("/s ")).collect();
        let cells: Vec<_> = lines[0].split_whitespace().collect();
        assert_eq!(cells[..5], ["100/s", "60.0", "50.0", "1.20", "(1.10–1.30)"]);
        assert_eq!(cells[9..], ["120", "100", "1.20"]);
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn disturbed_and_few_figures_are_marked() {
        let mut found = sample();
        first(&mut found).disturbed = true;
        assert!(text(&found).contains("60.0~"));
        first(&mut found).few = true;
        assert!(text(&found).contains("60.0!"));
        assert!(section(&found).into_string().contains("60.0!"));
    }

    #[test]
    fn unreached_rate_is_named_in_text_and_page() {
        let mut found = sample();
        let shm = &mut first(&mut found).shm;
        (shm.reached, shm.per_second) = (false, 80.4);
        let note = "100/s not reached: shm made 80/s";
        assert!(text(&found).contains(note) && section(&found).into_string().contains(note));
    }

    #[test]
    fn uncounted_cpu_time_is_absent() {
        let mut found = sample();
        first(&mut found).shm.cpu_ns_per_call = None;
        let text = text(&found);
        let line = text.lines().find(|line| line.starts_with("100/s")).unwrap();
        assert!(line.ends_with("-") && line.contains(" 100 "), "{line}");
    }

    #[test]
    fn run_without_figures_has_no_table() {
        let mut found = sample();
        for rare in &mut found.rare_calls {
            (rare.figures, rare.error) = (None, Some("not available: no room".to_owned()));
        }
        assert_eq!(text(&found), "");
        assert_eq!(section(&found).into_string(), "");
        let missing = found.missing();
        assert!(missing.contains(&("rare calls, 100/s".to_owned(), "not available: no room")));
    }
}
