//! The controller of DC/DC converters (LOCO-X App. B.2). The loops of a controller and of converters send messages over
//! the fabric.
//!
//! `cargo run -p mowgli-fabric --example converter -- local` shows how the voltage approaches its target, the worse the
//! less often the controller looks. `... -- machine --variant fence-of-puts --periods 40 --milliseconds 1 --times 20`
//! finds a seed with which a converter has an older command than the controller believes.

#[path = "../common/mod.rs"]
mod common;
mod plant;

use std::process::ExitCode;

use clap::{Parser, value_parser};

use common::place::{End, Over, Place, ended};
use common::plot::{Chart, Series, distribution, draw};
use common::repeat::Repeat;
use plant::{Setting, TARGET, followed, volts, wrong};

/// Simulates a controller of converters, and checks that its commands arrive in order and in time.
#[derive(Parser)]
struct Args {
    /// The fabric to run over.
    fabric: Over,
    /// The variant of shared variables.
    #[arg(long, default_value = "published")]
    variant: String,
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
    #[command(flatten)]
    repeat: Repeat,
}

fn main() -> ExitCode {
    ended(Args::parse().run())
}

impl Args {
    fn run(&self) -> Result<(), End> {
        let place = Place::new(self.fabric, self.converters + 1)?;
        let (mut voltage, mut latency, mut commands) = (Vec::<Series>::new(), Vec::new(), 0);
        for &period in &self.periods {
            let setting = Setting {
                converters: self.converters.into(),
                period: period * 1000,
                commands: (self.milliseconds * 1000 / period) as i64,
                slower: place.has_time().then_some(self.slower),
            };
            let (group, plant) = setting.group(&self.variant);
            for seed in self.repeat.seeds() {
                let all = place.run(&group, seed, |thread| plant.run(thread, || place.now()))?;
                if let Some(wrong) = wrong(&all) {
                    return Err(End::Wrong(format!("with --seed {seed} --periods {period}: {wrong}")));
                }
                commands += setting.commands;
                if seed == self.repeat.seed {
                    let name = format!("{period} us");
                    let points = volts(&all, setting.period);
                    place.says(&format!("{name}: {}", settled(&points, setting.converters)));
                    voltage.push((name.clone(), points));
                    let (line, reported) = distribution(name, followed(&all));
                    place.says(&reported);
                    latency.push(line);
                }
            }
        }
        if place.speaks() {
            println!("{commands} commands: found in order, and as soon as it is known that they are there");
            let charts = [
                Chart { axes: ["milliseconds", "volts"], series: voltage, is_log: false },
                Chart { axes: ["microseconds", "part of the commands"], series: latency, is_log: true },
            ];
            self.repeat.plot.as_ref().map_or(Ok(()), |file| draw(file, charts))?;
        }
        Ok(())
    }
}

/// Describes the distance of voltages from their target in the second half of the time.
fn settled(points: &[(f64, f64)], converters: usize) -> String {
    let target = TARGET * converters as f64;
    let late = &points[points.len() / 2..];
    let most = late.iter().map(|(_, volts)| (volts - target).abs()).fold(0.0, f64::max);
    format!("in the second half of the time {target} V but for {most:.2} V")
}
