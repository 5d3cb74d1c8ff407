//! Monotonicity and decomposability (LOCO Def. 3.5) from the form of a specification, for executions of every size.
//!
//! *Monotone.* Choices and so do not mention hb. If more of hb means more pairs in every demand, then less of hb breaks
//! no demand that held.
//!
//! *Decomposable.* Let E1 and E2 touch different locations, and restrict the choices of the whole to E1. The results
//! are choices of E1, because a read and its source have one cell, and a restricted total order is total. Then compare
//! each relation of E1 with the same relation of the whole. It is `exact` if it has the same pairs within E1, and
//! `within` if it has no others.
//! A composition can lose pairs whose middle is in E2, unless one of its halves relates only subevents of one event or
//! cell (`stays`). If all demands are `within`, they hold for E1, because they only forbid pairs. If the parts of so
//! are `within`, so of E1 is contained in the restricted so of the whole. If they are `exact`, both are equal.
//!
//! The form does not determine the functions of subevents. So the calls of small clients show two facts about them. The
//! functions see of other events only the number of equal ones, and the locations of a call are among its arguments.

use std::collections::BTreeMap;

use super::client::Subject;
use crate::algebra::{CELL, Choice, Key, Rel, RelExpr, Set, Spec, SubView};
use crate::event::{Call, Event};
use crate::ids::{Loc, Name, Node, Tid};
use crate::library::{Hints, Libraries};
use crate::search::schema::is_fixed;
use crate::term::bound::Bound;
use crate::value::Val;
use crate::world::World;

/// The part of so that an execution with its own locations needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// The so of the whole, restricted, as the definition requires.
    TheSame,
    /// A subset of that, which is enough for composition.
    Less,
}

/// The reason why a property does not follow from the form of a specification.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotByForm {
    /// A choice has pairs that depend on hb.
    #[error("which pairs {0} has depends on hb")]
    ChoiceOfHb(String),
    /// A demand can have more pairs where hb has fewer.
    #[error("{0} can have more pairs where hb has fewer")]
    LessHb(String),
    /// A choice has pairs that may depend on other locations.
    #[error("which pairs {0} has may depend on other locations")]
    OtherLocations(String),
    /// A demand can have more pairs in a part.
    #[error("{0} can have more pairs in a part")]
    InPart(String),
    /// A part of so can have more pairs in a part of the execution.
    #[error("{0}, a part of so, can have more pairs in a part")]
    So(String),
    /// A part of so mentions hb.
    #[error("{0} is a part of so and mentions hb, of which so is a part")]
    SoOfHb(String),
    /// Other subevents or choices decide which pairs a choice orients.
    #[error("whether {0} orients two subevents depends on more than these two")]
    Oriented(String),
    /// A call touches a location that is none of its arguments, and no part of one.
    #[error("{call} touches {touched}, which is none of its arguments")]
    Touches {
        /// The call.
        call: Box<Call>,
        /// The location.
        touched: Loc,
    },
    /// The specification counts calls that touch no location.
    #[error("calls like {0} are counted, and touch no location")]
    Counted(Box<Call>),
}

/// The properties that follow from the form of a specification; an error has the reason why one does not follow.
#[derive(Clone, Debug)]
pub struct ByForm {
    /// Whether it is monotone.
    pub monotone: Result<(), NotByForm>,
    /// Whether it is decomposable.
    pub decomposable: Result<Needs, NotByForm>,
}

/// Returns the properties that follow from the form of the specification of a library.
///
/// ```
/// use mowgli_core::algebra::{Spec, hb, po};
/// use mowgli_core::soundness::form::monotone;
/// let mut c = Spec::default();
/// c.empty("backwards", &(hb().inv() & po()));
/// assert!(monotone(&c).is_ok());
/// // Less of hb, and this has pairs.
/// c.empty("unordered", &(po() - hb()));
/// assert!(monotone(&c).unwrap_err().to_string().contains("unordered"));
/// ```
#[must_use]
pub fn by_form(spec: &Spec, library: &dyn Hints, subject: &dyn Subject) -> ByForm {
    let decomposable = decomposable(spec).and_then(|needs| {
        looked_at(spec, library, subject)?;
        Ok(needs)
    });
    ByForm { monotone: monotone(spec), decomposable }
}

/// A specification of which no check and no proof can speak, because of its form.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the specification of {library}: {what}")]
pub struct WrongForm {
    /// The library.
    pub library: Name,
    /// The error.
    pub what: NotByForm,
    /// The remedy.
    pub help: &'static str,
}

/// Returns the first error in the form of these specifications. Checks and proofs both ask it before they begin. They ask condition 3
/// for the largest hb' alone, and that is enough for monotone specifications only. The search orients pairs as they appear.
#[must_use]
pub fn wrong_form<'l>(all: impl IntoIterator<Item = &'l Libraries>) -> Option<WrongForm> {
    let of = |libraries: &'l Libraries| libraries.names().map(move |name| (name, libraries.spec(name)));
    all.into_iter().flat_map(of).find_map(|(library, spec)| {
        let (what, help) = wrong_form_of(spec?)?;
        Some(WrongForm { library, what, help })
    })
}

fn wrong_form_of(spec: &Spec) -> Option<(NotByForm, &'static str)> {
    if let Some((name, _)) = spec.so.iter().find(|(_, rel)| rel.mentions_hb()) {
        return Some((NotByForm::SoOfHb(name.to_string()), "let the part mention ppo, or other parts of so"));
    }
    let is_of_more = |choice: &Choice| matches!(choice, Choice::Orient { pairs } if !is_fixed(pairs));
    if let Some((name, _)) = spec.choices.iter().find(|(_, choice)| is_of_more(choice)) {
        let help = "orient pairs without hb, `+` and other choices, and with `;` only beside a set: `[W]; po` and not `po; po`";
        return Some((NotByForm::Oriented(name.to_string()), help));
    }
    let help = "let more of hb only give a demand more pairs, so that it is monotone (LOCO Def. 3.5): `hb^-1 & r` and not `r - hb`";
    monotone(spec).err().map(|what| (what, help))
}

/// Proves that less of hb breaks no demand.
///
/// # Errors
/// The demand that it might break.
pub fn monotone(spec: &Spec) -> Result<(), NotByForm> {
    let of_hb = |choice: &Choice| matches!(choice, Choice::Orient { pairs } if pairs.mentions_hb());
    if let Some((name, _)) = spec.choices.iter().find(|(_, choice)| of_hb(choice)) {
        return Err(NotByForm::ChoiceOfHb(name.to_string()));
    }
    match spec.demands.iter().find(|(_, _, rel)| !grows_with_hb(rel, true)) {
        Some((name, ..)) => Err(NotByForm::LessHb(name.to_string())),
        None => Ok(()),
    }
}

/// True if a larger hb gives the relation no fewer pairs (`more`), or no more pairs (not `more`).
fn grows_with_hb(rel: &Rel, more: bool) -> bool {
    match rel.expr() {
        RelExpr::Hb => more,
        RelExpr::Union(a, b) | RelExpr::Inter(a, b) | RelExpr::Seq(a, b) => {
            grows_with_hb(a, more) && grows_with_hb(b, more)
        }
        RelExpr::Minus(a, b) => grows_with_hb(a, more) && grows_with_hb(b, !more),
        RelExpr::Inverse(a) | RelExpr::Plus(a) => grows_with_hb(a, more),
        _ => true,
    }
}

/// A comparison of a relation in a part with the same relation in the whole.
#[derive(Clone, Copy)]
struct InPart {
    /// It has no additional pairs.
    within: bool,
    /// It has the same pairs within the part.
    exact: bool,
    /// In the whole it never leads from one part to another.
    stays: bool,
}

impl InPart {
    /// Returns the result for a relation that other events do not affect.
    fn plain(stays: bool) -> Self {
        Self { within: true, exact: true, stays }
    }
}

/// Proves that each part with its own locations is consistent.
fn decomposable(spec: &Spec) -> Result<Needs, NotByForm> {
    let mut known = RelationForms { spec, relations: BTreeMap::new() };
    for (name, choice) in &spec.choices {
        if let Choice::Orient { pairs } = choice
            && !known.of(pairs).exact
        {
            return Err(NotByForm::OtherLocations(name.to_string()));
        }
    }
    for (name, _, rel) in &spec.demands {
        if !known.of(rel).within {
            return Err(NotByForm::InPart(name.to_string()));
        }
    }
    let mut needs = Needs::TheSame;
    for (name, rel) in &spec.so {
        match known.of(rel) {
            InPart { exact: true, .. } => {}
            InPart { within: true, .. } => needs = Needs::Less,
            _ => return Err(NotByForm::So(name.to_string())),
        }
    }
    Ok(needs)
}

/// The knowledge about relations, by their addresses.
struct RelationForms<'a> {
    spec: &'a Spec,
    relations: BTreeMap<usize, InPart>,
}

impl RelationForms<'_> {
    fn of(&mut self, rel: &Rel) -> InPart {
        if let Some(known) = self.relations.get(&rel.address()) {
            return *known;
        }
        let known = self.found(rel);
        self.relations.insert(rel.address(), known);
        known
    }

    fn found(&mut self, rel: &Rel) -> InPart {
        match rel.expr() {
            RelExpr::Po | RelExpr::Ppo | RelExpr::Hb | RelExpr::SameThread | RelExpr::Cross(..) => InPart::plain(false),
            RelExpr::SameEvent | RelExpr::On(_) | RelExpr::BeforeAny(_) => InPart::plain(true),
            RelExpr::Same(key) => InPart::plain(is_cell(key)),
            RelExpr::InTurn(..) => InPart { within: false, exact: false, stays: false },
            RelExpr::Chosen(choice) => match &self.spec.choices[*choice].1 {
                Choice::ReadsFrom { .. } => InPart::plain(true),
                Choice::Order { key, .. } => InPart::plain(is_cell(key)),
                Choice::Orient { pairs } => self.of(pairs),
            },
            RelExpr::Union(a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                InPart { within: a.within && b.within, exact: a.exact && b.exact, stays: a.stays && b.stays }
            }
            RelExpr::Inter(a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                InPart { within: a.within && b.within, exact: a.exact && b.exact, stays: a.stays || b.stays }
            }
            RelExpr::Minus(a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                InPart { within: a.within && b.exact, exact: a.exact && b.exact, stays: a.stays }
            }
            RelExpr::Seq(a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                let exact = a.exact && b.exact && (a.stays || b.stays);
                InPart { within: a.within && b.within, exact, stays: a.stays && b.stays }
            }
            RelExpr::Inverse(a) => self.of(a),
            RelExpr::Plus(a) => {
                let a = self.of(a);
                InPart { exact: a.exact && a.stays, ..a }
            }
        }
    }
}

/// True if a key is the cell of a subevent.
fn is_cell(key: &Key) -> bool {
    key.name == CELL.name
}

/// Checks the calls of small clients: each touches only its arguments, and each that a specification counts has a
/// location.
fn looked_at(spec: &Spec, library: &dyn Hints, subject: &dyn Subject) -> Result<(), NotByForm> {
    let functions = Functions::of(spec);
    let bound = Bound { objects: 2, ..Bound::default() };
    let empty = World::new(2, &[Node(1), Node(2)]);
    for world in subject.worlds(&empty, &bound, &|| false) {
        for thread in world.tids() {
            for call in subject.calls(&world, thread, &bound, &|| false) {
                looked_at_call(&functions, library, &world, thread, &call)?;
            }
        }
    }
    Ok(())
}

fn looked_at_call(
    functions: &Functions,
    library: &dyn Hints,
    world: &World,
    thread: Tid,
    call: &Call,
) -> Result<(), NotByForm> {
    let locations: Vec<_> = call.args.iter().filter_map(|v| v.loc()).collect();
    let held = |cell| vec![library.init(world, cell), Val::Int(1)];
    for ret in library.returns(world, &[], thread, call, &held) {
        let event = Event { thread, call: call.clone(), ret };
        for sub in library.shapes(world, &event).iter().flatten() {
            let is_of_call = |x: Loc| locations.contains(&x) || x.whole().is_some_and(|x| locations.contains(&x));
            if let Some(touched) = sub.cell.map(|cell| cell.loc).filter(|x| !is_of_call(*x)) {
                return Err(NotByForm::Touches { call: Box::new(call.clone()), touched });
            }
            let view = |nth| SubView { world, event: &event, sub, nth };
            if locations.is_empty() && functions.tell_apart([view(0), view(1)]) {
                return Err(NotByForm::Counted(Box::new(call.clone())));
            }
        }
    }
    Ok(())
}

/// The functions of subevents in a specification.
struct Functions {
    keys: Vec<Key>,
    sets: Vec<Set>,
}

impl Functions {
    fn of(spec: &Spec) -> Self {
        let (mut keys, mut sets) = (Vec::new(), Vec::new());
        spec.visit(&mut |set| sets.push(set.clone()), &mut |key| keys.push(key.clone()));
        Self { keys, sets }
    }

    /// True if one of them distinguishes two views.
    fn tell_apart(&self, [a, b]: [SubView<'_>; 2]) -> bool {
        self.keys.iter().any(|key| key.of(&a) != key.of(&b)) || self.sets.iter().any(|set| set.has(&a) != set.has(&b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{CELL, po, reads, same, same_event, same_thread, writes};

    fn found(of: impl Fn(&mut Spec)) -> Result<Needs, NotByForm> {
        let mut spec = Spec::default();
        of(&mut spec);
        decomposable(&spec)
    }

    #[test]
    fn a_composition_needs_a_half_that_stays() {
        let so = |rel: Rel| found(|c| c.so([&rel.named("part", "{a} {b}")]));
        assert_eq!(so(po()), Ok(Needs::TheSame));
        assert_eq!(so(po().then(&po())), Ok(Needs::Less));
        assert_eq!(so(po().then(&same_event())), Ok(Needs::TheSame));
        assert_eq!(so(po().plus()), Ok(Needs::Less));
        assert_eq!(so((po() & same(CELL)).plus()), Ok(Needs::TheSame));
        // The pairs of the subtrahend must not get lost.
        assert_eq!(so(po() - po().then(&same(CELL))), Ok(Needs::TheSame));
        assert!(so(po() - po().then(&po())).is_err());
    }

    #[test]
    fn sources_and_orders_of_cells_stay() {
        let coherent = found(|c| {
            let [rf, mo, rb] = c.coherence();
            c.so([&rf, &mo, &rb]);
        });
        assert_eq!(coherent, Ok(Needs::TheSame));
        let in_one_order = |c: &mut Spec| {
            let all = c.order("all", writes(), |_: &SubView| Some(Val::Unit));
            let read_in_it = c.reads_from("rf", reads(), writes()).0.then(&all).named("late", "{a} {b}");
            let twice = all.then(&same_thread()).named("twice", "{a} {b}");
            c.so([&read_in_it, &twice]);
        };
        assert_eq!(found(in_one_order), Ok(Needs::Less));
        assert!(
            found(|c| {
                c.orient("one way", po().then(&po()));
            })
            .is_err()
        );
    }
}
