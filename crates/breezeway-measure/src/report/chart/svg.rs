//! A chart as an element of a page.

use maud::{Markup, html};

use super::axis::Tick;
use super::frame::Frame;
use super::label;
use super::series::{Line, Point, Style};
use super::{Chart, Reference};

/// How far apart the names of two lines are.
const NAME_HEIGHT: f64 = 15.0;
/// From the end of a line to its name.
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
            @for (x, tick) in legible(chart, frame) { (vertical(frame, x, tick)) }
            text class="axis" x=(pixels(middle)) y=(pixels(frame.height - 8.0)) text-anchor="middle" { (chart.x.title) }
        }
    }
}

fn horizontal(chart: &Chart, frame: Frame, tick: &Tick) -> Markup {
    let y = frame.y(chart.y.share(tick.value));
    html! {
        line x1=(pixels(frame.left)) x2=(pixels(frame.right_edge())) y1=(pixels(y)) y2=(pixels(y)) {}
        text x=(pixels(frame.left - 7.0)) y=(pixels(y + 4.0)) text-anchor="end" { (tick.label) }
    }
}

fn vertical(frame: Frame, x: f64, tick: &Tick) -> Markup {
    html! {
        line class="tick" x1=(pixels(x)) x2=(pixels(x)) y1=(pixels(frame.top)) y2=(pixels(frame.bottom_edge())) {}
        text x=(pixels(x)) y=(pixels(frame.bottom_edge() + 17.0)) text-anchor="middle" { (tick.label) }
    }
}

/// The first and the last tick of the horizontal axis, and those between whose labels cover no other.
fn legible(chart: &Chart, frame: Frame) -> Vec<(f64, &Tick)> {
    let mut ticks = chart.x.ticks.iter().map(|tick| (frame.x(chart.x.share(tick.value)), tick));
    let last = ticks.next_back();
    let mut shown: Vec<(f64, &Tick)> = Vec::new();
    for (x, tick) in ticks {
        let apart = |other: Option<&(f64, &Tick)>| {
            other.is_none_or(|(other, _)| (x - other).abs() >= frame.between_ticks)
        };
        if apart(shown.last()) && apart(last.as_ref()) {
            shown.push((x, tick));
        }
    }
    shown.extend(last);
    shown
}

fn reference_line(chart: &Chart, frame: Frame, reference: &Reference) -> Markup {
    let y = pixels(frame.y(chart.y.share(reference.y)));
    html! {
        g class="reference" {
            line x1=(pixels(frame.left)) x2=(pixels(frame.right_edge())) y1=(y) y2=(y) {}
            text x=(pixels(frame.right_edge() - 4.0)) y=(y) dy=(if reference.below { "12" } else { "-5" }) text-anchor="end" { (reference.name) }
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

/// Each line's name to the right of the chart, with its marker, led to from the line's end.
fn names(chart: &Chart, frame: Frame) -> Markup {
    let ends: Vec<(&Line, (f64, f64))> = chart
        .lines
        .iter()
        .filter_map(|line| Some((line, position(chart, frame, line.points.last()?))))
        .collect();
    let wanted: Vec<f64> = ends.iter().map(|(_, (_, y))| *y).collect();
    let (top, bottom) = (frame.top + 2.0, frame.bottom_edge());
    let heights = label::spread(&wanted, NAME_HEIGHT, top, bottom);
    html! {
        g class="names" {
            @for ((line, end), height) in ends.iter().zip(heights) { (name(frame, line, *end, height)) }
        }
    }
}

fn name(frame: Frame, line: &Line, (x, y): (f64, f64), height: f64) -> Markup {
    let left = frame.right_edge() + TO_NAME;
    html! {
        g class=(format!("line {}", line.style.class)) {
            line class="leader" x1=(pixels(x + 6.0)) y1=(pixels(y)) x2=(pixels(left - 15.0)) y2=(pixels(height)) {}
            (marker(line.style, left - 8.0, height, ""))
        }
        text x=(pixels(left)) y=(pixels(height + 4.0)) { (line.name) }
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
            references: vec![Reference { name: "floor".to_owned(), y: 100.0, below: true }],
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

    #[test]
    fn labels_that_would_cover_others_are_left_out() {
        let chart = chart("line");
        let labels: Vec<_> =
            legible(&chart, NARROW).into_iter().map(|(_, tick)| tick.label.as_str()).collect();
        assert_eq!(labels, ["8", "4096"]);
    }
}
