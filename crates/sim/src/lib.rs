//! The deterministic simulator: scheduler, network, clocks, disks, faults, workloads.
