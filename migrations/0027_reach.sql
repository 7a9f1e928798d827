-- Whether git may fetch the repository from inside the service's network, or by anything but https: an
-- administrator of the service has asked for it there. Those from before the rule go on as they were.
alter table repositories add column reaches_inside boolean not null default true;
alter table repositories alter column reaches_inside set default false;
