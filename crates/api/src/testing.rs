//! Checks of request bodies, for benchmarks. The service runs them before it parses a body.

/// Returns whether a JSON body is within the limits of depth and number of values.
pub fn is_within_json_limits(json: &[u8]) -> bool {
    crate::json_limits::check(json).is_ok()
}
