//! A ring buffer of messages of any length. A message is a length in bytes, and the bytes, eight in a word.

use crate::buffer::{WORD, bytes_of, words_of};
use crate::emitted::mowgli_port::List;
use crate::group::Group;
use crate::objects::Ring;
use crate::port::Fault;
use crate::thread::Thread;

/// A ring buffer of messages from one thread to others (RBL, LOCO §5). Each reader receives each message, in order. A message is
/// sent by one operation to each node, or by two where the ring begins anew.
#[derive(Clone, Copy, Debug)]
pub struct MessageRing(Ring);

impl MessageRing {
    /// Sends a message to all readers, if there is room. Returns whether there was.
    ///
    /// # Errors
    /// If this thread is not the writer, or such a message never has room.
    pub fn submit(&self, thread: &mut Thread<'_>, message: &[u8]) -> Result<bool, Fault> {
        self.0.submit_list(thread, &packed(message))
    }

    /// Receives the next message, if there is one.
    ///
    /// # Errors
    /// If this thread is not a reader.
    pub fn receive(&self, thread: &mut Thread<'_>) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.0.next(thread)?.as_ref().map(unpacked))
    }
}

impl Group {
    /// Adds a ring buffer of messages, from a thread to others. It has room for one message of this many bytes, or for several that
    /// are shorter. A message takes sixteen bytes beside its own.
    pub fn message_ring(&mut self, name: &str, writer: usize, readers: &[usize], bytes: usize) -> MessageRing {
        MessageRing(self.ring(name, writer, readers, bytes.div_ceil(WORD) + 2))
    }
}

/// Returns the words of a message.
fn packed(message: &[u8]) -> List {
    std::iter::once(message.len() as i64).chain(words_of(message)).collect()
}

/// Returns the message with these words.
fn unpacked(words: &List) -> Vec<u8> {
    let (length, words) = words.as_slice().split_first().expect("a message has a length");
    let mut message = bytes_of(words.iter().copied());
    message.truncate(*length as usize);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_from_their_words() {
        for length in 0..40 {
            let message: Vec<u8> = (0..length).map(|at| 255 - at).collect();
            let words = packed(&message);
            assert_eq!(words.as_slice().len(), 1 + message.len().div_ceil(WORD));
            assert_eq!(unpacked(&words), message);
        }
    }
}
