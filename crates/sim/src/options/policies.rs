//! When the nodes of schedules sync their logs.

use std::fmt;
use std::str::FromStr;
use tidemark_store::log::Fsync;

/// When the nodes of schedules sync their logs, and so what a loss of power takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policies {
    /// As each schedule draws it.
    #[default]
    Drawn,
    /// As each schedule draws it, and `always` where power fails. Nothing that was acknowledged is lost, and
    /// power fails as it did when the seeds of mutants were searched.
    Lossless,
    /// As each schedule draws it; where power fails mostly `everysec`, and nodes change their policy between starts.
    Varied,
    /// The same for all.
    Of(Fsync),
}

/// Whether [`Policies::Drawn`] are varied where power fails; else they are lossless. It is to be true once nothing leaves a node for other
/// nodes before it is synced.
const DRAWN_ARE_VARIED: bool = false;

/// What varied policies are drawn from, where power fails. It is to have `no` once a node that lost its power under `no` is filled again
/// from others.
pub(crate) const VARIED: &[Fsync] = &[Fsync::EverySec, Fsync::EverySec, Fsync::EverySec, Fsync::Always];

impl Policies {
    /// What these policies are where power fails.
    pub(crate) fn where_power_fails(self) -> Self {
        match self {
            Self::Drawn if DRAWN_ARE_VARIED => Self::Varied,
            Self::Drawn => Self::Lossless,
            other => other,
        }
    }
}

impl FromStr for Policies {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "drawn" => Ok(Self::Drawn),
            "lossless" => Ok(Self::Lossless),
            "varied" => Ok(Self::Varied),
            word => {
                word.parse().map(Self::Of).map_err(|error| format!("{error}, or drawn, lossless or varied"))
            }
        }
    }
}

impl fmt::Display for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drawn => f.write_str("drawn"),
            Self::Lossless => f.write_str("lossless"),
            Self::Varied => f.write_str("varied"),
            Self::Of(fsync) => fsync.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_parse_back() {
        for policies in [Policies::Drawn, Policies::Lossless, Policies::Varied, Policies::Of(Fsync::EverySec)]
        {
            assert_eq!(policies.to_string().parse(), Ok(policies));
        }
        assert!("never".parse::<Policies>().unwrap_err().contains("everysec"));
    }
}
