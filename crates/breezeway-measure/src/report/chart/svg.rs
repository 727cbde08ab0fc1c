//! A chart as an element of a page.

use maud::{Markup, html};

use super::axis::Tick;
use super::frame::Frame;
use super::label;
use super::series::{Line, Point, Style};
use super::{Chart, Reference, width};

/// Distance between the names of two lines.
const NAME_HEIGHT: f64 = 15.0;
/// The size of labels, as in the page's style.
const LABEL_SIZE: f64 = 12.0;
/// The least between two labels in one line.
const BETWEEN_LABELS: f64 = 4.0;
/// Number of lines of labels for which the horizontal axis has room.
const LABEL_LINES: usize = 2;
const LINE_HEIGHT: f64 = 14.0;
/// Distance from the end of a line to its name.
const TO_NAME: f64 = 26.0;

/// Draws `chart` in `frame`.
pub(crate) fn draw(chart: &Chart, frame: Frame) -> Markup {
    let id = format!("{}-{}", chart.id, frame.class);
    html! {
        svg class=(frame.class) viewBox=(format!("0 0 {} {}", frame.width, frame.height))
            role="img" aria-labelledby=(format!("{id}-title {id}-description")) {
            title id=(format!("{id}-title")) { (chart.title) }
            desc id=(format!("{id}-description")) { (chart.description) }
            (grid(chart, frame))
            @for line in &chart.lines { (polyline(chart, frame, line)) }
            @for reference in &chart.references { (reference_line(chart, frame, reference)) }
            (names(chart, frame))
        }
    }
}

fn pixels(length: f64) -> String {
    format!("{length:.1}")
}

fn position(chart: &Chart, frame: Frame, point: &Point) -> (f64, f64) {
    (frame.x(chart.x.share(point.x)), frame.y(chart.y.share(point.y)))
}

fn grid(chart: &Chart, frame: Frame) -> Markup {
    let middle = f64::midpoint(frame.left, frame.right_edge());
    html! {
        g class="grid" {
            @for tick in &chart.y.ticks { (horizontal(chart, frame, tick)) }
            @for tick in &chart.x.ticks { (vertical(frame, frame.x(chart.x.share(tick.value)))) }
            @for (x, line, tick) in legible(chart, frame) { (label_below(frame, x, line, tick)) }
            text class="axis" x=(pixels(middle)) y=(pixels(frame.height - 8.0)) text-anchor="middle" {
                (chart.x.title)
            }
        }
    }
}

fn horizontal(chart: &Chart, frame: Frame, tick: &Tick) -> Markup {
    let y = frame.y(chart.y.share(tick.value));
    html! {
        line x1=(pixels(frame.left)) x2=(pixels(frame.right_edge()))
            y1=(pixels(y)) y2=(pixels(y)) {}
        text x=(pixels(frame.left - 11.0)) y=(pixels(y + 4.0)) text-anchor="end" { (tick.label) }
    }
}

fn vertical(frame: Frame, x: f64) -> Markup {
    html! {
        line class="tick" x1=(pixels(x)) x2=(pixels(x))
            y1=(pixels(frame.top)) y2=(pixels(frame.bottom_edge())) {}
    }
}

fn label_below(frame: Frame, x: f64, line: usize, tick: &Tick) -> Markup {
    let y = frame.bottom_edge() + 17.0 + line as f64 * LINE_HEIGHT;
    html! { text x=(pixels(x)) y=(pixels(y)) text-anchor="middle" { (tick.label) } }
}

/// The ticks of the horizontal axis whose labels cover no other, each with the line that its label
/// stands in: the second has those that do not fit into the first. The last tick comes first.
fn legible(chart: &Chart, frame: Frame) -> Vec<(f64, usize, &Tick)> {
    let mut shown: Vec<(f64, usize, &Tick)> = Vec::new();
    let ticks = &chart.x.ticks;
    for tick in ticks.last().into_iter().chain(ticks.iter().rev().skip(1).rev()) {
        let x = frame.x(chart.x.share(tick.value));
        let half = |tick: &Tick| width::of(&tick.label, LABEL_SIZE) / 2.0;
        let fits = |line: &usize| {
            let mut others = shown.iter().filter(|(_, of, _)| of == line);
            others.all(|(other, _, theirs)| {
                (x - other).abs() >= half(tick) + half(theirs) + BETWEEN_LABELS
            })
        };
        if let Some(line) = (0..LABEL_LINES).find(fits) {
            shown.push((x, line, tick));
        }
    }
    shown
}

fn reference_line(chart: &Chart, frame: Frame, reference: &Reference) -> Markup {
    let y = pixels(frame.y(chart.y.share(reference.y)));
    html! {
        g class="reference" {
            line x1=(pixels(frame.left)) x2=(pixels(frame.right_edge())) y1=(y) y2=(y) {}
        }
    }
}

fn polyline(chart: &Chart, frame: Frame, line: &Line) -> Markup {
    let positions: Vec<(f64, f64)> =
        line.points.iter().map(|point| position(chart, frame, point)).collect();
    let path: Vec<String> =
        positions.iter().map(|(x, y)| format!("{},{}", pixels(*x), pixels(*y))).collect();
    html! {
        g class=(format!("line {}", line.style.class)) {
            polyline points=(path.join(" ")) stroke-dasharray=(line.style.dash) {}
            @for ((x, y), point) in positions.iter().zip(&line.points) {
                (marker(line.style, *x, *y, &format!("{}: {}", line.name, point.hint)))
            }
        }
    }
}

fn marker(style: Style, x: f64, y: f64, hint: &str) -> Markup {
    html! {
        path d=(style.marker.path()) transform=(format!("translate({} {})", pixels(x), pixels(y))) {
            @if !hint.is_empty() { title { (hint) } }
        }
    }
}

/// Item that is named at the right of a chart: a line at its end, or a height across the chart.
enum Named<'a> {
    Line(&'a Line),
    Reference(&'a Reference),
}

/// Each line's and each reference's name to the right of the chart, where nothing is drawn, with a
/// leader from where it ends.
fn names(chart: &Chart, frame: Frame) -> Markup {
    let lines = chart
        .lines
        .iter()
        .filter_map(|line| Some((Named::Line(line), position(chart, frame, line.points.last()?))));
    let references = chart.references.iter().map(|reference| {
        let end = (frame.right_edge(), frame.y(chart.y.share(reference.y)));
        (Named::Reference(reference), end)
    });
    let ends: Vec<(Named<'_>, (f64, f64))> = lines.chain(references).collect();
    let wanted: Vec<f64> = ends.iter().map(|(_, (_, y))| *y).collect();
    let (top, bottom) = (frame.top + 2.0, frame.bottom_edge());
    let heights = label::spread(&wanted, NAME_HEIGHT, top, bottom);
    html! {
        g class="names" {
            @for ((named, end), height) in ends.iter().zip(heights) {
                @match named {
                    Named::Line(line) => (name(frame, line, *end, height)),
                    Named::Reference(reference) => (reference_name(frame, reference, *end, height)),
                }
            }
        }
    }
}

fn name(frame: Frame, line: &Line, (x, y): (f64, f64), height: f64) -> Markup {
    let left = frame.right_edge() + TO_NAME;
    html! {
        g class=(format!("line {}", line.style.class)) {
            line class="leader" x1=(pixels(x + 6.0)) y1=(pixels(y))
                x2=(pixels(left - 15.0)) y2=(pixels(height)) {}
            (marker(line.style, left - 8.0, height, ""))
        }
        text x=(pixels(left)) y=(pixels(height + 4.0)) { (line.name) }
    }
}

fn reference_name(frame: Frame, named: &Reference, (x, y): (f64, f64), height: f64) -> Markup {
    let left = frame.right_edge() + TO_NAME;
    html! {
        g class="reference" {
            line x1=(pixels(x)) y1=(pixels(y)) x2=(pixels(left - 4.0)) y2=(pixels(height)) {}
            text x=(pixels(left)) y=(pixels(height + 4.0)) { (named.name) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis::Axis;
    use super::super::frame::{NARROW, WIDE};
    use super::*;
    use crate::comparison::Series;

    fn chart(name: &str) -> Chart {
        let point = |x: f64| Point { x, y: x * 10.0, hint: "a <hint>".to_owned() };
        let style = Style::of(Series::SHM_BUSY);
        Chart {
            id: "test",
            title: "a & b".to_owned(),
            description: String::new(),
            x: Axis::at("size", &[8.0, 12.0, 4096.0], |value| format!("{value}")),
            y: Axis::logarithmic("time", [80.0, 1e5].into_iter(), |value| format!("{value}")),
            lines: vec![Line {
                name: name.to_owned(),
                style,
                points: vec![point(8.0), point(64.0)],
            }],
            references: vec![Reference { name: "floor".to_owned(), y: 100.0 }],
        }
    }

    #[test]
    fn words_are_escaped() {
        let text = draw(&chart("<script>alert(1)</script>"), WIDE).into_string();
        assert!(!text.contains("<script>") && text.contains("&lt;script&gt;"));
        assert!(text.contains("a &amp; b") && text.contains("a &lt;hint&gt;"));
    }

    #[test]
    fn everything_is_drawn_inside_the_frame() {
        for frame in [WIDE, NARROW] {
            let chart = chart("line");
            for point in &chart.lines[0].points {
                let (x, y) = position(&chart, frame, point);
                assert!((frame.left..=frame.right_edge()).contains(&x));
                assert!((frame.top..=frame.bottom_edge()).contains(&y));
            }
        }
    }

    fn labels(sizes: &[f64], frame: Frame) -> Vec<(String, usize)> {
        let text = |value: f64| crate::report::units::bytes(value as usize);
        let chart = Chart { x: Axis::at("size", sizes, text), ..chart("line") };
        let mut shown = legible(&chart, frame);
        shown.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
        shown.into_iter().map(|(_, line, tick)| (tick.label.clone(), line)).collect()
    }

    #[test]
    fn covering_labels_move_to_a_second_line_or_are_left_out() {
        let label = |text: &str, line| (text.to_owned(), line);
        let shown = labels(&[8.0, 12.0, 14.0, 4096.0], NARROW);
        assert_eq!(shown, [label("8 B", 0), label("12 B", 1), label("4 KiB", 0)]);
    }

    #[test]
    fn every_size_of_a_quick_run_has_its_label() {
        let sizes = [8usize, 64, 1 << 10, 64 << 10, 1 << 20, 4 << 20].map(|size| size as f64);
        for frame in [WIDE, NARROW] {
            let names: Vec<_> = labels(&sizes, frame).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["8 B", "64 B", "1 KiB", "64 KiB", "1 MiB", "4 MiB"]);
        }
    }

    #[test]
    fn nothing_is_written_where_lines_are_drawn() {
        let chart = chart("line");
        for frame in [WIDE, NARROW] {
            let text = draw(&chart, frame).into_string();
            for element in text.split("<text").skip(1) {
                let at = |name: &str| -> f64 {
                    let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap();
                    rest.split('"').next().unwrap().parse().unwrap()
                };
                let (x, y) = (at("x"), at("y"));
                let outside = x < frame.left || x > frame.right_edge() || y > frame.bottom_edge();
                assert!(outside, "{element}");
            }
        }
    }

    #[test]
    fn names_end_inside_the_frame() {
        let names = crate::comparison::Series::ALL.map(|series| series.name());
        let names = names.iter().map(|name| name.replace("busy untouched", "untouched"));
        for name in names.chain(["far floor 510 ns".to_owned()]) {
            for frame in [WIDE, NARROW] {
                let end = frame.right_edge() + TO_NAME + width::of(&name, LABEL_SIZE - 1.0);
                assert!(end <= frame.width + 8.0, "{name} ends at {end}");
            }
        }
    }
}
