//! The place of a process in its company, and the company's meeting point, as environment variables state them.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::pmi::Pmi;

/// The place of a process in its company.
#[derive(Clone, Debug)]
pub(super) struct ProcessPlace {
    pub(super) rank: usize,
    pub(super) size: usize,
    /// The address at which others reach its part of the fabric.
    pub(super) host: String,
    /// A token that all processes of the company know, and prove to know when they meet. It is never sent.
    pub(super) token: String,
    /// The address of the first process, if this program has started the company itself.
    at: Option<SocketAddr>,
}

/// The meeting point of a company's processes.
pub(super) enum Meeting {
    /// The address at which the first process listens.
    At(String),
    /// A file into which the first process writes its address, and its token.
    Says(PathBuf),
    /// The launcher's connection of this number, through which the first process publishes its address.
    Launcher(String),
}

/// The variables in which launchers give the rank of a process and the number of processes: our own, Slurm's, Open
/// MPI's, and those of PMI.
const LAUNCHERS: [(&str, &str); 4] = [
    ("MOWGLI_RANK", "MOWGLI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
];

/// Variables that say how many processes a launcher has started together with this one. A batch script of Slurm has a
/// rank too, but it lacks these variables.
const STARTED: [&str; 3] = ["SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// The loopback address of this machine.
const HERE: &str = "127.0.0.1";

impl ProcessPlace {
    /// Returns the place of the first process of a company, which starts the others.
    pub(super) fn first(size: usize, at: SocketAddr) -> Result<Self, String> {
        Ok(Self { rank: 0, size, host: HERE.to_owned(), token: secret()?, at: Some(at) })
    }

    /// Returns the place of another process of the same company.
    pub(super) fn of(&self, rank: usize) -> Self {
        Self { rank, ..self.clone() }
    }

    /// Returns the environment variables that give this place to a process.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let at = self.at.map_or_else(String::new, |at| at.to_string());
        vec![
            ("MOWGLI_RANK", self.rank.to_string()),
            ("MOWGLI_SIZE", self.size.to_string()),
            ("MOWGLI_TOKEN", self.token.clone()),
            ("MOWGLI_MEET", at),
        ]
    }

    /// Reads place and meeting point from the environment. Returns `None` if this process was not started with others.
    pub(super) fn of_environment() -> Option<Result<(Self, Meeting), String>> {
        Self::said(|name| std::env::var(name).ok())
    }

    fn said(variable: impl Fn(&str) -> Option<String>) -> Option<Result<(Self, Meeting), String>> {
        let meeting = match (variable("MOWGLI_MEET"), variable("PMI_FD")) {
            (Some(file), _) if file.contains('/') => Meeting::Says(file.into()),
            (Some(at), _) => Meeting::At(at),
            (None, Some(number)) => Meeting::Launcher(number),
            (None, None) => {
                let mut started = STARTED.into_iter().filter_map(|name| Some((name, variable(name)?)));
                let (name, size) = started.find(|(_, size)| size.parse().is_ok_and(|size: u64| size > 1))?;
                return Some(Err(format!(
                    "the environment says {name}={size}, and nothing says where these processes meet: let MOWGLI_MEET be the path of \
                     a file that all can read, or start them by `srun --mpi=pmi2` or `mpiexec` of MPICH"
                )));
            }
        };
        let number = |name: &str, text: String| {
            text.parse::<usize>().map_err(|_| format!("the environment says {name}={text}, which is no number"))
        };
        let said =
            LAUNCHERS.into_iter().find_map(|(rank, size)| Some([(rank, variable(rank)?), (size, variable(size)?)]));
        let Some([(rank_name, rank), (size_name, size)]) = said else {
            let ranks = LAUNCHERS.map(|(rank, _)| rank).join(", ");
            return Some(Err(format!(
                "MOWGLI_MEET or PMI_FD is set, and no rank: one of {ranks}, with the number of processes"
            )));
        };
        let place = || {
            let (rank, size) = (number(rank_name, rank)?, number(size_name, size)?);
            if rank >= size {
                return Err(format!(
                    "the environment says {rank_name}={rank} of {size_name}={size}: ranks begin with 0"
                ));
            }
            let host = variable("MOWGLI_HOST").unwrap_or_else(|| HERE.to_owned());
            let token = variable("MOWGLI_TOKEN").unwrap_or_default();
            if token.len() > LONGEST_TOKEN || !token.chars().all(|c| c.is_ascii_alphanumeric()) {
                return Err(format!("MOWGLI_TOKEN has up to {LONGEST_TOKEN} letters and digits"));
            }
            if let (Meeting::At(at), true) = (&meeting, token.is_empty()) {
                return Err(format!(
                    "the environment says MOWGLI_MEET={at}, and anybody could join there: set MOWGLI_TOKEN to the same secret for all \
                     processes, or let MOWGLI_MEET be the path of a file"
                ));
            }
            Ok(Self { rank, size, host, token, at: None })
        };
        Some(place().map(|place| (place, meeting)))
    }
}

impl Meeting {
    /// Opens the meeting point, as the first process.
    pub(super) fn opened(&self, place: &mut ProcessPlace) -> Result<TcpListener, String> {
        if let Self::At(at) = self {
            return TcpListener::bind(resolved(at)?).map_err(|e| format!("{at}: {e}"));
        }
        let wrong = |e: std::io::Error| format!("{}: {e}", place.host);
        let listener = TcpListener::bind((place.host.as_str(), 0)).map_err(wrong)?;
        let mut published = listener.local_addr().map_err(wrong)?.to_string();
        if place.token.is_empty() {
            place.token = secret()?;
            published = format!("{published}/{}", place.token);
        }
        match self {
            Self::Says(file) => written(file, &published).map_err(|e| format!("{}: {e}", file.display()))?,
            Self::Launcher(number) => _ = Pmi::open(number)?.said_by_first(Some(&published))?,
            Self::At(_) => {}
        }
        Ok(listener)
    }

    /// Replaces a launcher by the address that it gives, because the launcher answers only once and the address is
    /// needed again.
    pub(super) fn heard(self) -> Result<Self, String> {
        match self {
            Self::Launcher(number) => Pmi::open(&number)?.said_by_first(None).map(Self::At),
            other => Ok(other),
        }
    }

    /// Returns the address of the first process. Sets the token if it was published with the address.
    pub(super) fn address(&self, place: &mut ProcessPlace) -> Result<SocketAddr, String> {
        let published = match self {
            Self::At(at) => at.clone(),
            Self::Says(file) => std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?,
            Self::Launcher(number) => return Err(format!("PMI_FD={number} was not asked")),
        };
        let published = published.trim();
        let (at, token) = published.split_once('/').unwrap_or((published, ""));
        if !token.is_empty() {
            place.token = token.to_owned();
        }
        resolved(at)
    }
}

/// The longest token, in bytes.
const LONGEST_TOKEN: usize = 64;

/// Makes a token that nobody can guess.
pub(super) fn secret() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| format!("the system gives no random number: {e}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file that only its owner can read. Until it is whole it has a name of its own in the same folder. Renaming is atomic, so a
/// process that reads the file reads all of it.
fn written(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut whole = NamedTempFile::new_in(folder)?;
    writeln!(whole, "{text}")?;
    whole.persist(file)?;
    Ok(())
}

/// Resolves a host to its first address.
fn resolved(host: &str) -> Result<SocketAddr, String> {
    use std::net::ToSocketAddrs;
    let mut all = host.to_socket_addrs().map_err(|e| format!("{host}: {e}"))?;
    all.next().ok_or_else(|| format!("{host} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(variables: &[(&str, &str)]) -> Option<Result<(usize, usize), String>> {
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        ProcessPlace::said(variable).map(|said| said.map(|(place, _)| (place.rank, place.size)))
    }

    /// Names that differ behind their last dot only, and a file that was there before.
    #[test]
    fn meeting_files_share_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("meet.part"), "a user's").unwrap();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let file = at(&format!("meet.{n}"));
                scope.spawn(move || (0..200).for_each(|_| written(&file, &n.to_string()).unwrap()));
            }
        });
        for n in 0..8 {
            assert_eq!(std::fs::read_to_string(at(&format!("meet.{n}"))).unwrap(), format!("{n}\n"));
        }
        assert_eq!(std::fs::read_to_string(at("meet.part")).unwrap(), "a user's");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 9, "nothing else is left");
    }

    #[test]
    fn launchers_say_who_one_is() {
        let meet = ("MOWGLI_MEET", "/meet");
        assert_eq!(said(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None, "a batch script, which starts others");
        assert_eq!(said(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]), None, "alone");
        let alone = said(&[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4"), ("SLURM_STEP_NUM_TASKS", "4")]);
        assert!(alone.unwrap().unwrap_err().contains("SLURM_STEP_NUM_TASKS=4, and nothing says where"));
        assert_eq!(said(&[meet, ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")]), Some(Ok((1, 4))));
        assert_eq!(said(&[meet, ("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")]), Some(Ok((0, 2))));
        assert_eq!(said(&[meet, ("PMI_RANK", "2"), ("PMI_SIZE", "3")]), Some(Ok((2, 3))));
        assert_eq!(
            said(&[("PMI_FD", "5"), ("PMI_RANK", "1"), ("PMI_SIZE", "2")]),
            Some(Ok((1, 2))),
            "the launcher knows"
        );
        assert!(said(&[meet]).unwrap().unwrap_err().contains("no rank"));
        assert!(said(&[meet, ("PMI_RANK", "3"), ("PMI_SIZE", "3")]).unwrap().unwrap_err().contains("PMI_RANK=3"));
        assert!(said(&[meet, ("PMI_RANK", "x"), ("PMI_SIZE", "3")]).unwrap().unwrap_err().contains("no number"));
        let open = [("MOWGLI_MEET", "127.0.0.1:7"), ("PMI_RANK", "1"), ("PMI_SIZE", "3")];
        assert!(said(&open).unwrap().unwrap_err().contains("anybody could join there: set MOWGLI_TOKEN"));
        assert_eq!(said(&[&open[..], &[("MOWGLI_TOKEN", "x7")]].concat()), Some(Ok((1, 3))));
        let spaced = said(&[&open[..], &[("MOWGLI_TOKEN", "x 7")]].concat());
        assert!(spaced.unwrap().unwrap_err().contains("letters and digits"));
    }
}
