//! The tables of the page: every figure of the charts, and those that charts do not show.

use maud::{Markup, html};

use crate::comparison::{Comparison, Figures, Found, Pattern};
use crate::report::text::{self as table, cell};
use crate::report::units::{bytes, duration, rate, significant, throughput};

/// Series down, sizes across.
pub(crate) fn matrix(comparison: &Comparison, pattern: Pattern) -> Markup {
    let sizes = comparison.sizes();
    html! {
        (scrolling(html! { table {
            caption class="hidden" { (table::caption(pattern)) }
            thead { tr { th scope="col" { "series" } @for size in &sizes { th scope="col" { (bytes(*size)) } } } }
            tbody { @for series in comparison.series(pattern) { tr {
                th scope="row" { (series.name()) }
                @for size in &sizes { td {
                    @if let Some(found) = comparison.find(series, pattern, *size) { (cell(found, comparison.main_level())) }
                } }
            } } }
        } }))
    }
}

/// What the marks behind figures mean.
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
                    kind and size, in the same round. Differences of a few percent between blocking rows mean nothing." }
                (scrolling(against_plain_matrix(comparison)))
            }
        }
    }
}

fn against_plain_matrix(comparison: &Comparison) -> Markup {
    let sizes = comparison.sizes();
    html! { table {
        caption class="hidden" { "Ours over a plain socket, median and quartiles" }
        thead { tr { th scope="col" { "series" } @for size in &sizes { th scope="col" { (bytes(*size)) } } } }
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

const COLUMNS: [&str; 11] = [
    "series",
    "size",
    "floors",
    "messages",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "rate",
    "floor before, after",
    "commands",
];
/// Those that figures fill.
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
                None => td class="text" colspan=(OF_FIGURES) { (found.error.as_deref().unwrap_or("no figures")) },
            }
            td class="text" { details { summary { "show" } @for command in &found.commands { pre { code { (command) } } } } }
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
    html! {
        td {
            (significant(floors.median)) " \
                " span class="quiet" { (figures.level) (table::doubt(figures)) }
            br; span class="quiet" { (significant(floors.q1)) " to " (significant(floors.q3)) }
        }
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

/// Wide content scrolls by itself, also by keyboard.
fn scrolling(content: Markup) -> Markup {
    html! { div class="scrolling" tabindex="0" role="region" aria-label="Table" { (content) } }
}
