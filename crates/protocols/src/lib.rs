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

/// As [`with_protocol!`], with those that are known to be wrong, too: for whatever does not serve anybody.
#[macro_export]
macro_rules! with_any_protocol {
    ($name:expr, $P:ident => $body:expr, otherwise $otherwise:expr) => {
        $crate::with_protocol!($name, $P => $body, otherwise {
            $crate::with_protocol!(@each $name, $P => $body, otherwise $otherwise;
                $crate::gentlerain::GentleRainPublished,
                $crate::causal_spartan_x::CausalSpartanXPublished,
                $crate::cops::CopsPublished,
                $crate::cops::CopsUnforgetting,
                $crate::cops::CopsHeedless,
                $crate::cops::CopsUnchecked,
                $crate::cc_lo::CcLoPublished,
                $crate::nukv::NuKvPublished,
                $crate::accf::AccfPublished)
        })
    };
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

/// The names of those that follow a paper to the letter where that is wrong: they are simulated, and serve nobody.
pub const PUBLISHED: &[&str] = &[
    gentlerain::GentleRainPublished::INFO.name,
    causal_spartan_x::CausalSpartanXPublished::INFO.name,
    cops::CopsPublished::INFO.name,
    cc_lo::CcLoPublished::INFO.name,
    nukv::NuKvPublished::INFO.name,
    accf::AccfPublished::INFO.name,
];

/// The names of those that lack a part, so that an experiment can tell what the part costs: they are simulated only.
pub const PARTIAL: &[&str] =
    &[cops::CopsUnforgetting::INFO.name, cops::CopsHeedless::INFO.name, cops::CopsUnchecked::INFO.name];

pub use tidemark_contract::Protocol;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_protocol() {
        for name in NAMES {
            assert_eq!(with_protocol!(name, P => P::INFO.name, otherwise ""), *name);
            assert_eq!(with_any_protocol!(name, P => P::INFO.name, otherwise ""), *name);
        }
        for name in PUBLISHED.iter().chain(PARTIAL) {
            assert_eq!(with_protocol!(name, P => P::INFO.name, otherwise "-"), "-");
            assert_eq!(with_any_protocol!(name, P => P::INFO.name, otherwise ""), *name);
        }
        assert_eq!(with_protocol!("causal", P => P::INFO.name, otherwise ""), CAUSAL);
        assert_eq!(with_protocol!("none", P => P::INFO.name, otherwise "-"), "-");
    }
}
