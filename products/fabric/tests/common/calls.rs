//! Makes the calls of a thread by emitted code, for `twin.rs`. It writes each operation to standard output as a line, and
//! reads the result from standard input.
//!
//! A client begins with a line with the variant, the thread, the nodes and the nodes of all threads. A line with the arguments of
//! each object follows. The answer has the number of identifiers, and the node and first value of each word. Then each
//! line is a call, which is answered by its result after its operations. An empty line ends the client.

mod calls {
    use std::any::Any;
    use std::io::Write as _;

    use crate::mowgli_port::{Id, List, Port, Word, World};

    /// A port whose operations another process makes. It fails if that process has no result.
    pub struct Pipe;

    /// Reads a line, or returns nothing at the end of the input.
    pub fn line() -> Option<String> {
        let mut text = String::new();
        std::io::stdin().read_line(&mut text).expect("the other process is there");
        text.pop().map(|_| text)
    }

    /// Writes a line of numbers after a word.
    pub fn say(word: &str, numbers: &[i64]) {
        let mut text = numbers.iter().fold(word.to_owned(), |text, v| text + " " + &v.to_string());
        text.push('\n');
        std::io::stdout().write_all(text.as_bytes()).expect("the other process is there");
    }

    /// Makes an operation.
    fn ask(operation: &str, numbers: &[i64]) -> Result<i64, ()> {
        say(operation, numbers);
        line().and_then(|result| result.parse().ok()).ok_or(())
    }

    fn row(operation: &str, d: Id, words: [&[Word]; 2]) -> Result<(), ()> {
        let words = words.concat();
        let numbers: Vec<i64> = std::iter::once(d.into()).chain(words.iter().map(|x| x.at as i64)).collect();
        ask(operation, &numbers).map(drop)
    }

    impl Port for Pipe {
        type Fault = ();

        fn read(&mut self, x: Word) -> Result<i64, ()> {
            ask("read", &[x.at as i64])
        }
        fn write(&mut self, x: Word, v: i64) -> Result<(), ()> {
            ask("write", &[x.at as i64, v]).map(drop)
        }
        fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, ()> {
            ask("cas", &[x.at as i64, old, new])
        }
        fn xchg(&mut self, x: Word, v: i64) -> Result<i64, ()> {
            ask("xchg", &[x.at as i64, v])
        }
        fn faa(&mut self, x: Word, v: i64) -> Result<i64, ()> {
            ask("faa", &[x.at as i64, v])
        }
        fn mfence(&mut self) -> Result<(), ()> {
            ask("mfence", &[]).map(drop)
        }
        fn get(&mut self, to: Word, from: Word, d: Id) -> Result<(), ()> {
            row("get", d, [&[to], &[from]])
        }
        fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), ()> {
            row("put", d, [&[to], &[from]])
        }
        fn get_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), ()> {
            row("get_words", d, [to, from])
        }
        fn put_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), ()> {
            row("put_words", d, [to, from])
        }
        fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, d: Id) -> Result<(), ()> {
            ask("rcas", &[to.at as i64, on.at as i64, old, new, d.into()]).map(drop)
        }
        fn rfaa(&mut self, to: Word, on: Word, v: i64, d: Id) -> Result<(), ()> {
            ask("rfaa", &[to.at as i64, on.at as i64, v, d.into()]).map(drop)
        }
        fn wait(&mut self, d: Id) -> Result<(), ()> {
            ask("wait", &[d.into()]).map(drop)
        }
        fn rfence(&mut self, n: i64) -> Result<(), ()> {
            ask("rfence", &[n]).map(drop)
        }
        fn again(&mut self) -> Result<(), ()> {
            ask("again", &[]).map(drop)
        }
        fn never(&mut self, _: &str) {}
    }

    /// An argument: numbers, or an object by its place.
    pub struct Argument<'a> {
        numbers: List,
        objects: &'a [Box<dyn Any>],
    }

    impl<'a> Argument<'a> {
        /// Reads arguments: numbers with a comma behind each.
        pub fn all<'t>(words: impl Iterator<Item = &'t str>, objects: &'a [Box<dyn Any>]) -> Vec<Self> {
            let numbers = |word: &str| word.split_terminator(',').map(|v| v.parse::<i64>().expect("a number")).collect();
            words.map(|word| Self { numbers: numbers(word), objects }).collect()
        }

        /// Returns the object.
        pub fn object<O: 'static>(&self) -> &'a O {
            self.objects[i64::from(self) as usize].downcast_ref().expect("an object of this library")
        }
    }

    impl<'a> From<&'a Argument<'_>> for &'a List {
        fn from(argument: &'a Argument<'_>) -> Self {
            &argument.numbers
        }
    }

    impl From<&Argument<'_>> for List {
        fn from(argument: &Argument<'_>) -> Self {
            argument.numbers.clone()
        }
    }

    impl From<&Argument<'_>> for i64 {
        fn from(argument: &Argument<'_>) -> Self {
            argument.numbers.as_slice()[0]
        }
    }

    impl From<&Argument<'_>> for u64 {
        fn from(argument: &Argument<'_>) -> Self {
            i64::from(argument) as u64
        }
    }

    impl From<&Argument<'_>> for u32 {
        fn from(argument: &Argument<'_>) -> Self {
            i64::from(argument) as u32
        }
    }

    /// A result as numbers.
    pub trait Numbers {
        fn numbers(self) -> Vec<i64>;
    }

    impl Numbers for () {
        fn numbers(self) -> Vec<i64> {
            Vec::new()
        }
    }

    impl Numbers for bool {
        fn numbers(self) -> Vec<i64> {
            vec![self.into()]
        }
    }

    impl Numbers for i64 {
        fn numbers(self) -> Vec<i64> {
            vec![self]
        }
    }

    impl Numbers for List {
        fn numbers(self) -> Vec<i64> {
            if self.is_bot() { vec![crate::mowgli_port::BOT] } else { self.as_slice().to_vec() }
        }
    }

    /// Reads a world from the words of a line: the nodes, and the nodes of all threads.
    pub fn world(words: &[&str]) -> World {
        let given = Argument::all(words.iter().copied(), &[]);
        World::new((&given[0]).into(), <&List>::from(&given[1]).as_slice())
    }
}

/// Declares the variants, each with its library and the places of the arguments of its functions. Writes `main`.
macro_rules! variants {
    ($($variant:ident $library:ident { new($($given:literal)*) $($method:ident($($at:literal)*))* })*) => {
        $(
            mod $variant;

            impl<'a> From<&'a calls::Argument<'_>> for &'a $variant::$library::Object {
                fn from(argument: &'a calls::Argument<'_>) -> Self {
                    argument.object()
                }
            }
        )*

        fn main() {
            while let Some(begin) = calls::line() {
                let begin: Vec<&str> = begin.split(' ').collect();
                let mut world = calls::world(&begin[2..]);
                match begin[0] {
                    $(stringify!($variant) => {
                        use $variant::{Me, Own, $library as library};
                        let own = Own::new(&mut world);
                        let mut objects: Vec<Box<dyn std::any::Any>> = Vec::new();
                        for given in calls::line().expect("objects").split_terminator(';') {
                            let given = calls::Argument::all(given.split_terminator(' '), &[]);
                            objects.push(Box::new(library::new(&mut world, $((&given[$given]).into()),*)));
                        }
                        let words = world.words.iter().flat_map(|(node, initial)| [*node, *initial]);
                        calls::say("made", &std::iter::once(world.ids.into()).chain(words).collect::<Vec<_>>());
                        let mut me = Me::new(calls::Pipe, &world, &own, begin[1].parse().expect("a thread"));
                        while let Some(call) = calls::line().filter(|call| !call.is_empty()) {
                            let (method, given) = call.split_once(' ').unwrap_or((&call, ""));
                            let given = calls::Argument::all(given.split_terminator(' '), &objects);
                            let _ = &given;
                            let result = match method {
                                $(stringify!($method) => {
                                    library::$method(&mut me, $((&given[$at]).into()),*).map(calls::Numbers::numbers)
                                })*
                                other => panic!("there is no method {other}"),
                            };
                            match result {
                                Ok(numbers) => calls::say("=", &numbers),
                                Err(()) => calls::say("fails", &[]),
                            }
                        }
                    })*
                    other => panic!("there is no variant {other}"),
                }
            }
        }
    };
}

mod mowgli_port;
