//! Converters of direct current with a controller. Each converter is a node that simulates its voltage, and the
//! controller says how long their switches are closed. Messages travel in shared variables, each of which has only one
//! writer.

use mowgli_fabric::{Fault, Group, SharedVar, Thread};
use serde::{Deserialize, Serialize};

/// The period of a converter's loop, in nanoseconds.
pub const STEP: u64 = 10_000;

/// The target voltage of each converter.
pub const TARGET: f64 = 12.0;

/// A plant and how it is run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The number of converters, each on a node of its own.
    pub converters: usize,
    /// The period of the controller's loop, in nanoseconds.
    pub period: u64,
    /// The number of commands that the controller gives.
    pub commands: i64,
    /// The factor by which all loops are slower than real time. `None` if times mean nothing: then loops do not wait.
    pub slower: Option<u64>,
}

/// The objects of a plant: for each converter, the command that it gets, and the voltage that it reports.
pub struct Plant {
    setting: Setting,
    duty: Vec<SharedVar>,
    volts: Vec<SharedVar>,
}

/// The content of a shared variable: a number, and the command that it is or follows.
#[derive(Clone, Copy)]
struct Message {
    command: i64,
    value: f64,
}

/// A command that was given to all converters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Command {
    /// Its number, from 1.
    pub number: i64,
    /// The time at which the controller began to send it, and the time at which it knew that all have it.
    pub sent: (u64, u64),
    /// The sum of all voltages before, as the controller knew them.
    pub volts: f64,
}

/// A read of its command by a converter.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Look {
    /// The time at which the read began.
    pub begun: u64,
    /// The command that it found.
    pub number: i64,
}

/// The record of a thread. The first thread is the controller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Done {
    /// The commands that it gave.
    Controller(Vec<Command>),
    /// The looks of a converter.
    Converter(Vec<Look>),
}

impl Message {
    /// The bound on the size of numbers, which are sent as millionths.
    const MOST: i64 = 1 << 31;

    fn of(word: i64) -> Self {
        Self { command: word >> 32, value: ((word & (2 * Self::MOST - 1)) - Self::MOST) as f64 / 1e6 }
    }

    fn word(self) -> i64 {
        self.command << 32 | ((self.value * 1e6) as i64 + Self::MOST)
    }
}

impl Setting {
    /// Makes the group and the plant.
    pub fn group(self) -> (Group, Plant) {
        let nodes: Vec<u8> = (1..=self.converters as u8 + 1).collect();
        let mut group = Group::new(&nodes);
        let mut variables =
            |name: &str| (0..self.converters).map(|i| group.shared_var(&format!("{name}{i}"))).collect();
        let (duty, volts) = (variables("duty"), variables("volts"));
        (group, Plant { setting: self, duty, volts })
    }
}

impl Plant {
    /// Runs one thread; `now` is a clock that all threads read.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn run(&self, thread: &mut Thread<'_>, now: impl Fn() -> u64) -> Result<Done, Fault> {
        match thread.id().index() {
            0 => self.controls(thread, &now).map(Done::Controller),
            node => self.converts(thread, node - 1, &now).map(Done::Converter),
        }
    }

    fn controls(&self, thread: &mut Thread<'_>, now: &impl Fn() -> u64) -> Result<Vec<Command>, Fault> {
        let (mut control, mut commands, start) = (Control::default(), Vec::new(), now());
        for number in 1..=self.setting.commands {
            let mut volts = 0.0;
            for said in &self.volts {
                volts += Message::of(said.read(thread)?).value.max(0.0);
            }
            let value = control.next(volts / self.volts.len() as f64, self.setting.period);
            let begun = now();
            for duty in &self.duty {
                duty.write(thread, Message { command: number, value }.word())?;
                duty.broadcast(thread)?;
            }
            // The fence waits for everything that this thread has sent.
            self.duty[0].fence(thread)?;
            commands.push(Command { number, sent: (begun, now()), volts });
            self.sleep(start + number as u64 * self.setting.period * self.setting.slower.unwrap_or(0), now);
        }
        Ok(commands)
    }

    fn converts(&self, thread: &mut Thread<'_>, own: usize, now: &impl Fn() -> u64) -> Result<Vec<Look>, Fault> {
        let (mut converter, mut looks, start) = (Converter::default(), Vec::new(), now());
        loop {
            let begun = now();
            let Message { command, value } = Message::of(self.duty[own].read(thread)?);
            looks.push(Look { begun, number: command });
            if command == self.setting.commands {
                return Ok(looks);
            }
            converter.step(if command == 0 { 0.0 } else { value });
            self.volts[own].write(thread, Message { command, value: converter.volts() }.word())?;
            self.volts[own].broadcast(thread)?;
            self.volts[own].fence(thread)?;
            self.sleep(start + looks.len() as u64 * STEP * self.setting.slower.unwrap_or(0), now);
        }
    }

    /// Waits until this time.
    fn sleep(&self, until: u64, now: &impl Fn() -> u64) {
        if self.setting.slower.is_some() {
            std::thread::sleep(std::time::Duration::from_nanos(until.saturating_sub(now())));
        }
    }
}

/// A buck converter, averaged over the period of its switch: 24 V in, 60 uH, 60 uF, and a load of a quarter of an ohm.
#[derive(Default)]
pub struct Converter {
    amperes: f64,
    volts: f64,
}

impl Converter {
    /// Simulates one step, in which the switch is closed for this part of the time.
    pub fn step(&mut self, duty: f64) {
        let seconds = 1e-6;
        for _ in 0..STEP / 1000 {
            self.amperes += seconds * (duty * 24.0 - self.volts) / 60e-6;
            self.volts += seconds * (self.amperes - self.volts / 0.25) / 60e-6;
        }
    }

    /// Returns its voltage.
    pub fn volts(&self) -> f64 {
        self.volts
    }
}

/// A controller with a proportional and an integral part.
#[derive(Default)]
pub struct Control {
    sum: f64,
}

impl Control {
    const PROPORTIONAL: f64 = 0.1;
    const INTEGRAL: f64 = 400.0;

    /// Returns the part of the time for which switches are to be closed, after so many nanoseconds.
    pub fn next(&mut self, volts: f64, period: u64) -> f64 {
        let missing = TARGET - volts;
        self.sum = (self.sum + Self::INTEGRAL * missing * period as f64 / 1e9).clamp(0.0, 1.0);
        (Self::PROPORTIONAL * missing + self.sum).clamp(0.0, 1.0)
    }
}

fn parts(all: &[Done]) -> (Vec<Command>, Vec<&Vec<Look>>) {
    let commands = all.iter().flat_map(|done| if let Done::Controller(all) = done { &all[..] } else { &[] });
    let looks = all.iter().filter_map(|done| if let Done::Converter(looks) = done { Some(looks) } else { None });
    (commands.copied().collect(), looks.collect())
}

/// Describes what is wrong, if something is. A converter must not go back to an earlier command. It also must not find
/// an older command than one that all have, if the controller knew so before the read.
pub fn wrong(all: &[Done]) -> Option<String> {
    let (commands, converters) = parts(all);
    converters.into_iter().enumerate().find_map(|(i, looks)| {
        let back = looks.windows(2).find(|pair| pair[1].number < pair[0].number);
        let back = back.map(|pair| format!("converter {i} found command {} after {}", pair[1].number, pair[0].number));
        let late = |look: &Look| {
            let known = commands.partition_point(|command| command.sent.1 < look.begun).checked_sub(1)?;
            let command = &commands[known];
            (look.number < command.number).then(|| {
                let (Look { begun, number }, known) = (look, command.sent.1);
                format!(
                    "converter {i} looked at {begun} and found command {number}, though it was known at {known} that command {} is there",
                    command.number
                )
            })
        };
        back.or_else(|| looks.iter().find_map(late))
    })
}

/// Returns the sum of all voltages before each command.
pub fn volts(all: &[Done]) -> Vec<f64> {
    parts(all).0.iter().map(|command| command.volts).collect()
}
