//! A thread of a group: it makes calls by emitted code, or by interpreting the bodies of methods.

use std::sync::Arc;
use std::time::Duration;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid, Wid};
use mowgli_core::term::program::{LONGEST, Prog};
use mowgli_core::value::Val;
use mowgli_rdma::Way;
use mowgli_rdma::tso::{self, Method as Tso, TSO};
use mowgli_rdma::wait::{Method, WAIT};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bodies::BodyCache;
use crate::compiled::{CallPort, Me};
use crate::emitted::mowgli_port::{Id, List, Word, World};
use crate::legal::{Illegal, held};
use crate::memory::WordRow;
use crate::operations::{self, UsedIds};
use crate::port::{Fault, ONE_QUEUE_PAIR, Port};
use crate::stack::{Stack, illegal};
use crate::tape::{Tape, differs};
use crate::watch::Watch;

/// A thread of a group, as its code sees it.
pub struct Thread<'a> {
    stack: &'a Stack,
    id: Tid,
    end: Backend<'a>,
    watch: Watch,
    ids: UsedIds,
    /// The calls that are known to be legal: library, method, and object.
    allowed: FxHashSet<(Name, Name, Option<Loc>)>,
    bodies: BodyCache,
    /// The numbers of words in a row, by the names of their buffers.
    rows: FxHashMap<Loc, Arc<[Word]>>,
    /// The number of the last identifier.
    begun: u64,
    /// For each node, the number of operations towards it, and how many of them the thread has polled.
    polled: Vec<(usize, usize)>,
}

/// The source of the results of a thread's operations.
enum Backend<'a> {
    /// A fabric performs the operations.
    Fabric(Box<dyn Port + 'a>),
    /// The results are known, or the code is left.
    Tape(Box<Tape>),
}

/// The number of identifiers that a thread has for operations.
const IDENTIFIERS: u64 = 256;

/// The value of a program, and the number of loops that it still breaks out of.
type Evaluated = (Val, usize);

impl<'a> Thread<'a> {
    pub(crate) fn new(stack: &'a Stack, id: Tid, port: Box<dyn Port + 'a>, limit: Duration) -> Self {
        Self::at(stack, id, Backend::Fabric(port), limit)
    }

    /// Creates a thread whose code runs with recorded results.
    pub(crate) fn taped(stack: &'a Stack, id: Tid, tape: Tape) -> Self {
        Self::at(stack, id, Backend::Tape(Box::new(tape)), Duration::MAX)
    }

    pub(crate) fn into_tape(self) -> Tape {
        match self.end {
            Backend::Tape(tape) => *tape,
            Backend::Fabric(_) => Tape::new(&[], None),
        }
    }

    fn at(stack: &'a Stack, id: Tid, end: Backend<'a>, limit: Duration) -> Self {
        let polled = vec![(0, 0); usize::from(stack.world.nodes)];
        Self {
            stack,
            id,
            end,
            watch: Watch::new(limit),
            ids: UsedIds::default(),
            allowed: FxHashSet::default(),
            bodies: BodyCache::default(),
            rows: FxHashMap::default(),
            begun: 0,
            polled,
        }
    }

    /// Returns the identifier of the thread.
    #[must_use]
    pub fn id(&self) -> Tid {
        self.id
    }

    /// Returns its node.
    #[must_use]
    pub fn node(&self) -> Node {
        self.stack.world.node_of(self.id)
    }

    /// Returns the other nodes.
    #[must_use]
    pub fn others(&self) -> NodeSet {
        self.stack.world.other_nodes(self.id)
    }

    /// Returns the size of an object.
    pub(crate) fn size(&self, x: Loc) -> usize {
        self.stack.world.objects.get(&x).map_or(0, |object| object.size)
    }

    /// Returns the number of words that a message of this ring takes beside its own: its end and its hash, or its length.
    pub(crate) fn beside(&self, ring: Loc) -> usize {
        if self.stack.with_code().is_some_and(|code| code.is_alone(ring)) { 2 } else { 1 }
    }

    /// True if an object is on the node of this thread.
    pub(crate) fn is_here(&self, x: Loc) -> bool {
        self.stack.world.home(x) == Some(self.stack.world.node_of(self.id))
    }

    /// Returns the checksum of words, with the key of the group. The interpreter has none, and then its key is zero.
    pub(crate) fn checksum(&self, words: &[i64]) -> i64 {
        match self.stack.with_code() {
            Some(code) => code.world.checksum(words),
            None => World::new(0, &[]).checksum(words),
        }
    }

    /// Refuses an object that is on another node.
    pub(crate) fn reach(&self, x: Loc) -> Result<(), Fault> {
        let here = self.node();
        match self.stack.world.home(x).filter(|home| *home != here) {
            Some(home) => Err(Illegal::Elsewhere { x, home, here }.into()),
            None => Ok(()),
        }
    }

    /// Makes a call, by the implementation of its library.
    ///
    /// # Errors
    /// If the call is illegal for this thread, or does not return.
    pub fn call(&mut self, call: &Call) -> Result<Val, Fault> {
        let key = (call.library, call.method, call.args.first().and_then(|x| x.loc()));
        if !self.allowed.contains(&key) {
            if let Some(fault) = self.stack.fault(self.id, call) {
                return Err(Fault::Wrong(fault));
            }
            if let Some(x) = key.2.filter(|x| self.stack.with_code().is_some_and(|code| code.is_alone(*x))) {
                return Err(Fault::Wrong(format!(
                    "{} calls {call}: emitted code makes the calls of {x}, and has other words than the interpreter; use its own \
                     methods, or Group::interpreted",
                    self.id
                )));
            }
            self.allowed.insert(key);
        }
        self.timed(|thread| thread.inner(call))
    }

    /// Runs code in which each call, and each loop that waits, has this time limit instead of that of the group. A call that was
    /// left because its time was up may have done a part of its work. For example, a lock may still be taken.
    ///
    /// # Errors
    /// The error of the code.
    pub fn within<T>(&mut self, limit: Duration, code: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let before = self.limited(limit);
        // A loop around this one has its own time.
        let outside = self.watch.wait.take();
        let result = code(self);
        self.watch.wait = outside;
        self.limited(before);
        result
    }

    /// Sets the time limit, also that of single operations, and returns the one before.
    fn limited(&mut self, limit: Duration) -> Duration {
        if let Backend::Fabric(port) = &mut self.end {
            port.within(limit);
        }
        std::mem::replace(&mut self.watch.limit, limit)
    }

    /// Begins a call or a loop. Returns true if it is the outermost one.
    #[inline]
    fn begins(&mut self) -> bool {
        let is_outermost = self.watch.begin();
        if let (true, Backend::Fabric(port)) = (is_outermost, &mut self.end) {
            port.begins();
        }
        is_outermost
    }

    /// Counts an operation. Outside of calls and loops, its time begins here.
    #[inline]
    fn counts(&mut self) {
        self.watch.made += 1;
        if let (false, Backend::Fabric(port)) = (self.watch.wait.is_some(), &mut self.end) {
            port.begins();
        }
    }

    /// Does the work of a call or of a loop that waits. The time limit begins here, unless this is a part of another one.
    fn timed<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let is_outermost = self.begins();
        let result = work(self);
        if is_outermost {
            self.watch.end();
        }
        result
    }

    /// Makes a call of the object `x`: by `code` if it is an `X` with emitted code, and by the interpreter otherwise.
    pub(crate) fn make<X: 'static, R: CallResult>(
        &mut self,
        x: Loc,
        code: impl FnOnce(&mut Me<'_>, &X) -> Result<R, Fault>,
        call: impl Fn() -> Call,
    ) -> Result<R, Fault> {
        let compiled = self.stack.with_code().and_then(|compiled| Some((compiled, compiled.object(x)?)));
        let (Some((compiled, object)), Backend::Fabric(port)) = (compiled, &mut self.end) else {
            return R::of(self.call(&call())?);
        };
        let described = || format!("{} is still at {}", self.id, call());
        self.watch.made += 1;
        let is_outermost = self.watch.begin();
        if is_outermost {
            port.begins();
        }
        let late = self.watch.is_late().then(|| Fault::Late(described()));
        let me = CallPort::new(&mut **port, &mut self.watch, &described);
        let result = late.map_or_else(|| code(&mut compiled.me(self.id, me), object), Err);
        if is_outermost {
            self.watch.end();
        }
        result.map_err(|fault| self.stack.fault(self.id, &call()).map_or(fault, Fault::Wrong))
    }

    /// Makes an operation of RDMA-WAIT-RMW, without any library.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn operation(&mut self, operation: Method) -> Result<Val, Fault> {
        self.stack.check(self.id, operation)?;
        self.counts();
        let result = match &mut self.end {
            Backend::Fabric(port) => operations::made(&mut **port, self.stack, &mut self.ids, operation)?,
            Backend::Tape(tape) => tape.result(&operation.into())?,
        };
        held(result).map_err(|why| illegal(self.id, operation, &why))?;
        Ok(result)
    }

    /// Repeats `round` until it returns a value. This is how a thread waits for others. Over a fabric, others run in
    /// between. Under [`Group::explore`](crate::Group::explore), all iterations have to be alike.
    ///
    /// # Errors
    /// The fault of a round, or that the time is up.
    pub fn until<T>(&mut self, round: impl Fn(&mut Self) -> Result<Option<T>, Fault>) -> Result<T, Fault> {
        if let Backend::Tape(tape) = &mut self.end {
            let outside = tape.enter()?;
            let last = round(self)?;
            if let Backend::Tape(tape) = &mut self.end {
                tape.exit(outside, last.is_some())?;
            }
            return last.ok_or_else(differs);
        }
        self.timed(|thread| thread.repeated(round))
    }

    fn repeated<T>(&mut self, round: impl Fn(&mut Self) -> Result<Option<T>, Fault>) -> Result<T, Fault> {
        loop {
            let made = self.watch.made;
            if let Some(last) = round(self)? {
                return Ok(last);
            }
            if self.watch.made == made {
                return Err(self.spins());
            }
            if let Backend::Fabric(port) = &mut self.end {
                port.again()?;
            }
            if self.watch.is_late_now() {
                return Err(Fault::Late(format!("{} still waits in a loop of its own code", self.id)));
            }
        }
    }

    /// Makes an operation with `own`, if that is a word of this thread's node, by its number. Otherwise makes it by name, which also
    /// refuses what is illegal.
    pub(crate) fn with_word<R>(
        &mut self,
        own: Loc,
        by_number: impl FnOnce(&mut dyn Port, Word) -> Result<R, Fault>,
        by_name: impl FnOnce(&mut Self) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let word = self.stack.with_code().and_then(|code| code.object::<Word>(own)).copied();
        self.with_number(word, by_number, by_name)
    }

    /// Makes an operation with a word, by its number if that is known and the word is on this thread's node.
    pub(crate) fn with_number<R>(
        &mut self,
        own: Option<Word>,
        by_number: impl FnOnce(&mut dyn Port, Word) -> Result<R, Fault>,
        by_name: impl FnOnce(&mut Self) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let here = i64::from(self.node().0);
        let own = own.filter(|x| x.node == here);
        if own.is_some() {
            self.counts();
        }
        match (own, &mut self.end) {
            (Some(x), Backend::Fabric(port)) => by_number(&mut **port, x),
            _ => by_name(self),
        }
    }

    /// Returns the numbers of words in a row, if there is a fabric. They are kept by the name `x`.
    pub(crate) fn row(&mut self, x: Loc, named: impl FnOnce() -> Vec<Loc>) -> Result<Option<Arc<[Word]>>, Fault> {
        if matches!(self.end, Backend::Tape(_)) {
            return Ok(None);
        }
        let by_number = || self.stack.with_code().and_then(|code| code.object::<Arc<[Word]>>(x));
        if let Some(row) = self.rows.get(&x).or_else(by_number) {
            return Ok(Some(Arc::clone(row)));
        }
        let row: Arc<[Word]> = named().into_iter().map(|word| self.stack.word(word)).collect::<Result<_, _>>()?;
        self.rows.insert(x, Arc::clone(&row));
        Ok(Some(row))
    }

    /// Posts an operation between words of this thread's node, and as many others.
    pub(crate) fn begin_rows(
        &mut self,
        rows: Option<[WordRow; 2]>,
        by_number: impl FnOnce(&mut dyn Port, &[Word], &[Word], Id) -> Result<(), Fault>,
        by_name: impl FnOnce(Val) -> Method,
    ) -> Result<Posted, Fault> {
        let Some([own, far]) = rows else { return self.begin_named(by_name) };
        let d = self.number();
        let by_number = |port: &mut dyn Port, _| by_number(port, &own, &far, d).map(|()| Posted::Numbered(d));
        self.with_number(own.first().copied(), by_number, |thread| thread.begin_named(by_name))
    }

    /// Posts an operation by the names of its words, which also refuses what is illegal.
    fn begin_named(&mut self, by_name: impl FnOnce(Val) -> Method) -> Result<Posted, Fault> {
        let d = self.identifier();
        self.operation(by_name(d)).map(|_| Posted::Named(d))
    }

    /// Posts an operation between `own`, a word of this thread's node, and `far`.
    pub(crate) fn begin(
        &mut self,
        (own, far): (Loc, Loc),
        by_number: impl FnOnce(&mut dyn Port, Word, Word, Id) -> Result<(), Fault>,
        by_name: impl FnOnce(Val) -> Method,
    ) -> Result<Posted, Fault> {
        let far = self.stack.with_code().and_then(|code| code.object::<Word>(far)).copied();
        let Some(far) = far else { return self.begin_named(by_name) };
        let d = self.number();
        let by_number = |port: &mut dyn Port, own| by_number(port, own, far, d).map(|()| Posted::Numbered(d));
        self.with_word(own, by_number, |thread| thread.begin_named(by_name))
    }

    /// Posts operations between two objects of one size, one of which is on the node of this thread: `own`.
    pub(crate) fn post<X: 'static>(
        &mut self,
        own: Loc,
        (to, from): (Loc, Loc),
        code: impl FnOnce(&mut Me<'_>, &X, &X, Id) -> Result<(), Fault>,
        call: impl Fn(Val) -> Call,
    ) -> Result<Posted, Fault> {
        let compiled = self.stack.with_code().and_then(|code| code.object::<X>(from));
        let Some(from) = compiled.filter(|_| self.is_here(own) && self.size(to) == self.size(from)) else {
            let d = self.identifier();
            return self.call(&call(d)).map(|_| Posted::Named(d));
        };
        let d = self.number();
        self.make(to, |me, to: &X| code(me, to, from, d), || call(Val::NoWid))?;
        Ok(Posted::Numbered(d))
    }

    /// Waits for an operation.
    pub(crate) fn complete(&mut self, posted: Posted) -> Result<(), Fault> {
        self.counts();
        match (posted, &mut self.end) {
            (Posted::Numbered(d), Backend::Fabric(port)) => port.wait(d),
            (Posted::Numbered(_), Backend::Tape(_)) => Err(differs()),
            (Posted::Named(d), _) => self.operation(Method::Wait { d }).map(|_| ()),
        }
    }

    /// Returns the number of an identifier for an operation, other than those of objects. See [`Thread::identifier`].
    fn number(&mut self) -> Id {
        self.begun = (self.begun + 1) % IDENTIFIERS;
        self.stack.with_code().map_or(0, |code| code.world.ids) + 1 + self.begun as Id
    }

    /// Returns an identifier for an operation. Far fewer operations are under way at once than there are identifiers. A
    /// thread that waits for a reused identifier waits for the earlier operation too.
    pub(crate) fn identifier(&mut self) -> Val {
        self.begun = (self.begun + 1) % IDENTIFIERS;
        Wid(Name::new(&format!("d{}", self.begun))).into()
    }

    /// Lets others run, for a loop that waits for them without [`Thread::until`].
    pub fn pause(&mut self) {
        if let Backend::Fabric(port) = &mut self.end {
            port.relax();
        }
    }

    /// Ends an iteration of a loop that waits, for a port of emitted code. Over the machine, a run that can only repeat such iterations fails.
    /// So all iterations of the loop have to be alike; [`Thread::pause`] is for other loops.
    ///
    /// # Errors
    /// If the fabric ends the wait.
    pub fn again(&mut self) -> Result<(), Fault> {
        match &mut self.end {
            Backend::Fabric(port) => port.again(),
            Backend::Tape(_) => Ok(()),
        }
    }

    /// Runs a program.
    ///
    /// # Errors
    /// If it does not end, makes an illegal call, or breaks out of more loops than it is in. The last case means that
    /// an assumption of the program does not hold.
    pub fn run(&mut self, program: &Prog) -> Result<Val, Fault> {
        match self.timed(|thread| thread.step(program))? {
            (v, 0) => Ok(v),
            _ => Err(Fault::Discarded),
        }
    }

    /// Returns the port to the fabric, if there is a fabric.
    fn port(&mut self) -> Result<&mut (dyn Port + 'a), Fault> {
        match &mut self.end {
            Backend::Fabric(port) => Ok(&mut **port),
            Backend::Tape(_) => Err(differs()),
        }
    }

    fn inner(&mut self, call: &Call) -> Result<Val, Fault> {
        if call.library == WAIT {
            self.on_time(call)?;
            return self.operation(Method::of(call));
        }
        if let Backend::Tape(tape) = &mut self.end {
            self.watch.made += 1;
            return tape.result(call);
        }
        if call.library == TSO {
            self.on_time(call)?;
            return self.tso(call);
        }
        let body = self.body(call)?;
        self.run(&body)
    }

    /// Checks the time limit now and then.
    fn on_time(&mut self, call: &Call) -> Result<(), Fault> {
        if self.watch.is_late() { Err(Fault::Late(format!("{} is still at {call}", self.id))) } else { Ok(()) }
    }

    /// Returns the body of a call.
    fn body(&mut self, call: &Call) -> Result<Arc<Prog>, Fault> {
        if let Some(body) = self.bodies.get(call) {
            return Ok(body);
        }
        let implementation = self.stack.implementations.get(&call.library);
        let unknown = || format!("{} calls {call} of {}, which is not implemented", self.id, call.library);
        let implementation = implementation.ok_or_else(|| Fault::Wrong(unknown()))?;
        let world = &self.stack.world;
        let body = match implementation.bodies() {
            Some(bodies) => bodies.shared_program(world, self.id, call),
            None => implementation.program(world, self.id, call),
        };
        let body = Arc::new(body);
        self.bodies.keep(call, &body);
        Ok(body)
    }

    fn step(&mut self, program: &Prog) -> Result<Evaluated, Fault> {
        // The continuation takes the program's place here instead of recursing, because programs may go on for long.
        let mut rest;
        let mut program = program;
        let (mut made, mut idle) = (self.watch.made, 0);
        loop {
            let next = match program {
                Prog::Val(v) => return Ok((*v, 0)),
                Prog::Break(k, v) => return Ok((*v, *k)),
                Prog::Call(call) => return Ok((self.inner(call)?, 0)),
                Prog::Loop(body) => return self.rounds(body),
                Prog::Bound => return Err(Fault::Late(format!("{} is at the end of its rounds", self.id))),
                Prog::Let(both) => match self.step(&both.first)? {
                    (v, 0) => (both.then)(v),
                    left => return Ok(left),
                },
            };
            rest = next;
            program = &rest;
            idle = if self.watch.made == made { idle + 1 } else { 0 };
            made = self.watch.made;
            if idle > LONGEST {
                return Err(self.spins());
            }
        }
    }

    fn rounds(&mut self, body: &Prog) -> Result<Evaluated, Fault> {
        self.until(|thread| {
            let (v, left) = thread.step(body)?;
            Ok(left.checked_sub(1).map(|left| (v, left)))
        })
    }

    fn spins(&self) -> Fault {
        Fault::Endless(format!("{} goes on without a call", self.id))
    }

    /// Makes a call of RDMA-TSO-RMW.
    fn tso(&mut self, call: &Call) -> Result<Val, Fault> {
        let place = |n: Node| usize::from(n.0) - 1;
        match Tso::of(call) {
            other if other.usual().1 != Way::USUAL => Err(Fault::Wrong(ONE_QUEUE_PAIR.to_owned())),
            // A fabric may post several operations for the words, and a poll would take one of them.
            Tso::GetWords { .. } | Tso::PutWords { .. } => Err(Fault::Wrong(ONE_QUEUE_PAIR.to_owned())),
            Tso::Poll { n } => {
                self.stack.reachable(self.id, n)?;
                self.watch.made += 1;
                let (begun, polled) = self.polled[place(n)];
                if polled >= begun {
                    return Err(Fault::Endless(format!("{} polls where nothing is under way", self.id)));
                }
                self.port()?.poll(n.0.into())?;
                self.polled[place(n)].1 += 1;
                Ok(tso::identifier(n.into(), polled))
            }
            method => {
                let of_wait = method.of_wait().ok_or_else(|| Fault::Wrong(format!("{call} cannot be run")))?;
                let result = self.operation(of_wait)?;
                let Some(n) = tso::towards(&self.stack.world, call) else { return Ok(result) };
                self.polled[place(n)].0 += 1;
                Ok(tso::identifier(n.into(), self.polled[place(n)].0 - 1))
            }
        }
    }
}

/// The identifier of an operation that was posted: a number, or the name that interpreted programs have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Posted {
    Numbered(Id),
    Named(Val),
}

/// A result of a call, as Rust programs get it.
pub(crate) trait CallResult: Sized {
    /// Returns the result of an interpreted call.
    fn of(result: Val) -> Result<Self, Fault>;
}

impl CallResult for () {
    fn of(_: Val) -> Result<Self, Fault> {
        Ok(())
    }
}

impl CallResult for bool {
    fn of(result: Val) -> Result<Self, Fault> {
        Ok(result == Val::Bool(true))
    }
}

impl CallResult for i64 {
    fn of(result: Val) -> Result<Self, Fault> {
        result.int().ok_or_else(|| Fault::Wrong(format!("{result} is no number")))
    }
}

impl CallResult for Option<List> {
    fn of(result: Val) -> Result<Self, Fault> {
        match result {
            Val::Bot => Ok(None),
            Val::Tuple(words) => Ok(Some(words.parts().iter().filter_map(|v| v.int()).collect())),
            one => Ok(Some(List::of(&[i64::of(one)?]))),
        }
    }
}

impl CallResult for Option<i64> {
    fn of(result: Val) -> Result<Self, Fault> {
        Ok(result.int())
    }
}
