//! Consistency checkers: histories in, verdicts out.
