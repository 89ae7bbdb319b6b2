//! One consistency protocol a file, the paper's server and session side by side.
//!
//! A protocol that is listed in [`with_protocol!`] runs in both drivers under its name, and every test that
//! takes each protocol in turn covers it.

pub mod accf;
pub mod causal_spartan_x;
pub mod cc_lo;
pub mod contrarian;
pub mod cops;
pub mod cops_gt;
pub mod cure;
pub mod eiger;
pub mod eventual;
pub mod gentlerain;
pub mod hybrid;
pub mod nukv;
pub mod occult;
pub mod okapi;
pub mod orbe;
pub mod pocc;
pub mod tidemark;
pub mod wren;

pub use accf::Accf;
pub use causal_spartan_x::CausalSpartanX;
pub use cc_lo::CcLo;
pub use contrarian::Contrarian;
pub use cops::Cops;
pub use cops_gt::CopsGt;
pub use cure::Cure;
pub use eiger::Eiger;
pub use eventual::Eventual;
pub use gentlerain::GentleRain;
pub use hybrid::Hybrid;
pub use nukv::{NuKv, NuKvPhysical};
pub use occult::Occult;
pub use okapi::Okapi;
pub use orbe::Orbe;
pub use pocc::Pocc;
pub use tidemark::Tidemark;
pub use wren::Wren;

/// The protocol that `causal` means: the default.
pub const CAUSAL: &str = <Tidemark as tidemark_contract::Protocol>::INFO.name;

/// The name in the registry that `name` means.
pub fn resolve(name: &str) -> &str {
    if name == "causal" { CAUSAL } else { name }
}

/// Runs `$body` with `$P` standing for the protocol called `$name`; `$otherwise` if no server runs one of that name.
///
/// ```
/// use tidemark_protocols::{Protocol, with_protocol};
/// let about = with_protocol!("eventual", P => P::INFO.about, otherwise "no such protocol");
/// assert!(about.contains("last writer"));
/// ```
#[macro_export]
macro_rules! with_protocol {
    ($name:expr, $P:ident => $body:expr, otherwise $otherwise:expr) => {
        $crate::with_protocol!(@each $name, $P => $body, otherwise $otherwise;
            $crate::Eventual,
            $crate::GentleRain,
            $crate::CausalSpartanX,
            $crate::Cops,
            $crate::CopsGt,
            $crate::Eiger,
            $crate::Contrarian,
            $crate::CcLo,
            $crate::Okapi,
            $crate::Pocc,
            $crate::Occult,
            $crate::NuKv,
            $crate::NuKvPhysical,
            $crate::Orbe,
            $crate::Cure,
            $crate::Wren,
            $crate::Hybrid,
            $crate::Accf,
            $crate::Tidemark)
    };
    (@each $name:expr, $P:ident => $body:expr, otherwise $otherwise:expr; $($protocol:ty),*) => {{
        let name = $crate::resolve($name);
        $(if name == <$protocol as $crate::Protocol>::INFO.name {
            type $P = $protocol;
            $body
        } else)* {
            $otherwise
        }
    }};
}

/// As [`with_protocol!`], by the name of a [`Variant`], too, for whatever does not serve anybody: `$variant` stands for it,
/// if it was asked for.
///
/// ```
/// use tidemark_protocols::{Protocol, with_any_protocol};
/// let about = |name| with_any_protocol!(name, P, variant => variant.map_or(P::INFO.about, |variant| variant.about), otherwise "");
/// assert!(about("cops-published").contains("E-4") && !about("cops").contains("E-4"));
/// ```
#[macro_export]
macro_rules! with_any_protocol {
    ($name:expr, $P:ident, $variant:ident => $body:expr, otherwise $otherwise:expr) => {{
        let name = $name;
        let $variant = $crate::variant(name);
        $crate::with_protocol!($variant.map_or(name, |(name, _)| name), $P => {
            let $variant = $variant.map(|(_, variant)| variant);
            $body
        }, otherwise $otherwise)
    }};
}

/// The names of the protocols that servers run, in the order in which they are listed to users.
pub const NAMES: &[&str] = &[
    Eventual::INFO.name,
    GentleRain::INFO.name,
    CausalSpartanX::INFO.name,
    Cops::INFO.name,
    CopsGt::INFO.name,
    Eiger::INFO.name,
    Contrarian::INFO.name,
    CcLo::INFO.name,
    Okapi::INFO.name,
    Pocc::INFO.name,
    Occult::INFO.name,
    NuKv::INFO.name,
    NuKvPhysical::INFO.name,
    Orbe::INFO.name,
    Cure::INFO.name,
    Wren::INFO.name,
    Hybrid::INFO.name,
    Accf::INFO.name,
    Tidemark::INFO.name,
];

/// All variants, each with the name of the protocol of which it is one, in the order of [`NAMES`].
pub fn variants() -> impl Iterator<Item = (&'static str, &'static Variant)> {
    let of = |name: &'static &'static str| {
        let variants = with_protocol!(name, P => P::INFO.variants, otherwise &[]);
        variants.iter().map(move |variant| (*name, variant))
    };
    NAMES.iter().flat_map(of)
}

/// The variant called `name`, and the name of its protocol.
pub fn variant(name: &str) -> Option<(&'static str, &'static Variant)> {
    variants().find(|(_, variant)| variant.name == name)
}

/// The names of those that follow a paper to the letter where that is wrong: they are simulated, and serve nobody.
pub fn published() -> impl Iterator<Item = &'static str> {
    variants().filter(|(_, variant)| variant.is_published()).map(|(_, variant)| variant.name)
}

pub use tidemark_contract::{Protocol, Rule, Variant};
