//! The controller of DC/DC converters (LOCO-X App. B.2). The loops of a controller and of converters send messages over
//! the fabric.
//!
//! `cargo run --example converter -- local` shows how the voltage approaches its target, the worse the
//! less often the controller looks.

#[path = "../common/place.rs"]
mod place;
mod plant;

use std::process::ExitCode;

use clap::{Parser, value_parser};

use place::{End, Place, ended};
use plant::{Setting, TARGET, volts, wrong};

/// Simulates a controller of converters, and checks that its commands arrive in order and in time.
#[derive(Parser)]
struct Args {
    /// The fabric to run over: machine, local, memory, shm, tcp or verbs.
    fabric: String,
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(1..=60))]
    converters: u8,
    /// The periods of the controller in microseconds, one after the other; that of a converter is ten.
    #[arg(long, value_delimiter = ',', default_values_t = [40, 80, 160, 320], value_parser = value_parser!(u64).range(1..=100_000))]
    periods: Vec<u64>,
    /// The simulated time in milliseconds.
    #[arg(long, default_value_t = 8)]
    milliseconds: u64,
    /// The factor by which all loops are slower than real time.
    #[arg(long, default_value_t = 200, value_parser = value_parser!(u64).range(1..=100_000))]
    slower: u64,
    /// The seed of the machine.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

fn main() -> ExitCode {
    ended(Args::parse().run())
}

impl Args {
    fn run(&self) -> Result<(), End> {
        let place = Place::new(&self.fabric, self.converters + 1)?;
        let mut commands = 0;
        for &period in &self.periods {
            let setting = Setting {
                converters: self.converters.into(),
                period: period * 1000,
                commands: (self.milliseconds * 1000 / period) as i64,
                slower: place.has_time().then_some(self.slower),
            };
            let (group, plant) = setting.group();
            let all = place.run(&group, self.seed, |thread| plant.run(thread, || place.now()))?;
            if let Some(wrong) = wrong(&all) {
                return Err(End::Wrong(format!("with --seed {} --periods {period}: {wrong}", self.seed)));
            }
            commands += setting.commands;
            place.says(&format!("{period} us: {}", settled(&volts(&all), setting.converters)));
        }
        if place.speaks() {
            println!("{commands} commands: found in order, and as soon as it is known that they are there");
        }
        Ok(())
    }
}

/// Describes the distance of voltages from their target in the second half of the time.
fn settled(points: &[f64], converters: usize) -> String {
    let target = TARGET * converters as f64;
    let late = &points[points.len() / 2..];
    let most = late.iter().map(|volts| (volts - target).abs()).fold(0.0, f64::max);
    format!("in the second half of the time {target} V but for {most:.2} V")
}
