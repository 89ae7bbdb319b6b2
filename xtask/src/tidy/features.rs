//! Features of one protocol alone stay where they are, and so does what a build may leave out: a feature has a home, and the files outside
//! that carry it are listed. Nothing is to be added to a list lightly: what is optional in a protocol is reached through
//! `Extensions`, and what a crate does about it stands in one file. Tests may name what they like.

use super::{Finding, source::Source};

const HERE: &str = "xtask/src/tidy/features.rs";

/// A feature that few protocols, or not all builds, have.
struct Feature {
    what: &'static str,
    /// What code says that is about it.
    words: &'static [&'static str],
    /// Folders and files where it belongs, by how their paths begin.
    home: &'static [&'static str],
    /// Crates with the files of them that carry it. Of others, which are about the user's surface, nothing is said.
    carried: &'static [(&'static str, &'static [&'static str])],
}

const FEATURES: [Feature; 3] = [
    Feature {
        what: "the controller of checking groups",
        words: &["tidemark_adapt"],
        home: &["crates/adapt/"],
        carried: &[
            ("core", &[]),
            ("store", &[]),
            ("contract", &[]),
            ("protocols", &[]),
            ("replica", &[]),
            ("group", &[]),
            ("node", &["src/follow.rs"]),
            ("sim", &["src/cluster/grouping.rs", "src/grouping.rs"]),
            ("server", &["src/config/adapt.rs"]),
        ],
    },
    Feature {
        what: "checking groups and tracking groups",
        words: &[
            "CheckingGroup",
            "NamedGroup",
            "Regrouping",
            "TrackingGroup",
            "checking_groups",
            "contract::grouping",
            "crate::grouping::C",
            "crate::grouping::R",
        ],
        home: &[
            "crates/adapt/",
            "crates/contract/src/grouping.rs",
            "crates/contract/src/grouping/",
            "crates/protocols/src/accf.rs",
            "crates/protocols/src/accf/",
        ],
        carried: &[
            ("core", &[]),
            ("store", &[]),
            // The table of extensions, the orders, and what an operation asks for.
            ("contract", &["src/extensions.rs", "src/order.rs", "src/session.rs"]),
            ("protocols", &[]),
            ("replica", &["src/status.rs"]),
            ("group", &[]),
            ("node", &["src/follow.rs"]),
            // In rng.rs, a stream of chance has the name.
            ("sim", &["src/cluster/grouping.rs", "src/grouping.rs", "src/rng.rs"]),
            // What users see and say.
            (
                "server",
                &[
                    "src/admin/http.rs",
                    "src/config/adapt.rs",
                    "src/gateway/info.rs",
                    "src/redis/commands/tidemark/checking.rs",
                    "src/redis/server_info.rs",
                ],
            ),
        ],
    },
    Feature {
        what: "the lab, which a small build lacks",
        words: &[
            "tidemark_bench",
            "tidemark_check",
            "tidemark_experiments",
            "tidemark_sim",
            "tidemark_workload",
        ],
        home: &["crates/tidemark/src/lab/"],
        carried: &[("tidemark", &[])],
    },
];

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    FEATURES.iter().flat_map(|feature| feature.check(sources)).collect()
}

impl Feature {
    fn check(&self, sources: &[Source]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (krate, carried) in self.carried {
            let path = |file: &str| format!("crates/{krate}/{file}");
            let listed: Vec<String> = carried.iter().map(|file| path(file)).collect();
            let mut naming = Vec::new();
            for source in sources.iter().filter(|source| source.krate() == *krate && !self.may(source)) {
                let Some((line, word)) = self.first(source) else { continue };
                if !listed.contains(&source.path) {
                    findings.push(format!(
                        "{}:{line}: names {word}, of {}: go through the files that carry it ({HERE})",
                        source.path, self.what
                    ));
                }
                naming.push(&source.path);
            }
            let idle = listed.iter().filter(|path| !naming.contains(path));
            findings.extend(idle.map(|path| {
                format!("{path}: does not name {} any more: take it off the list in {HERE}", self.what)
            }));
        }
        findings
    }

    /// Whether it may name the feature without being listed.
    fn may(&self, source: &Source) -> bool {
        source.is_test() || self.home.iter().any(|home| source.path.starts_with(home))
    }

    /// The first word of the feature that its code says, and where.
    fn first(&self, source: &Source) -> Option<(usize, &'static str)> {
        let word = |line: &str| self.words.iter().copied().find(|word| line.contains(word));
        source.code().find_map(|(number, line)| Some((number, word(line)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURE: Feature = Feature {
        what: "the moon",
        words: &["moon"],
        home: &["crates/sky/"],
        carried: &[("sea", &["src/tide.rs"]), ("sky", &[])],
    };

    fn found(files: &[(&str, &str)]) -> usize {
        let source = |(path, text): &(&str, &str)| Source { path: path.to_string(), text: text.to_string() };
        FEATURE.check(&files.iter().map(source).collect::<Vec<_>>()).len()
    }

    #[test]
    fn a_feature_is_named_at_home_and_where_it_is_carried() {
        let tide = ("crates/sea/src/tide.rs", "use moon::Phase;\n");
        assert_eq!(found(&[tide]), 0);
        assert_eq!(found(&[tide, ("crates/sky/src/night.rs", "moon()\n")]), 0);
        assert_eq!(found(&[tide, ("crates/sea/src/waves.rs", "moon()\n")]), 1);
        assert_eq!(found(&[tide, ("crates/sea/src/waves.rs", "// The moon.\n")]), 0);
        assert_eq!(found(&[tide, ("crates/sea/tests/waves.rs", "moon()\n")]), 0);
        assert_eq!(found(&[tide, ("crates/land/src/night.rs", "moon()\n")]), 0);
    }

    #[test]
    fn a_file_that_does_not_carry_it_any_more_leaves_the_list() {
        assert_eq!(found(&[("crates/sea/src/tide.rs", "wind()\n")]), 1);
    }
}
