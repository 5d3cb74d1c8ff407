//! The courses of edges between the columns of a drawing.
//!
//! **Computes**: for each edge a line of horizontal and vertical pieces. Vertical pieces lie in the gutters between columns,
//! each on a track of its own. Horizontal pieces lie beside a stamp, or cross a column between two of its calls.
//!
//! **Invariant**: no piece crosses a text. A row has one stamp and nothing else, so its sides are free. The gaps between
//! calls are free, and gutters have no text but the names of edges.
//!
//! **Example**: an edge goes from the first of three columns to the third. It leaves its stamp to the right, and goes up
//! or down to the nearest gap between two calls of the second column. It crosses there, and enters its stamp from the left.
//!
//! **Correct because**: `edges_cross_no_text` compares all pieces with all texts of the pictures of the papers' tests.
//!
//! **Cost**: quadratic in the edges of a gutter.

use itertools::Itertools as _;

/// The distance between two tracks of a gutter, and between two if edges of a cycle go through it.
const TRACK: (f64, f64) = (9.0, 13.0);
/// The distance of the first track from a column: an arrowhead and the edge of a call fit in.
const PAD: f64 = 16.0;
/// The distance between two edges that cross a column, and between an edge and a call.
const APART: f64 = 5.0;

/// A stamp at which edges begin and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) column: usize,
    pub(super) y: f64,
}

/// The parts of a column that no call covers, from top to bottom.
pub(super) type Free = Vec<(f64, f64)>;

/// An edge whose course is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct EdgeToRoute {
    /// The stamps at its ends, by position.
    pub(super) ends: (usize, usize),
    /// True for an edge of a cycle: it is wider, and within a column it keeps to the right.
    pub(super) is_step: bool,
    /// The room that its name needs beside its line.
    pub(super) room: f64,
}

/// The course of an edge, before the places of columns are known.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub(super) wanted: EdgeToRoute,
    /// Whether each end is at the right side of its stamp.
    pub(super) at_right: (bool, bool),
    /// The gutters through which it goes. Gutter `g` lies before column `g`.
    gutters: Vec<usize>,
    /// The height before the first gutter, between two, and behind the last one.
    levels: Vec<f64>,
    /// The track in each gutter, from its left edge.
    tracks: Vec<f64>,
}

/// The courses of all edges, and the widths that the gutters need for them.
pub(super) struct Routed {
    pub(super) courses: Vec<Course>,
    pub(super) widths: Vec<f64>,
}

/// Finds the courses of edges between stamps. No gutter is narrower than `narrowest` says.
pub(super) fn route(spots: &[Spot], free: &[Free], edges: &[EdgeToRoute], narrowest: &[f64]) -> Routed {
    let mut taken: Vec<Vec<f64>> = vec![Vec::new(); free.len()];
    let mut courses: Vec<Course> = edges.iter().map(|edge| course(spots, free, &mut taken, *edge)).collect();
    spread(&mut courses);
    let widths = (0..=free.len()).map(|gutter| track(&mut courses, gutter, narrowest[gutter])).collect();
    Routed { courses, widths }
}

/// Returns the course of an edge, with all ends in the middles of their stamps.
fn course(spots: &[Spot], free: &[Free], taken: &mut [Vec<f64>], wanted: EdgeToRoute) -> Course {
    let (from, to, to_right) = (spots[wanted.ends.0], spots[wanted.ends.1], wanted.is_step);
    let gutters: Vec<usize> = match from.column.cmp(&to.column) {
        std::cmp::Ordering::Less => (from.column + 1..=to.column).collect(),
        std::cmp::Ordering::Equal => vec![from.column + usize::from(to_right)],
        std::cmp::Ordering::Greater => (to.column + 1..=from.column).rev().collect(),
    };
    let mut levels = vec![from.y];
    for (passed, pair) in gutters.windows(2).enumerate() {
        let column = pair[0].min(pair[1]);
        let before = levels[passed];
        let straight = before + (to.y - before) / (gutters.len() - passed) as f64;
        let level = nearest(&free[column], &taken[column], straight);
        taken[column].push(level);
        levels.push(level);
    }
    levels.push(to.y);
    let at_right = match from.column.cmp(&to.column) {
        std::cmp::Ordering::Less => (true, false),
        std::cmp::Ordering::Equal => (to_right, to_right),
        std::cmp::Ordering::Greater => (false, true),
    };
    let tracks = vec![0.0; gutters.len()];
    Course { wanted, at_right, gutters, levels, tracks }
}

/// Returns the free height in a column that is nearest to the wanted one, apart from those that are taken.
fn nearest(free: &Free, taken: &[f64], wanted: f64) -> f64 {
    let candidates = free.iter().flat_map(|&(low, high)| {
        let (low, high) = (low + APART, high - APART);
        let steps = ((high - low) / APART).max(0.0) as usize;
        let grid = (0..=steps).map(move |step| low + APART * step as f64);
        grid.chain((low <= wanted && wanted <= high).then_some(wanted))
    });
    let is_apart = |y: &f64| taken.iter().all(|t| (t - y).abs() >= APART);
    let (apart, close): (Vec<f64>, Vec<f64>) = candidates.partition(is_apart);
    let best = |all: Vec<f64>| all.into_iter().min_by(|a, b| (a - wanted).abs().total_cmp(&(b - wanted).abs()));
    best(apart).or_else(|| best(close)).unwrap_or(wanted)
}

/// The order of the ends at one side of a stamp, from top to bottom. An edge within the column that goes up begins above
/// all others, and one that goes down below; among these the nearer one is nearer to the middle.
fn rank(course: &Course, is_from: bool) -> (i8, f64) {
    let levels = &course.levels;
    let (own, other) =
        if is_from { (levels[0], levels[1]) } else { (levels[levels.len() - 1], levels[levels.len() - 2]) };
    match course.at_right.0 == course.at_right.1 {
        true if other < own => (-1, -other),
        true => (1, -other),
        false => (0, other),
    }
}

/// Moves the ends at one side of a stamp apart from each other.
fn spread(courses: &mut [Course]) {
    let ends = courses.iter().enumerate().flat_map(|(i, course)| {
        let from = ((course.wanted.ends.0, course.at_right.0), rank(course, true), i, true);
        [from, ((course.wanted.ends.1, course.at_right.1), rank(course, false), i, false)]
    });
    let order = |a: &(i8, f64), b: &(i8, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
    let sorted: Vec<_> = ends.sorted_by(|a, b| a.0.cmp(&b.0).then(order(&a.1, &b.1)).then(a.2.cmp(&b.2))).collect();
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        let step = (13.0 / group.len() as f64).min(5.0);
        for (position, &(_, _, i, is_from)) in group.iter().enumerate() {
            let levels = &mut courses[i].levels;
            let last = levels.len() - 1;
            levels[if is_from { 0 } else { last }] += (position as f64 - (group.len() - 1) as f64 / 2.0) * step;
        }
    }
}

/// A vertical piece in a gutter.
struct Upright {
    /// The course, and its position there.
    of: (usize, usize),
    low: f64,
    high: f64,
    /// The key by which pieces take tracks.
    key: f64,
}

/// Gives each vertical piece of a gutter a track on which it overlaps none. Pieces that come back to the left column have
/// the tracks beside it, the shortest first, and those of the right column likewise. Returns the width of the gutter.
fn track(courses: &mut [Course], gutter: usize, narrowest: f64) -> f64 {
    let (mut left, mut through, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for (i, course) in courses.iter().enumerate() {
        for at in course.gutters.iter().positions(|g| *g == gutter) {
            let (before, after) = (course.levels[at], course.levels[at + 1]);
            let is_alone = course.at_right.0 == course.at_right.1;
            let goes_right = course.at_right.0;
            let (at_left, at_right) = if goes_right { (before, after) } else { (after, before) };
            let down = at_right > at_left;
            let (low, high) = (before.min(after), before.max(after));
            let (list, key) = match (is_alone, goes_right) {
                (true, true) => (&mut left, high - low),
                (true, false) => (&mut right, high - low),
                (false, _) => (&mut through, if down { 1e6 - at_left } else { at_left }),
            };
            list.push(Upright { of: (i, at), low, high, key });
        }
    }
    let all_pieces =
        || [&left, &through, &right].into_iter().flatten().map(|piece: &Upright| &courses[piece.of.0].wanted);
    let apart = if all_pieces().any(|wanted| wanted.is_step) { TRACK.1 } else { TRACK.0 };
    let room = all_pieces().map(|wanted| wanted.room).fold(0.0, f64::max);
    let [left, through, right] = [left, through, right].map(colour);
    let all = left.1 + through.1 + right.1;
    let width = narrowest.max(2.0 * PAD + apart * (all as f64 - 1.0).max(0.0) + room);
    let slack = (width - 2.0 * PAD - apart * (all as f64 - 1.0) - room).max(0.0);
    let x = |kind: usize, track: usize| match kind {
        0 => PAD + apart * track as f64,
        1 => PAD + slack / 2.0 + apart * (left.1 + track) as f64,
        _ => width - PAD - room - apart * track as f64,
    };
    for (kind, found) in [&left, &through, &right].into_iter().enumerate() {
        for &((i, at), own) in &found.0 {
            courses[i].tracks[at] = x(kind, own);
        }
    }
    width
}

/// The tracks of pieces, and their number.
type Coloured = (Vec<((usize, usize), usize)>, usize);

/// Gives pieces the first tracks on which they overlap none, in the order of their keys.
fn colour(mut pieces: Vec<Upright>) -> Coloured {
    pieces.sort_by(|a, b| a.key.total_cmp(&b.key));
    let mut tracks: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut all = Vec::new();
    for piece in &pieces {
        let is_free = |track: &Vec<(f64, f64)>| {
            track.iter().all(|&(low, high)| piece.low > high + APART || piece.high < low - APART)
        };
        let own = tracks.iter().position(is_free).unwrap_or_else(|| {
            tracks.push(Vec::new());
            tracks.len() - 1
        });
        tracks[own].push((piece.low, piece.high));
        all.push((piece.of, own));
    }
    (all, tracks.len())
}

impl Course {
    /// Returns the corners of the course. `begin` and `end` are the sides of its stamps, `gutters` the left edges of the
    /// gutters.
    pub(super) fn points(&self, begin: f64, end: f64, gutters: &[f64]) -> Vec<(f64, f64)> {
        let mut points = vec![(begin, self.levels[0])];
        for (at, (gutter, track)) in self.gutters.iter().zip(&self.tracks).enumerate() {
            let x = gutters[*gutter] + track;
            points.extend([(x, self.levels[at]), (x, self.levels[at + 1])]);
        }
        points.push((end, self.levels[self.levels.len() - 1]));
        points
    }
}
