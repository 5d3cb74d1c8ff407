//! The progress of programs: the place of each thread, and its next call.
//!
//! An iteration of a loop that changes nothing and does not break is *idle*. It leads back to the place where it began,
//! because the thread then repeats what it did. The other iterations are bounded ([`super::machine::Machine::within`]).
//!
//! Code that is no term may name its states ([`mowgli_core::term::script::StateName`]). Two sequences of results that lead to one name
//! have one place.

use std::collections::BTreeMap;
use std::sync::Arc;

use mowgli_core::event::{Call, Event};
use mowgli_core::ids::Tid;
use mowgli_core::library::{Hints, Library};
use mowgli_core::search::denote::after_last;
use mowgli_core::search::fault::CallFault;
use mowgli_core::search::runs::Stop;
use mowgli_core::term::code::{CodeIteration, CodePlace, CodePoint, CodeState};
use mowgli_core::term::implementation::Implementations;
use mowgli_core::term::script::{Script, StateName};
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

/// A place of a program.
struct ProgramPlace {
    next: Next,
    /// The calls so far, without those of idle iterations.
    earlier: Vec<Event>,
    /// The place before the last of these calls.
    before: Option<u32>,
    /// The thread's state.
    code: CodeState,
}

/// The programs as graphs: a place for each sequence of results, without those of idle iterations.
pub(super) struct Programs<'a> {
    scripts: &'a [Script],
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
    named: FxHashMap<(usize, StateName), u32>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(world: Arc<World>, scripts: &'a [Script]) -> Self {
        let (places, known, named) = (Vec::new(), BTreeMap::new(), FxHashMap::default());
        let implementations = Implementations::new();
        Self { scripts, world, implementations, rounds: usize::MAX, completes_in_order: true, places, known, named }
    }

    /// Returns the next step of a thread after these calls.
    fn step(&self, thread: Tid, code: &mut CodeState, earlier: &[Event]) -> Next {
        loop {
            match code.next(CodePlace { world: &self.world, thread }) {
                CodePoint::Ended(v) => return Next::End(v),
                CodePoint::Escaped => return Next::Discarded,
                CodePoint::Late(why) => return Next::Cut(Stop::Rounds(why)),
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
            let (rounds, after) = (self.rounds.saturating_add(1), after_last(earlier));
            Some(Next::Cut(Stop::Rounds(format!("{thread}: a loop of {rounds}{after}"))))
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
        let mut code = match before {
            None => CodeState::start(&self.scripts[thread]),
            Some(place) => {
                let mut code = self.places[place as usize].code.clone();
                code.returned(earlier.last().expect("it has made a call").ret);
                code
            }
        };
        let next = self.step(tid, &mut code, &earlier);
        let state = code.name();
        let known = state.and_then(|state| self.named.get(&(thread, state)).copied());
        if let Some(known) = known.filter(|&known| !self.never_looks(known, &earlier)) {
            return known;
        }
        let next = match next {
            _ if known.is_some() => Next::Cut(Stop::Rounds(format!("{tid}: a loop that never looks"))),
            Next::Call(call) => match fault(&self.world, tid, &call) {
                Some(what) => {
                    let makes = format!("{tid} calls {call} of {}", call.library);
                    Next::Cut(Stop::at(CallFault { thread: tid, call: Some(call), makes, what }))
                }
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
        self.places.push(ProgramPlace { next, earlier, before, code });
        if let Some(state) = state {
            self.named.entry((thread, state)).or_insert(place);
        }
        place
    }

    pub(super) fn next(&self, place: u32) -> &Next {
        &self.places[place as usize].next
    }

    /// Returns the name of a place, or its number if it has none.
    pub(super) fn name(&self, place: u32) -> StateName {
        self.places[place as usize].code.name().unwrap_or(place.into())
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
    /// of results, and not for each order. A Rust function may read a result.
    fn exchanged(&mut self, thread: usize, place: u32, call: &Call, ret: Val) -> Option<u32> {
        let completes_in_order = self.completes_in_order;
        let is_poll = |call: &Call| call.library == TSO && Tso { completes_in_order }.is_interchangeable(call);
        if !is_poll(call) || !matches!(ret, Val::Tuple(_)) || self.places[place as usize].code.is_by_results() {
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
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use mowgli_core::expr::Expr;
    use mowgli_core::ids::{Loc, Node};
    use mowgli_core::term::body::{Body, body};
    use mowgli_core::term::script::NextByResults;

    use super::*;
    use crate::operational::Machine;
    use crate::tso;

    fn own(thread: usize) -> Loc {
        Loc::new(["x", "y"][thread])
    }

    fn write(thread: usize) -> Call {
        Method::Write { x: own(thread), v: 1.into() }.into()
    }

    fn read(thread: usize) -> Call {
        Method::Read { x: own(1 - thread) }.into()
    }

    /// A thread that writes its own word and waits for that of the other. The states of the waits have names.
    fn handshake(asked: &Arc<AtomicUsize>) -> Script {
        let asked = Arc::clone(asked);
        Script::by_results(move |thread, known, _| {
            asked.fetch_add(1, Relaxed);
            match known {
                [] => NextByResults::Call(write(thread.index()), Some(0)),
                [.., Val::Int(1)] => NextByResults::Ended(Val::Int(known.len() as i64), None),
                _ => NextByResults::Call(read(thread.index()), Some(1)),
            }
        })
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
        let asked = Arc::new(AtomicUsize::new(0));
        let handshakes: Vec<Script> = (0..2).map(|_| handshake(&asked)).collect();
        let mut machine = Machine::new(&world, &handshakes).expect("words");
        let of_code = machine.explore(&[], 1000, &|| false);
        assert_eq!(of_code.outcomes, of_terms.outcomes);
        assert_eq!((of_code.states, of_code.outcomes.len()), (of_terms.states, 1));
        let is_over = |outputs: &[Option<Val>], _: Option<&_>| outputs.iter().all(Option::is_some);
        let steps = machine.shortest(&[], &is_over, 1000, &|| false).expect("it ends");
        assert_eq!(steps.len(), 6, "two writes, two drains, two reads");
        // The machine needs the place of a state once for each result that leads to it, however often the loop goes.
        assert!(asked.load(Relaxed) < 20, "{asked:?}");
    }

    /// Code that stops has no name of a state, so it is not in the state of the call before.
    #[test]
    fn code_that_stops_is_in_a_state_of_its_own() {
        let world = world();
        let stops = |t: Tid, known: &[Val], _: Option<&[Val]>| match (t, known) {
            (_, []) => NextByResults::Call(read(t.index()), Some(0)),
            (Tid(1), _) => NextByResults::Discarded,
            _ => NextByResults::Ended(Val::Unit, None),
        };
        let programs = vec![Script::by_results(stops); 2];
        let runs = Machine::new(&world, &programs).expect("words").explore(&[], 1000, &|| false);
        assert!(runs.outcomes.is_empty() && runs.stuck.is_empty() && runs.stop.is_none(), "{:?}", runs.stop);
        let late = |t: Tid, known: &[Val], _: Option<&[Val]>| match known {
            [] => NextByResults::Call(read(t.index()), Some(0)),
            _ => NextByResults::Late("enough".to_owned()),
        };
        let programs = vec![Script::by_results(late); 2];
        let runs = Machine::new(&world, &programs).expect("words").explore(&[], 1000, &|| false);
        assert_eq!(runs.stop, Some(Stop::Rounds("enough".to_owned())));
    }

    #[test]
    fn a_loop_that_never_looks_is_cut() {
        let world = world();
        let writes = |t: Tid, _: &[Val], _: Option<&[Val]>| NextByResults::Call(write(t.index()), Some(0));
        let programs = vec![Script::by_results(writes); 2];
        let runs = Machine::new(&world, &programs).expect("words").explore(&[], 1000, &|| false);
        assert!(matches!(runs.stop, Some(Stop::Rounds(_))), "{:?}", runs.stop);
    }
}
