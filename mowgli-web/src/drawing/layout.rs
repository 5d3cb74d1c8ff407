//! The places of all parts of a drawing.
//!
//! A lane stands for a node, a column for a thread, a box for a call, a pill for a subevent. A node without threads has a
//! lane too, because remote memory is where most mistakes show. Texts are in a font of equal widths, so their lengths are
//! known without a browser.

use itertools::Itertools as _;

use super::graph::{Drawing, DrawnCall, DrawnEnd};
use super::route::{EdgeToRoute, Free, Routed, Spot, route};

/// The width of a letter at 12 pixels.
const LETTER: f64 = 7.3;
/// The width of a letter in the names of edges, at 11 pixels.
const SMALL_LETTER: f64 = 6.7;
/// The height of a pill, and the distance from one to the next.
const PILL: (f64, f64) = (18.0, 22.0);
/// The distance between two calls of a thread.
const GAP: f64 = 22.0;
/// The space around the drawing.
const MARGIN: f64 = 10.0;
/// The space between the edge of a call and a pill.
const INSET: f64 = 8.0;

pub(super) type Point = (f64, f64);

/// A rectangle, from its upper left corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rect {
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// A subevent, a promise that is missing, or a stamp of a call that no execution has.
#[derive(Clone, Debug)]
pub(super) struct Pill {
    pub(super) rect: Rect,
    pub(super) text: String,
    /// The meaning of its stamp, if it has words.
    pub(super) about: Option<String>,
    /// The number of the subevent.
    pub(super) sub: Option<usize>,
    pub(super) is_missing: bool,
    stamp: String,
}

/// An event of a body, around its pills.
#[derive(Clone, Debug)]
pub(super) struct Framed {
    pub(super) rect: Rect,
    pub(super) label: String,
    /// The line of the body that made it.
    pub(super) line: Option<String>,
}

/// A call of the client.
#[derive(Clone, Debug)]
pub(super) struct Boxed {
    pub(super) rect: Rect,
    pub(super) label: String,
    /// Whether it is on the cycle, or an outcome that is impossible shows in it.
    pub(super) is_marked: bool,
    pub(super) events: Vec<Framed>,
    pub(super) pills: Vec<Pill>,
}

/// The meaning of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EdgeMeaning {
    /// A pair of the relation with this number.
    Relation(usize),
    /// The step of the cycle with this number.
    Step(usize),
}

/// An edge with its name.
#[derive(Clone, Debug)]
pub(super) struct PlacedEdge {
    pub(super) of: EdgeMeaning,
    pub(super) name: String,
    pub(super) points: Vec<Point>,
    /// The middle of its name, if there is room for it.
    pub(super) label: Option<Point>,
}

/// A drawing with all its places.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) lanes: Vec<(Rect, String)>,
    pub(super) cells: Vec<(Rect, String)>,
    /// The names of threads, each with its left end on the line of the text.
    pub(super) heads: Vec<(Point, String)>,
    /// The calls, in the order of the graph.
    pub(super) calls: Vec<Boxed>,
    /// The lower and the upper end of each arrow of program order.
    pub(super) order: Vec<(Point, Point)>,
    pub(super) edges: Vec<PlacedEdge>,
}

/// A thread, or the place of a node that has none.
struct ThreadColumn {
    node: u8,
    thread: Option<usize>,
    width: f64,
    calls: Vec<usize>,
}

/// Returns the width of a text.
pub(super) fn wide(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// Returns the width of the name of an edge.
pub(super) fn small(text: &str) -> f64 {
    text.chars().count() as f64 * SMALL_LETTER
}

/// Places the parts of a graph, with the edges of one of its cycles.
pub(super) fn place(graph: &Drawing, way: usize) -> Placed {
    let columns = columns(graph);
    let lanes: Vec<(usize, usize)> = lanes(&columns);
    // As if there were no memory; its rows move all else down when the widths of lanes are known.
    let head = MARGIN + 48.0;
    let mut calls: Vec<Boxed> = graph.calls.iter().map(|call| boxed(graph, call)).collect();
    let bottom = stack(&mut calls, &columns, head);
    let steps = graph.refutations.get(way).map_or(&[][..], |cycle| &cycle.steps);
    for step in steps {
        calls[step.from.call].is_marked = true;
        calls[step.to.call].is_marked = true;
    }
    if steps.is_empty() && graph.why.is_some() {
        calls.iter_mut().zip(&graph.calls).for_each(|(boxed, call)| boxed.is_marked = call.returns);
    }

    // The edges, first without places from left to right.
    let (spots, pills) = spots(&columns, &calls);
    let at_sub = |id: usize| pills.iter().position(|&(call, pill)| calls[call].pills[pill].sub == Some(id));
    let at_stamp = |place: &DrawnEnd| {
        pills.iter().rposition(|&(call, pill)| call == place.call && calls[call].pills[pill].stamp == place.stamp)
    };
    let mut wanted: Vec<(EdgeMeaning, String, (usize, usize))> = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let ends = at_stamp(&step.from).zip(at_stamp(&step.to)).filter(|(a, b)| a != b);
        wanted.extend(ends.map(|ends| (EdgeMeaning::Step(i), step.relation.to_owned(), ends)));
    }
    for (i, relation) in graph.relations.iter().enumerate() {
        for &(a, b) in &relation.pairs {
            let ends = at_sub(a).zip(at_sub(b)).filter(|(a, b)| a != b);
            wanted.extend(ends.map(|ends| (EdgeMeaning::Relation(i), relation.name.clone(), ends)));
        }
    }
    let free: Vec<Free> = columns.iter().map(|column| free(column, &calls, (head - 8.0, bottom + 8.0))).collect();
    let asked = |(of, name, ends): &(EdgeMeaning, String, (usize, usize))| {
        let is_step = matches!(of, EdgeMeaning::Step(_));
        EdgeToRoute { ends: *ends, is_step, room: if is_step { small(name) + 6.0 } else { 0.0 } }
    };
    let asked: Vec<EdgeToRoute> = wanted.iter().map(asked).collect();
    let narrowest: Vec<f64> = (0..=columns.len()).map(|gutter| narrowest(&columns, gutter)).collect();
    let Routed { courses, widths } = route(&spots, &free, &asked, &narrowest);

    // From left to right.
    let mut gutters = vec![MARGIN];
    for (column, width) in columns.iter().zip(&widths) {
        gutters.push(gutters[gutters.len() - 1] + width + column.width);
    }
    let x = |column: usize| gutters[column] + widths[column];
    for (i, column) in columns.iter().enumerate() {
        column.calls.iter().for_each(|&call| calls[call].shift(x(i)));
    }
    let width = gutters[columns.len()] + widths[columns.len()] + MARGIN;
    let edge = |gutter: usize| match gutter {
        0 => MARGIN,
        last if last == columns.len() => width - MARGIN,
        between => gutters[between] + widths[between] / 2.0,
    };
    let cells = lanes.iter().map(|&(first, last)| {
        let widest = edge(last + 1) - edge(first) - 26.0;
        cell_rows(graph, columns[first].node, widest)
    });
    let cells: Vec<Vec<Vec<String>>> = cells.collect();
    let down = 24.0 * cells.iter().map(Vec::len).max().unwrap_or(0) as f64;
    calls.iter_mut().for_each(|call| call.fall(down));
    let (head, height) = (head + down, bottom + down + 26.0);
    let (mut placed_lanes, mut placed_cells) = (Vec::new(), Vec::new());
    for (&(first, last), rows) in lanes.iter().zip(&cells) {
        let (left, right) = (edge(first) + 3.0, edge(last + 1) - 3.0);
        let rect = Rect { x: left, y: MARGIN, width: right - left, height: height - 2.0 * MARGIN };
        placed_lanes.push((rect, format!("node {}", columns[first].node)));
        for (row, texts) in rows.iter().enumerate() {
            let mut at = left + 10.0;
            for text in texts {
                let rect = Rect { x: at, y: MARGIN + 30.0 + 24.0 * row as f64, width: wide(text) + 12.0, height: 19.0 };
                at += rect.width + 6.0;
                placed_cells.push((rect, text.clone()));
            }
        }
    }
    let names = columns.iter().enumerate().filter_map(|(i, c)| Some(((x(i), head - 6.0), c.thread?)));
    let heads = names.map(|(at, thread)| (at, graph.threads[thread].name.clone())).collect();
    let mut edges: Vec<PlacedEdge> = Vec::new();
    for ((of, name, _), course) in wanted.into_iter().zip(&courses) {
        let side = |spot: usize, right: bool| {
            let rect = calls[pills[spot].0].pills[pills[spot].1].rect;
            if right { rect.x + rect.width } else { rect.x }
        };
        let (begin, end) =
            (side(course.wanted.ends.0, course.at_right.0), side(course.wanted.ends.1, course.at_right.1));
        let points = course.points(begin, end, &gutters).into_iter().map(|(x, y)| (x, y + down)).collect_vec();
        edges.push(PlacedEdge { of, name, points: tidied(&points), label: None });
    }
    let mut placed = Placed {
        width,
        height,
        lanes: placed_lanes,
        cells: placed_cells,
        heads,
        order: order(&columns, &calls),
        calls,
        edges,
    };
    placed.name_edges();
    placed
}

/// Returns the columns: the threads of a node beside each other, and one for a node that has memory only.
fn columns(graph: &Drawing) -> Vec<ThreadColumn> {
    let of_threads = graph.threads.iter().map(|thread| thread.node);
    let nodes = of_threads.chain(graph.cells.iter().map(|cell| cell.node)).sorted().dedup();
    let of_node = |node: u8| {
        let own = (0..graph.threads.len()).filter(|&t| graph.threads[t].node == node).map(Some).collect_vec();
        let own = if own.is_empty() { vec![None] } else { own };
        own.into_iter().map(move |thread| {
            let calls = (0..graph.calls.len()).filter(|&c| Some(graph.calls[c].thread) == thread).collect_vec();
            let width =
                calls.iter().map(|&c| broad(&graph.calls[c])).fold(if thread.is_some() { 60.0 } else { 0.0 }, f64::max);
            ThreadColumn { node, thread, width, calls }
        })
    };
    nodes.flat_map(of_node).collect()
}

/// Returns the first and the last column of each node.
fn lanes(columns: &[ThreadColumn]) -> Vec<(usize, usize)> {
    let groups = columns.iter().enumerate().chunk_by(|(_, column)| column.node);
    groups
        .into_iter()
        .map(|(_, group)| {
            let all = group.map(|(i, _)| i).collect_vec();
            (all[0], all[all.len() - 1])
        })
        .collect()
}

/// Returns the texts of the memory cells of a node, in rows.
fn cell_rows(graph: &Drawing, node: u8, widest: f64) -> Vec<Vec<String>> {
    let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
    for cell in graph.cells.iter().filter(|cell| cell.node == node) {
        let text = cell.text();
        let width = wide(&text) + 18.0;
        match rows.last_mut() {
            Some((used, row)) if *used + width <= widest => {
                *used += width;
                row.push(text);
            }
            _ => rows.push((width, vec![text])),
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Returns the least width of a gutter: lanes are further apart than threads of a node.
fn narrowest(columns: &[ThreadColumn], gutter: usize) -> f64 {
    match gutter {
        0 => 22.0,
        last if last == columns.len() => {
            let (first, end) = *lanes(columns).last().expect("there is a column");
            lacking(columns, first, end).max(22.0)
        }
        between if columns[between - 1].node == columns[between].node => 40.0,
        between => {
            let lane = lanes(columns).into_iter().find(|lane| lane.1 == between - 1).expect("a lane ends there");
            64.0_f64.max(lacking(columns, lane.0, lane.1) + 32.0)
        }
    }
}

/// Returns the width that the memory of a lane needs beyond its columns.
fn lacking(columns: &[ThreadColumn], first: usize, last: usize) -> f64 {
    let own: f64 = columns[first..=last].iter().map(|column| column.width).sum();
    (120.0 - own).max(0.0)
}

/// Returns the width of a call.
fn broad(call: &DrawnCall) -> f64 {
    let pill = |text: &str, inset: f64| wide(text) + 14.0 + 2.0 * inset;
    let of_events = call.events.iter().flat_map(|event| {
        let inset = if event.label.is_empty() { INSET } else { 2.0 * INSET };
        let subs = event.subs.iter().map(move |sub| pill(&sub.text, inset));
        subs.chain([wide(&event.label) + 3.0 * INSET])
    });
    let others = call.missing.iter().map(|stamp| pill(&promised(stamp), INSET));
    let parts = call.parts.iter().map(|stamp| pill(stamp, INSET));
    let label = wide(&call.label) + 2.0 * INSET;
    of_events.chain(others).chain(parts).fold(label, f64::max)
}

/// Returns the text of a stamp that a specification promises and an implementation lacks.
fn promised(stamp: &str) -> String {
    format!("{stamp}: promised, missing")
}

/// Makes the box of a call, as if it stood at the origin.
fn boxed(graph: &Drawing, call: &DrawnCall) -> Boxed {
    let width = broad(call);
    let (mut pills, mut events) = (Vec::new(), Vec::new());
    let mut y = 22.0;
    let about = |stamp: &str| graph.about.get(stamp).map(|words| format!("{stamp}: {words}"));
    let mut pill = |y: &mut f64, inset: f64, text: String, stamp: &str, sub: Option<usize>, is_missing: bool| {
        let rect = Rect { x: inset, y: *y, width: wide(&text) + 14.0, height: PILL.0 };
        *y += PILL.1;
        pills.push(Pill { rect, text, about: about(stamp), sub, is_missing, stamp: stamp.to_owned() });
    };
    for event in &call.events {
        let top = y;
        let is_framed = !event.label.is_empty();
        y += if is_framed { 21.0 } else { 2.0 };
        let inset = if is_framed { 2.0 * INSET } else { INSET };
        for sub in &event.subs {
            pill(&mut y, inset, sub.text.clone(), &sub.stamp, Some(sub.id), false);
        }
        if is_framed {
            let rect = Rect { x: INSET - 2.0, y: top, width: width - 2.0 * INSET + 4.0, height: y - top };
            events.push(Framed { rect, label: event.label.clone(), line: event.line.clone() });
            y += 5.0;
        }
    }
    for stamp in &call.missing {
        pill(&mut y, INSET, promised(stamp), stamp, None, true);
    }
    for stamp in &call.parts {
        pill(&mut y, INSET, stamp.clone(), stamp, None, false);
    }
    let rect = Rect { x: 0.0, y: 0.0, width, height: y + 3.0 };
    Boxed { rect, label: call.label.clone(), is_marked: false, events, pills }
}

/// Puts the calls of each column below each other, and returns the height at which the lowest ends.
fn stack(calls: &mut [Boxed], columns: &[ThreadColumn], head: f64) -> f64 {
    let mut bottom = head;
    for column in columns {
        let mut y = head + 4.0;
        for &call in &column.calls {
            calls[call].rect.width = column.width;
            calls[call].events.iter_mut().for_each(|event| event.rect.width = column.width - 2.0 * INSET + 4.0);
            calls[call].fall(y);
            y += calls[call].rect.height + GAP;
        }
        bottom = bottom.max(y - GAP);
    }
    bottom
}

impl Boxed {
    fn rects(&mut self) -> impl Iterator<Item = &mut Rect> {
        let events = self.events.iter_mut().map(|event| &mut event.rect);
        events.chain(self.pills.iter_mut().map(|pill| &mut pill.rect)).chain([&mut self.rect])
    }

    fn shift(&mut self, x: f64) {
        self.rects().for_each(|rect| rect.x += x);
    }

    fn fall(&mut self, y: f64) {
        self.rects().for_each(|rect| rect.y += y);
    }
}

/// Returns the stamps, each with its column, and the call and the pill that it is.
fn spots(columns: &[ThreadColumn], calls: &[Boxed]) -> (Vec<Spot>, Vec<(usize, usize)>) {
    let all = columns.iter().enumerate().flat_map(|(column, own)| {
        own.calls.iter().flat_map(move |&call| {
            let pills = calls[call].pills.iter().enumerate();
            pills.map(move |(i, pill)| (Spot { column, y: pill.rect.y + PILL.0 / 2.0 }, (call, i)))
        })
    });
    all.unzip()
}

/// Returns the parts of a column that no call covers.
fn free(column: &ThreadColumn, calls: &[Boxed], (top, bottom): (f64, f64)) -> Free {
    let rects = column.calls.iter().map(|&call| calls[call].rect);
    let edges = [top].into_iter().chain(rects.flat_map(|r| [r.y, r.y + r.height])).chain([bottom + 8.0]);
    edges.tuples().collect()
}

/// Returns the arrows from each call to the next one of its thread.
fn order(columns: &[ThreadColumn], calls: &[Boxed]) -> Vec<(Point, Point)> {
    let of_column = |column: &ThreadColumn| {
        let pairs = column.calls.iter().tuple_windows().map(|(&a, &b)| (calls[a].rect, calls[b].rect));
        pairs.map(|(a, b)| ((a.x + 16.0, a.y + a.height), (b.x + 16.0, b.y))).collect_vec()
    };
    columns.iter().flat_map(of_column).collect()
}

/// Leaves out points between two others on a line.
fn tidied(points: &[Point]) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for &point in points {
        if let [.., a, b] = kept[..]
            && ((a.0 == b.0 && b.0 == point.0) || (a.1 == b.1 && b.1 == point.1))
        {
            kept.pop();
        }
        if kept.last() != Some(&point) {
            kept.push(point);
        }
    }
    kept
}

impl Placed {
    /// Returns the places of all texts but the names of edges.
    pub(super) fn texts(&self) -> Vec<Rect> {
        let line = |(x, y): Point, text: &str| Rect { x, y: y - 11.0, width: wide(text), height: 14.0 };
        let of_call = |call: &Boxed| {
            let pills = call.pills.iter().map(|pill| pill.rect);
            let events = call.events.iter().map(|e| line((e.rect.x + 6.0, e.rect.y + 14.0), &e.label));
            let label = line((call.rect.x + INSET, call.rect.y + 15.0), &call.label);
            pills.chain(events).chain([label]).collect_vec()
        };
        let heads = self.heads.iter().map(|(at, text)| line(*at, text));
        let cells = self.cells.iter().map(|(rect, _)| *rect);
        self.calls.iter().flat_map(of_call).chain(heads).chain(cells).collect()
    }

    /// Puts the names of edges where they cover no text and no other name: those of the cycle first.
    fn name_edges(&mut self) {
        let mut taken = self.texts();
        for edge in &mut self.edges {
            // The number of an edge of a cycle is on the line, and its name beside it.
            let is_step = matches!(edge.of, EdgeMeaning::Step(_));
            let width = small(&edge.name);
            let around = |(x, y): Point| match is_step {
                true => Rect { x: x - 9.0, y: y - 9.0, width: width + 21.0, height: 18.0 },
                false => Rect { x: x - width / 2.0 - 1.0, y: y - 7.0, width: width + 2.0, height: 14.0 },
            };
            let candidates = middles(&edge.points);
            let free = candidates.iter().find(|at| taken.iter().all(|other| !other.overlaps(&around(**at))));
            edge.label = free.copied().or_else(|| candidates.first().copied().filter(|_| is_step));
            taken.extend(edge.label.map(around));
        }
    }
}

/// Returns points on the pieces of a line, the best places for a name first. The middles of long vertical pieces are
/// best, then other points of theirs, then those of horizontal ones.
fn middles(points: &[Point]) -> Vec<Point> {
    let pieces = points.iter().copied().tuple_windows::<(Point, Point)>();
    let key = |(a, b): &(Point, Point)| ((a.1 - b.1).abs() < 16.0, -((a.1 - b.1).abs() + (a.0 - b.0).abs()));
    let sorted = pieces.sorted_by(|p, q| key(p).0.cmp(&key(q).0).then(key(p).1.total_cmp(&key(q).1))).collect_vec();
    let shares = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9];
    let along = |(a, b): &(Point, Point), t: f64| (a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1));
    sorted.iter().flat_map(|piece| shares.map(|t| along(piece, t))).collect()
}
