//! The locks of SYNC §4, and a lock with attempts, for Rust programs. Each call runs the body of the library's method.

use std::ops::{Deref, DerefMut};

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::world::Object;
use mowgli_libraries::nlock::NLOCK;
use mowgli_libraries::slock::SLOCK;
use mowgli_libraries::trylock::{Method as Attempt, TRYLOCK};
use mowgli_libraries::wlock::WLOCK;

use crate::emitted::objects::{nlock, slock, trylock, wlock};
use crate::group::Group;
use crate::port::Fault;
use crate::thread::Thread;

/// A lock on a node that keeps sections apart, and promises nothing about writes over the network (WLOCK, SYNC §4.1).
#[derive(Clone, Copy, Debug)]
pub struct WeakLock(Loc);

/// A lock on a node that makes everything a section has sent, to any node, visible to the next one (SLOCK, SYNC §4.2).
#[derive(Clone, Copy, Debug)]
pub struct StrongLock(Loc);

/// A lock on a node that makes everything a section has sent to that node visible to the next one (NLOCK, SYNC §4.3).
#[derive(Clone, Copy, Debug)]
pub struct NodeLock(Loc);

/// A [`NodeLock`] that a thread can also try to take (TRYLOCK). A thread on the lock's node takes part in the same way.
#[derive(Clone, Copy, Debug)]
pub struct TryLock(Loc);

macro_rules! lock {
    ($Lock:ident, $module:ident, $LIBRARY:ident) => {
        impl $Lock {
            /// Takes the lock, and waits until nobody else holds it.
            ///
            /// # Errors
            /// If the holder does not release the lock in time.
            pub fn lock<'t, 'a>(&self, thread: &'t mut Thread<'a>) -> Result<LockGuard<'t, 'a>, Fault> {
                let call = || Call::new($LIBRARY, "Acq", &[self.0.into()]);
                thread.make(self.0, |me, x: &$module::Object| $module::acq(me, x), call)?;
                Ok(self.guard(thread))
            }

            /// Returns the guard of a thread that holds the lock.
            fn guard<'t, 'a>(&self, thread: &'t mut Thread<'a>) -> LockGuard<'t, 'a> {
                let release = |lock: Loc, thread: &mut Thread<'_>| {
                    let call = || Call::new($LIBRARY, "Rel", &[lock.into()]);
                    thread.make(lock, |me, x: &$module::Object| $module::rel(me, x).map(drop), call)
                };
                LockGuard { lock: self.0, thread, release, is_held: true }
            }
        }
    };
}

lock!(WeakLock, wlock, WLOCK);
lock!(StrongLock, slock, SLOCK);
lock!(NodeLock, nlock, NLOCK);
lock!(TryLock, trylock, TRYLOCK);

impl TryLock {
    /// Takes the lock if it is free. Returns `None` without waiting if another thread holds it or takes it at the same time.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn try_lock<'t, 'a>(&self, thread: &'t mut Thread<'a>) -> Result<Option<LockGuard<'t, 'a>>, Fault> {
        let call = || Attempt::TryAcq { x: self.0 }.into();
        let is_taken = thread.make(self.0, |me, x: &trylock::Object| trylock::try_acq(me, x), call)?;
        Ok(if is_taken { Some(self.guard(thread)) } else { None })
    }
}

/// A thread that holds a lock. Dropping the guard releases the lock.
pub struct LockGuard<'t, 'a> {
    lock: Loc,
    thread: &'t mut Thread<'a>,
    /// The function that releases this kind of lock.
    release: fn(Loc, &mut Thread<'_>) -> Result<(), Fault>,
    is_held: bool,
}

impl LockGuard<'_, '_> {
    /// Releases the lock.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn release(mut self) -> Result<(), Fault> {
        self.given_back()
    }

    fn given_back(&mut self) -> Result<(), Fault> {
        self.is_held = false;
        (self.release)(self.lock, self.thread)
    }
}

impl<'a> Deref for LockGuard<'_, 'a> {
    type Target = Thread<'a>;

    fn deref(&self) -> &Thread<'a> {
        self.thread
    }
}

impl<'a> DerefMut for LockGuard<'_, 'a> {
    fn deref_mut(&mut self) -> &mut Thread<'a> {
        self.thread
    }
}

impl Drop for LockGuard<'_, '_> {
    fn drop(&mut self) {
        if self.is_held {
            // A failure here is not lost, because the next call of the thread fails too.
            _ = self.given_back();
        }
    }
}

impl Group {
    /// Adds a lock on a node that promises nothing about what sections send.
    pub fn weak_lock(&mut self, name: &str, node: u8) -> WeakLock {
        WeakLock(self.object(name, Object::new(WLOCK).at(Node(node))))
    }

    /// Adds a lock on a node that makes everything sections have sent visible to later sections.
    pub fn strong_lock(&mut self, name: &str, node: u8) -> StrongLock {
        StrongLock(self.object(name, Object::new(SLOCK).at(Node(node))))
    }

    /// Adds a lock on a node that makes everything sections have sent to that node visible to later sections.
    pub fn node_lock(&mut self, name: &str, node: u8) -> NodeLock {
        NodeLock(self.object(name, Object::new(NLOCK).at(Node(node))))
    }

    /// Adds a lock on a node that threads can also try to take. It makes everything sections have sent to that node visible to later
    /// sections.
    pub fn try_lock(&mut self, name: &str, node: u8) -> TryLock {
        TryLock(self.object(name, Object::new(TRYLOCK).at(Node(node))))
    }
}
