//! Sockets: runtime, links between regions, Redis gateway, admin HTTP.
