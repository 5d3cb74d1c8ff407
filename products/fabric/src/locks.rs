//! The locks of SYNC §4, for Rust programs.

use std::ops::{Deref, DerefMut};

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::world::Object;
use mowgli_libraries::nlock::NLOCK;
use mowgli_libraries::slock::SLOCK;
use mowgli_libraries::wlock::WLOCK;

use crate::emitted::mowgli_port::World;
use crate::emitted::objects::{nlock, slock, wlock};
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
                let release = |lock: Loc, thread: &mut Thread<'_>| {
                    let call = || Call::new($LIBRARY, "Rel", &[lock.into()]);
                    thread.make(lock, |me, x: &$module::Object| $module::rel(me, x).map(drop), call)
                };
                Ok(LockGuard { lock: self.0, thread, release, is_held: true })
            }
        }
    };
}

lock!(WeakLock, wlock, WLOCK);
lock!(StrongLock, slock, SLOCK);
lock!(NodeLock, nlock, NLOCK);
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
        let make = move |world: &mut World| wlock::new(world, node.into());
        WeakLock(self.add(name, Object::new(WLOCK).at(Node(node)), make))
    }

    /// Adds a lock on a node that makes everything sections have sent visible to later sections.
    pub fn strong_lock(&mut self, name: &str, node: u8) -> StrongLock {
        let make = move |world: &mut World| slock::new(world, node.into());
        StrongLock(self.add(name, Object::new(SLOCK).at(Node(node)), make))
    }

    /// Adds a lock on a node that makes everything sections have sent to that node visible to later sections.
    pub fn node_lock(&mut self, name: &str, node: u8) -> NodeLock {
        let make = move |world: &mut World| nlock::new(world, node.into());
        NodeLock(self.add(name, Object::new(NLOCK).at(Node(node)), make))
    }
}
