//! Changes of parts of strings merge (rows S3 to S12 of docs/types.md).

mod naive;
mod rows;
mod schedules;
