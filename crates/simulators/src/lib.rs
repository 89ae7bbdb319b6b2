//! The simulator of each protocol, by name.
//!
//! A simulator is a type for each protocol, and compiling one takes longer than all code that uses it. This crate has
//! them all, and nothing else: whoever needs one asks for it by name, and is compiled in seconds. A variant is its protocol
//! without some of its rules, and takes no simulator of its own.

use std::marker::PhantomData;
use tidemark_protocols::{Protocol, Rule, Variant, with_any_protocol};
use tidemark_sim::{
    Campaign, GROUP_RULES, Load, Loaded, Measured, Measurement, NODE_RULES, Options, Progress, Summary,
};

/// What can be done with a protocol, or a variant of one, in virtual time.
#[derive(Clone, Copy)]
pub struct Simulator {
    of: &'static dyn Plays,
    variant: Option<&'static Variant>,
}

/// The simulator of the protocol called `name`, or of the variant; none if there is none.
pub fn simulator(name: &str) -> Option<Simulator> {
    with_any_protocol!(name, P, variant => {
        Some(Simulator { of: const { &Of::<P>(PhantomData) }, variant })
    }, otherwise None)
}

impl Simulator {
    /// The name of the protocol, or of the variant.
    pub fn name(self) -> &'static str {
        self.variant.map_or(self.of.name(), |variant| variant.name)
    }

    /// The rules of the protocol.
    pub fn rules(self) -> &'static [Rule] {
        self.of.rules()
    }

    /// The rule called `name`, of the protocol, of groups or of nodes.
    ///
    /// # Errors
    /// There is none: a sentence for the user, with those that there are.
    pub fn rule(self, name: &str) -> Result<Rule, String> {
        let found = self.rules().iter().chain(GROUP_RULES).chain(NODE_RULES).find(|rule| rule.name == name);
        found.copied().ok_or_else(|| {
            let names = |rules: &[Rule]| rules.iter().map(|rule| rule.name).collect::<Vec<_>>().join(", ");
            let ours = match self.rules() {
                [] => format!("{} has none", self.of.name()),
                rules => format!("those of {} are {}", self.of.name(), names(rules)),
            };
            let (groups, nodes) = (names(GROUP_RULES), names(NODE_RULES));
            format!(
                "no rule is called {name:?}: {ours}; those of groups are {groups}; those of nodes are {nodes}"
            )
        })
    }

    /// Whether schedules can be drawn from these options.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn validate(self, options: &Options) -> Result<(), String> {
        self.of.validate(options)
    }

    /// Plays schedules drawn from seeds, with faults, and checks what sessions saw.
    pub fn campaign(self, what: &Campaign, progress: &mut dyn FnMut(Progress)) -> Summary {
        let mut what = what.clone();
        self.leave_out(&mut what.options.without);
        self.of.campaign(&what, progress)
    }

    /// Plays one schedule without faults, and measures what operations cost in messages, bytes and waiting.
    pub fn measure(self, what: &Measurement) -> Measured {
        let mut what = what.clone();
        self.leave_out(&mut what.without);
        self.of.measure(&what)
    }

    /// Runs under load, with work that takes time.
    ///
    /// # Errors
    /// The numbers cannot be: a sentence for the user.
    pub fn load(self, what: &Load) -> Result<Loaded, String> {
        let mut what = what.clone();
        self.leave_out(&mut what.without);
        self.of.load(&what)
    }

    /// Adds what the variant does not keep.
    fn leave_out(self, without: &mut Vec<Rule>) {
        let more = self.variant.map_or(&[][..], |variant| variant.without);
        without.extend(more.iter().filter(|rule| !without.contains(rule)).copied().collect::<Vec<_>>());
    }
}

/// The simulator of one type.
trait Plays: Sync {
    fn name(&self) -> &'static str;
    fn rules(&self) -> &'static [Rule];
    fn validate(&self, options: &Options) -> Result<(), String>;
    fn campaign(&self, what: &Campaign, progress: &mut dyn FnMut(Progress)) -> Summary;
    fn measure(&self, what: &Measurement) -> Measured;
    fn load(&self, what: &Load) -> Result<Loaded, String>;
}

struct Of<P>(PhantomData<fn() -> P>);

impl<P: Protocol> Plays for Of<P> {
    fn name(&self) -> &'static str {
        P::INFO.name
    }

    fn rules(&self) -> &'static [Rule] {
        P::INFO.rules
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
