//! The tables of the page: every figure of the charts, and those that charts do not show.

use maud::{Markup, html};

use crate::comparison::{Comparison, Figures, Found, Pattern};
use crate::report::text::{self as table, Cell};
use crate::report::units::{bytes, duration, microseconds, percent, rate, significant, throughput};

/// Series down, sizes across, three columns for each.
pub(crate) fn matrix(comparison: &Comparison, pattern: Pattern) -> Markup {
    let series = comparison.series(pattern);
    let sizes = comparison.sizes_of(pattern);
    let main = comparison.main_level();
    html! {
        (scrolling(html! { table {
            caption class="hidden" { (table::caption(pattern)) }
            thead {
                tr {
                    th scope="col" rowspan="2" { "series" }
                    @for size in &sizes {
                        th class="group" scope="colgroup" colspan="3" { (bytes(*size)) }
                    }
                }
                tr { @for _ in &sizes {
                    th class="group" scope="col" { (table::unit(pattern)) }
                    th scope="col" { "floors" }
                    th scope="col" { "CPUs" }
                } }
            }
            tbody { @for series in series { tr {
                th scope="row" { (series.name()) }
                @for size in &sizes { (three(comparison.find(series, pattern, *size), main)) }
            } } }
        } }))
    }
}

fn three(found: Option<&Found>, main: Option<&str>) -> Markup {
    html! {
        @if let Some(found) = found {
            @let cell = Cell::new(found, main);
            td class="group" { (cell.lead) }
            td class="quiet" { (cell.floors) }
            td class="quiet" { (cell.cpus) }
        } @else {
            td class="group" colspan="3" {}
        }
    }
}

/// Returns the meanings of the marks behind figures.
pub(crate) fn marks() -> Markup {
    html! {
        p class="quiet" {
            @for (mark, meaning) in table::meanings() { (mark) " " (meaning) ". " }
            "- not measured."
        }
    }
}

/// Ours beside a plain socket.
pub(crate) fn against_plain(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.against_plain.is_empty() {
            section {
                h2 { "Against a plain socket" }
                p { "Round trips of ours over those of a plain blocking socket echo of the same \
                    kind and size, in the same round. Differences of a few percent between \
                    blocking rows mean nothing." }
                (scrolling(against_plain_matrix(comparison)))
            }
        }
    }
}

fn against_plain_matrix(comparison: &Comparison) -> Markup {
    let sizes = comparison.sizes();
    html! { table {
        caption class="hidden" { "Ours over a plain socket, median and quartiles" }
        thead { tr {
            th scope="col" { "series" }
            @for size in &sizes { th scope="col" { (bytes(*size)) } }
        } }
        tbody { @for series in comparison.compared_series() { tr {
            th scope="row" { (series.name()) }
            @for size in &sizes { td {
                @if let Some(ratio) = comparison.over_plain(series, *size) {
                    (significant(ratio.median)) " ×"
                    br;
                    span class="quiet" { (significant(ratio.q1)) " to " (significant(ratio.q3)) }
                }
            } }
        } } }
    } }
}

const COLUMNS: [&str; 14] = [
    "series",
    "size",
    "time",
    "floors",
    "CPUs: client, server",
    "others",
    "messages",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "rate",
    "floor before, after",
    "commands",
];
/// Number of columns with figures.
const OF_FIGURES: usize = COLUMNS.len() - 3;

/// Every row with all that is known about it, and how to repeat it.
pub(crate) fn every_row(comparison: &Comparison) -> Markup {
    html! {
        section {
            h2 { "Every row" }
            details {
                summary { "All " (comparison.rows.len()) " rows with percentiles, spread, floors \
                    and commands" }
                (scrolling(html! { table {
                    thead { tr { @for name in COLUMNS { th scope="col" { (name) } } } }
                    tbody { @for found in &comparison.rows { (row(found)) } }
                } }))
            }
        }
    }
}

fn row(found: &Found) -> Markup {
    html! {
        tr {
            (subject(found))
            @match &found.figures {
                Some(figures) => (cells(figures)),
                None => td class="text" colspan=(OF_FIGURES) {
                    (found.error.as_deref().unwrap_or("no figures"))
                },
            }
            td class="text" { details {
                summary { "show" }
                @for command in &found.commands { pre { code { (command) } } }
            } }
        }
        @for figures in &found.other_levels { tr class="other" {
            (subject(found))
            (cells(figures))
            td {}
        } }
    }
}

fn subject(found: &Found) -> Markup {
    html! {
        th scope="row" { (found.series.name()) br; span class="quiet" { (found.pattern.name()) } }
        td { (bytes(found.size)) }
    }
}

fn cells(figures: &Figures) -> Markup {
    let latency = figures.latency_ns;
    let floors = figures.floors;
    let cpus = [figures.cpus.client, figures.cpus.server];
    html! {
        td { (microseconds(figures.ns_per_message)) " µs" (table::doubt(figures)) }
        td {
            (significant(floors.median)) " " span class="quiet" { (figures.level) }
            br; span class="quiet" { (significant(floors.q1)) " to " (significant(floors.q3)) }
        }
        td { @if cpus.iter().any(Option::is_some) {
            (cpus.map(|cpus| cpus.map_or("-".to_owned(), significant)).join(", "))
        } }
        td { (figures.others.map_or(String::new(), |share| format!("{} %", percent(share)))) }
        td { (figures.messages) }
        @for percentile in [latency.p50, latency.p90, latency.p99, latency.p999] {
            td { (percentile.map_or(String::new(), duration)) }
        }
        td {
            (figures.messages_per_second.map_or(String::new(), rate)) br;
            span class="quiet" { (figures.bytes_per_second.map_or(String::new(), throughput)) }
        }
        td { (duration(figures.floor_before_ns)) "," br; (duration(figures.floor_after_ns)) }
    }
}

/// Wide content scrolls on its own, also by keyboard.
fn scrolling(content: Markup) -> Markup {
    html! { div class="scrolling" tabindex="0" role="region" aria-label="Table" { (content) } }
}
