//! A message and a flag behind it, under every execution of the model: with a wait before the message is written again, and without.
//!
//! `cargo run -p mowgli-fabric --example explore` says what the other thread may receive, and shows an execution that should not be.

use std::collections::BTreeSet;

use mowgli_fabric::{Explored, Fault, Group};

/// All ways in which two messages can be received. The first thread writes the second message into the word from which it has put
/// the first one, at once or after it has waited; the other one waits for the number of the message, and then reads it.
pub fn sent_twice(waits: bool) -> Result<Explored<Vec<i64>>, Fault> {
    let mut group = Group::new(&[1, 2]);
    let (message, number) = (group.word("message", 2, 0), group.word("number", 2, 0));
    let (own, first) = (group.word("own", 1, 7), group.word("first", 1, 1));
    group.explore(move |thread| {
        if thread.id().index() == 0 {
            let sent = message.put(thread, own)?;
            if waits {
                sent.wait(thread)?;
            }
            number.put(thread, first)?;
            own.write(thread, 8)?;
            return Ok(vec![]);
        }
        thread.until(|thread| Ok((number.read(thread)? == 1).then_some(())))?;
        let received = message.read(thread)?;
        assert_eq!(received, 7, "the first message is not what was received");
        Ok(vec![received])
    })
}

fn main() -> Result<(), Fault> {
    for waits in [true, false] {
        let explored = sent_twice(waits)?;
        println!("{}", if waits { "with a wait:" } else { "without a wait:" });
        match explored.all() {
            Ok(all) => {
                let received: BTreeSet<&Vec<i64>> = all.iter().map(|results| results[1]).collect();
                println!("  the other thread receives {received:?}, and nothing else");
            }
            Err(why) => println!("{why}"),
        }
    }
    Ok(())
}
