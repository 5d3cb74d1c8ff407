//! Drawings as SVG: every colour is in the element that has it, so that any program shows the picture as a browser does.
//!
//! Elements carry the numbers of what they show (`data-call`, `data-sub`, `data-relation`, `data-step`), by which a page
//! marks them.

use std::fmt::Write as _;

use itertools::Itertools as _;

use super::graph::Drawing;
use super::layout::{EdgeMeaning, Placed, PlacedEdge, Point, Rect, wide};
use super::palette::{CALL, CYCLE, Dash, INK, LANE, LINE, Look, MARKED, PAPER, SOFT, look};
use crate::markup::escaped;

/// The radius of the corners of edges.
const BEND: f64 = 5.0;
/// The least width of the text below a picture.
const LEAST: f64 = 460.0;

/// Draws a picture. Its text stands below it: the title, the names of relations, and the sentences of the cycle.
pub(super) fn svg(graph: &Drawing, way: usize, placed: &Placed) -> String {
    let width = placed.width.max(LEAST);
    let (below, height) = caption((graph, way), width, placed.height);
    let body = placed.height;
    let title = escaped(&graph.title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" data-body=\"{body:.0}\" role=\"img\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, \
         monospace\" font-size=\"12\" fill=\"#{INK}\"><title>{title}</title>\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#{PAPER}\"/>"
    );
    for (rect, name) in &placed.lanes {
        out += &boxed(rect, LANE, LINE, 8.0, " class=\"lane\"");
        out += &text((rect.x + 10.0, rect.y + 19.0), name, HEAD);
    }
    for (rect, cell) in &placed.cells {
        out += &boxed(rect, PAPER, SOFT, 2.0, "");
        out += &text((rect.x + 6.0, rect.y + 13.5), cell, " class=\"cell\"");
    }
    for (at, name) in &placed.heads {
        out += &text(*at, name, HEAD);
    }
    for &(from, to) in &placed.order {
        let line = path(&[from, (to.0, to.1 - 5.0)]);
        let _ = write!(out, "<path d=\"{line}\" fill=\"none\" stroke=\"#{SOFT}\"/>");
        let _ = write!(out, "<path d=\"{}\" fill=\"#{SOFT}\"/>", tip(from, to, 6.0));
    }
    for (number, call) in placed.calls.iter().enumerate() {
        let (fill, edge) = if call.is_marked { (MARKED, CYCLE.colour) } else { (CALL, SOFT) };
        out += &boxed(&call.rect, fill, edge, 5.0, &format!(" class=\"call\" data-call=\"{number}\""));
        out += &text((call.rect.x + 8.0, call.rect.y + 15.0), &call.label, " font-weight=\"600\"");
        for event in &call.events {
            out += &boxed(&event.rect, PAPER, LINE, 3.0, "");
            let line = event.line.as_ref().map_or_else(String::new, |line| format!("<title>{}</title>", escaped(line)));
            let label = text((event.rect.x + 6.0, event.rect.y + 14.0), &event.label, "");
            out += &label.replacen('>', &format!(">{line}"), 1);
        }
        for pill in &call.pills {
            let edge = if pill.is_missing { CYCLE.colour } else { SOFT };
            let dash = if pill.is_missing { " stroke-dasharray=\"4 3\"" } else { "" };
            let sub = pill.sub.map_or_else(String::new, |sub| format!(" data-sub=\"{sub}\""));
            let about =
                pill.about.as_ref().map_or_else(String::new, |words| format!("<title>{}</title>", escaped(words)));
            let rect = boxed(&pill.rect, PAPER, edge, 9.0, &format!(" class=\"pill\"{dash}{sub}"));
            let promised = if pill.is_missing { " class=\"promised\"" } else { "" };
            let label = text((pill.rect.x + 7.0, pill.rect.y + 13.0), &pill.text, promised);
            let _ = write!(out, "<g>{about}{rect}{label}</g>");
        }
    }
    let has_cycle = placed.edges.iter().any(|edge| matches!(edge.of, EdgeMeaning::Step(_)));
    for edge in placed.edges.iter().rev() {
        out += &drawn(edge, has_cycle);
    }
    // Names lie above all lines.
    for edge in placed.edges.iter().rev() {
        out += &named(edge, has_cycle);
    }
    out + &below + "</svg>\n"
}

/// The attributes of names of nodes and threads.
const HEAD: &str =
    " class=\"head\" font-weight=\"700\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"13\"";

fn text((x, y): Point, text: &str, more: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" xml:space=\"preserve\"{more}>{}</text>", escaped(text))
}

fn boxed(rect: &Rect, fill: &str, stroke: &str, round: f64, more: &str) -> String {
    let Rect { x, y, width, height } = rect;
    format!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round}\" fill=\"#{fill}\" \
         stroke=\"#{stroke}\"{more}/>"
    )
}

/// Returns the data of a line with round corners.
fn path(points: &[Point]) -> String {
    let mut out = format!("M{:.1},{:.1}", points[0].0, points[0].1);
    for corner in points.windows(3) {
        let [a, b, c] = [corner[0], corner[1], corner[2]];
        let toward = |from: Point, to: Point| {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            let share = (BEND / length).min(0.5);
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        };
        let (before, after) = (toward(b, a), toward(b, c));
        let _ = write!(out, " L{:.1},{:.1} Q{:.1},{:.1} {:.1},{:.1}", before.0, before.1, b.0, b.1, after.0, after.1);
    }
    let last = points[points.len() - 1];
    let _ = write!(out, " L{:.1},{:.1}", last.0, last.1);
    out
}

/// Returns the data of an arrowhead of this length.
fn tip(from: Point, to: Point, length: f64) -> String {
    let distance = (to.0 - from.0).hypot(to.1 - from.1).max(0.1);
    let (dx, dy) = (length * (to.0 - from.0) / distance, length * (to.1 - from.1) / distance);
    let (x, y) = to;
    format!(
        "M{x:.1},{y:.1} L{:.1},{:.1} L{:.1},{:.1} Z",
        x - dx + dy / 2.2,
        y - dy - dx / 2.2,
        x - dx - dy / 2.2,
        y - dy + dx / 2.2
    )
}

/// Returns the look of an edge, its width, and the mark by which a page finds it.
fn shown(edge: &PlacedEdge) -> (Look, f64, String) {
    match edge.of {
        EdgeMeaning::Step(step) => (CYCLE, 2.6, format!("data-step=\"{step}\"")),
        EdgeMeaning::Relation(relation) => (look(&edge.name), 1.5, format!("data-relation=\"{relation}\"")),
    }
}

fn stroke(look: Look, width: f64) -> String {
    let dash = match look.dash {
        Dash::Solid => String::new(),
        dash => {
            format!(" stroke-dasharray=\"{}\"", dash.lengths().iter().map(u8::to_string).collect::<Vec<_>>().join(" "))
        }
    };
    format!("fill=\"none\" stroke=\"#{}\" stroke-width=\"{width}\"{dash}", look.colour)
}

/// Draws the line of an edge. Beside a cycle other edges are thinner.
fn drawn(edge: &PlacedEdge, has_cycle: bool) -> String {
    let (look, width, mark) = shown(edge);
    let is_step = matches!(edge.of, EdgeMeaning::Step(_));
    let width = if has_cycle && !is_step { 1.0 } else { width };
    let length = if is_step { 10.0 } else { 7.0 };
    let (before, end) = (edge.points[edge.points.len() - 2], edge.points[edge.points.len() - 1]);
    let share = (length - 1.0) / (end.0 - before.0).hypot(end.1 - before.1).max(length);
    let mut points = edge.points.clone();
    points.pop();
    points.push((end.0 - share * (end.0 - before.0), end.1 - share * (end.1 - before.1)));
    format!(
        "<g {mark}><title>{}</title><path class=\"edge\" d=\"{}\" {}/><path d=\"{}\" fill=\"#{}\"/></g>",
        escaped(&edge.name),
        path(&points),
        stroke(look, width),
        tip(before, end, length),
        look.colour
    )
}

/// Writes the name of an edge, with its number if it is one of a cycle.
fn named(edge: &PlacedEdge, has_cycle: bool) -> String {
    let Some((x, y)) = edge.label else { return String::new() };
    let (look, _, mark) = shown(edge);
    // The ground of the text is a text of its own, because CairoSVG does not know the attribute `paint-order`.
    let ground = format!(
        "fill=\"#{LANE}\" stroke=\"#{LANE}\" stroke-width=\"3\" stroke-linejoin=\"round\" aria-hidden=\"true\""
    );
    let name = |x: f64, anchor: &str, size: u8| {
        let at =
            format!("class=\"name\" x=\"{x:.1}\" y=\"{:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\"", y + 3.5);
        let text = escaped(&edge.name);
        format!("<text {at} {ground}>{text}</text><text {at} fill=\"#{}\">{text}</text>", look.colour)
    };
    match edge.of {
        EdgeMeaning::Step(step) => {
            format!("<g {mark}>{}{}</g>", badge((x, y), step + 1), name(x + 11.0, "start", 11))
        }
        EdgeMeaning::Relation(_) => format!("<g {mark}>{}</g>", name(x, "middle", if has_cycle { 10 } else { 11 })),
    }
}

/// Draws the number of an edge of a cycle.
fn badge((x, y): Point, number: usize) -> String {
    format!(
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\" fill=\"#{}\"/><text class=\"number\" x=\"{x:.1}\" y=\"{:.1}\" font-size=\"11\" \
         font-weight=\"700\" text-anchor=\"middle\" fill=\"#{PAPER}\">{number}</text>",
        CYCLE.colour,
        y + 4.0
    )
}

/// Writes the text below a picture, and returns it with the height of all.
fn caption((graph, way): (&Drawing, usize), width: f64, top: f64) -> (String, f64) {
    let letters = ((width - 50.0) / 7.3) as usize;
    let mut out = String::from("<g class=\"caption\">");
    let mut y = top + 8.0;
    for line in textwrap(&graph.title, letters) {
        y += 17.0;
        out += &text((12.0, y), &line, " font-weight=\"700\"");
    }
    let mut x = 12.0;
    let mut below = y + 20.0;
    for relation in graph.relations.iter().unique_by(|relation| &relation.name) {
        let libraries = graph.relations.iter().filter(|other| other.name == relation.name).map(|other| &other.library);
        let name = format!("{} ({})", relation.name, libraries.format(", "));
        let wide = 34.0 + wide(&name) + 18.0;
        if x + wide > width && x > 12.0 {
            (x, below) = (12.0, below + 18.0);
        }
        let line = stroke(look(&relation.name), 1.5);
        let _ = write!(out, "<path d=\"M{x:.1},{:.1} h28\" {line}/>", below - 4.0);
        out += &text((x + 34.0, below), &name, "");
        x += wide;
        y = below;
    }
    if let Some(cycle) = graph.refutations.get(way).filter(|cycle| !cycle.steps.is_empty()) {
        y += 8.0;
        for (number, step) in cycle.steps.iter().enumerate() {
            for (i, line) in textwrap(&step.sentence, letters).iter().enumerate() {
                y += if i == 0 { 21.0 } else { 16.0 };
                if i == 0 {
                    out += &badge((20.0, y - 4.0), number + 1);
                }
                out += &text((36.0, y), line, "");
            }
        }
        for line in textwrap(&cycle.end, letters) {
            y += 21.0;
            out += &text((36.0, y), &line, "");
        }
    } else if let Some(why) = &graph.why {
        for line in textwrap(why, letters) {
            y += 20.0;
            out += &text((12.0, y), &line, "");
        }
    }
    (out + "</g>", y + 14.0)
}

/// Breaks a text into lines of at most so many letters.
fn textwrap(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
