//! The locks of SYNC §4 for Rust programs. Each call runs the body of the library's method.

use std::ops::{Deref, DerefMut};

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node};
use mowgli_core::world::Object;
use mowgli_libraries::nlock::NLOCK;
use mowgli_libraries::slock::SLOCK;
use mowgli_libraries::wlock::WLOCK;

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

impl WeakLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// If the holder does not release the lock in time.
    pub fn lock<'t, 'a>(&self, thread: &'t mut Thread<'a>) -> Result<LockGuard<'t, 'a>, Fault> {
        taken(WLOCK, self.0, thread)
    }
}

impl StrongLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// If the holder does not release the lock in time.
    pub fn lock<'t, 'a>(&self, thread: &'t mut Thread<'a>) -> Result<LockGuard<'t, 'a>, Fault> {
        taken(SLOCK, self.0, thread)
    }
}

impl NodeLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// If the holder does not release the lock in time.
    pub fn lock<'t, 'a>(&self, thread: &'t mut Thread<'a>) -> Result<LockGuard<'t, 'a>, Fault> {
        taken(NLOCK, self.0, thread)
    }
}

fn taken<'t, 'a>(library: Name, lock: Loc, thread: &'t mut Thread<'a>) -> Result<LockGuard<'t, 'a>, Fault> {
    thread.call(&Call::new(library, "Acq", &[lock.into()]))?;
    Ok(LockGuard { library, lock, thread, is_held: true })
}

/// A thread that holds a lock. Dropping the guard releases the lock.
pub struct LockGuard<'t, 'a> {
    library: Name,
    lock: Loc,
    thread: &'t mut Thread<'a>,
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
        self.thread.call(&Call::new(self.library, "Rel", &[self.lock.into()])).map(|_| ())
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
}
