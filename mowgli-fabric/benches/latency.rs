//! How long a barrier, a put and a get take between processes of one machine, beside what libfabric takes by itself (`raw.c`) and what
//! Open MPI takes (`peers.c`), in one run. A barrier of LOCO promises that what was put before it is in place, and one of MPI does not:
//! so there is also a put, what waits for it, and a barrier. What cannot be compiled or run here is left out, and said so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mowgli_core::ids::{Name, Node, Wid};
use mowgli_core::value::Val;
use mowgli_fabric::{Company, Fault, Group, Provider, Thread};
use mowgli_rdma::wait::{Method, word};

const LIMIT: Duration = Duration::from_secs(60);

/// How often each is done in one turn, of which the fastest counts: turns are short, so that nobody else comes in between in some.
fn times(provider: Provider) -> u32 {
    if provider == Provider::Tcp { 20 } else { 100 }
}

const TURNS: u32 = 500;

fn main() -> Result<(), String> {
    let provider = |name: &str| if name == "tcp" { Provider::Tcp } else { Provider::Shm };
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, name] = &arguments[..]
        && role == "role"
    {
        let company = Company::joined(LIMIT).expect("started for a company").map_err(|e| e.to_string())?;
        return measured(&company, provider(name)).map(|_| ()).map_err(|e| e.to_string());
    }
    println!("{:<5} {:<34} {:>10} {:>16} {:>10} {:>10}", "", "ns", "barrier", "put and barrier", "put", "get");
    for provider in [Provider::Shm, Provider::Tcp] {
        let name = provider.name();
        let row = |who: &str, figures: Result<&str, &String>| match figures {
            Ok(figures) => {
                let [met, sent, put, got] = *figures.split_whitespace().collect::<Vec<_>>() else {
                    return println!("{name:<5} {who:<34} {figures:?}");
                };
                println!("{name:<5} {who:<34} {met:>10} {sent:>16} {put:>10} {got:>10}");
            }
            Err(why) => println!("{name:<5} {who:<34} {why}"),
        };
        let rows = |who: &[&str], figures: Result<String, String>| match figures {
            Ok(figures) => who.iter().zip(figures.lines()).for_each(|(who, line)| row(who, Ok(line))),
            Err(why) => row(who[0], Err(&why)),
        };
        rows(&["Mowgli"], own(provider).map_err(|e| e.to_string()));
        rows(&["libfabric (raw.c)", "libfabric, put with completion"], raw(provider));
        let own = if provider == Provider::Tcp { "tcp,self" } else { "vader,self" };
        rows(
            &["Open MPI (peers.c)"],
            open_mpi(provider, &["pml", "ob1", "btl", own, "btl_tcp_if_include", "lo", "osc", "^sm"]),
        );
        if provider == Provider::Tcp {
            let same = ["pml", "cm", "mtl", "ofi", "mtl_ofi_provider_include", "tcp;ofi_rxm", "osc", "pt2pt"];
            rows(&["Open MPI over libfabric (peers.c)"], open_mpi(provider, &same));
        }
    }
    Ok(())
}

fn own(provider: Provider) -> Result<String, Fault> {
    let company = Company::start(2, &["role", provider.name()].map(str::to_owned), LIMIT)?;
    let all = measured(&company, provider)?;
    Ok(all.iter().map(|each| each.as_nanos().to_string()).collect::<Vec<_>>().join(" "))
}

/// The shortest time of several turns.
fn least(times: u32, mut act: impl FnMut() -> Result<(), Fault>) -> Result<Duration, Fault> {
    let mut least = Duration::MAX;
    for _ in 0..TURNS {
        let begin = Instant::now();
        for _ in 0..times {
            act()?;
        }
        least = least.min(begin.elapsed() / times);
    }
    Ok(least)
}

/// Barrier, put and barrier, put with its wait, and get with its wait, by the first of two processes; the other one only lets go on what is begun there.
fn measured(company: &Company, provider: Provider) -> Result<Vec<Duration>, Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let barrier = group.barrier("b", &[0, 1]);
    let variables = [group.shared_var("x"), group.shared_var("y")];
    let [own, far, over] =
        [("own", 1), ("far", 2), ("over", 2)].map(|(name, node)| group.object(name, word(Node(node))));
    let d = Val::Wid(Wid(Name::literal("d")));
    let all = |thread: &mut Thread<'_>, methods: [Method; 2]| {
        methods.into_iter().try_for_each(|method| thread.operation(method).map(|_| ()))
    };
    let times = times(provider);
    let mut measured = group.run_among(company, provider, |thread| {
        barrier.wait(thread)?;
        let met = least(times, || barrier.wait(thread))?;
        let own_variable = variables[thread.id().index()];
        let sent = least(times, || {
            own_variable.broadcast(thread)?;
            barrier.wait(thread)
        })?;
        if thread.id().index() == 1 {
            while thread.operation(Method::Read { x: over })? != Val::Int(1) {
                thread.pause();
            }
            return Ok(Vec::new());
        }
        let put = least(times, || all(thread, [Method::Put { x: far, y: own, d }, Method::Wait { d }]))?;
        let got = least(times, || all(thread, [Method::Get { x: own, y: far, d }, Method::Wait { d }]))?;
        thread.operation(Method::Write { x: own, v: Val::Int(1) })?;
        all(thread, [Method::Put { x: over, y: own, d }, Method::Wait { d }])?;
        Ok(vec![met, sent, put, got])
    })?;
    Ok(measured.pop().unwrap_or_default())
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches").join(name)
}

/// What a command prints.
fn output(command: &mut Command) -> Result<String, String> {
    let ran = command.output().map_err(|e| format!("{:?}: {e}", command.get_program()))?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    if ran.status.success() && text.split_whitespace().count() >= 2 {
        return Ok(text);
    }
    let why = String::from_utf8_lossy(&ran.stderr).lines().next().unwrap_or_default().to_owned();
    Err(format!("{:?} failed: {why}", command.get_program()))
}

fn compiled(compiler: &str, name: &str, library: &[&str]) -> Result<PathBuf, String> {
    let program = std::env::temp_dir().join(format!("mowgli-{}-{name}.out", std::process::id()));
    let compiling = Command::new(compiler).arg("-O2").arg("-o").arg(&program).arg(source(name)).args(library).status();
    match compiling {
        Ok(status) if status.success() => Ok(program),
        _ => Err(format!("not compiled: no {compiler}, or it lacks a header")),
    }
}

fn raw(provider: Provider) -> Result<String, String> {
    let program = compiled("cc", "raw.c", &["-ldl"])?;
    let ran =
        output(Command::new("timeout").arg("60").arg(&program).args([provider.name(), &times(provider).to_string()]));
    _ = std::fs::remove_file(program);
    ran
}

/// Open MPI with these parameters, names and values.
fn open_mpi(provider: Provider, parameters: &[&str]) -> Result<String, String> {
    let program = compiled("mpicc", "peers.c", &[])?;
    let ran = output(
        Command::new("timeout")
            .args(["60", "mpirun", "--oversubscribe", "-n", "2"])
            .args(parameters.chunks(2).flat_map(|pair| ["--mca", pair[0], pair[1]]))
            .arg(&program)
            .arg(times(provider).to_string())
            .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]),
    );
    _ = std::fs::remove_file(program);
    ran
}
