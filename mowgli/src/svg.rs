//! Graphs as pictures.

use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};

/// A drawing of a graph in the DOT language.
///
/// # Errors
/// If the text is not a graph.
pub fn svg(dot: &str) -> Result<String, String> {
    let graph = DotParser::new(dot).process()?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut visual = builder.get();
    let mut writer = SVGWriter::new();
    visual.do_it(false, false, false, &mut writer);
    Ok(writer.finalize())
}
