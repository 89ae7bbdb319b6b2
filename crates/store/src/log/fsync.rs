//! When a commit is made durable.

use std::fmt;
use std::str::FromStr;

/// The policy of group commit. Under each of them the log is written before a reply leaves, so the death of the process
/// loses nothing; they differ in what a power failure may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// Replies wait for the sync: nothing acknowledged is lost.
    Always,
    /// A sync every second: the last second may be lost.
    #[default]
    EverySec,
    /// The operating system decides.
    No,
}

/// A word that is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no fsync policy: use always, everysec or no")]
pub struct UnknownFsync(pub String);

impl FromStr for Fsync {
    type Err = UnknownFsync;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word.to_ascii_lowercase().as_str() {
            "always" => Ok(Self::Always),
            "everysec" => Ok(Self::EverySec),
            "no" => Ok(Self::No),
            _ => Err(UnknownFsync(word.to_owned())),
        }
    }
}

impl fmt::Display for Fsync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::EverySec => "everysec",
            Self::No => "no",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_policies() {
        for policy in [Fsync::Always, Fsync::EverySec, Fsync::No] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        assert_eq!("EverySec".parse(), Ok(Fsync::EverySec));
        assert_eq!("never".parse::<Fsync>(), Err(UnknownFsync("never".to_owned())));
    }
}
