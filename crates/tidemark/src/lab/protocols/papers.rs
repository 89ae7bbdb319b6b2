//! What papers say that protocols cost, to be printed beside what is measured.
//!
//! Cells are as printed. N, M and K are the numbers of partitions, of data centres and of clients in one of them; P is
//! that of data centres that are master of something; "deps" is a list of dependencies.

use serde::Serialize;

/// What papers say of one protocol; `-` where they say nothing.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Says {
    /// The names in our registry of what the row is about.
    #[serde(skip)]
    names: &'static [&'static str],
    /// Whether read-only transactions can block.
    pub(super) blocks: &'static str,
    /// The rounds of a read-only transaction.
    pub(super) rounds: &'static str,
    /// The versions of a key that one brings.
    pub(super) versions: &'static str,
    /// What servers say to each other about a write before it is answered.
    pub(super) write_messages: &'static str,
    /// The metadata of a write that sessions and servers exchange.
    pub(super) write_metadata: &'static str,
    /// The metadata of a write that servers exchange.
    pub(super) server_metadata: &'static str,
    /// The clock.
    pub(super) clock: &'static str,
    /// How finely dependencies are tracked.
    pub(super) tracks: &'static str,
    /// Where they are checked.
    pub(super) checks: &'static str,
    /// Who says so.
    pub(super) source: &'static str,
}

const VLDB: &str = "Didona et al., VLDB 2018, table 2";
const BOTH: &str = "Didona et al., VLDB 2018, table 2; Roohitavaf's dissertation, table 7.1";

const NUKV: &str =
    "Roohitavaf et al., Session Guarantees with Raft and Hybrid Logical Clocks, sections 5 and 6";

/// A row of the first table: transactions, then writes, then the clock.
const fn says(
    names: &'static [&'static str],
    [blocks, rounds, versions]: [&'static str; 3],
    [write_messages, write_metadata, server_metadata]: [&'static str; 3],
    clock: &'static str,
) -> Says {
    let (tracks, checks, source) = ("-", "-", VLDB);
    Says {
        names,
        blocks,
        rounds,
        versions,
        write_messages,
        write_metadata,
        server_metadata,
        clock,
        tracks,
        checks,
        source,
    }
}

impl Says {
    /// With a row of the second table.
    const fn and(self, tracks: &'static str, checks: &'static str) -> Self {
        Self { tracks, checks, source: BOTH, ..self }
    }

    /// Not from the tables.
    const fn by(self, source: &'static str) -> Self {
        Self { source, ..self }
    }
}

const SAYS: &[Says] = &[
    says(&["cops"], ["-", "-", "-"], ["-", "deps", "-"], "logical").and("key", "replica"),
    says(&["cops-gt"], ["no", "≤ 2", "≤ 2"], ["-", "deps", "-"], "logical").and("key", "replica"),
    says(&["eiger"], ["no", "≤ 2", "≤ 2"], ["-", "deps", "-"], "logical").and("key", "replica"),
    says(&["orbe"], ["yes", "2", "1"], ["-", "NxM", "-"], "logical").and("server", "replica"),
    says(&["gentlerain"], ["yes", "2", "1"], ["-", "1", "-"], "physical").and("system", "replica"),
    says(&["cure"], ["yes", "2", "1"], ["-", "M", "-"], "physical"),
    says(&["wren"], ["no", "-", "-"], ["-", "2", "-"], "-").by("Roohitavaf's dissertation, section 3.3"),
    says(&["occult"], ["no", "≥ 1", "≥ 1"], ["-", "O(P)", "-"], "hybrid").and("master", "none"),
    says(&["pocc"], ["yes", "2", "1"], ["-", "M", "-"], "physical"),
    says(&["cc-lo", "cops-snow"], ["no", "1", "1"], ["O(N)", "deps", "O(K)"], "logical"),
    says(&["contrarian"], ["no", "2", "1"], ["-", "M", "-"], "hybrid"),
    says(&["okapi"], ["-", "-", "-"], ["-", "-", "-"], "-")
        .and("replica", "system")
        .by("Roohitavaf's dissertation, table 7.1"),
    says(&["causal-spartan-x"], ["no", "1", "-"], ["-", "M", "-"], "hybrid")
        .and("replica", "replica")
        .by("Roohitavaf's dissertation, table 7.1 and chapter 5"),
    says(&["accf"], ["-", "-", "-"], ["-", "1 a group", "-"], "hybrid")
        .and("group", "group")
        .by("Roohitavaf's dissertation, chapter 7"),
    says(&["nukv"], ["-", "-", "-"], ["-", "1", "-"], "hybrid").by(NUKV),
    says(&["nukv-physical"], ["-", "-", "-"], ["-", "1", "-"], "physical").by(NUKV),
    says(&["tidemark"], ["no", "1", "1"], ["-", "M", "-"], "hybrid")
        .and("replica", "replica")
        .by("our own: docs/tidemark-protocol.md"),
];

/// What papers say of the protocol called `name`, or of what it is a variant of.
pub(super) fn says_of(name: &str) -> Option<&'static Says> {
    let name = name.strip_suffix("-published").unwrap_or(name);
    SAYS.iter().find(|says| says.names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_spoken_of_with_what_it_is_a_variant_of() {
        assert_eq!(says_of("gentlerain-published").unwrap().rounds, "2");
        assert_eq!(says_of("contrarian").unwrap().source, VLDB);
        assert!(says_of("eventual").is_none());
    }

    #[test]
    fn no_protocol_is_spoken_of_twice() {
        let mut names: Vec<&str> = SAYS.iter().flat_map(|says| says.names).copied().collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
