//! Tests of all protocols together; `tidemark-steps` has the tests of each.

mod names;
