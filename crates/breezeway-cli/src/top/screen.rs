//! The screen of `top`, and its printed form.

use std::io::{self, Write};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row as Cells, Table, TableState};

use super::rates::Row;
use super::view::{Column, View};
use crate::inspect::native::{bytes, percentiles};
use crate::printable::one_line;

const COLUMNS: [(&str, u16, Option<Column>); 15] = [
    ("PID", 8, Some(Column::Pid)),
    ("PROGRAM", 15, None),
    ("SESSION", 7, None),
    ("ROLE", 6, None),
    ("CARRIER", 7, None),
    ("PEER", 8, None),
    ("CALLS/S", 10, Some(Column::Calls)),
    ("MSGS/S", 10, Some(Column::Messages)),
    ("IN/S", 10, Some(Column::In)),
    ("OUT/S", 10, Some(Column::Out)),
    ("WAKES/S", 9, Some(Column::Wakeups)),
    ("SPINNING", 9, Some(Column::Spinning)),
    ("FILL", 5, Some(Column::Fill)),
    ("P50", 8, Some(Column::P50)),
    ("P99", 8, Some(Column::P99)),
];

/// Draws the whole screen.
pub(super) fn draw(view: &View, frame: &mut Frame<'_>) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)])
            .areas(frame.area());
    let rows = view.rows();
    frame.render_widget(Line::from(sums(&rows)), head);
    match rows.get(view.chosen()) {
        Some(row) if view.is_detailed => details(row, frame, body),
        _ => table(view, &rows, frame, body),
    }
    frame.render_widget(Line::from(keys(view)), foot);
}

fn sums(rows: &[&Row]) -> String {
    let sum = |of: fn(&Row) -> f64| rows.iter().map(|row| of(row)).sum::<f64>();
    format!(
        "{} sessions  {} calls/s  {}/s in  {}/s out  {} wake-ups/s",
        rows.len(),
        count(sum(|row| row.calls)),
        bytes(sum(|row| row.received) as u64),
        bytes(sum(|row| row.sent) as u64),
        count(sum(|row| row.sleeps)),
    )
}

fn keys(view: &View) -> String {
    match (view.is_typing, view.is_detailed) {
        (true, _) => format!("filter: {}_", view.filter),
        (false, true) => "Esc back  q end".to_owned(),
        (false, false) if view.filter.is_empty() => {
            "up/down choose  Enter details  s sort  / filter  q end".to_owned()
        }
        (false, false) => format!("filtered by {:?}, Esc shows all", view.filter),
    }
}

fn table(view: &View, rows: &[&Row], frame: &mut Frame<'_>, area: Rect) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let heads = COLUMNS.map(|(name, _, column)| {
        let sorted = column == Some(view.sort);
        Cell::from(if sorted { format!("{name}*") } else { name.to_owned() }).style(bold)
    });
    let widths = COLUMNS.map(|(_, width, _)| Constraint::Length(width));
    // Only lines that fit below the header are written: there may be thousands more.
    let fit = usize::from(area.height.saturating_sub(1)).max(1);
    let first = (view.chosen() + 1).saturating_sub(fit);
    let visible = rows.iter().skip(first).take(fit);
    let table = Table::new(visible.map(|row| cells(row)), widths)
        .header(Cells::new(heads))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let selected = (!rows.is_empty()).then(|| view.chosen() - first);
    frame.render_stateful_widget(table, area, &mut TableState::new().with_selected(selected));
}

/// Prints the same without a terminal: the sums, and all rows.
pub(super) fn print(view: &View, out: &mut impl Write) -> io::Result<()> {
    let rows = view.rows();
    writeln!(out, "{}", sums(&rows))?;
    print_line(COLUMNS.map(|(name, ..)| name.to_owned()), out)?;
    rows.iter().try_for_each(|row| print_line(texts(row), out))
}

fn print_line(texts: [String; COLUMNS.len()], out: &mut impl Write) -> io::Result<()> {
    let padded = texts.iter().zip(COLUMNS);
    let line = padded.map(|(text, (_, width, _))| format!("{text:<0$} ", usize::from(width)));
    writeln!(out, "{}", line.collect::<String>().trim_end())
}

fn cells(row: &Row) -> Cells<'static> {
    Cells::new(texts(row))
}

fn texts(row: &Row) -> [String; COLUMNS.len()] {
    let [role, carrier, _, peer, _] = row.session.who();
    let [p50, p99] = percentiles(row.handlers);
    [
        row.pid.to_string(),
        one_line(&row.program),
        row.session.session.to_string(),
        role,
        carrier,
        peer,
        count(row.calls),
        count(row.messages),
        bytes(row.received as u64),
        bytes(row.sent as u64),
        count(row.sleeps),
        format!("{:.0} %", 100.0 * row.spinning),
        format!("{:.0} %", 100.0 * row.fill()),
        p50,
        p99,
    ]
}

fn details(row: &Row, frame: &mut Frame<'_>, area: Rect) {
    let title = format!(" process {} ({}) ", row.pid, one_line(&row.program));
    let [p50, p99] = percentiles(row.handlers);
    let rates = [
        ("calls/s".to_owned(), count(row.calls)),
        ("in/s".to_owned(), bytes(row.received as u64)),
        ("out/s".to_owned(), bytes(row.sent as u64)),
        ("wake-ups/s".to_owned(), count(row.sleeps)),
        ("handlers now".to_owned(), format!("p50 {p50}, p99 {p99}")),
    ];
    let all: Vec<_> = rates.into_iter().chain(row.session.details()).collect();
    // In columns, as far as they go.
    let height = usize::from(area.height.saturating_sub(2)).max(1);
    let lines = (0..height.min(all.len())).map(|line| {
        let parts = all.iter().skip(line).step_by(height);
        let parts = parts.map(|(name, value)| format!("{name:<18} {value:<24} "));
        Line::from(parts.collect::<String>())
    });
    let text = Paragraph::new(lines.collect::<Vec<_>>());
    frame.render_widget(text.block(Block::bordered().title(title)), area);
}

/// A rate, in thousands or millions if it is large.
fn count(rate: f64) -> String {
    match rate {
        1e6.. => format!("{:.2} M", rate / 1e6),
        1e4.. => format!("{:.1} k", rate / 1e3),
        _ => format!("{rate:.0}"),
    }
}

#[cfg(test)]
mod tests;
