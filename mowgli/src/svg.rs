//! Graphs as pictures.

use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};

use crate::error::{Code, InputError};

/// A drawing of a graph in the DOT language.
///
/// # Errors
/// If the text is not a graph.
pub fn svg(dot: &str) -> Result<String, InputError> {
    let graph = DotParser::new(dot).process().map_err(|error| InputError::new(Code::Syntax, error))?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut visual = builder.get();
    let mut writer = SVGWriter::new();
    visual.do_it(false, false, false, &mut writer);
    Ok(writer.finalize())
}
