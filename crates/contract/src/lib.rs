//! What a consistency protocol is: Protocol, Session, Cx and their building blocks.
