-- Whoever says what a record was made of says whom that is for (0017), the statement that makes the record included: that
-- does not see its own rows, so for its first version the trigger has nothing to look up.
drop trigger record_sources_made on record_sources;
create trigger record_sources_made before insert on record_sources
    for each row when (new.private_to is null and new.version > 1) execute function mc.inherit_privacy();
