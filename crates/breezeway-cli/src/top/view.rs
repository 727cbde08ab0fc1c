//! The selection on the screen: the order, the filter, and a session in detail.

use clap::ValueEnum;
use ratatui::crossterm::event::KeyCode;

use super::rates::Row;

/// Column to sort by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    /// Calls a second
    #[default]
    Calls,
    /// Messages a second
    Messages,
    /// Bytes received a second
    In,
    /// Bytes sent a second
    Out,
    /// Wake-ups a second
    Wakeups,
    /// Time spent spinning
    Spinning,
    /// Payload memory in use
    Fill,
    /// Median time of handlers
    P50,
    /// 99th percentile of the time of handlers
    P99,
    /// Process and session
    Pid,
}

/// Selection that is shown.
pub(super) struct View {
    rows: Vec<Row>,
    pub(super) sort: Column,
    pub(super) filter: String,
    /// True if keys go into the filter.
    pub(super) is_typing: bool,
    /// The session that is chosen.
    chosen: Option<(u32, u64)>,
    /// True if the chosen session is shown in detail.
    pub(super) is_detailed: bool,
}

impl View {
    pub(super) fn new(sort: Column, filter: String) -> Self {
        Self { rows: Vec::new(), sort, filter, is_typing: false, chosen: None, is_detailed: false }
    }

    /// Replaces the rows with those of the last sample.
    pub(super) fn show(&mut self, rows: Vec<Row>) {
        self.rows = rows;
        self.order();
    }

    fn order(&mut self) {
        let key = |row: &Row| match self.sort {
            Column::Calls => row.calls,
            Column::Messages => row.messages,
            Column::In => row.received,
            Column::Out => row.sent,
            Column::Wakeups => row.sleeps,
            Column::Spinning => row.spinning,
            Column::Fill => row.fill(),
            Column::P50 => row.handlers.map_or(0.0, |handlers| handlers.p50_ns as f64),
            Column::P99 => row.handlers.map_or(0.0, |handlers| handlers.p99_ns as f64),
            Column::Pid => 0.0,
        };
        self.rows.sort_by(|one, other| {
            let by_number = (one.pid, one.session.session).cmp(&(other.pid, other.session.session));
            key(other).total_cmp(&key(one)).then(by_number)
        });
    }

    /// Returns the rows that pass the filter, in order.
    pub(super) fn rows(&self) -> Vec<&Row> {
        let passes = |row: &&Row| {
            if self.filter.is_empty() {
                return true;
            }
            let pid = row.pid.to_string();
            let who = row.session.who();
            let mut words = who.iter().map(String::as_str).chain([&*pid, &*row.program]);
            words.any(|word| word.contains(&self.filter))
        };
        self.rows.iter().filter(passes).collect()
    }

    /// Returns the index of the chosen row: the first, if none is chosen.
    pub(super) fn chosen(&self) -> usize {
        let is_chosen = |row: &&Row| Some((row.pid, row.session.session)) == self.chosen;
        self.rows().iter().position(is_chosen).unwrap_or(0)
    }

    fn choose(&mut self, index: usize) {
        let rows = self.rows();
        let row = rows.get(index.min(rows.len().saturating_sub(1)));
        self.chosen = row.map(|row| (row.pid, row.session.session));
    }

    /// Handles a key; returns false if it ends the program.
    pub(super) fn press(&mut self, key: KeyCode) -> bool {
        if self.is_typing {
            self.type_key(key);
            return true;
        }
        match key {
            KeyCode::Char('q') => return false,
            KeyCode::Char('s') => self.sort_by_next(),
            KeyCode::Char('/') => {
                self.is_typing = true;
                self.filter.clear();
            }
            KeyCode::Up => self.choose(self.chosen().saturating_sub(1)),
            KeyCode::Down => self.choose(self.chosen() + 1),
            KeyCode::Enter => {
                self.choose(self.chosen());
                self.is_detailed = self.chosen.is_some();
            }
            KeyCode::Esc if self.is_detailed => self.is_detailed = false,
            KeyCode::Esc => self.filter.clear(),
            _ => {}
        }
        true
    }

    fn type_key(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(char) => self.filter.push(char),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Esc => {
                self.filter.clear();
                self.is_typing = false;
            }
            KeyCode::Enter => self.is_typing = false,
            _ => {}
        }
    }

    fn sort_by_next(&mut self) {
        let all = Column::value_variants();
        let at = all.iter().position(|&column| column == self.sort).unwrap_or(0);
        self.sort = all[(at + 1) % all.len()];
        self.order();
    }
}
