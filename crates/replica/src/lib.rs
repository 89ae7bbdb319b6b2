//! The half of a server that both drivers share: partitions, log, recovery, feeds.
