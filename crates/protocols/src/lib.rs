//! One consistency protocol a file.
