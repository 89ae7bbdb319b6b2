//! The RESP codec and the frames between peers (no IO).
