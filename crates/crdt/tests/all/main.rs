//! Data types through the public interface: commands answer as those of Redis, and what regions do at once merges.

mod bcounter;
mod bitmap;
mod doc;
mod expiry;
mod geo;
mod harness;
mod hll;
mod list;
mod modifiers;
mod rdb;
mod series;
mod sort;
mod stream;
mod stream_groups;
mod together;
mod typed;
mod zset;
mod zset_merge;
