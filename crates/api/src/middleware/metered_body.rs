//! Response bodies whose processor time is measured while they are sent.

use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use futures::{StreamExt as _, stream};
use mc_processor_time::{Meter, measure_blocking};

/// Returns a response that charges the work of its body to the meter. A body that is complete is
/// returned as it is.
pub fn measure_body(response: Response, meter: Option<Meter>) -> Response {
    match meter {
        Some(meter) if response.body().size_hint().exact().is_none() => response.map(|body| {
            let mut data = body.into_data_stream();
            Body::from_stream(stream::poll_fn(move |context| {
                measure_blocking(Some(meter.clone()), || data.poll_next_unpin(context))
            }))
        }),
        _ => response,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use mc_processor_time::add_helper_time;

    use super::*;

    #[tokio::test]
    async fn work_of_a_streamed_body_is_charged_and_its_data_unchanged() {
        const PART: Duration = Duration::from_secs(1);
        let sum = Arc::new(Mutex::new(Duration::ZERO));
        let charged = Arc::clone(&sum);
        let meter = Meter::new(move |time| *charged.lock().expect("no panic") += time);
        let parts = stream::iter(["a", "b"]).map(|part| {
            add_helper_time(PART);
            Ok::<_, axum::Error>(part)
        });
        let response = Response::new(Body::from_stream(parts));
        let response = measure_body(response, Some(meter.clone()));
        let bytes = axum::body::to_bytes(response.into_body(), 2).await.expect("a body");
        assert_eq!(bytes, "ab");
        assert!(*sum.lock().expect("no panic") >= 2 * PART);

        let complete = measure_body(Response::new(Body::from("ab")), Some(meter));
        assert_eq!(complete.body().size_hint().exact(), Some(2));
    }
}
