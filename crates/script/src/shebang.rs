//! The first line of a script, if it says how the script is to be run: `#!lua flags=no-writes`.

/// What the line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shebang {
    /// The script must not write.
    pub no_writes: bool,
    /// It may be run while memory is at its limit.
    pub allow_oom: bool,
}

impl Shebang {
    /// Reads it, and returns what is to be compiled: the script without it, but with the end of its line.
    ///
    /// # Errors
    /// It says something that Redis 7.0 does not know, in Redis's words without the code.
    pub fn of(source: &[u8]) -> Result<(Self, &[u8]), String> {
        let Some(rest) = source.strip_prefix(b"#!") else { return Ok((Self::default(), source)) };
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return Err("Invalid script shebang".into());
        };
        let line = String::from_utf8_lossy(&rest[..end]);
        let mut words = line.split_ascii_whitespace();
        let engine = words.next().unwrap_or_default();
        if engine != "lua" {
            return Err(format!("Unexpected engine in script shebang: #!{engine}"));
        }
        let mut this = Self::default();
        for word in words {
            let Some(flags) = word.strip_prefix("flags=") else {
                return Err(format!("Unknown lua shebang option: {word}"));
            };
            for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
                match flag {
                    "no-writes" => this.no_writes = true,
                    "allow-oom" => this.allow_oom = true,
                    "allow-stale" | "no-cluster" | "allow-cross-slot-keys" => {}
                    other => return Err(format!("Unexpected flag in script shebang: {other}")),
                }
            }
        }
        Ok((this, &rest[end..]))
    }
}
