use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use breezeway_os::{Peer, WaitPolicy};
use breezeway_shm::statistics::{Description, Field, Meter, Role, StatisticsFile};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;

use super::super::rates::Watch;
use super::*;

/// The lock on the process's single table of sessions, which each test counts.
static TABLE: Mutex<()> = Mutex::new(());

fn session(pid: u32, carrier: u8) -> Meter {
    Meter::new(&Description {
        role: Role::Server,
        carrier,
        policy: WaitPolicy::Busy,
        shared: false,
        peer: Some(Peer { pid: Some(pid), uid: Some(7), gid: None, remote: None, identity: None }),
        cap: 1000,
        rings: [64, 64],
        max_in_flight: 32,
    })
}

fn screen(view: &View) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(150, 12)).unwrap();
    terminal.draw(|frame| draw(view, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..150).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..12).map(|y| line(y).trim_end().to_owned()).collect()
}

fn own_file() -> Vec<(u32, StatisticsFile)> {
    let pid = std::process::id();
    vec![(pid, StatisticsFile::open(pid).unwrap().unwrap())]
}

fn press(view: &mut View, keys: &[KeyCode]) {
    for &key in keys {
        assert!(view.press(key));
    }
}

#[test]
fn rates_are_shown_sorted_filtered_and_in_detail() {
    let _table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let (slow, fast) = (session(70_001, 1), session(70_002, 2));
    let mut watch = Watch::default();
    watch.files(own_file());
    let start = Instant::now();
    watch.sample(start);
    slow.add(Field::CallsReceived, 20);
    slow.add(Field::BytesReceived, 2 * 1024 * 1024);
    slow.set(Field::Lent, 250);
    fast.add(Field::CallsReceived, 4_000_000);
    fast.add(Field::SpinTime, 1_000_000_000);
    let mut view = View::new(Column::Calls, "server".to_owned());
    view.show(watch.sample(start + Duration::from_secs(2)));

    let shown = screen(&view);
    assert!(
        shown[0].starts_with("2 sessions  2.00 M calls/s  1.0 MiB/s in  0 B/s out"),
        "{shown:?}"
    );
    assert!(shown[1].contains("CALLS/S*"), "{shown:?}");
    let line = |of: &str, shown: &[String]| shown.iter().position(|line| line.contains(of));
    let (fast_line, slow_line) = (line("70002", &shown).unwrap(), line("70001", &shown).unwrap());
    assert!(fast_line < slow_line, "{shown:?}");
    assert!(shown[fast_line].contains("unix") && shown[fast_line].contains("50 %"), "{shown:?}");
    assert!(shown[slow_line].contains("shm") && shown[slow_line].contains("25 %"), "{shown:?}");

    // By bytes in.
    press(&mut view, &[KeyCode::Char('s'), KeyCode::Char('s')]);
    let shown = screen(&view);
    assert!(
        shown[1].contains("IN/S*") && line("70001", &shown) < line("70002", &shown),
        "{shown:?}"
    );

    press(&mut view, &[KeyCode::Down, KeyCode::Enter]);
    let shown = screen(&view);
    assert!(line("process 70002, user 7", &shown).is_some(), "{shown:?}");
    assert!(line("calls received", &shown).is_some_and(|at| shown[at].contains("4000000")));
    press(&mut view, &[KeyCode::Esc, KeyCode::Char('/')]);
    press(&mut view, &"shm".chars().map(KeyCode::Char).collect::<Vec<_>>());
    assert_eq!(screen(&view)[11], "filter: shm_");
    press(&mut view, &[KeyCode::Enter]);
    let shown = screen(&view);
    assert!(line("70002", &shown).is_none() && shown[0].starts_with("1 sessions"), "{shown:?}");

    press(&mut view, &[KeyCode::Esc]);
    let times = slow.handler_times().unwrap();
    (0..98).for_each(|_| times.note(1_000));
    (0..2).for_each(|_| times.note(3_000_000));
    view.show(watch.sample(start + Duration::from_secs(3)));
    let shown = screen(&view);
    let percentiles = |of: &str, shown: &[String]| -> Vec<String> {
        let line = &shown[line(of, shown).unwrap()];
        let mut words: Vec<_> = line.split("  ").map(|word| word.trim().to_owned()).collect();
        words.retain(|word| !word.is_empty());
        words.split_off(words.len() - 2)
    };
    assert_eq!(percentiles("70001", &shown), ["960 ns", "3 ms"], "{shown:?}");
    assert_eq!(percentiles("70002", &shown), ["-", "-"], "{shown:?}");
    // A few new handlers leave the shown percentiles; enough of them replace these.
    (0..99).for_each(|_| times.note(50_000));
    view.show(watch.sample(start + Duration::from_secs(4)));
    assert_eq!(percentiles("70001", &screen(&view)), ["960 ns", "3 ms"]);
    times.note(50_000);
    view.show(watch.sample(start + Duration::from_secs(5)));
    assert_eq!(percentiles("70001", &screen(&view)), ["53.2 us", "53.2 us"]);

    // Ended sessions are gone, and an empty list is drawn.
    drop((slow, fast));
    view.show(watch.sample(start + Duration::from_secs(6)));
    assert!(screen(&view)[0].starts_with("0 sessions"));
    press(&mut view, &[KeyCode::Up, KeyCode::Down, KeyCode::Enter, KeyCode::Esc]);
    screen(&view);
    assert!(!view.press(KeyCode::Char('q')));
}

#[test]
fn sessions_beyond_the_screen_are_counted_and_reached_by_keys() {
    let _table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let sessions: Vec<Meter> = (71_001..=71_030).map(|pid| session(pid, 3)).collect();
    let mut watch = Watch::default();
    watch.files(own_file());
    let mut view = View::new(Column::Pid, String::new());
    view.show(watch.sample(Instant::now()));

    let shown = screen(&view);
    assert!(shown[0].starts_with("30 sessions"), "{shown:?}");
    let peers = |shown: &[String]| -> Vec<u32> {
        (71_001..=71_030).filter(|pid| shown.join("\n").contains(&pid.to_string())).collect()
    };
    assert_eq!(peers(&shown), (71_001..=71_009).collect::<Vec<_>>());
    press(&mut view, &[KeyCode::Down; 8]);
    assert_eq!(peers(&screen(&view))[0], 71_001);
    press(&mut view, &[KeyCode::Down; 4]);
    assert_eq!(peers(&screen(&view)), (71_005..=71_013).collect::<Vec<_>>());
    press(&mut view, &[KeyCode::Down; 100]);
    assert_eq!(peers(&screen(&view)), (71_022..=71_030).collect::<Vec<_>>());
    press(&mut view, &[KeyCode::Enter]);
    assert!(screen(&view).join("\n").contains("process 71030"));
    for (width, height) in [(0, 0), (1, 1), (150, 1), (150, 2), (150, 3)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        press(&mut view, &[KeyCode::Esc]);
        terminal.draw(|frame| draw(&view, frame)).unwrap();
    }
    drop(sessions);
}
