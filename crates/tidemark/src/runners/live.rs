//! Points on clusters of real processes on this machine, with an emulated wide-area network.
