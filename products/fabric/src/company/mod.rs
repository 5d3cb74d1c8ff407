//! Processes that run together, one process per node: how they start, meet, and learn of each other's end.
//!
//! One process starts the others, or something else has started all of them, with the same variables of the environment. Each
//! process has a connection to the first one. The connections carry addresses and results, never an operation of the fabric. If
//! one process fails, the others receive a fault with its name within a time limit.

mod link;
mod place;
#[cfg(test)]
mod sources;

use std::fmt;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use mowgli_core::ids::Tid;

use crate::made::{HashKey, hash_key};
use crate::port::Fault;
use link::{Guest, Link, Received, Strangers, Trouble, Unreached, VERSION};
use place::ProcessPlace;

/// Processes that run together, as one of them sees them.
pub struct Company {
    place: ProcessPlace,
    /// The connections of this process: to all others if it is the first one, and otherwise to the first one.
    links: Vec<Link>,
    trouble: Arc<Trouble>,
    started: Started,
    limit: Duration,
    /// The key of checksums. The first process makes it.
    key: HashKey,
    /// A lock that is held while a group runs.
    running: Mutex<()>,
}

/// The processes that this one has started, by rank.
type Started = Arc<Mutex<Vec<(usize, Child)>>>;

fn children(started: &Started) -> MutexGuard<'_, Vec<(usize, Child)>> {
    started.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The printed name of the process of a rank.
struct RankName<'a>(usize, &'a Started);

impl fmt::Display for RankName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let children = children(self.1);
        let pid = children.iter().find(|(rank, _)| *rank == self.0).map(|(_, child)| child.id());
        write!(f, "node {}", self.0 + 1)?;
        pid.map_or(Ok(()), |pid| write!(f, " (process {pid})"))
    }
}

impl Company {
    /// Starts the other processes of a company of this size on this machine. Each runs this program with `arguments`,
    /// and has to call [`Company::joined`].
    ///
    /// # Errors
    /// If a process cannot be started, or does not connect within `limit`. The same limit applies to every later wait
    /// for another process.
    pub fn start(size: usize, arguments: &[String], limit: Duration) -> Result<Self, Fault> {
        let wrong = |e: std::io::Error| Fault::Wrong(format!("the other processes cannot be started: {e}"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(wrong)?;
        let program = std::env::current_exe().map_err(wrong)?;
        let place = ProcessPlace::first(size, listener.local_addr().map_err(wrong)?).map_err(Fault::Wrong)?;
        let started = Started::default();
        for rank in 1..size {
            let child = Command::new(&program)
                .args(arguments)
                .envs(place.variables(rank))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .map_err(wrong)?;
            children(&started).push((rank, child));
        }
        Self::gathered(place, listener, started, limit)
    }

    /// Joins the company that this process was started for, by [`Company::start`] or otherwise. Returns `None` if `MOWGLI_MEET` is not
    /// set, which is `HOST:PORT` of the first process. Then `MOWGLI_RANK`, `MOWGLI_SIZE`, and `MOWGLI_TOKEN`, the same secret for all, have to
    /// be set, too. `MOWGLI_HOST` is the address of this process on the network.
    ///
    /// # Errors
    /// If the variables are incomplete or make no sense, or the processes do not meet within the time limit.
    pub fn joined(limit: Duration) -> Option<Result<Self, Fault>> {
        let place = ProcessPlace::of_environment()?.map_err(Fault::Wrong);
        Some(place.and_then(|place| Self::met(place, limit)))
    }

    fn met(place: ProcessPlace, limit: Duration) -> Result<Self, Fault> {
        if place.rank == 0 {
            let at = place.meeting().map_err(Fault::Wrong)?;
            let listener = TcpListener::bind(at).map_err(|e| Fault::Wrong(format!("{at}: {e}")))?;
            return Self::gathered(place, listener, Started::default(), limit);
        }
        let end = after(limit);
        let (stream, key) = loop {
            match place.meeting().map_err(Unreached::NotYet).and_then(|at| link::reached(at, &place)) {
                Ok(reached) => break reached,
                Err(Unreached::Refused(fault)) => return Err(fault),
                Err(Unreached::NotYet(why)) if Instant::now() > end => {
                    let within = limit.as_secs_f64();
                    return Err(Fault::Gone(format!("node 1 was not reached within {within} s: {why}")));
                }
                Err(Unreached::NotYet(_)) => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let trouble = Arc::new(Trouble::default());
        let gone = |how: &str| Fault::Gone(format!("node 1 {how}"));
        let link = Link::new(0, stream, &trouble, gone).map_err(|e| Fault::Gone(format!("node 1: {e}")))?;
        trouble.tell(link.writer());
        Ok(Self {
            place,
            links: vec![link],
            trouble,
            started: Started::default(),
            limit,
            key,
            running: Mutex::default(),
        })
    }

    /// Waits until all other processes have connected.
    fn gathered(place: ProcessPlace, listener: TcpListener, started: Started, limit: Duration) -> Result<Self, Fault> {
        let trouble = Arc::new(Trouble::default());
        let (links, key, running) = (Vec::new(), hash_key()?, Mutex::default());
        let mut company = Self { place, links, trouble, started, limit, key, running };
        company.welcome(&listener).inspect_err(|fault| company.fail(fault))?;
        company.links.sort_by_key(|link| link.rank);
        Ok(company)
    }

    /// Accepts connections until all other processes have connected.
    fn welcome(&mut self, listener: &TcpListener) -> Result<(), Fault> {
        let wrong = |e: std::io::Error| Fault::Wrong(format!("no connections are taken: {e}"));
        listener.set_nonblocking(true).map_err(wrong)?;
        let end = after(self.limit);
        let mut strangers = Strangers::default();
        while self.links.len() + 1 < self.size() {
            if let Some(fault) = self.fell(end, strangers.refused.as_ref()) {
                return Err(fault);
            }
            let accepted = listener.accept().map(|(stream, _)| strangers.add(stream));
            for guest in strangers.guests(&self.place) {
                self.seat(guest)?;
            }
            if accepted.is_err() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    /// Makes a process that has connected a part of the company.
    fn seat(&mut self, mut guest: Guest) -> Result<(), Fault> {
        let other_version = || (guest.version != VERSION).then(|| other_version(&guest));
        if let Some(fault) = other_version().or_else(|| self.other_size(&guest)) {
            guest.refuse(&fault);
            return Err(fault);
        }
        let rank = guest.rank;
        if self.links.iter().any(|link| link.rank == rank) {
            return Err(Fault::Wrong(format!("two processes say that they are node {}", rank + 1)));
        }
        // A process that has gone again may come back.
        if guest.welcome(&self.place, self.key).is_err() {
            return Ok(());
        }
        let started = Arc::clone(&self.started);
        let gone = move |how: &str| Fault::Gone(ended(rank, how, &started));
        let link = Link::new(rank, guest.stream, &self.trouble, gone);
        let link = link.map_err(|e| Fault::Wrong(format!("the connection to node {}: {e}", rank + 1)))?;
        self.trouble.tell(link.writer());
        self.links.push(link);
        Ok(())
    }

    /// Returns a fault if a process counts other processes than this one.
    fn other_size(&self, guest: &Guest) -> Option<Fault> {
        let (node, size, own) = (guest.rank + 1, guest.size, self.size());
        let fault = || {
            format!(
                "node {node} of {size} processes has come, and node 1 is one of {own}; start all with the same number"
            )
        };
        (size != own || !(2..=own).contains(&node)).then(|| Fault::Wrong(fault()))
    }

    /// Returns a fault if a missing process will not connect: it has ended, the time is up, or another fault is known.
    /// `refused` is that of the last process with another token.
    fn fell(&self, end: Instant, refused: Option<&Fault>) -> Option<Fault> {
        let has_come = |rank: usize| self.links.iter().any(|link| link.rank == rank);
        let missing: Vec<usize> = (1..self.size()).filter(|&rank| !has_come(rank)).collect();
        let fallen = |&rank: &usize| {
            let mut all = children(&self.started);
            let status = all.iter_mut().find(|(of, _)| *of == rank)?.1.try_wait().ok()??;
            Some((rank, status))
        };
        if let Some((rank, status)) = missing.iter().find_map(fallen) {
            let name = RankName(rank, &self.started);
            return Some(Fault::Gone(format!("{name} ended before it had come: {status}")));
        }
        let names: Vec<String> = missing.iter().map(|&rank| RankName(rank, &self.started).to_string()).collect();
        let refused = refused.map_or(String::new(), |fault| format!("; {fault}"));
        let late =
            || Fault::Gone(format!("{} did not come within {} s{refused}", names.join(", "), self.limit.as_secs_f64()));
        (Instant::now() > end).then(late).or_else(|| self.trouble.fault())
    }

    /// Returns the rank of this process, counted from 0. The process of rank `r` is node `r + 1`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.place.rank
    }

    /// Returns the number of processes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.place.size
    }

    /// Returns what knows the first fault of this process or another.
    pub(crate) fn trouble(&self) -> Arc<Trouble> {
        Arc::clone(&self.trouble)
    }

    /// Names the other nodes.
    pub(crate) fn others(&self) -> String {
        let others = (1..=self.size()).filter(|node| *node != self.rank() + 1).map(|node| format!("node {node}"));
        others.collect::<Vec<_>>().join(" or ")
    }

    /// Returns the address at which others reach this process, by name or number.
    pub(crate) fn host(&self) -> &str {
        &self.place.host
    }

    /// Returns the key of checksums, which all processes have.
    pub(crate) fn key(&self) -> HashKey {
        self.key
    }

    /// Exchanges a text with all processes, and returns the texts by rank. Every process has to make the call. It
    /// returns when all have made it.
    ///
    /// # Errors
    /// If a process has gone, or does not make the call within the time limit.
    pub fn gather(&self, said: &str) -> Result<Vec<String>, Fault> {
        let end = after(self.limit);
        let late = |link: &Link| {
            Fault::Gone(format!(
                "{} has said nothing for {} s",
                RankName(link.rank, &self.started),
                self.limit.as_secs_f64()
            ))
        };
        let heard = |link: &Link| match link.next(end, &self.trouble) {
            Received::Line(line) => Ok(line),
            Received::Nothing => Err(late(link)),
            Received::Trouble(fault) => Err(fault),
        };
        if self.rank() > 0 {
            let first = &self.links[0];
            first.say(said);
            let all = heard(first)?;
            return serde_json::from_str(&all)
                .map_err(|e| Fault::Gone(format!("node 1 said what makes no sense: {e}")));
        }
        let mut all = vec![said.to_owned()];
        for link in &self.links {
            all.push(heard(link).inspect_err(|fault| self.fail(fault))?);
        }
        let text = serde_json::to_string(&all).expect("strings");
        self.links.iter().for_each(|link| link.say(&text));
        Ok(all)
    }

    /// Reports to all other processes that this one has failed.
    pub fn fail(&self, fault: &Fault) {
        self.trouble.set(fault.clone());
    }

    /// Runs the work of a thread. If it panics, all other processes receive a fault at once.
    pub(crate) fn reporting<R>(&self, thread: Tid, work: impl FnOnce() -> R) -> R {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let why = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            self.fail(&self.panicked(&format!("{thread} panicked: {why}")));
            resume_unwind(panic)
        })
    }

    /// Makes the fault that the other processes receive when this one panics.
    fn panicked(&self, how: &str) -> Fault {
        Fault::Gone(format!("node {} (process {}): {how}", self.rank() + 1, std::process::id()))
    }

    /// Returns a guard that lets only one group run at a time, because messages of two groups would be confused.
    pub(crate) fn only(&self) -> Result<MutexGuard<'_, ()>, Fault> {
        match self.running.try_lock() {
            Ok(guard) => Ok(guard),
            // A thread of an earlier run has panicked. The lock guards no data, so nothing can be half done.
            Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Fault::Wrong(
                "this company already runs a group; let one end before another begins, or start another company"
                    .to_owned(),
            )),
        }
    }

    /// Returns the first fault of this process or another, if there is one. The call is cheap.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        self.trouble.fault()
    }

    /// True if this process or another one has failed.
    #[inline]
    pub(crate) fn has_fault(&self) -> bool {
        self.trouble.is_there()
    }
}

/// Makes the fault for a process that is built with another version.
fn other_version(guest: &Guest) -> Fault {
    Fault::Wrong(format!(
        "node {} is built with version {} of mowgli-fabric, and node 1 with version {VERSION}; build all processes of the same code",
        guest.rank + 1,
        guest.version
    ))
}

/// Describes how the process of this rank ended, after its connection has ended.
fn ended(rank: usize, how: &str, started: &Started) -> String {
    let name = RankName(rank, started).to_string();
    // The connection of a process that is killed ends a moment before the process does.
    for _ in 0..50 {
        let status = children(started).iter_mut().find(|(of, _)| *of == rank).and_then(|(_, c)| c.try_wait().ok()?);
        if let Some(status) = status {
            return format!("{name} {how}: {status}");
        }
        if children(started).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    format!("{name} {how}")
}

/// Returns the end of a wait that begins now. The longest limits are as good as a century.
fn after(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or_else(|| now + Duration::from_secs(100 * 365 * 24 * 3600))
}

/// The time that a process started here may take to end.
const TO_END: Duration = Duration::from_secs(3);

impl Drop for Company {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fail(&self.panicked("it panicked"));
        }
        self.links.iter().for_each(Link::bye);
        let end = Instant::now() + TO_END;
        for (_, child) in children(&self.started).iter_mut() {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
            }
            if !matches!(child.try_wait(), Ok(Some(_))) {
                _ = child.kill();
                _ = child.wait();
            }
            crate::left::clear(child.id());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_company_may_have_no_limit() {
        for limit in [Duration::MAX, Duration::from_secs(1 << 62)] {
            assert_eq!(Company::start(1, &[], limit).unwrap().gather("alone"), Ok(vec!["alone".to_owned()]));
        }
    }
}
