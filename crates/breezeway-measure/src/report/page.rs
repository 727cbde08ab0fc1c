//! The comparison as one page of HTML that loads nothing and needs no script.

mod charts;
mod tables;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::frame::{NARROW, WIDE};
use super::chart::{Chart, draw};
use super::rare;
use super::text::{caption, doubt, levels, others, warning};
use super::units::{bytes, microseconds, significant};
use crate::comparison::{Comparison, Found, Pattern, Series};

const STYLE: &str = include_str!("page/style.css");
/// Content policy of the page: it loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The whole page.
#[must_use]
pub fn comparison(comparison: &Comparison) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { "Breezeway compared, " (comparison.date) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (header(comparison))
                main {
                    (busy(comparison))
                    (tiles(comparison))
                    (missing(comparison))
                    (figures(comparison))
                    (reading())
                    (machine(comparison))
                    (matrices(comparison))
                    (tables::against_plain(comparison))
                    (rare::section(comparison))
                    (repeating(comparison))
                    (tables::every_row(comparison))
                }
            }
        }
    };
    page.into_string()
}

fn header(comparison: &Comparison) -> Markup {
    let method = &comparison.method;
    let mode = if method.quick { "quick run" } else { "full run" };
    html! {
        header {
            h1 { "Breezeway: any size, any carrier" }
            p class="lead" {
                "Calls between two processes on one machine: in µs, in " em { "floors" } ", \
                multiples of the bare cache-line round trip that this machine can do, and in CPUs \
                used."
            }
            p class="quiet" {
                time datetime=(comparison.date) { (comparison.date.replace('T', " \
                    ").replace('Z', " UTC")) }
                " · breezeway " (comparison.version) " · " (mode) " · " (method.rounds) " rounds \
                 of " (method.seconds) " s"
            }
        }
    }
}

/// The figures to remember, as far as they were measured.
fn tiles(comparison: &Comparison) -> Markup {
    let small = comparison.size_near(64);
    let large = comparison.sizes().last().copied().unwrap_or(small);
    let wanted = [
        (Series::SHM_BUSY, small),
        (Series::UNTOUCHED, large),
        (Series::SHM_PARK, small),
        (Series::PLAIN_UNIX, small),
    ];
    let found = wanted
        .into_iter()
        .filter_map(|(series, size)| comparison.find(series, Pattern::PingPong, size));
    html! {
        section class="tiles" aria-label="In short" {
            @for found in found { (tile(found)) }
        }
    }
}

fn tile(found: &Found) -> Markup {
    let sound = found.figures.as_ref().filter(|figures| doubt(figures).is_empty());
    let Some(figures) = sound else { return Markup::default() };
    html! {
        div class="tile" {
            p class="quiet" { (found.series.name()) ", " (bytes(found.size)) }
            p class="figure" { (microseconds(figures.ns_per_message)) small { " µs" } }
            p class="quiet" {
                (significant(figures.floors.median)) " floors"
                @if let Some(cpus) = figures.cpus.both() { ", " (significant(cpus)) " CPUs" }
            }
        }
    }
}

fn busy(comparison: &Comparison) -> Markup {
    html! {
        @if let Some(warning) = warning(comparison) {
            section class="notice" aria-label="Warning" { h2 { "Warning" } p { (warning) } }
        }
    }
}

fn missing(comparison: &Comparison) -> Markup {
    let missing = comparison.missing();
    html! {
        @if !missing.is_empty() {
            section class="notice" aria-label="Not measured" {
                h2 { "Not measured" }
                ul { @for (what, reason) in missing { li { b { (what) } ": " (reason) } } }
            }
        }
    }
}

fn figures(comparison: &Comparison) -> Markup {
    html! {
        section {
            h2 { "Charts" }
            div class="charts" { @for chart in charts::all(comparison) { (figure(&chart)) } }
        }
    }
}

fn figure(chart: &Chart) -> Markup {
    html! {
        figure {
            figcaption { h3 { (chart.title) } p class="quiet" { (chart.description) } }
            (draw(chart, WIDE))
            (draw(chart, NARROW))
        }
    }
}

fn reading() -> Markup {
    html! {
        section {
            h2 { "How to read it" }
            dl class="terms" {
                dt { "floor" }
                dd { "One cache line there and one back between two pinned processes, with nothing \
                    around it. It was measured before and after every figure, with all servers \
                    stopped. A machine may jump between levels (near, far) within seconds; a ratio \
                    holds within one level." }
                dt { "CPUs" }
                dd { "How many CPUs both sides used together: 2 if both spin, less if they sleep. A \
                    row that spins is fast at the price of a second program that wants the CPU." }
                dt { "shm, unix, tcp" }
                dd { "Breezeway's carriers: shared memory, unix stream sockets, TCP over the \
                    loopback interface. Every byte is written before each call and compared after \
                    it, unless " em { "untouched" } " is given: then the payload is made in place \
                    and 8 bytes are read." }
                dt { "busy, adaptive, park" }
                dd { "How both sides wait: spin without end; spin for a short, self-tuning time \
                    and then sleep; sleep at once." }
                dt { "plain unix, plain tcp" }
                dd { "An echo over a std socket: " code { "write_all" } " \
                    and " code { "read_exact" } ", both sides blocking." }
                dt { "bare memory" }
                dd { "As many bytes written, copied by the other process and compared, with \
                    nothing around it." }
                dt { "ping-pong, pipelined, one-way" }
                dd { "One call at a time; 16 in flight; messages without replies, which the server \
                    counts and sums." }
                dt { "percentiles" }
                dd { "Medians over the rounds. A percentile is left out unless two messages of \
                    every round lie above it." }
            }
        }
    }
}

fn machine(comparison: &Comparison) -> Markup {
    html! {
        section {
            h2 { "Machine" }
            dl class="terms" {
                @for (label, value) in comparison.machine.facts() { dt { (label) } dd { (value) } }
                dt { "floor" }
                dd { (levels(comparison)) }
                dt { "other programs" }
                dd { (others(comparison)) }
            }
        }
    }
}

fn matrices(comparison: &Comparison) -> Markup {
    let patterns = Pattern::ALL.into_iter().filter(|one| !comparison.series(*one).is_empty());
    html! {
        section {
            h2 { "In figures" }
            @for pattern in patterns {
                h3 { (caption(pattern)) }
                (tables::matrix(comparison, pattern))
            }
            (tables::marks())
        }
    }
}

fn repeating(comparison: &Comparison) -> Markup {
    let cpus = [comparison.machine.client_cpu, comparison.machine.server_cpu];
    let example = comparison.rows.iter().find(|row| row.commands.len() == 2);
    html! {
        section {
            h2 { "Repeat it" }
            p { "One row by hand, with the server stopped for the floor. The commands of every row \
                are below." }
            @if let Some(row) = example {
                pre tabindex="0" { code {
                    (row.commands[0]) " &\n"
                    "kill -STOP $!; breezeway floor --only line --cpus \
                     " (cpus[0]) "," (cpus[1]) "; kill -CONT $!\n"
                    (row.commands[1])
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::sample;

    #[test]
    fn the_page_loads_nothing_and_runs_nothing() {
        let page = comparison(&sample());
        for loading in ["http:", "https:", "//", "src=", "href=", "url(", "@import", "<script"] {
            let found = page.find(loading).map(|at| &page[at..(at + 60).min(page.len())]);
            assert_eq!(found, None, "{loading}");
        }
    }

    #[test]
    fn a_figure_of_few_messages_is_on_no_card_and_in_no_chart() {
        let mut found = sample();
        let page = comparison(&found);
        assert_eq!(page.matches("<div class=\"tile\">").count(), 4);
        for row in &mut found.rows {
            if let Some(figures) = &mut row.figures {
                (figures.few, figures.messages) = (true, 7);
            }
        }
        found.against_plain.clear();
        let page = comparison(&found);
        assert!(!page.contains("<div class=\"tile\">") && !page.contains("<svg"));
        assert!(page.contains("fewer than 50 messages") && page.contains("<td>7</td>"));
    }

    #[test]
    fn a_disturbed_figure_is_on_no_card_and_warned_of_above() {
        let mut found = sample();
        for row in &mut found.rows {
            if let Some(figures) = &mut row.figures {
                figures.disturbed = true;
            }
        }
        let page = comparison(&found);
        assert!(!page.contains("<div class=\"tile\">") && page.contains("<svg"));
        let (warning, table) = (page.find("this machine was busy"), page.find("<table"));
        assert!(warning.is_some() && warning < table);
        assert!(!comparison(&sample()).contains("this machine was busy"));
    }

    #[test]
    fn text_from_elsewhere_is_escaped() {
        let mut found = sample();
        found.machine.cpu_model = "<b>Fast & \"quoted\"</b>".to_owned();
        found.rows[0].error = Some("<img onerror=1>".to_owned());
        let page = comparison(&found);
        assert!(page.contains("&lt;b&gt;Fast &amp; &quot;quoted&quot;&lt;/b&gt;"));
        assert!(page.contains("&lt;img onerror=1&gt;") && !page.contains("<img"));
    }

    #[test]
    fn every_row_is_there_with_its_commands() {
        let found = sample();
        let page = comparison(&found);
        for row in &found.rows {
            assert!(row.commands.iter().all(|command| page.contains(command)), "{row:?}");
        }
        for rare in &found.rare_calls {
            assert!(rare.commands.iter().all(|command| page.contains(command)), "{rare:?}");
        }
    }
}
