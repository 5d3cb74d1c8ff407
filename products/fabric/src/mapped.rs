//! Words that the processes of one machine map. One process makes a file in shared memory, and all map it. Then the file is removed,
//! so nothing is left behind.

#![allow(unsafe_code, reason = "the system maps memory")]

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicI64;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A file that is removed when this is dropped.
pub(crate) struct SharedFile(PathBuf);

impl SharedFile {
    /// Makes a file with room for so many words.
    pub(crate) fn create(path: &Path, count: usize) -> std::io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        let made = Self(path.to_owned());
        // This takes the room now. Otherwise the first write beyond what is free would end the process.
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes(count) as u64)?;
        Ok(made)
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

/// Words in a file that is mapped.
pub(crate) struct MappedWords {
    first: NonNull<AtomicI64>,
    count: usize,
}

// SAFETY: the words are atomic, and stay mapped as long as this lives.
unsafe impl Send for MappedWords {}
unsafe impl Sync for MappedWords {}

/// Returns the size of words, which is never 0.
fn bytes(count: usize) -> usize {
    count.max(1) * size_of::<AtomicI64>()
}

impl MappedWords {
    /// Maps so many words of a file. The words of a new file are 0.
    pub(crate) fn open(path: &Path, count: usize) -> std::io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        if file.metadata()?.len() < bytes(count) as u64 {
            return Err(Errno::INVAL.into());
        }
        // SAFETY: the system chooses where, so no other memory is replaced.
        let first =
            unsafe { mmap(null_mut(), bytes(count), ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0) }?;
        Ok(Self { first: NonNull::new(first.cast()).expect("mapped"), count })
    }

    pub(crate) fn words(&self) -> &[AtomicI64] {
        // SAFETY: the pages of the mapping are aligned, hold so many words, and stay mapped as long as this lives. Nobody accesses them
        // otherwise than as atomic words.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl Drop for MappedWords {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the words any more.
        _ = unsafe { munmap(self.first.as_ptr().cast::<c_void>(), bytes(self.count)) };
    }
}
