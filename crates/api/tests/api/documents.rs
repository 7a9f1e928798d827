//! `/ingest/docs` and `/documents`.
