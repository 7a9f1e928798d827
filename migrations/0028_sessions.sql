-- Who is disabled signs in anew when enabled again (crates/store/src/accounts.rs). Whoever is so now had
-- sessions that would count again.
update sessions s set revoked_at = now()
from users u
where u.id = s.user_id and u.disabled_at is not null and s.revoked_at is null;

update device_grants g set state = 'denied'
from users u
where u.id = g.user_id and u.disabled_at is not null and g.state = 'approved';
