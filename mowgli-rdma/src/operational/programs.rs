//! The progress of programs: the place of each thread, and its next call.
//!
//! An iteration of a loop that changes nothing and does not break is *idle*. It leads back to the place where it began,
//! because the thread then repeats what it did. The other iterations are bounded ([`super::machine::Machine::within`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use mowgli_core::event::{Call, Event};
use mowgli_core::ids::Tid;
use mowgli_core::library::{Hints, Library};
use mowgli_core::search::runs::Stop;
use mowgli_core::term::code::{CodeIteration, CodePlace, CodePoint, CodeState};
use mowgli_core::term::implementation::Implementations;
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use rustc_hash::FxHashMap;

use crate::crash::{CRASH, Crash};
use crate::message::{MESSAGE, Message};
use crate::tso::{Method, TSO, Tso};

/// The next step of a thread's program.
#[derive(Clone)]
pub(super) enum Next {
    Call(Call),
    End(Val),
    /// An idle iteration has ended: the thread continues as it did after this number of calls.
    Again(usize),
    /// An endless loop whose iterations neither read memory nor change anything.
    Spin,
    /// A failed `assume`: runs in which a thread comes here do not count.
    Discarded,
    /// A limit or a fault: a loop has more iterations than the bound, or the next call is one that no program may make.
    Cut(Stop),
}

/// The next step of code that is no [`Script`].
#[derive(Clone, Debug)]
pub enum Goes {
    /// The thread makes this call.
    Call(Call),
    /// The thread ends with this value.
    End(Val),
    /// An assumption failed, so the run does not count.
    Discarded,
    /// A limit or a fault stops the exploration of this thread.
    Cut(Stop),
}

/// Code of threads that is no [`Script`], for example compiled code that runs in another process.
///
/// The machine asks for the next step after each sequence of results. A name of the thread's state lets it recognise
/// two sequences that lead to the same state. So loops that wait have finitely many places.
pub trait ExternalCode: Send {
    /// Returns the next step of a thread after these calls, and the name of its state. Two equal names of a thread mean
    /// that it goes on in the same way from both. A thread without a name is in a state of its own.
    fn next(&mut self, thread: Tid, earlier: &[Event]) -> (Goes, Option<u128>);
}

/// The source of the next steps.
enum ProgramSource<'a> {
    Scripts(&'a [Script]),
    Code(&'a mut dyn ExternalCode),
}

/// A place of a program.
struct ProgramPlace {
    next: Next,
    /// The calls so far, without those of idle iterations.
    earlier: Vec<Event>,
    /// The place before the last of these calls.
    before: Option<u32>,
    /// The name of the thread's state.
    name: Option<u128>,
    /// The state itself, of a script.
    code: Option<CodeState>,
}

/// The programs as graphs: a place for each sequence of results, without those of idle iterations.
pub(super) struct Programs<'a> {
    source: ProgramSource<'a>,
    world: Arc<World>,
    /// The bodies of calls that the machine does not make itself.
    pub(super) implementations: Implementations,
    /// The limit on the iterations of a loop that are not idle.
    pub(super) rounds: usize,
    /// True if completions come in the order of their operations.
    pub(super) completes_in_order: bool,
    places: Vec<ProgramPlace>,
    known: BTreeMap<(usize, u32, Val), u32>,
    /// The places of states that have names.
    named: FxHashMap<(usize, u128), u32>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(world: Arc<World>, programs: &'a [Script]) -> Self {
        Self::of(world, ProgramSource::Scripts(programs))
    }

    pub(super) fn of_code(world: Arc<World>, code: &'a mut dyn ExternalCode) -> Self {
        Self::of(world, ProgramSource::Code(code))
    }

    fn of(world: Arc<World>, source: ProgramSource<'a>) -> Self {
        let (places, known, named) = (Vec::new(), BTreeMap::new(), FxHashMap::default());
        let implementations = Implementations::new();
        Self { source, world, implementations, rounds: usize::MAX, completes_in_order: true, places, known, named }
    }

    /// Returns the next step of a thread, and its state: its name if it has one, and itself if it is known.
    fn step(
        &mut self,
        thread: usize,
        earlier: &[Event],
        before: Option<u32>,
    ) -> (Next, Option<u128>, Option<CodeState>) {
        let tid = Tid::from_index(thread);
        match &mut self.source {
            ProgramSource::Scripts(programs) => {
                let mut code = match before.and_then(|place| self.places[place as usize].code.clone()) {
                    None => CodeState::start(&programs[thread]),
                    Some(mut code) => {
                        code.returned(earlier.last().expect("it has made a call").ret);
                        code
                    }
                };
                let next = self.script_step(tid, &mut code, earlier);
                (next, None, Some(code))
            }
            ProgramSource::Code(code) => match code.next(tid, earlier) {
                (Goes::Call(call), state) => (Next::Call(call), state, None),
                (Goes::End(v), state) => (Next::End(v), state, None),
                (Goes::Discarded, _) => (Next::Discarded, None, None),
                (Goes::Cut(stop), _) => (Next::Cut(stop), None, None),
            },
        }
    }

    /// Returns the next step of a script after these calls.
    fn script_step(&self, thread: Tid, code: &mut CodeState, earlier: &[Event]) -> Next {
        loop {
            match code.next(CodePlace { world: &self.world, thread }) {
                CodePoint::Ended(v) => return Next::End(v),
                CodePoint::Escaped => return Next::Discarded,
                CodePoint::Returned(v, _) => code.leave(v),
                CodePoint::Loop => code.begin(),
                CodePoint::Iteration(iteration) => match self.iteration(thread, iteration, earlier) {
                    Some(next) => return next,
                    None => code.go_on(true),
                },
                CodePoint::Call(call) => match self.implementations.get(&call.library) {
                    Some(implementation) => {
                        _ = code.enter(&implementation.script(&self.world, thread, &call), &call.args)
                    }
                    None => return Next::Call(call),
                },
            }
        }
    }

    /// Returns the step behind an iteration; `None` if the next iteration begins.
    fn iteration(&self, thread: Tid, iteration: CodeIteration, earlier: &[Event]) -> Option<Next> {
        let CodeIteration { start, done, others, is_other } = iteration;
        let own = &earlier[start..];
        let cut = || {
            let after = earlier.last().map_or_else(String::new, |last| format!(" after {last}"));
            Some(Next::Cut(Stop::Rounds(format!("{thread}: a loop of {}{after}", self.rounds.saturating_add(1)))))
        };
        // Without these calls an iteration has the same results for ever, because only they read memory or completions.
        let reads = |e: &Event| matches!(e.call.method.text(), "Read" | "CAS" | "Goes" | "TryPoll" | "TryPollAny");
        match own.iter().all(only_looks) {
            _ if iteration.is_endless(earlier.len()) || is_other && others >= self.rounds => cut(),
            _ if is_other => None,
            true if own.iter().any(reads) => Some(Next::Again(start)),
            false if self.looks_remotely(earlier, own) => Some(Next::Again(start)),
            true => Some(Next::Spin),
            false if done >= self.rounds => cut(),
            false => None,
        }
    }

    /// True if the last iteration gets words of other nodes and takes the completions of exactly these gets, beside
    /// calls that change nothing.
    fn looks_remotely(&self, earlier: &[Event], own: &[Event]) -> bool {
        let gets = |e: &Event| {
            let (usual, _) = Method::of(&e.call).usual();
            matches!(usual, Method::Get { .. } | Method::GetWords { .. } | Method::Poll { .. } | Method::PollAny {})
        };
        let before = &earlier[..earlier.len() - own.len()];
        own.iter().all(|e| only_looks(e) || e.call.library == TSO && gets(e))
            && !Tso::PUBLISHED.remembers(&self.world, before, own)
    }

    /// True if a thread that is at this place again has made no call since that waits for others or for a choice. It
    /// would make such calls for ever, and the machine takes them at once.
    fn never_looks(&self, place: u32, earlier: &[Event]) -> bool {
        let before = self.earlier(place);
        let is_silent = |e: &Event| matches!(e.ret, Val::Unit | Val::Tuple(_)) && e.call.method.text() != "PollBy";
        earlier.strip_prefix(before).is_some_and(|since| !since.is_empty() && since.iter().all(is_silent))
    }

    /// Returns the place of a thread after these calls, the last of which it made at `before`.
    pub(super) fn add(&mut self, thread: usize, earlier: Vec<Event>, before: Option<u32>) -> u32 {
        let tid = Tid::from_index(thread);
        let (next, state, code) = self.step(thread, &earlier, before);
        let known = state.and_then(|state| self.named.get(&(thread, state)).copied());
        if let Some(known) = known.filter(|&known| !self.never_looks(known, &earlier)) {
            return known;
        }
        let next = match next {
            _ if known.is_some() => Next::Cut(Stop::Rounds(format!("{tid}: a loop that never looks"))),
            Next::Call(call) => match fault(&self.world, tid, &call) {
                Some(fault) => Next::Cut(Stop::IllDefined(format!("{tid} calls {call} of {}: {fault}", call.library))),
                None => Next::Call(call),
            },
            other => other,
        };
        if let (Next::Again(calls), Some(mut place)) = (&next, before) {
            while self.earlier(place).len() > *calls {
                place = self.places[place as usize].before.expect("it has made calls");
            }
            return place;
        }
        let place = u32::try_from(self.places.len()).expect("fewer places than states");
        self.places.push(ProgramPlace { next, earlier, before, name: state, code });
        if let Some(state) = state {
            self.named.entry((thread, state)).or_insert(place);
        }
        place
    }

    pub(super) fn next(&self, place: u32) -> &Next {
        &self.places[place as usize].next
    }

    /// Returns the name of a place, or its number if it has none.
    pub(super) fn name(&self, place: u32) -> u128 {
        self.places[place as usize].name.unwrap_or(place.into())
    }

    pub(super) fn earlier(&self, place: u32) -> &[Event] {
        &self.places[place as usize].earlier
    }

    /// Lists the results that the next call of a place has had in all runs so far.
    pub(super) fn results(&self, thread: usize, place: u32) -> Vec<Val> {
        let known = self.known.range((thread, place, Val::Unit)..).map(|((t, p, ret), _)| (*t, *p, *ret));
        known.take_while(|(t, p, _)| (*t, *p) == (thread, place)).map(|(.., ret)| ret).collect()
    }

    /// Returns the place after the next call has returned `ret`.
    pub(super) fn after(&mut self, thread: usize, place: u32, ret: Val) -> u32 {
        if let Some(&known) = self.known.get(&(thread, place, ret)) {
            return known;
        }
        let Next::Call(call) = self.next(place).clone() else { unreachable!("only calls return") };
        let after = self.exchanged(thread, place, &call, ret).unwrap_or_else(|| {
            let event = Event { thread: Tid::from_index(thread), call, ret };
            let earlier = [self.earlier(place), &[event]].concat();
            self.add(thread, earlier, Some(place))
        });
        self.known.insert((thread, place, ret), after);
        after
    }

    /// Returns the place with this result before a greater one of an equal call. Both are polls with only polls between them.
    /// If completions come in any order, no program reads what a poll returns. So n polls in a row lead to a place for each set
    /// of results, and not for each order. Code outside of this crate may read a result.
    fn exchanged(&mut self, thread: usize, place: u32, call: &Call, ret: Val) -> Option<u32> {
        let ProgramSource::Scripts(_) = self.source else { return None };
        let completes_in_order = self.completes_in_order;
        let is_poll = |call: &Call| call.library == TSO && Tso { completes_in_order }.is_interchangeable(call);
        if !is_poll(call) || !matches!(ret, Val::Tuple(_)) {
            return None;
        }
        let (mut first, mut between) = (place, Vec::new());
        let greater = loop {
            let last = self.earlier(first).last().filter(|last| is_poll(&last.call))?.clone();
            first = self.places[first as usize].before?;
            if last.call == *call {
                break last;
            }
            between.push(last);
        };
        if greater.ret < ret {
            return None;
        }
        let least = Event { ret, ..greater.clone() };
        [least].into_iter().chain(between.into_iter().rev()).chain([greater]).try_fold(first, |place, event| {
            matches!(self.next(place), Next::Call(next) if *next == event.call)
                .then(|| self.after(thread, place, event.ret))
        })
    }
}

/// Returns the fault of a call of a program, if it has one.
fn fault(world: &World, thread: Tid, call: &Call) -> Option<String> {
    match call.library {
        CRASH => Crash.fault(world, thread, call),
        MESSAGE => Message.fault(world, thread, call),
        _ => Tso::PUBLISHED.fault(world, thread, call),
    }
}

/// True if a call of the CPU changes nothing, neither memory nor operations under way.
fn only_looks(event: &Event) -> bool {
    match event.call.method.text() {
        "CAS" => event.ret != event.call.args[1],
        "TryPoll" | "TryPollAny" => matches!(event.ret, Val::Bool(false) | Val::Bot),
        method => matches!(method, "Read" | "Mfence" | "SetIsEmpty" | "Goes" | "Dead"),
    }
}

#[cfg(test)]
mod tests {
    use mowgli_core::expr::Expr;
    use mowgli_core::ids::{Loc, Node};
    use mowgli_core::term::body::{Body, body};

    use super::*;
    use crate::operational::Machine;
    use crate::tso;

    /// Two threads that each write their own word and wait for that of the other; the states of the waits have names.
    struct Handshake {
        asked: usize,
    }

    fn own(thread: usize) -> Loc {
        Loc::new(["x", "y"][thread])
    }

    fn write(thread: usize) -> Call {
        Method::Write { x: own(thread), v: 1.into() }.into()
    }

    fn read(thread: usize) -> Call {
        Method::Read { x: own(1 - thread) }.into()
    }

    impl ExternalCode for Handshake {
        fn next(&mut self, thread: Tid, earlier: &[Event]) -> (Goes, Option<u128>) {
            self.asked += 1;
            match earlier {
                [] => (Goes::Call(write(thread.index())), Some(0)),
                [.., last] if last.ret == Val::Int(1) => (Goes::End(Val::Int(earlier.len() as i64)), None),
                _ => (Goes::Call(read(thread.index())), Some(1)),
            }
        }
    }

    fn world() -> World {
        let mut world = World::new(1, &[Node(1), Node(1)]);
        world.objects = (0..2).map(|t| (own(t), tso::word(Node(1)))).collect();
        world
    }

    #[test]
    fn code_has_the_runs_of_the_term_that_it_is() {
        let of = |call: Call| {
            let args: Vec<Expr> = call.args.iter().map(|&arg| arg.into()).collect();
            Body::call(call.library, call.method.text(), args)
        };
        let thread = |t: usize| {
            body! { of(write(t)); loop { let v = of(read(t)); if (v == 1) { break } } 2 }
        };
        let programs: Vec<Script> = (0..2).map(|t| thread(t).into()).collect();
        let world = world();
        let of_terms = Machine::new(&world, &programs).expect("words").explore(&[], 1000, &|| false);
        let mut code = Handshake { asked: 0 };
        let mut machine = Machine::over(&world, &mut code).expect("words");
        let of_code = machine.explore(&[], 1000, &|| false);
        assert_eq!(of_code.outcomes, of_terms.outcomes);
        assert_eq!((of_code.states, of_code.outcomes.len()), (of_terms.states, 1));
        let is_over = |outputs: &[Option<Val>], _: Option<&_>| outputs.iter().all(Option::is_some);
        let steps = machine.shortest(&[], &is_over, 1000, &|| false).expect("it ends");
        assert_eq!(steps.len(), 6, "two writes, two drains, two reads");
        // The machine needs the place of a state once for each result that leads to it, however often the loop goes.
        assert!(code.asked < 20, "{}", code.asked);
    }

    /// A thread that writes for ever.
    struct Writes;

    impl ExternalCode for Writes {
        fn next(&mut self, thread: Tid, _: &[Event]) -> (Goes, Option<u128>) {
            (Goes::Call(write(thread.index())), Some(0))
        }
    }

    #[test]
    fn a_loop_that_never_looks_is_cut() {
        let world = world();
        let runs = Machine::over(&world, &mut Writes).expect("words").explore(&[], 1000, &|| false);
        assert!(matches!(runs.stop, Some(Stop::Rounds(_))), "{:?}", runs.stop);
    }
}
