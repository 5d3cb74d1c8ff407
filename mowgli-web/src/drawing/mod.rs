//! Drawings of executions: the one form in which the page, the book and `explain` show them.
//!
//! A lane stands for a node, with the cells of its memory, and a column for a thread. A box is a call, and a pill in it
//! a subevent. If the specifications forbid an outcome, the cycle is red and numbered, with a sentence for each edge.
//! [`Drawing`] is the data of a drawing, and `layout` and `route` find the places.

mod graph;
mod layout;
mod palette;
mod route;
mod svg;
mod tikz;

use graph::{Cycle, DrawnCall, DrawnRelation, DrawnThread};
use itertools::Itertools as _;
use serde::Serialize;

pub use graph::Drawing;

/// A drawing of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    graph: &'a Drawing,
    /// The number of the cycle that is drawn, if there are several.
    way: usize,
}

impl<'a> Picture<'a> {
    /// Returns the drawing of a graph, with its first cycle if it has some.
    #[must_use]
    pub fn new(graph: &'a Drawing) -> Self {
        Self { graph, way: 0 }
    }

    /// Returns the drawing with the cycle of this number, from 0.
    #[must_use]
    pub fn way(self, way: usize) -> Self {
        Self { way, ..self }
    }

    /// Returns the drawing as an SVG file.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::svg(self.graph, self.way, &layout::place(self.graph, self.way))
    }

    /// Returns the drawing as a picture in TikZ, with a macro for each relation.
    #[must_use]
    pub fn tikz(&self) -> String {
        tikz::tikz(self.graph, self.way, &layout::place(self.graph, self.way))
    }
}

/// A graph as the page gets it: its drawings, one for each cycle, and the data of the texts beside them.
#[derive(Serialize)]
struct Sent<'a> {
    title: &'a str,
    threads: &'a [DrawnThread],
    calls: &'a [DrawnCall],
    relations: &'a [DrawnRelation],
    run: &'a [usize],
    refutations: &'a [Cycle],
    why: &'a Option<String>,
    pictures: Vec<String>,
}

impl Serialize for Drawing {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { title, threads, calls, relations, run, refutations, why, .. } = self;
        let cycles: Vec<usize> = refutations.iter().positions(|cycle| !cycle.steps.is_empty()).collect();
        let ways = if cycles.is_empty() { vec![0] } else { cycles }.into_iter();
        let pictures = ways.map(|way| Picture::new(self).way(way).svg()).collect();
        Sent { title, threads, calls, relations, run, refutations, why, pictures }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use mowgli_core::search::problem::Limits;

    use super::layout::{EdgeMeaning, Placed, Rect, place};
    use super::*;
    use mowgli_check::catalogue::Catalogue;
    use mowgli_check::explain::{explain, of_test};
    use mowgli_check::litmus::parse::parse;

    /// Returns the graphs of the assertions of a test of the papers.
    fn graphs(name: &str, implemented: &[&str]) -> Vec<Drawing> {
        let path = format!("{}/../tests/litmus/papers/{name}.litmus", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect("a test");
        let (catalogue, limits) = (Catalogue::builtin(), Limits::default());
        let test = parse(&path, &text).expect("a test");
        let implemented: Vec<String> = implemented.iter().map(ToString::to_string).collect();
        let findings = of_test(catalogue, &test, &text, &implemented, limits).expect("implementations");
        let explained = findings.into_iter().map(|finding| explain(catalogue, finding.expect("decided"), limits));
        explained.map(|explained| Drawing::explained(&explained.expect("explained"))).collect()
    }

    /// Pictures of outcomes that are allowed, forbidden, and wrong, with one to four nodes.
    static ALL: LazyLock<Vec<Drawing>> = LazyLock::new(|| {
        let names = ["loco-fig2a", "loco-fig4-sb", "loco-fig6-bar", "loco-fig13-ring", "robust-fig5-tree3", "tso-sb"];
        let papers = names.iter().flat_map(|name| graphs(name, &[]));
        papers.chain(graphs("loco-fig22-three-node-barrier", &["bal:no-fence"])).collect()
    });

    /// The pieces of an edge as thin rectangles.
    fn pieces(edge: &layout::PlacedEdge) -> Vec<Rect> {
        let pairs = edge.points.windows(2).map(|pair| (pair[0], pair[1]));
        let thin = |(a, b): ((f64, f64), (f64, f64))| Rect {
            x: a.0.min(b.0),
            y: a.1.min(b.1),
            width: (a.0 - b.0).abs().max(0.1),
            height: (a.1 - b.1).abs().max(0.1),
        };
        pairs.map(thin).collect()
    }

    fn each_way(check: impl Fn(&Drawing, &Placed)) {
        for graph in ALL.iter() {
            (0..graph.refutations.len().max(1)).for_each(|way| check(graph, &place(graph, way)));
        }
    }

    #[test]
    fn edges_cross_no_text() {
        let edges = std::cell::Cell::new(0);
        each_way(|graph, placed| {
            let texts = placed.texts();
            for edge in &placed.edges {
                edges.set(edges.get() + 1);
                let crossed = pieces(edge).into_iter().find(|piece| texts.iter().any(|text| text.overlaps(piece)));
                assert_eq!(crossed, None, "{}: {edge:?}", graph.title);
            }
        });
        assert!(edges.get() > 60, "{} edges", edges.get());
    }

    #[test]
    fn parts_lie_in_their_lanes_and_apart() {
        each_way(|graph, placed| {
            let calls: Vec<Rect> = placed.calls.iter().map(|call| call.rect).collect();
            for (i, call) in calls.iter().enumerate() {
                assert!(calls[..i].iter().all(|other| !other.overlaps(call)), "{}", graph.title);
                let lane = placed.lanes.iter().find(|(lane, _)| lane.x < call.x && call.x < lane.x + lane.width);
                let lane = lane.expect("a lane").0;
                assert!(call.x + call.width < lane.x + lane.width && call.y + call.height < lane.y + lane.height);
            }
            let cells: Vec<Rect> = placed.cells.iter().map(|(rect, _)| *rect).collect();
            assert!(cells.iter().enumerate().all(|(i, cell)| cells[..i].iter().all(|other| !other.overlaps(cell))));
            assert!(cells.iter().all(|cell| {
                placed.lanes.iter().any(|(lane, _)| lane.x < cell.x && cell.x + cell.width < lane.x + lane.width)
            }));
        });
    }

    /// Two vertical pieces never share a track where they are at the same height.
    #[test]
    fn edges_keep_apart() {
        each_way(|graph, placed| {
            let upright = placed.edges.iter().flat_map(pieces).filter(|piece| piece.height > 1.0);
            let upright: Vec<Rect> = upright.map(|piece| Rect { x: piece.x - 1.0, width: 2.0, ..piece }).collect();
            for (i, piece) in upright.iter().enumerate() {
                assert!(upright[..i].iter().all(|other| !other.overlaps(piece)), "{}: {piece:?}", graph.title);
            }
        });
    }

    #[test]
    fn remote_memory_has_a_lane_and_values() {
        let put = "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n x := 1 ;\nallowed (z=1)\n";
        let (catalogue, limits) = (Catalogue::builtin(), Limits::default());
        let test = parse("t.litmus", put).expect("a test");
        let found = of_test(catalogue, &test, put, &[], limits).expect("no implementations").remove(0);
        let graph = Drawing::explained(&explain(catalogue, found.expect("decided"), limits).expect("explained"));
        let placed = place(&graph, 0);
        let lanes: Vec<&str> = placed.lanes.iter().map(|(_, name)| &**name).collect();
        let cells: Vec<&str> = placed.cells.iter().map(|(_, text)| &**text).collect();
        assert_eq!((lanes, cells), (vec!["node 1", "node 2"], vec!["x = 0 → 1", "z = 0 → 1"]));
    }

    /// The cycle of an outcome without an execution is drawn, and every step has its sentence.
    #[test]
    fn forbidden_outcomes_are_drawn() {
        let graph = graphs("loco-fig13-ring", &[]).into_iter().find(|graph| !graph.refutations.is_empty());
        let graph = graph.expect("an outcome that is forbidden");
        let steps = graph.refutations[0].steps.len();
        let drawn = place(&graph, 0).edges.iter().filter(|edge| matches!(edge.of, EdgeMeaning::Step(_))).count();
        assert!(steps > 1 && drawn == steps, "{drawn} of {steps}");
        let svg = Picture::new(&graph).svg();
        assert_eq!(svg.matches("data-step=").count(), 2 * steps, "a line and a name each");
    }

    /// A picture needs no style sheet, no variable, no font of the web, and no attribute that CairoSVG lacks. It is the same each time.
    #[test]
    fn pictures_need_nothing_else() {
        for graph in ALL.iter() {
            let svg = Picture::new(graph).svg();
            assert_eq!(svg, Picture::new(graph).svg());
            assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "), "{svg}");
            for outside in ["<style", "var(", "currentColor", "url(", "href", "paint-order"] {
                assert!(!svg.contains(outside), "{outside}");
            }
        }
    }
}
