//! A ring buffer of messages of any length. A message is a length in bytes, and the bytes, eight in a word.

use crate::buffer::{WORD, words_of};
use crate::emitted::mowgli_port::List;
use crate::group::Group;
use crate::objects::Ring;
use crate::port::Fault;
use crate::thread::Thread;

/// A ring buffer of messages from one thread to others (RBL, LOCO §5). Each reader receives each message, in order. A message is
/// sent by one operation to each node. See [`Ring`] for the time at which a reader makes room.
#[derive(Clone, Copy, Debug)]
pub struct MessageRing(Ring);

impl MessageRing {
    /// Sends a message to all readers, if there is room. Returns whether there was.
    ///
    /// # Errors
    /// If this thread is not the writer, or such a message never has room.
    pub fn submit(&self, thread: &mut Thread<'_>, message: &[u8]) -> Result<bool, Fault> {
        let mut words = List::none();
        pack(message, &mut words);
        self.0.submit_list(thread, &words)
    }

    /// Receives the next message, if there is one.
    ///
    /// # Errors
    /// If this thread is not a reader.
    pub fn receive(&self, thread: &mut Thread<'_>) -> Result<Option<Vec<u8>>, Fault> {
        let mut message = Vec::new();
        Ok(self.receive_into(thread, &mut message)?.then_some(message))
    }

    /// Receives the next message into a buffer, if there is one. Then the buffer has the bytes of the message, and nothing else.
    /// Returns whether there was one.
    ///
    /// # Errors
    /// If this thread is not a reader.
    pub fn receive_into(&self, thread: &mut Thread<'_>, message: &mut Vec<u8>) -> Result<bool, Fault> {
        let next = self.0.next(thread)?;
        if let Some(words) = &next {
            unpack(words.as_slice(), message);
        }
        Ok(next.is_some())
    }
}

impl Group {
    /// Adds a ring buffer of messages, from a thread to others. It has room for one message of this many bytes, or for several that
    /// are shorter. A message takes 24 bytes beside its own.
    pub fn message_ring(&mut self, name: &str, writer: usize, readers: &[usize], bytes: usize) -> MessageRing {
        MessageRing(self.ring(name, writer, readers, bytes.div_ceil(WORD) + 3))
    }
}

/// Writes the words of a message into a list.
pub(crate) fn pack(message: &[u8], words: &mut List) {
    let (whole, _) = message.as_chunks::<WORD>();
    let word = |at: usize| match whole.get(at) {
        Some(word) => i64::from_le_bytes(*word),
        None => words_of(&message[at * WORD..]).next().unwrap_or(0),
    };
    let count = message.len().div_ceil(WORD);
    words.fill(1 + count, |place| place.checked_sub(1).map_or(message.len() as i64, word));
}

/// Writes the message with these words into a buffer.
pub(crate) fn unpack(words: &[i64], message: &mut Vec<u8>) {
    let (length, words) = words.split_first().expect("a message has a length");
    message.resize(words.len() * WORD, 0);
    for (bytes, word) in message.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    message.truncate(*length as usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_from_their_words() {
        let mut received = vec![1; 50];
        for length in 0..40 {
            let message: Vec<u8> = (0..length).map(|at| 255 - at).collect();
            let mut words = List::none();
            pack(&message, &mut words);
            assert_eq!(words.as_slice().len(), 1 + message.len().div_ceil(WORD));
            unpack(words.as_slice(), &mut received);
            assert_eq!(received, message);
        }
    }
}
