//! The place of a process in its company, and the company's meeting point, as environment variables state them.

use std::net::{SocketAddr, ToSocketAddrs};

/// The place of a process in its company.
#[derive(Clone, Debug)]
pub(super) struct ProcessPlace {
    pub(super) rank: usize,
    pub(super) size: usize,
    /// The address at which others reach its part of the fabric.
    pub(super) host: String,
    /// A token that all processes of the company know, and prove to know when they meet. It is never sent.
    pub(super) token: String,
    /// The address at which the first process listens.
    at: String,
}

/// The loopback address of this machine.
const HERE: &str = "127.0.0.1";

/// The longest token, in bytes.
const LONGEST_TOKEN: usize = 64;

impl ProcessPlace {
    /// Returns the place of the first process of a company, which starts the others.
    pub(super) fn first(size: usize, at: SocketAddr) -> Result<Self, String> {
        Ok(Self { rank: 0, size, host: HERE.to_owned(), token: secret()?, at: at.to_string() })
    }

    /// Returns the environment variables that give another place of the same company to a process.
    pub(super) fn variables(&self, rank: usize) -> [(&'static str, String); 4] {
        let (size, token) = (self.size.to_string(), self.token.clone());
        let (rank, at) = (rank.to_string(), self.at.clone());
        [("MOWGLI_RANK", rank), ("MOWGLI_SIZE", size), ("MOWGLI_TOKEN", token), ("MOWGLI_MEET", at)]
    }

    /// Reads the place from the environment. Returns `None` if this process was not started with others.
    pub(super) fn of_environment() -> Option<Result<Self, String>> {
        Self::said(|name| std::env::var(name).ok())
    }

    fn said(variable: impl Fn(&str) -> Option<String>) -> Option<Result<Self, String>> {
        let at = variable("MOWGLI_MEET")?;
        let number = |name: &str| {
            let text = variable(name).ok_or_else(|| format!("MOWGLI_MEET is set, and {name} is not"))?;
            text.parse::<usize>().map_err(|_| format!("the environment says {name}={text}, which is no number"))
        };
        let place = || {
            let (rank, size) = (number("MOWGLI_RANK")?, number("MOWGLI_SIZE")?);
            if rank >= size {
                return Err(format!(
                    "the environment says MOWGLI_RANK={rank} of MOWGLI_SIZE={size}: ranks begin with 0"
                ));
            }
            let token = variable("MOWGLI_TOKEN").unwrap_or_default();
            if token.is_empty() {
                return Err(format!(
                    "the environment says MOWGLI_MEET={at}, and anybody could join there: set MOWGLI_TOKEN to the same secret for all \
                     processes"
                ));
            }
            if token.len() > LONGEST_TOKEN || !token.chars().all(|c| c.is_ascii_alphanumeric()) {
                return Err(format!("MOWGLI_TOKEN has up to {LONGEST_TOKEN} letters and digits"));
            }
            let host = variable("MOWGLI_HOST").unwrap_or_else(|| HERE.to_owned());
            Ok(Self { rank, size, host, token, at: at.clone() })
        };
        Some(place())
    }

    /// Returns the address of the first process.
    pub(super) fn meeting(&self) -> Result<SocketAddr, String> {
        let mut all = self.at.to_socket_addrs().map_err(|e| format!("{}: {e}", self.at))?;
        all.next().ok_or_else(|| format!("{} has no address", self.at))
    }
}

/// Makes a token that nobody can guess.
pub(super) fn secret() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| format!("the system gives no random number: {e}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_who_one_is() {
        let said = |variables: [Option<&str>; 4]| {
            let names = ["MOWGLI_MEET", "MOWGLI_RANK", "MOWGLI_SIZE", "MOWGLI_TOKEN"];
            let variable = |name: &str| variables[names.iter().position(|n| *n == name)?].map(str::to_owned);
            ProcessPlace::said(variable)
                .map(|said| said.map_or_else(|why| why, |p| format!("{} of {}", p.rank, p.size)))
        };
        let at = Some("127.0.0.1:7");
        assert_eq!(said([None, Some("0"), Some("2"), Some("x")]), None, "alone");
        for (variables, part) in [
            ([at, Some("1"), Some("3"), Some("x7")], "1 of 3"),
            ([at, None, Some("3"), Some("x7")], "MOWGLI_RANK is not"),
            ([at, Some("3"), Some("3"), Some("x7")], "MOWGLI_RANK=3"),
            ([at, Some("x"), Some("3"), Some("x7")], "no number"),
            ([at, Some("1"), Some("3"), None], "anybody could join there: set MOWGLI_TOKEN"),
            ([at, Some("1"), Some("3"), Some("x 7")], "letters and digits"),
        ] {
            assert!(said(variables).is_some_and(|said| said.contains(part)), "{variables:?}");
        }
    }
}
