//! `breezeway top`: live activity of sessions, in a terminal or as lines.

mod rates;
mod screen;
mod view;

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use breezeway_shm::statistics::StatisticsFile;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::failure::Failure;
use crate::inspect::{processes, reason};
use rates::{Row, Watch};
use view::{Column, View};

const EXAMPLES: &str = "\
Examples:
  breezeway top                          all processes of this user that have sessions; as root, all
  breezeway top 4242                     one process
  breezeway top --sort out               by bytes sent
  breezeway top --once                   one table, without a terminal
  breezeway top --once --json | jq '.sessions[] | select(.calls_per_second > 1000)'

Keys: up and down choose a session, Enter shows its details, s sorts by the next column, / filters \
by a word, Esc goes back, q ends. Processes do nothing for this; one that is stopped is \
shown standing still.";

/// Show live activity of sessions: calls, bytes and wake-ups a second, time spent spinning
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The process; without it, all that have sessions
    #[arg(value_name = "PID", value_parser = processes::parse)]
    pid: Option<u32>,
    /// Time between two samples, 50 ms at least
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    every: Duration,
    /// The column to sort by, the largest first
    #[arg(long, value_enum, default_value_t)]
    sort: Column,
    /// Show only lines that have this word
    #[arg(long, value_name = "WORD", default_value = "")]
    filter: String,
    /// Print a table of one interval, --every, and end
    #[arg(long)]
    once: bool,
    /// Print one line with one JSON object for each interval, in place of a screen
    #[arg(long)]
    json: bool,
}

/// Interval at which the list of processes is renewed.
const SEARCH_EVERY: Duration = Duration::from_secs(5);

/// Shortest interval: below it a terminal shows nothing more, and reading the file has a visible
/// cost.
const SHORTEST: Duration = Duration::from_millis(50);

fn every(text: &str) -> Result<Duration, String> {
    let every = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if every < SHORTEST {
        return Err("not 50ms or more".to_owned());
    }
    Ok(every)
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), Failure> {
    if let Some(pid) = args.pid {
        StatisticsFile::open(pid).map_err(|error| reason(pid, &error))?;
    }
    if args.once || args.json {
        return print(&args);
    }
    if !io::stdout().is_terminal() {
        return Err("standard output is not a terminal; take --once or --json".into());
    }
    let no_terminal = |error| format!("no terminal to show it in ({error}); take --once or --json");
    let mut terminal = ratatui::try_init().map_err(no_terminal)?;
    let outcome = show(&mut terminal, args);
    ratatui::restore();
    outcome
}

/// Returns the statistics file of a process, if it has one by now.
fn file_of(pid: u32) -> Option<(u32, StatisticsFile)> {
    Some((pid, StatisticsFile::open(pid).ok()??))
}

/// Sampler of the sessions of one process, or of all.
struct Sampler {
    pid: Option<u32>,
    watch: Watch,
    searched: Option<Instant>,
}

impl Sampler {
    fn new(pid: Option<u32>) -> Self {
        Self { pid, watch: Watch::default(), searched: None }
    }

    /// Returns the activity since the last sample.
    fn sample(&mut self, now: Instant) -> Vec<Row> {
        if self.searched.is_none_or(|searched| now - searched >= SEARCH_EVERY) {
            self.searched = Some(now);
            self.watch.files(match self.pid {
                Some(pid) => Vec::from_iter(file_of(pid)),
                None => processes::with_sessions(),
            });
        }
        self.watch.sample(now)
    }
}

/// Prints each interval, or only the first one.
fn print(args: &Args) -> Result<(), Failure> {
    let (mut sampler, mut out) = (Sampler::new(args.pid), io::stdout());
    let mut view = View::new(args.sort, args.filter.clone());
    sampler.sample(Instant::now());
    loop {
        std::thread::sleep(args.every);
        view.show(sampler.sample(Instant::now()));
        if args.json {
            let sessions = view.rows();
            writeln!(out, "{}", serde_json::json!({ "sessions": sessions }))?;
        } else {
            screen::print(&view, &mut out)?;
        }
        if args.once {
            return Ok(());
        }
    }
}

fn show(terminal: &mut ratatui::DefaultTerminal, args: Args) -> Result<(), Failure> {
    let mut sampler = Sampler::new(args.pid);
    let mut view = View::new(args.sort, args.filter);
    loop {
        let sampled = Instant::now();
        view.show(sampler.sample(sampled));
        while let Some(left) = args.every.checked_sub(sampled.elapsed()) {
            terminal.draw(|frame| screen::draw(&view, frame))?;
            if !event::poll(left)? {
                break;
            }
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => {
                    let interrupted =
                        key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL;
                    if interrupted || !view.press(key.code) {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
    }
}
