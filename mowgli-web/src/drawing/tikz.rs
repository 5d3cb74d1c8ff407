//! Drawings as pictures in TikZ, for papers.
//!
//! Each relation has a macro, `\mowgliRf` for `rf`: its arguments are the course of an edge and the place of its name. A
//! paper that defines the macro before the picture gives the relation another look.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::graph::Drawing;
use super::layout::{EdgeMeaning, Placed, Point, Rect};
use super::palette::{CALL, CYCLE, INK, LANE, LINE, Look, MARKED, SOFT, look};

/// The size of a pixel: a letter of `\ttfamily\scriptsize` is 7.3 pixels wide.
const SCALE: f64 = 0.51;

/// Writes a picture, and the macros and colours that it uses.
pub(super) fn tikz(graph: &Drawing, way: usize, placed: &Placed) -> String {
    let mut out = format!(
        "% {}\n% Needs \\usepackage{{tikz}}. Define a macro before the picture to give its relation another look.\n",
        graph.title.replace('\n', " ")
    );
    let grounds = [("Ink", INK), ("Soft", SOFT), ("Line", LINE), ("Lane", LANE), ("Call", CALL), ("Marked", MARKED)];
    for (name, colour) in grounds.into_iter().chain([("Cycle", CYCLE.colour)]) {
        let _ = writeln!(out, "\\definecolor{{mowgli{name}}}{{HTML}}{{{}}}", colour.to_uppercase());
    }
    let names: BTreeSet<&str> = placed.edges.iter().filter(|e| is_pair(e.of)).map(|e| &*e.name).collect();
    for name in names {
        out += &relation(name, look(name));
    }
    if placed.edges.iter().any(|edge| !is_pair(edge.of)) {
        out += "\\providecommand\\mowgliStep[4]{\\draw[mowgliCycle,line width=1.1pt,rounded corners=2.5pt,->] #1;\
                \\node[mowgliCycle,circle,fill,inner sep=0.7pt,anchor=center,text=white,font=\\sffamily\\bfseries\\tiny] at #2 {#3};\
                \\node[mowgliCycle,text=mowgliCycle,anchor=west,xshift=5pt,font=\\ttfamily\\tiny] at #2 {#4};}\n";
    }
    let _ = writeln!(
        out,
        "\\begin{{tikzpicture}}[x={SCALE}pt,y=-{SCALE}pt,>=latex,every node/.style={{inner sep=0pt,outer sep=0pt,\
         text=mowgliInk,font=\\ttfamily\\scriptsize,anchor=base west}}]"
    );
    for (rect, name) in &placed.lanes {
        out += &boxed(rect, "fill=mowgliLane,draw=mowgliLine,rounded corners=3pt");
        out += &bold((rect.x + 10.0, rect.y + 19.0), name);
    }
    for (rect, cell) in &placed.cells {
        out += &boxed(rect, "fill=white,draw=mowgliSoft");
        out += &text((rect.x + 6.0, rect.y + 13.5), cell);
    }
    for (at, name) in &placed.heads {
        out += &bold(*at, name);
    }
    for &(from, to) in &placed.order {
        let _ = writeln!(out, "\\draw[mowgliSoft,->] {} -- {};", point(from), point(to));
    }
    for call in &placed.calls {
        let look =
            if call.is_marked { "fill=mowgliMarked,draw=mowgliCycle" } else { "fill=mowgliCall,draw=mowgliSoft" };
        out += &boxed(&call.rect, &format!("{look},rounded corners=2pt"));
        out += &text((call.rect.x + 8.0, call.rect.y + 15.0), &call.label);
        for event in &call.events {
            out += &boxed(&event.rect, "fill=white,draw=mowgliLine,rounded corners=1pt");
            out += &text((event.rect.x + 6.0, event.rect.y + 14.0), &event.label);
        }
        for pill in &call.pills {
            let edge = if pill.is_missing { "mowgliCycle,dashed" } else { "mowgliSoft" };
            out += &boxed(&pill.rect, &format!("fill=white,draw={edge},rounded corners=4pt"));
            out += &text((pill.rect.x + 7.0, pill.rect.y + 13.0), &pill.text);
        }
    }
    for edge in placed.edges.iter().rev() {
        let course = edge.points.iter().map(|at| point(*at)).collect::<Vec<_>>().join(" -- ");
        let (at, name) = match edge.label {
            Some(at) => (point(at), escaped(&edge.name)),
            None => (point(edge.points[0]), String::new()),
        };
        let _ = match edge.of {
            EdgeMeaning::Step(step) => writeln!(out, "\\mowgliStep{{{course}}}{{{at}}}{{{}}}{{{name}}}", step + 1),
            EdgeMeaning::Relation(_) => writeln!(out, "{}{{{course}}}{{{at}}}{{{name}}}", command(&edge.name)),
        };
    }
    out += "\\end{tikzpicture}\n";
    let cycle = graph.refutations.get(way);
    for (number, step) in cycle.iter().flat_map(|cycle| &cycle.steps).enumerate() {
        let _ = writeln!(out, "% {}. {}", number + 1, step.sentence);
    }
    out
}

fn is_pair(of: EdgeMeaning) -> bool {
    matches!(of, EdgeMeaning::Relation(_))
}

/// Returns the macro of a relation: letters only, as TeX needs them.
fn command(relation: &str) -> String {
    const DIGITS: [&str; 10] = ["Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    let mut out = String::from("\\mowgli");
    let mut is_first = true;
    for letter in relation.chars() {
        match letter {
            _ if letter.is_ascii_alphabetic() && is_first => out.push(letter.to_ascii_uppercase()),
            _ if letter.is_ascii_alphabetic() => out.push(letter),
            '0'..='9' => out.push_str(DIGITS[letter as usize - '0' as usize]),
            _ => {}
        }
        is_first = !letter.is_ascii_alphabetic();
    }
    out
}

/// Defines the macro of a relation, unless the paper has defined it.
fn relation(name: &str, look: Look) -> String {
    let lengths = look.dash.lengths();
    let pattern =
        lengths.iter().zip(["on", "off"].iter().cycle()).map(|(n, what)| format!("{what} {}pt", f64::from(*n) * 0.4));
    let dash = match lengths {
        [] => String::new(),
        _ => format!(",dash pattern={}", pattern.collect::<Vec<_>>().join(" ")),
    };
    let macro_name = command(name);
    let colour = macro_name.trim_start_matches('\\');
    format!(
        "\\definecolor{{{colour}}}{{HTML}}{{{}}}\n\\providecommand{macro_name}[3]{{\\draw[{colour},line width=0.7pt,\
         rounded corners=2.5pt,->{dash}] #1;\\node[text={colour},fill=mowgliLane,inner sep=0.5pt,anchor=center,\
         font=\\ttfamily\\tiny] at #2 {{#3}};}}\n",
        look.colour.to_uppercase()
    )
}

fn point((x, y): Point) -> String {
    format!("({x:.1},{y:.1})")
}

fn boxed(rect: &Rect, look: &str) -> String {
    let (from, to) = (point((rect.x, rect.y)), point((rect.x + rect.width, rect.y + rect.height)));
    format!("\\draw[{look}] {from} rectangle {to};\n")
}

fn text(at: Point, text: &str) -> String {
    format!("\\node at {} {{{}}};\n", point(at), escaped(text))
}

fn bold(at: Point, text: &str) -> String {
    format!("\\node[font=\\sffamily\\bfseries\\scriptsize] at {} {{{}}};\n", point(at), escaped(text))
}

/// Writes a text so that TeX prints it.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\textbackslash{}"),
            '{' | '}' | '_' | '#' | '$' | '%' | '&' => out.extend(['\\', letter]),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '→' => out.push_str("\\makebox[0.53em]{$\\to$}"),
            ' ' => out.push_str("\\ "),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_have_letters_only() {
        assert_eq!(
            ["rf", "rb_i", "IR", "fence2"].map(command),
            ["\\mowgliRf", "\\mowgliRbI", "\\mowgliIR", "\\mowgliFenceTwo"]
        );
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("z_1 := {2} → 50%"), "z\\_1\\ :=\\ \\{2\\}\\ \\makebox[0.53em]{$\\to$}\\ 50\\%");
    }
}
