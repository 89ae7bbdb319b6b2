//! The simulator of each protocol, by name.
//!
//! A simulator is a type for each protocol, and compiling one takes longer than all code that uses it. This crate has
//! them all, and nothing else: whoever needs one asks for it by name, and is compiled in seconds.

use std::marker::PhantomData;
use tidemark_protocols::{Protocol, with_any_protocol};
use tidemark_sim::{Campaign, Load, Loaded, Measured, Measurement, Options, Progress, Summary};

/// What can be done with a protocol in virtual time.
pub trait Simulator: Sync {
    /// The protocol's name.
    fn name(&self) -> &'static str;

    /// Whether schedules can be drawn from these options.
    ///
    /// # Errors
    /// A sentence for the user.
    fn validate(&self, options: &Options) -> Result<(), String>;

    /// Plays schedules drawn from seeds, with faults, and checks what sessions saw.
    fn campaign(&self, what: &Campaign, progress: &mut dyn FnMut(Progress)) -> Summary;

    /// Plays one schedule without faults, and measures what operations cost in messages, bytes and waiting.
    fn measure(&self, what: &Measurement) -> Measured;

    /// Runs under load, with work that takes time.
    ///
    /// # Errors
    /// The numbers cannot be: a sentence for the user.
    fn load(&self, what: &Load) -> Result<Loaded, String>;
}

struct Of<P>(PhantomData<fn() -> P>);

impl<P: Protocol> Simulator for Of<P> {
    fn name(&self) -> &'static str {
        P::INFO.name
    }

    fn validate(&self, options: &Options) -> Result<(), String> {
        options.validate::<P>()
    }

    fn campaign(&self, what: &Campaign, progress: &mut dyn FnMut(Progress)) -> Summary {
        tidemark_sim::campaign::<P>(what, progress)
    }

    fn measure(&self, what: &Measurement) -> Measured {
        tidemark_sim::measure::<P>(what)
    }

    fn load(&self, what: &Load) -> Result<Loaded, String> {
        tidemark_sim::load::<P>(what)
    }
}

/// The simulator of the protocol called `name`, also of those that are known to be wrong; none if there is none.
pub fn simulator(name: &str) -> Option<&'static dyn Simulator> {
    with_any_protocol!(name, P => Some(const { &Of::<P>(PhantomData) }), otherwise None)
}
