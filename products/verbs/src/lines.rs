//! Source lines and names of variables, from the debug information of a program.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;

use object::{File, Object, ObjectSymbol, SymbolKind};

/// The source lines and variables of programs, one for each process.
pub(crate) struct Lines(Vec<LinesOfProgram>);

struct LinesOfProgram {
    program: std::path::PathBuf,
    known: BTreeMap<u64, Vec<(String, u32)>>,
    /// The variables with static storage: address, size, name.
    variables: Vec<(u64, u64, String)>,
}

/// The offset and the prime of the hash of Fowler, Noll and Vo, which stays the same in all versions of Rust.
const FNV: (u64, u64) = (0xcbf2_9ce4_8422_2325, 0x100_0000_01b3);

/// Returns the number of the process that an address belongs to. It is in the upper bits.
pub(crate) fn process_of(address: u64) -> usize {
    (address >> 48) as usize
}

/// Returns an address as its process knows it.
fn in_process(address: u64) -> u64 {
    address & ((1 << 48) - 1)
}

/// Prints what a tool says, or nothing if it is missing.
fn said(command: &mut Command) -> String {
    command.output().map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Lists the variables of a program in the order of their addresses.
fn variables(program: &[u8]) -> Vec<(u64, u64, String)> {
    let Ok(file) = File::parse(program) else { return Vec::new() };
    let variables = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0);
    let mut all: Vec<(u64, u64, String)> =
        variables.filter_map(|v| Some((v.address(), v.size(), v.name().ok()?.to_owned()))).collect();
    all.sort();
    all
}

/// Returns the file and the line of each address, as `addr2line -a -i` prints them. Behind an address come its lines: that of an inlined
/// function before that of its caller.
fn lines_of(text: &str) -> Vec<Vec<(String, u32)>> {
    let mut all: Vec<Vec<(String, u32)>> = Vec::new();
    for line in text.lines() {
        // An address has no colon, and a file may have any name, such as `0x.c`.
        let Some((file, at)) = line.split(" (").next().and_then(|line| line.rsplit_once(':')) else {
            all.push(Vec::new());
            continue;
        };
        if let (true, Ok(at), Some(lines)) = (file != "??", at.parse(), all.last_mut()) {
            lines.push((file.to_owned(), at));
        }
    }
    all
}

impl LinesOfProgram {
    fn of(program: &Path) -> Self {
        let variables = std::fs::read(program).map_or_else(|_| Vec::new(), |bytes| variables(&bytes));
        Self { program: program.to_owned(), known: BTreeMap::new(), variables }
    }

    fn place(&mut self, places: &[u64]) -> SourcePlace {
        let unknown: Vec<u64> = places.iter().copied().filter(|pc| !self.known.contains_key(pc)).collect();
        if !unknown.is_empty() {
            let all = unknown.iter().map(|pc| format!("{pc:x}"));
            let text = said(Command::new("addr2line").args(["-a", "-i", "-e"]).arg(&self.program).args(all));
            self.known.extend(unknown.into_iter().zip(lines_of(&text)));
        }
        let of = |pc: &u64| self.known.get(pc).cloned().unwrap_or_default();
        let lines: Vec<(String, u32)> =
            places.iter().flat_map(of).filter(|(file, _)| !file.contains("/infiniband/")).collect();
        let is_header =
            |(file, _): &&(String, u32)| Path::new(file).extension().is_some_and(|x| x == "h" || x == "hpp");
        let line = lines.iter().find(|line| !is_header(line)).or(lines.first()).cloned();
        let within = lines.first().filter(|first| Some(*first) != line.as_ref()).cloned();
        SourcePlace { line, within }
    }

    fn variable(&self, at: u64) -> Option<(&str, u64)> {
        let has = |(from, size, _): &&(u64, u64, String)| (*from..from + size).contains(&at);
        self.variables.iter().rev().find(has).map(|(from, _, name)| (name.as_str(), at - from))
    }
}

impl Lines {
    pub(crate) fn of<'a>(programs: impl Iterator<Item = &'a Path>) -> Self {
        Self(programs.map(LinesOfProgram::of).collect())
    }

    /// Returns a text that is another one for other programs. A trace has it.
    pub(crate) fn fingerprint(&self) -> String {
        let hash = |bytes: &[u8]| bytes.iter().fold(FNV.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV.1));
        let of = |lines: &LinesOfProgram| hash(&std::fs::read(&lines.program).unwrap_or_default());
        self.0.iter().map(|lines| format!(" {:016x}", of(lines))).collect()
    }

    /// Returns the source line of these addresses, innermost first: the first one outside of headers.
    pub(crate) fn place(&mut self, places: &[u64]) -> SourcePlace {
        let process = places.first().map_or(0, |pc| process_of(*pc));
        let own: Vec<u64> = places.iter().map(|pc| in_process(*pc)).collect();
        self.0.get_mut(process).map(|lines| lines.place(&own)).unwrap_or_default()
    }

    /// Returns a name for an address, as the name of a variable and an offset. It is an identifier.
    pub(crate) fn name(&self, at: u64, regions: &[(u8, u64, u64)]) -> String {
        let process = process_of(at);
        let variable = self.0.get(process).and_then(|lines| lines.variable(in_process(at)));
        let region = regions.iter().enumerate().find(|(_, (_, from, size))| (*from..from + size).contains(&at));
        let (name, offset) = match (variable, region) {
            (Some((name, offset)), _) => (name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"), offset),
            (None, Some((k, (_, from, _)))) => (format!("mr{}", k + 1), at - from),
            (None, None) => (format!("at{at:x}"), 0),
        };
        let is_one_of_several = self.0.len() > 1 && variable.is_some();
        let name = if is_one_of_several { format!("n{}_{name}", process + 1) } else { name };
        if offset == 0 { name } else { format!("{name}_{offset}") }
    }
}

/// A source line, or nothing if there is no debug information.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct SourcePlace {
    /// The file and the line.
    pub line: Option<(String, u32)>,
    /// The file and the line in a header, if that line calls a function there.
    pub within: Option<(String, u32)>,
}

/// Prints a place as `ring.c:33`, or `ring.c:33 (node.h:81)`.
impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            |file: &str| Path::new(file).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        match (&self.line, &self.within) {
            (Some((file, at)), Some((header, inner))) => write!(f, "{}:{at} ({}:{inner})", name(file), name(header)),
            (Some((file, at)), None) => write!(f, "{}:{at}", name(file)),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lines_of;

    #[test]
    fn lines_are_behind_their_addresses() {
        let text = "0x0000000000401136\na0xb/0x.c:7\na0xb/0x.c:31 (discriminator 2)\n0x0000000000000001\n??:0\n0x0000000000401140\nring.c:?\nring.c:9\n";
        let one = |file: &str, at| (file.to_owned(), at);
        let file = "a0xb/0x.c";
        assert_eq!(lines_of(text), [vec![one(file, 7), one(file, 31)], Vec::new(), vec![one("ring.c", 9)]]);
    }
}
