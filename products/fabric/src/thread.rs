//! A thread of a group: it makes calls by emitted code.

use std::time::Duration;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid, Wid};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::wait::Method;

use crate::emitted::mowgli_port::{self, Id, List, Word as At};
use crate::made::{CallPort, EmittedObject, MadeObjects, Me};
use crate::port::{Fault, Port};
use crate::specifications::Specifications;
use crate::tape::{Tape, differs};
use crate::watch::Watch;

/// A thread of a group, as its code sees it.
pub struct Thread<'a> {
    world: &'a World,
    id: Tid,
    end: Backend<'a>,
    watch: Watch,
    /// The number of the last identifier.
    begun: u64,
}

/// The source of the results of a thread's operations.
enum Backend<'a> {
    /// A fabric performs the operations.
    Fabric(&'a MadeObjects<'a>, Box<dyn Port + 'a>),
    /// The results are known, or the code is left.
    Tape(&'a Specifications, Box<Tape>),
}

/// The number of identifiers that a thread has for operations.
const IDENTIFIERS: u64 = 256;

impl<'a> Thread<'a> {
    pub(crate) fn new(made: &'a MadeObjects<'a>, id: Tid, port: Box<dyn Port + 'a>) -> Self {
        Self::at(&made.declared.world, id, Backend::Fabric(made, port), made.declared.limit)
    }

    /// Creates a thread whose code runs with recorded results.
    pub(crate) fn taped(known: &'a Specifications, id: Tid, tape: Tape) -> Self {
        Self::at(&known.world, id, Backend::Tape(known, Box::new(tape)), Duration::MAX)
    }

    pub(crate) fn into_tape(self) -> Tape {
        match self.end {
            Backend::Tape(_, tape) => *tape,
            Backend::Fabric(..) => Tape::new(&[], None),
        }
    }

    fn at(world: &'a World, id: Tid, end: Backend<'a>, limit: Duration) -> Self {
        Self { world, id, end, watch: Watch::new(limit), begun: 0 }
    }

    /// Returns the identifier of the thread.
    #[must_use]
    pub fn id(&self) -> Tid {
        self.id
    }

    /// Returns its node.
    #[must_use]
    pub fn node(&self) -> Node {
        self.world.node_of(self.id)
    }

    /// Returns the other nodes.
    #[must_use]
    pub fn others(&self) -> NodeSet {
        self.world.other_nodes(self.id)
    }

    /// Returns the size of an object.
    pub(crate) fn size(&self, x: Loc) -> usize {
        self.world.objects.get(&x).map_or(0, |object| object.size)
    }

    /// Returns the number of words that a message of a ring takes beside its own: its end and its hash, or its length.
    pub(crate) fn beside(&self) -> usize {
        if self.is_explored() { 1 } else { 2 }
    }

    /// Refuses an object that does not exist, or is on another node.
    pub(crate) fn reach(&self, x: Loc) -> Result<(), Fault> {
        let here = self.node();
        let Some(object) = self.world.objects.get(&x) else {
            return Err(Fault::Wrong(format!("there is no word {x}")));
        };
        match object.node.filter(|home| *home != here) {
            Some(home) => Err(Fault::Wrong(format!("{x} is on node {home}, and the thread on node {here}"))),
            None => Ok(()),
        }
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
        if let Backend::Fabric(_, port) = &mut self.end {
            port.within(limit);
        }
        std::mem::replace(&mut self.watch.limit, limit)
    }

    /// Counts an operation. Outside of calls and loops, its time begins here.
    #[inline]
    fn counts(&mut self) {
        self.watch.made += 1;
        if let (false, Backend::Fabric(_, port)) = (self.watch.wait.is_some(), &mut self.end) {
            port.begins();
        }
    }

    /// Makes a call of an object whose code `mowgli emit rust` has written: by `code` over a fabric. `call` is the same call
    /// for [`Group::explore`](crate::Group::explore) and in errors. `own` has the parts that belong to the library.
    ///
    /// # Errors
    /// If the call is illegal for this thread, or does not return.
    pub fn emitted<O: 'static, X: 'static, R: CallResult>(
        &mut self,
        (own, x): (EmittedObject<O>, EmittedObject<X>),
        code: impl FnOnce(&mut mowgli_port::Thread<'_, CallPort<'_>, O>, &X) -> Result<R, Fault>,
        call: impl Fn() -> Call,
    ) -> Result<R, Fault> {
        self.called(
            |made, id, port| {
                let (own, x) = (made.object(own.0)?, made.object(x.0)?);
                code(&mut mowgli_port::Thread::new(port, &made.world, own, id.index() as i64 + 1), x)
            },
            call,
        )
    }

    /// Makes a call of the object `x`, by emitted code of this crate.
    pub(crate) fn make<X: 'static, R: CallResult>(
        &mut self,
        x: Loc,
        code: impl FnOnce(&mut Me<'_>, &X) -> Result<R, Fault>,
        call: impl Fn() -> Call,
    ) -> Result<R, Fault> {
        self.called(|made, id, port| code(&mut made.me(id, port), made.object(x)?), call)
    }

    /// Makes a call of two objects.
    pub(crate) fn make_both<X: 'static, R: CallResult>(
        &mut self,
        both: [Loc; 2],
        code: impl FnOnce(&mut Me<'_>, [&X; 2]) -> Result<R, Fault>,
        call: impl Fn() -> Call,
    ) -> Result<R, Fault> {
        self.called(
            |made, id, port| {
                let both = [made.object(both[0])?, made.object(both[1])?];
                code(&mut made.me(id, port), both)
            },
            call,
        )
    }

    /// Makes a call: by `code` over a fabric.
    #[inline]
    fn called<R: CallResult>(
        &mut self,
        code: impl for<'t> FnOnce(&'t MadeObjects<'t>, Tid, CallPort<'t>) -> Result<R, Fault>,
        call: impl Fn() -> Call,
    ) -> Result<R, Fault> {
        let Backend::Fabric(made, port) = &mut self.end else { return R::of(self.call(&call())?) };
        let (id, described) = (self.id, || format!("{} is still at {}", self.id, call()));
        self.watch.made += 1;
        let is_outermost = self.watch.begin();
        if is_outermost {
            port.begins();
        }
        let late = self.watch.is_late().then(|| Fault::Late(described()));
        let port = CallPort::new(&mut **port, &mut self.watch, &described);
        let result = late.map_or_else(|| code(made, id, port), Err);
        if is_outermost {
            self.watch.end();
        }
        result.map_err(|fault| made.declared.fault(id, &call()).map_or(fault, Fault::Wrong))
    }

    /// Makes a call under [`Group::explore`](crate::Group::explore). Over a fabric, methods of objects and [`Thread::emitted`] make calls.
    ///
    /// # Errors
    /// If the call is illegal for this thread, or there is a fabric.
    pub fn call(&mut self, call: &Call) -> Result<Val, Fault> {
        match &mut self.end {
            Backend::Tape(known, tape) => {
                if let Some(fault) = known.fault(self.id, call) {
                    return Err(Fault::Wrong(fault));
                }
                self.watch.made += 1;
                tape.result(call)
            }
            Backend::Fabric(..) => {
                Err(Fault::Wrong(format!("{} makes {call} by name: over a fabric use `Thread::emitted`", self.id)))
            }
        }
    }

    /// Repeats `round` until it returns a value. This is how a thread waits for others. Over a fabric, others run in
    /// between. Under [`Group::explore`](crate::Group::explore), all iterations have to be alike.
    ///
    /// # Errors
    /// The fault of a round, or that the time is up.
    pub fn until<T>(&mut self, round: impl Fn(&mut Self) -> Result<Option<T>, Fault>) -> Result<T, Fault> {
        if let Backend::Tape(_, tape) = &mut self.end {
            let outside = tape.enter()?;
            let last = round(self)?;
            if let Backend::Tape(_, tape) = &mut self.end {
                tape.exit(outside, last.is_some())?;
            }
            return last.ok_or_else(differs);
        }
        self.timed(|thread| thread.repeated(round))
    }

    /// Does the work of a call or of a loop that waits. The time limit begins here, unless this is a part of another one.
    pub(crate) fn timed<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let is_outermost = self.watch.begin();
        if let (true, Backend::Fabric(_, port)) = (is_outermost, &mut self.end) {
            port.begins();
        }
        let result = work(self);
        if is_outermost {
            self.watch.end();
        }
        result
    }

    fn repeated<T>(&mut self, round: impl Fn(&mut Self) -> Result<Option<T>, Fault>) -> Result<T, Fault> {
        loop {
            let made = self.watch.made;
            if let Some(last) = round(self)? {
                return Ok(last);
            }
            if self.watch.made == made {
                return Err(Fault::Endless(format!("{} goes on without a call", self.id)));
            }
            if let Backend::Fabric(_, port) = &mut self.end {
                port.again()?;
            }
            if self.watch.is_late_now() {
                return Err(Fault::Late(format!("{} still waits in a loop of its own code", self.id)));
            }
        }
    }

    /// Returns the objects, and the port to the fabric, for an operation.
    ///
    /// # Errors
    /// If there is no fabric.
    pub(crate) fn port(&mut self) -> Result<(&MadeObjects<'a>, &mut (dyn Port + 'a)), Fault> {
        self.counts();
        match &mut self.end {
            Backend::Fabric(made, port) => Ok((made, &mut **port)),
            Backend::Tape(..) => Err(Fault::Wrong("what is explored has no port".to_owned())),
        }
    }

    /// Makes an operation of the CPU on a word of this thread's node.
    pub(crate) fn by_cpu<R: CallResult>(
        &mut self,
        x: Loc,
        operation: Method,
        act: impl FnOnce(&mut dyn Port, At) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let here = i64::from(self.node().0);
        self.counts();
        if let Backend::Fabric(made, port) = &mut self.end
            && let Ok(&word) = made.object::<At>(x)
            && word.node == here
        {
            return act(&mut **port, word);
        }
        self.reach(x)?;
        R::of(self.call(&operation.into())?)
    }

    /// Posts an operation between `own`, a word of this thread's node, and `far`.
    pub(crate) fn begin(
        &mut self,
        (own, far): (Loc, Loc),
        operation: impl FnOnce(Val) -> Method,
        act: impl FnOnce(&mut dyn Port, At, At, Id) -> Result<(), Fault>,
    ) -> Result<Posted, Fault> {
        self.reach(own)?;
        let posted = self.posted();
        self.counts();
        match &mut self.end {
            Backend::Fabric(made, port) => act(&mut **port, *made.object(own)?, *made.object(far)?, posted.0)?,
            Backend::Tape(..) => _ = self.call(&operation(posted.name()).into())?,
        }
        Ok(posted)
    }

    /// Waits for an operation. `call` is the call that waits for one of its kind.
    pub(crate) fn complete(&mut self, posted: Posted, call: impl FnOnce(Val) -> Call) -> Result<(), Fault> {
        self.counts();
        match &mut self.end {
            Backend::Fabric(_, port) => port.wait(posted.0),
            Backend::Tape(..) => self.call(&call(posted.name())).map(drop),
        }
    }

    /// Returns an identifier for an operation, other than those of objects. Far fewer operations are under way at once than there are
    /// identifiers. A thread that waits for a reused identifier waits for the earlier operation too.
    pub(crate) fn posted(&mut self) -> Posted {
        self.begun = (self.begun + 1) % IDENTIFIERS;
        let of_objects = if let Backend::Fabric(made, _) = &self.end { made.world.ids } else { 0 };
        Posted(of_objects + 1 + self.begun as Id)
    }

    /// True if the code is explored, and there is no fabric.
    pub(crate) fn is_explored(&self) -> bool {
        matches!(self.end, Backend::Tape(..))
    }

    /// Checks the time limit now and then.
    pub(crate) fn on_time(&mut self, at: impl FnOnce() -> String) -> Result<(), Fault> {
        if self.watch.is_late() { Err(Fault::Late(at())) } else { Ok(()) }
    }

    /// Lets others run, for a loop that waits for them without [`Thread::until`].
    pub fn pause(&mut self) {
        if let Backend::Fabric(_, port) = &mut self.end {
            port.relax();
        }
    }
}

/// The identifier of an operation that was posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted(pub(crate) Id);

impl Posted {
    /// Returns its name, where operations have names.
    pub(crate) fn name(self) -> Val {
        Wid(Name::new(&format!("d{}", self.0))).into()
    }
}

/// A result of a call, as Rust programs get it.
pub trait CallResult: Sized {
    /// Returns the result of a call that is explored.
    ///
    /// # Errors
    /// If the library returns a value of another kind.
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
