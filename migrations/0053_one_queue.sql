-- Jobs are taken off the queue here alone. Handing their ids out by Redis as well was no faster, and a second
-- path to prove.
drop function mc.relay_jobs(text[], int[]);
drop function mc.claim_job(text, text);
drop function mc.return_job(text, text);
