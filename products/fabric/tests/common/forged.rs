//! A message with the words of another message, over any fabric. The writer knows all but the key of checksums.

use mowgli_fabric::{Barrier, Fault, Group, MessageRing, Thread};

use crate::mowgli_port::World;

/// A group with a ring of sixteen words.
pub struct Forged {
    pub group: Group,
    ring: MessageRing,
    barrier: Barrier,
}

impl Forged {
    pub fn new() -> Self {
        let mut group = Group::new(&[1, 2]);
        let (ring, barrier) = (group.message_ring("ring", 0, &[1], 13 * 8), group.barrier("b", &[0, 1]));
        Self { group, ring, barrier }
    }

    /// The first message fills the ring. The second one is shorter. Behind it are words of the first, which have the form of a third one.
    pub fn exchange(&self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        let world = World::new(0, &[]);
        let words = [8, i64::from_le_bytes(*b"nobody's")];
        let forged = [23, world.checksum(&[23, world.checksum(&words)]), words[0], words[1]];
        let mut first: Vec<u8> = forged.iter().flat_map(|word| word.to_le_bytes()).collect();
        first.resize(13 * 8, 0);
        for message in [&first[..], b""] {
            self.next(thread, message)?;
        }
        if thread.id().index() == 1 {
            assert_eq!(self.ring.receive(thread)?, None, "nobody has sent this");
        }
        self.barrier.wait(thread)?;
        self.next(thread, b"real")
    }

    /// Sends a message, or receives it.
    fn next(&self, thread: &mut Thread<'_>, message: &[u8]) -> Result<(), Fault> {
        if thread.id().index() == 0 {
            thread.until(|thread| Ok(self.ring.submit(thread, message)?.then_some(())))
        } else {
            let received = thread.until(|thread| self.ring.receive(thread))?;
            assert_eq!(received, message);
            Ok(())
        }
    }
}
