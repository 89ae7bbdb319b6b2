//! Version chains in memory, and the segmented log on a disk.
