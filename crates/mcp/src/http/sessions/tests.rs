//! Sessions of a caller at its limit, while another one is created.

use super::*;

/// Opens as many sessions as a caller may have, and returns their ids.
async fn fill(sessions: &CallerSessions) -> Vec<SessionId> {
    let mut ids = Vec::new();
    for _ in 0..MAX_SESSIONS {
        ids.push(sessions.create_session().await.expect("a session").0);
    }
    ids
}

fn is_known(sessions: &CallerSessions, id: &SessionId) -> bool {
    sessions.open().sessions.contains_key(id)
}

#[tokio::test]
async fn cancelled_request_for_a_session_ends_no_other() {
    let sessions = CallerSessions::default();
    let ids = fill(&sessions).await;
    let busy = sessions.inner.sessions.write().await;
    let mut creation = Box::pin(sessions.create_session());
    assert!(futures::poll!(creation.as_mut()).is_pending(), "the library waits");
    drop(creation);
    drop(busy);
    assert!(is_known(&sessions, &ids[0]), "no session replaces it");

    sessions.create_session().await.expect("a session");
    assert!(!is_known(&sessions, &ids[0]) && is_known(&sessions, &ids[1]));
    for _ in 0..1_000 {
        if !sessions.inner.has_session(&ids[0]).await.expect("an answer") {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the replaced session is still open");
}

#[tokio::test]
async fn session_is_refused_if_all_others_come_into_use_meanwhile() {
    let sessions = CallerSessions::default();
    let ids = fill(&sessions).await;
    let busy = sessions.inner.sessions.write().await;
    let mut creation = Box::pin(sessions.create_session());
    assert!(futures::poll!(creation.as_mut()).is_pending(), "the library waits");
    let in_use: Vec<_> = ids.iter().filter_map(|id| sessions.hold(id, None)).collect();
    drop(busy);
    let refused = creation.await.err();
    assert!(matches!(refused, Some(SessionsError::TooMany)), "{refused:?}");
    assert!(ids.iter().all(|id| is_known(&sessions, id)));
    assert_eq!((in_use.len(), sessions.open().sessions.len()), (MAX_SESSIONS, MAX_SESSIONS));
}
