//! The part of libfabric that is used. Its functions are safe to use, because they
//! check words and slots before they pass them on. Everything that an endpoint refers to lives as long as the endpoint.

#![allow(unsafe_code, reason = "libfabric is a library of C")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use crate::memory::LINE;
use crate::provider::Opening;

/// An error code of libfabric: a negative number, for example `-11` for an operation that is to be tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Error(pub(crate) i32);

impl Error {
    /// The code for an operation that does not have room now.
    pub(crate) const AGAIN: Self = Self(-11);

    /// The code for a provider that does not have what is requested.
    pub(crate) const ABSENT_HERE: Self = Self(-61);

    /// The code for a missing libfabric.
    const ABSENT: Self = Self(0);

    /// Describes the error.
    pub(crate) fn text(self) -> String {
        if let Err(why) = loaded() {
            return format!("libfabric cannot be loaded: {why}; install libfabric 1.17 or later (libfabric1)");
        }
        // SAFETY: libfabric is loaded. It gives a string that is never freed, whatever the number is.
        let text = unsafe { CStr::from_ptr(fabric_text(-self.0)) };
        text.to_string_lossy().into_owned()
    }
}

/// Loads libfabric, if that has not been done yet.
fn loaded() -> Result<(), &'static str> {
    static LOADED: OnceLock<Option<String>> = OnceLock::new();
    let load = || {
        // SAFETY: it is called once, before all other functions of libfabric. Its result is read before anything else
        // is loaded.
        let why = unsafe { fabric_load() };
        // SAFETY: if it gives anything, it is a string.
        (!why.is_null()).then(|| unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned())
    };
    LOADED.get_or_init(load).as_deref().map_or(Ok(()), Err)
}

/// Sets the text that a crash inside the provider writes before it ends the process.
pub(crate) fn last_words(text: &str) {
    // SAFETY: the string ends with 0, and is copied.
    CString::new(text).iter().for_each(|text| unsafe { fabric_last_words(text.as_ptr()) });
}

/// Writes a text to standard error, and ends the process at once. Nothing is closed, because that could wait for the provider.
pub(crate) fn leave(text: &str) {
    // SAFETY: the string ends with 0.
    CString::new(text).iter().for_each(|text| unsafe { fabric_leave(text.as_ptr()) });
}

#[repr(C)]
struct FabricNode {
    _opaque: [u8; 0],
}

#[repr(C)]
struct FabricEnd {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn fabric_load() -> *const c_char;
    fn fabric_text(error: c_int) -> *const c_char;
    fn fabric_last_words(text: *const c_char);
    fn fabric_leave(text: *const c_char) -> !;
    fn fabric_node_open(
        provider: *const c_char,
        source: *const c_char,
        is_atomic: c_int,
        key: u64,
        memory: *mut c_void,
        bytes: usize,
        out: *mut *mut FabricNode,
    ) -> c_int;
    fn fabric_node_close(node: *mut FabricNode);
    fn fabric_node_name(node: *mut FabricNode, name: *mut c_void, length: *mut usize) -> c_int;
    fn fabric_node_limits(node: *mut FabricNode, quick: *mut usize, ordered: *mut usize);
    fn fabric_node_memory(node: *mut FabricNode, key: *mut u64, base: *mut u64);
    fn fabric_node_know(node: *mut FabricNode, name: *const c_void, peer: *mut u64) -> c_int;
    fn fabric_node_progress(node: *mut FabricNode);
    fn fabric_end_open(
        node: *mut FabricNode,
        count: usize,
        key: u64,
        is_of_node: c_int,
        out: *mut *mut FabricEnd,
    ) -> c_int;
    fn fabric_end_close(end: *mut FabricEnd);
    fn fabric_end_name(end: *mut FabricEnd, name: *mut c_void, length: *mut usize) -> c_int;
    fn fabric_put(end: *mut FabricEnd, slot: usize, own: usize, bytes: usize, peer: u64, at: u64, key: u64) -> c_int;
    fn fabric_put_large(
        end: *mut FabricEnd,
        slot: usize,
        own: usize,
        bytes: usize,
        peer: u64,
        at: u64,
        key: u64,
    ) -> c_int;
    fn fabric_get(end: *mut FabricEnd, slot: usize, own: usize, bytes: usize, peer: u64, at: u64, key: u64) -> c_int;
    fn fabric_add(end: *mut FabricEnd, slot: usize, own: usize, peer: u64, at: u64, key: u64, more: u64) -> c_int;
    fn fabric_swap(
        end: *mut FabricEnd,
        slot: usize,
        own: usize,
        peer: u64,
        at: u64,
        key: u64,
        old: u64,
        new: u64,
    ) -> c_int;
    fn fabric_end_progress(end: *mut FabricEnd);
    fn fabric_end_next(end: *mut FabricEnd, slot: *mut usize) -> c_int;
}

/// A function that copies words.
type Copies = unsafe extern "C" fn(*mut FabricEnd, usize, usize, usize, u64, u64, u64) -> c_int;

fn checked(status: c_int) -> Result<(), Error> {
    if status == 0 { Ok(()) } else { Err(Error(status)) }
}

/// Returns the name that a function writes.
fn named(write: impl FnOnce(*mut c_void, *mut usize) -> c_int) -> Result<Vec<u8>, Error> {
    let mut name = vec![0; LONGEST_NAME];
    let mut length = name.len();
    checked(write(name.as_mut_ptr().cast(), &raw mut length))?;
    name.truncate(length);
    Ok(name)
}

/// The memory of a node, and the endpoint at which others reach it.
pub(crate) struct NodeMemory {
    raw: NonNull<FabricNode>,
    /// The registered memory. Others reach it while `raw` is open, so it is freed after `raw` is closed.
    words: Vec<AtomicU64>,
    /// The number of unused words before those of the node, which begin at a line of the cache.
    skip: usize,
}

// SAFETY: the domain is opened as safe for threads (`FI_THREAD_SAFE`), the memory is atomic words, and nothing else of
// a node changes.
unsafe impl Send for NodeMemory {}
unsafe impl Sync for NodeMemory {}

/// The memory of another node, as operations name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Peer {
    /// The handle of its address, which [`NodeMemory::know`] returns.
    pub(crate) address: u64,
    /// The key of its memory.
    pub(crate) key: u64,
    /// The address of its first byte.
    pub(crate) base: u64,
}

/// The largest number of bytes of an address.
const LONGEST_NAME: usize = 256;

impl NodeMemory {
    /// Opens a node with these words.
    pub(crate) fn open(opening: &Opening, initial: Vec<u64>) -> Result<Self, Error> {
        loaded().map_err(|_| Error::ABSENT)?;
        let none = |_| Error(-22);
        let provider = CString::new(opening.provider).map_err(none)?;
        let source = CString::new(&*opening.source).map_err(none)?;
        let mut words: Vec<AtomicU64> = Vec::with_capacity(initial.len() + LINE);
        let skip = words.as_ptr().align_offset(LINE * 8).min(LINE);
        words.extend(vec![0; skip].into_iter().chain(initial).map(AtomicU64::new));
        let (atomic, bytes) = (opening.words_by_atomics.into(), size_of_val(&words[skip..]));
        // Whoever does not know the key cannot reach the memory. Endpoints have small keys of their own.
        let key = getrandom::u64().map_err(|_| Error(-5))? | 1 << 63;
        let memory = words[skip..].as_ptr().cast_mut().cast::<c_void>();
        let mut raw = null_mut();
        // SAFETY: libfabric is loaded; strings end with 0; the memory lives until the node is closed, and is only ever
        // accessed as atomic words here.
        checked(unsafe {
            fabric_node_open(provider.as_ptr(), source.as_ptr(), atomic, key, memory, bytes, &raw mut raw)
        })?;
        Ok(Self { raw: NonNull::new(raw).expect("opened"), words, skip })
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        &self.words[self.skip..]
    }

    /// Returns the address at which others reach it.
    pub(crate) fn name(&self) -> Result<Vec<u8>, Error> {
        // SAFETY: the node is open, and there is so much room.
        named(|name, length| unsafe { fabric_node_name(self.raw.as_ptr(), name, length) })
    }

    /// Returns the largest numbers of words: of a put without a completion, and of any operation that keeps its order.
    pub(crate) fn limits(&self) -> [usize; 2] {
        let (mut quick, mut ordered) = (0, 0);
        // SAFETY: the node is open.
        unsafe { fabric_node_limits(self.raw.as_ptr(), &raw mut quick, &raw mut ordered) };
        [quick / 8, (ordered / 8).max(1)]
    }

    /// Returns the key of its memory and the address of its first byte, for others.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let (mut key, mut base) = (0, 0);
        // SAFETY: the node is open.
        unsafe { fabric_node_memory(self.raw.as_ptr(), &raw mut key, &raw mut base) };
        (key, base)
    }

    /// Records the address of another node, and returns a handle of it.
    pub(crate) fn know(&self, name: &[u8]) -> Result<u64, Error> {
        // A provider reads as many bytes as its addresses have.
        let mut whole = name.to_vec();
        whole.resize(LONGEST_NAME.max(name.len()), 0);
        let mut peer = 0;
        // SAFETY: the address has the length that addresses of this provider have, or is shorter than the zeros behind
        // it.
        checked(unsafe { fabric_node_know(self.raw.as_ptr(), whole.as_ptr().cast(), &raw mut peer) })?;
        Ok(peer)
    }

    /// Progresses the operations of other nodes here.
    pub(crate) fn progress(&self) {
        // SAFETY: the node is open.
        unsafe { fabric_node_progress(self.raw.as_ptr()) }
    }
}

impl Drop for NodeMemory {
    fn drop(&mut self) {
        // SAFETY: nothing refers to it any more: endpoints keep their node.
        unsafe { fabric_node_close(self.raw.as_ptr()) }
    }
}

/// An endpoint, which stays open while a handle refers to it.
struct Opened {
    raw: NonNull<FabricEnd>,
    node: Arc<NodeMemory>,
}

// SAFETY: as for nodes; slots are changed by the one [`End`] that has them.
unsafe impl Send for Opened {}
unsafe impl Sync for Opened {}

/// The endpoint from which the operations of one thread start. An operation other than a put has a slot until
/// [`End::next`] returns it.
pub(crate) struct End {
    opened: Arc<Opened>,
    slots: usize,
}

/// A handle that progresses the operations of an endpoint from another thread.
pub(crate) struct Going(Arc<Opened>);

impl Going {
    /// Progresses the operations.
    pub(crate) fn progress(&self) {
        self.0.progress();
    }
}

/// The two ends of an operation: some words of the own memory, and as many of another node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    pub(crate) slot: usize,
    /// The first word of the own memory.
    pub(crate) own: usize,
    pub(crate) peer: Peer,
    /// The first word of the other node.
    pub(crate) far: usize,
    /// The number of words. Atomic operations are of one.
    pub(crate) words: usize,
}

impl End {
    /// Opens an endpoint with so many slots: that of the node, which one thread may use, or another. The endpoints of a
    /// node have different keys, all other than that of the memory.
    pub(crate) fn open(node: &Arc<NodeMemory>, slots: usize, key: u64, is_of_node: bool) -> Result<Self, Error> {
        let mut raw = null_mut();
        // SAFETY: the node is open, and stays so as long as this refers to it.
        checked(unsafe { fabric_end_open(node.raw.as_ptr(), slots, key, is_of_node.into(), &raw mut raw) })?;
        let opened = Opened { raw: NonNull::new(raw).expect("opened"), node: Arc::clone(node) };
        Ok(Self { opened: Arc::new(opened), slots })
    }

    /// Returns a handle that progresses its operations.
    pub(crate) fn going(&self) -> Going {
        Going(Arc::clone(&self.opened))
    }

    fn raw(&self) -> *mut FabricEnd {
        self.opened.raw.as_ptr()
    }

    /// Returns its address.
    pub(crate) fn name(&self) -> Result<Vec<u8>, Error> {
        // SAFETY: the endpoint is open, and there is so much room.
        named(|name, length| unsafe { fabric_end_name(self.raw(), name, length) })
    }

    /// Returns slot, offset in the own memory, and address at the other node, after a check of their bounds.
    fn places(&self, between: &Between) -> (usize, usize, u64) {
        let words = self.opened.node.words().len();
        let is_inside = between.own < words && between.words <= words - between.own;
        assert!(between.slot < self.slots && is_inside, "{between:?} is out of bounds");
        (between.slot, between.own * 8, between.peer.base + between.far as u64 * 8)
    }

    /// Puts words, at most as many as [`NodeMemory::limits`] says. They have been read when this returns, and it takes no slot.
    pub(crate) fn put(&mut self, between: Between) -> Result<(), Error> {
        self.copied(between, fabric_put)
    }

    /// Puts words. They have been read when the operation completes.
    pub(crate) fn put_large(&mut self, between: Between) -> Result<(), Error> {
        self.copied(between, fabric_put_large)
    }

    pub(crate) fn get(&mut self, between: Between) -> Result<(), Error> {
        self.copied(between, fabric_get)
    }

    fn copied(&mut self, between: Between, copy: Copies) -> Result<(), Error> {
        let ((slot, own, at), peer) = (self.places(&between), between.peer);
        // SAFETY: slot and words are there as long as the endpoint is.
        checked(unsafe { copy(self.raw(), slot, own, between.words * 8, peer.address, at, peer.key) })
    }

    pub(crate) fn add(&mut self, between: Between, more: u64) -> Result<(), Error> {
        let ((slot, own, at), peer) = (self.places(&between), between.peer);
        // SAFETY: as above.
        checked(unsafe { fabric_add(self.raw(), slot, own, peer.address, at, peer.key, more) })
    }

    pub(crate) fn swap(&mut self, between: Between, old: u64, new: u64) -> Result<(), Error> {
        let ((slot, own, at), peer) = (self.places(&between), between.peer);
        // SAFETY: as above.
        checked(unsafe { fabric_swap(self.raw(), slot, own, peer.address, at, peer.key, old, new) })
    }

    /// Returns the slot of an operation that has completed, if there is one. For a failure it returns the reason, and
    /// the slot if that is known.
    pub(crate) fn next(&mut self) -> Result<Option<usize>, (Error, Option<usize>)> {
        let mut slot = self.slots;
        // SAFETY: the endpoint is open.
        let status = checked(unsafe { fabric_end_next(self.raw(), &raw mut slot) });
        let slot = Some(slot).filter(|&slot| slot < self.slots);
        status.map(|()| slot).map_err(|why| (why, slot))
    }
}

impl Opened {
    fn progress(&self) {
        // SAFETY: the endpoint is open.
        unsafe { fabric_end_progress(self.raw.as_ptr()) }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: nobody else has it. Operations that are under way end with it; the memory that they refer to is still
        // there.
        unsafe { fabric_end_close(self.raw.as_ptr()) }
    }
}
