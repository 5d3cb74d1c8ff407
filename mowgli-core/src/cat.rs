//! Specifications as text of `cat`, the language of memory models that herd7 and Dat3M read.
//!
//! The writer declares each notion that cat cannot express at the head of the text: stamps become sets of events, and
//! equal keys become relations. Predicates and keys appear under the names of their functions, so the writer rejects
//! closures, which have none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools;

use crate::algebra::{Choice, Demand, Key, Rel, RelExpr, Set, SetDefinition, Spec};
use crate::ids::Name;
use crate::library::Libraries;
use crate::stamp::Stamp;

/// The reader of a model. The tools agree on cat except for the way in which a model chooses an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CatDialect {
    /// A person. An order is any of the linearisations.
    Person,
    /// herd7. The text linearises orders class by class, along the pairs that they must contain anyway. It includes a
    /// file with the given notions.
    Herd,
    /// Dartagnan, of Dat3M. It has no `with`, so an order is a free relation that is acyclic and total.
    Dat3m,
}

/// Returns the name of the file with given notions, which a model for herd7 includes.
#[must_use]
pub fn given_of(title: &str) -> String {
    format!("{title}-given.cat")
}

/// A model in cat.
#[derive(Clone, Debug)]
pub struct Cat {
    /// The text.
    pub text: String,
    /// The notions that the model takes as given, each with its meaning.
    pub given: BTreeMap<String, String>,
}

/// A construct of a specification that cat cannot express.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Inexpressible {
    /// No library has this name.
    #[error("there is no library {0}")]
    Library(Name),
    /// A predicate or a key is a function without a name.
    #[error("cat cannot say what a function without a name does; give it one")]
    Closure,
    /// The stamp order depends on the nodes of two stamp families in another way than by their equality.
    #[error("cat cannot say which nodes order {0} before {1}")]
    Nodes(String, String),
    /// A choice has no pairs.
    #[error("{0} orders nothing")]
    Nothing(String),
    /// A set contains some stamps of a family and not others.
    #[error("cat cannot say which of the stamps {0} are meant")]
    Stamps(String),
}

/// Returns the specification of a library as a model in `cat`, with the stamp order of these libraries as ppo.
///
/// # Errors
/// The first construct that cat cannot express.
pub fn cat(title: &str, libraries: &Libraries, library: Name) -> Result<String, Inexpressible> {
    Ok(cat_for(CatDialect::Person, title, libraries, library)?.text)
}

/// Returns the same as [`cat`] for this reader, together with the given notions.
///
/// # Errors
/// The first construct that cat cannot express.
pub fn cat_for(reader: CatDialect, title: &str, libraries: &Libraries, library: Name) -> Result<Cat, Inexpressible> {
    let spec = libraries.spec(library).ok_or(Inexpressible::Library(library))?;
    let mut writer = CatWriter {
        reader,
        libraries,
        spec,
        lets: String::new(),
        names: BTreeMap::new(),
        taken: BTreeSet::new(),
        given: BTreeMap::new(),
        so_far: None,
    };
    writer.taken.extend(RESERVED.iter().map(ToString::to_string));
    let ppo = writer.ppo()?;
    writer.define("ppo", &ppo);
    for (position, (name, choice)) in spec.choices.iter().enumerate() {
        if reader == CatDialect::Herd && !matches!(choice, Choice::ReadsFrom { .. }) {
            writer.so_far(position)?;
        }
        writer.choice(name, choice)?;
    }
    let (of_hb, plain): (Vec<_>, Vec<_>) = spec.demands.iter().partition(|(_, _, rel)| rel.mentions_hb());
    let mut demands = writer.demands(&plain)?;
    let parts = spec.so.iter().map(|(name, rel)| writer.part(name, rel)).collect::<Result<Vec<_>, _>>()?;
    let so = parts.into_iter().flatten().join(" | ");
    writer.define("so", if so.is_empty() { EMPTY } else { &so });
    writer.define("hb", "(ppo | so)+");
    demands += &writer.demands(&of_hb)?;
    let include = if reader == CatDialect::Herd { format!("include \"{}\"\n", given_of(title)) } else { String::new() };
    let (head, co) = (writer.head(), if reader == CatDialect::Herd { "" } else { CO });
    let text =
        format!("\"{title}\"\n\n{head}\n{include}{PREAMBLE}{co}\n{}\nirreflexive hb as hb\n{demands}", writer.lets);
    Ok(Cat { text, given: writer.given })
}

const EMPTY: &str = "0";

/// The definitions that remove initial writes, because they are not subevents here. A read without a source reads the initial
/// value.
const PREAMBLE: &str = "let W = W \\ IW\nlet rf = [W]; rf\n";
/// The restriction of co to writes. For herd7, co is a choice instead.
const CO: &str = "let co = [W]; co\n";

/// The names that already have a meaning in cat or in a tool that reads it. `rf` is absent, because it stands for both
/// the relation of the preamble and the choice of that name.
const RESERVED: [&str; 47] = [
    "ppo",
    "so",
    "hb",
    "po",
    "loc",
    "co",
    "id",
    "int",
    "ext",
    "let",
    "with",
    "as",
    "rec",
    "and",
    "when",
    "acyclic",
    "irreflexive",
    "show",
    "unshow",
    "empty",
    "subset",
    "fun",
    "in",
    "flag",
    "assert",
    "include",
    "variant",
    "begin",
    "end",
    "procedure",
    "call",
    "enum",
    "debug",
    "match",
    "forall",
    "from",
    "do",
    "try",
    "if",
    "then",
    "else",
    "not",
    "default",
    "instructions",
    "domain",
    "range",
    "classes",
];

struct CatWriter<'a> {
    reader: CatDialect,
    libraries: &'a Libraries,
    spec: &'a Spec,
    lets: String,
    /// The names defined so far, by the address of the expression.
    names: BTreeMap<usize, String>,
    taken: BTreeSet<String>,
    /// The given notions, each with its meaning.
    given: BTreeMap<String, String>,
    /// The name of the part of hb that the choices so far determine, for herd7.
    so_far: Option<String>,
}

/// True if the first choices determine a relation.
fn is_known(rel: &Rel, choices: usize) -> bool {
    match rel.expr() {
        RelExpr::Hb => false,
        RelExpr::Chosen(choice) | RelExpr::BeforeAny(choice) => *choice < choices,
        RelExpr::Union(a, b) | RelExpr::Inter(a, b) | RelExpr::Minus(a, b) | RelExpr::Seq(a, b) => {
            is_known(a, choices) && is_known(b, choices)
        }
        RelExpr::Inverse(a) | RelExpr::Plus(a) => is_known(a, choices),
        _ => true,
    }
}

/// Puts a set in brackets if it is a compound text.
fn operand(set: String) -> String {
    if set.contains(' ') { format!("({set})") } else { set }
}

/// Returns the name of a function as an identifier of cat.
fn sayable(name: &str) -> Result<String, Inexpressible> {
    if name.contains('{') {
        return Err(Inexpressible::Closure);
    }
    Ok(name.replace('_', "-"))
}

/// The precedence of the outermost operator of a text, from the loosest to the tightest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tightness {
    Union,
    Sequence,
    Minus,
    Inter,
    Atom,
}

/// Text of an expression; nothing for the empty relation.
type Text = Option<(String, Tightness)>;

fn atom(text: impl Into<String>) -> Text {
    Some((text.into(), Tightness::Atom))
}

fn within((text, tightness): (String, Tightness), least: Tightness) -> String {
    if tightness > least { text } else { format!("({text})") }
}

/// Joins two texts by an operator. Equal operators need no brackets.
fn joined(a: (String, Tightness), by: &str, b: (String, Tightness), as_one: Tightness) -> Text {
    let bracketed = |side: (String, Tightness)| if side.1 == as_one { side.0 } else { within(side, as_one) };
    Some((format!("{}{by}{}", bracketed(a), bracketed(b)), as_one))
}

impl CatWriter<'_> {
    fn head(&self) -> String {
        let mut out =
            String::from("(* Written by Mowgli. Events are subevents; beside what cat itself has, these are given:\n");
        for (name, meaning) in &self.given {
            let _ = writeln!(out, "     {name}: {meaning}");
        }
        out + "*)"
    }

    fn given(&mut self, name: &str, meaning: impl FnOnce() -> String) -> String {
        self.given.entry(name.to_owned()).or_insert_with(meaning);
        name.to_owned()
    }

    /// Defines a name, or one like it that is not taken.
    fn fresh(&mut self, name: &str, text: &str) -> String {
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let name = std::iter::once(name.to_owned()).chain(numbered).find(|name| !self.taken.contains(name));
        let name = name.expect("numbers do not end");
        self.define(&name, text);
        name
    }

    fn define(&mut self, name: &str, text: &str) {
        self.taken.insert(name.to_owned());
        let _ = writeln!(self.lets, "let {name} = {text}");
    }

    /// Returns the stamp order as text: for each stamp family the families that it orders, on any nodes or on the same
    /// one.
    fn ppo(&mut self) -> Result<String, Inexpressible> {
        let all = self.libraries.stamps(2);
        let families = || all.iter().map(|s| s.family()).unique();
        let of = |f: &str| all.iter().copied().filter(|s| s.family() == f).collect_vec();
        let (mut anywhere, mut on_one) = (Vec::new(), Vec::new());
        for row in families() {
            let (mut whole, mut part) = (Vec::new(), Vec::new());
            for column in families() {
                let (earlier, later) = (of(&row), of(&column));
                let holds: Vec<bool> =
                    earlier.iter().cartesian_product(&later).map(|(a, b)| self.libraries.to(*a, *b)).collect();
                match holds[..] {
                    _ if holds.iter().all(|h| !h) => {}
                    _ if holds.iter().all(|h| *h) => whole.push(column),
                    [true, false, false, true] => part.push(column),
                    _ => return Err(Inexpressible::Nodes(row, column)),
                }
            }
            for (columns, rows) in [(whole, &mut anywhere), (part, &mut on_one)] {
                if columns.len() == families().count() {
                    rows.push(format!("{row} * _"));
                } else if !columns.is_empty() {
                    rows.push(format!("{row} * ({})", columns.join(" | ")));
                }
            }
        }
        self.given(&families().join(", "), || "the subevents with such stamps".to_owned());
        let mut text = format!("po & ({})", anywhere.join("\n  | "));
        if !on_one.is_empty() {
            let same =
                self.given("same-index", || "pairs whose stamps have the same index: the same remote node".to_owned());
            let _ = write!(text, "\n  | po & {same} & ({})", on_one.join("\n  | "));
        }
        Ok(text)
    }

    fn choice(&mut self, name: &str, choice: &Choice) -> Result<(), Inexpressible> {
        match choice {
            Choice::ReadsFrom { reads, writes } => {
                let (reads, writes) = (self.set(reads)?, self.set(writes)?);
                let text = format!("[{}]; rf; [{}]", writes.unwrap_or_default(), reads.unwrap_or_default());
                self.define(name, &text);
            }
            Choice::Order { members, key } => {
                let Some(members) = self.set(members)? else {
                    self.define(name, EMPTY);
                    return Ok(());
                };
                let same = self.same(key)?;
                if members == "W" && same == "loc" {
                    if self.reader == CatDialect::Herd {
                        let along = self.along(name);
                        let _ =
                            writeln!(self.lets, "with co from generate_cos(co0 | {along})\nlet co = whole([W]; co)");
                    }
                    self.define(name, "co");
                } else {
                    let class = format!("({0} * {0}) & {same}", operand(members.clone()));
                    self.line(name, &members, &class);
                    self.ordered(name, &same, &format!("(({class}) \\ id)"));
                }
            }
            Choice::Orient { pairs } => {
                let Some((pairs, _)) = self.rel(pairs)? else { return Err(Inexpressible::Nothing(name.to_owned())) };
                let pairs = self.fresh(&format!("{name}-pairs"), &pairs);
                let ends = format!("domain({pairs}) | range({pairs})");
                self.line(name, &ends, &format!("({pairs} | {pairs}^-1)+"));
                self.ordered(name, &format!("({pairs} | {pairs}^-1)"), &pairs);
            }
        }
        Ok(())
    }

    /// Defines a linear order of these members, of which a choice takes a part. For herd7 there is one linear order in
    /// each class.
    fn line(&mut self, name: &str, members: &str, class: &str) {
        let _ = match self.reader {
            CatDialect::Person => writeln!(self.lets, "with {name}-line from linearisations({members}, {EMPTY})"),
            CatDialect::Herd => {
                let along = self.along(name);
                writeln!(self.lets, "with {name}-line from lines(classes({class}), {along})")
            }
            CatDialect::Dat3m => writeln!(self.lets, "let {name}-line = newRelation() & {class}"),
        };
    }

    /// Defines a choice as the part of its linear order that is among these pairs. It has one direction of each pair in
    /// `total`.
    fn ordered(&mut self, name: &str, among: &str, total: &str) {
        self.define(name, &format!("{name}-line & {among}"));
        if self.reader == CatDialect::Dat3m {
            let _ = writeln!(self.lets, "acyclic {name} as {name}-is-acyclic");
            let _ = writeln!(self.lets, "empty {total} \\ ({name} | {name}^-1) as {name}-is-total");
        }
    }

    /// Returns the pairs that every linear order must respect. These are the known pairs of hb if so contains the whole
    /// choice, and none otherwise.
    fn along(&self, name: &str) -> String {
        let is_it = |rel: &Rel| matches!(rel.expr(), RelExpr::Chosen(choice) if self.spec.choices[*choice].0 == name);
        let is_in_so = self.spec.so.iter().any(|(_, rel)| is_it(rel));
        self.so_far.as_ref().filter(|_| is_in_so).map_or(EMPTY.to_owned(), |known| format!("{known}+"))
    }

    /// Defines the part of hb that the first choices determine, and demands that it is acyclic before the text makes
    /// more choices.
    fn so_far(&mut self, choices: usize) -> Result<(), Inexpressible> {
        let known: Vec<_> = self.spec.so.iter().filter(|(_, rel)| is_known(rel, choices)).collect();
        let parts = known.into_iter().map(|(name, rel)| self.part(name, rel)).collect::<Result<Vec<_>, _>>()?;
        let text = std::iter::once("ppo".to_owned()).chain(parts.into_iter().flatten()).join(" | ");
        let name = self.fresh("so-far", &text);
        let _ = writeln!(self.lets, "acyclic {name} as {name}");
        self.so_far = Some(name);
        Ok(())
    }

    fn demands(&mut self, demands: &[&(&'static str, Demand, Rel)]) -> Result<String, Inexpressible> {
        let line = |(name, demand, rel): &&(&'static str, Demand, Rel)| {
            let word = if *demand == Demand::Empty { "empty" } else { "irreflexive" };
            Ok(self.part(name, rel)?.map_or(String::new(), |text| format!("{word} {text} as {name}\n")))
        };
        demands.iter().map(line).collect()
    }

    /// Returns the name of a part of so, or of a demand, after defining it if necessary; `None` if the relation is
    /// empty.
    fn part(&mut self, name: &str, rel: &Rel) -> Result<Option<String>, Inexpressible> {
        let Some((text, _)) = self.rel(rel)? else { return Ok(None) };
        let is_name = text.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
        if is_name {
            return Ok(Some(text));
        }
        let name = self.fresh(name, &text);
        self.names.insert(rel.address(), name.clone());
        Ok(Some(name))
    }

    fn set(&mut self, set: &Set) -> Result<Option<String>, Inexpressible> {
        Ok(match set.members() {
            SetDefinition::All => Some("_".to_owned()),
            SetDefinition::Reads => Some("R".to_owned()),
            SetDefinition::Writes => Some("W".to_owned()),
            SetDefinition::Where(name, _) | SetDefinition::Ways(name, _) | SetDefinition::Named(name, _) => {
                let name = sayable(name)?;
                Some(self.given(&name, || format!("the subevents for which {name} holds")))
            }
            SetDefinition::Calls(methods) => {
                let name = format!("calls-of-{}", methods.join("-or-"));
                Some(self.given(&name, || format!("the subevents of calls of {}", methods.join(" or "))))
            }
            SetDefinition::Both(sets) => match (self.set(&sets.0)?, self.set(&sets.1)?) {
                (Some(a), Some(b)) => Some(format!("({a}) & ({b})")),
                _ => None,
            },
            SetDefinition::Stamped(is) => {
                let all = self.libraries.stamps(2);
                let (inside, outside): (Vec<Stamp>, Vec<Stamp>) = all.into_iter().partition(|s| is(*s));
                let [inside, outside] =
                    [inside, outside].map(|all| all.into_iter().map(|s| s.family()).unique().collect_vec());
                if let Some(torn) = inside.iter().find(|f| outside.contains(f)) {
                    return Err(Inexpressible::Stamps(torn.clone()));
                }
                if outside.len() < inside.len() && inside.len() > 2 {
                    Some(format!("_ \\ ({})", outside.join(" | ")))
                } else {
                    Some(inside.join(" | ")).filter(|text| !text.is_empty())
                }
            }
            SetDefinition::Either(sets) => match (self.set(&sets.0)?, self.set(&sets.1)?) {
                (Some(a), Some(b)) => Some(format!("{a} | {b}")),
                (a, b) => a.or(b),
            },
        })
    }

    fn same(&mut self, key: &Key) -> Result<String, Inexpressible> {
        if key.name == "cell" {
            return Ok("loc".to_owned());
        }
        let name = sayable(key.name)?;
        Ok(self.given(&format!("same-{name}"), || format!("pairs with the same {}", name.replace('-', " "))))
    }

    /// Returns a relation by name if it has one, and otherwise in full.
    fn rel(&mut self, rel: &Rel) -> Result<Text, Inexpressible> {
        if let Some(name) = self.names.get(&rel.address()) {
            return Ok(atom(name.clone()));
        }
        let (text, name) = match (self.expr(rel)?, rel.said()) {
            (Some((text, tightness)), Some(said)) if tightness != Tightness::Atom => (text, said.own),
            (text, _) => return Ok(text),
        };
        let name = self.fresh(&name.replace('_', "-"), &text);
        self.names.insert(rel.address(), name.clone());
        Ok(atom(name))
    }

    fn expr(&mut self, rel: &Rel) -> Result<Text, Inexpressible> {
        use Tightness::{Atom, Inter, Minus, Sequence, Union};
        Ok(match rel.expr() {
            RelExpr::Po => atom("po"),
            RelExpr::Ppo => atom("ppo"),
            RelExpr::Hb => atom("hb"),
            RelExpr::SameEvent => atom(self.given("same-event", || "pairs of subevents of one event".to_owned())),
            RelExpr::SameThread => atom(self.given("same-thread", || "pairs of subevents of one thread".to_owned())),
            RelExpr::Same(key) => atom(self.same(key)?),
            RelExpr::InTurn(from, to, key) => {
                let (Some(from), Some(to)) = (self.set(from)?, self.set(to)?) else { return Ok(None) };
                let by = self.same(key)?;
                let meaning = || {
                    format!("on each thread the i-th of {from} with the i-th of {to} in po, each among those of {by}")
                };
                atom(self.given("in-turn", meaning))
            }
            RelExpr::On(set) => match self.set(set)? {
                Some(set) if set == "_" => atom("id"),
                Some(set) => atom(format!("[{set}]")),
                None => None,
            },
            RelExpr::Cross(a, b) => match (self.set(a)?, self.set(b)?) {
                (Some(a), Some(b)) => atom(format!("({} * {})", operand(a), operand(b))),
                _ => None,
            },
            RelExpr::Chosen(choice) => atom(self.spec.choices[*choice].0),
            RelExpr::BeforeAny(choice) => {
                let (name, Choice::ReadsFrom { reads, writes }) = &self.spec.choices[*choice] else {
                    unreachable!("made by reads_from only")
                };
                match (self.set(reads)?, self.set(writes)?) {
                    (Some(r), Some(w)) => {
                        Some((format!("(({} \\ range({name})) * {}) & loc", operand(r), operand(w)), Inter))
                    }
                    _ => None,
                }
            }
            RelExpr::Union(a, b) => match (self.rel(a)?, self.rel(b)?) {
                (Some(a), Some(b)) => joined(a, " | ", b, Union),
                (a, b) => a.or(b),
            },
            // [a]; r; [b]
            RelExpr::Inter(r, ends) if matches!(ends.expr(), RelExpr::Cross(..)) => {
                let RelExpr::Cross(a, b) = ends.expr() else { unreachable!("just matched") };
                match (self.rel(r)?, self.set(a)?, self.set(b)?) {
                    (Some(r), Some(a), Some(b)) => Some((
                        format!("[{a}]; {}; [{b}]", if r.1 == Sequence { r.0 } else { within(r, Sequence) }),
                        Sequence,
                    )),
                    _ => None,
                }
            }
            RelExpr::Inter(a, b) => match (self.rel(a)?, self.rel(b)?) {
                (Some(a), Some(b)) => joined(a, " & ", b, Inter),
                _ => None,
            },
            RelExpr::Minus(a, b) => match (self.rel(a)?, self.rel(b)?) {
                (Some(a), Some(b)) => Some((format!("{} \\ {}", within(a, Minus), within(b, Minus)), Minus)),
                (a, _) => a,
            },
            RelExpr::Seq(a, b) => match (self.rel(a)?, self.rel(b)?) {
                (Some(a), Some(b)) => joined(a, "; ", b, Sequence),
                _ => None,
            },
            RelExpr::Inverse(a) => self.rel(a)?.map(|a| (format!("{}^-1", within(a, Inter)), Atom)),
            RelExpr::Plus(a) => self.rel(a)?.map(|a| (format!("{}+", within(a, Inter)), Atom)),
        })
    }
}
