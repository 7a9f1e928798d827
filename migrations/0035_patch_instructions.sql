-- Placeholders may be longer than the texts that they mask, so masked instructions may have more
-- characters than a request may send. Each finding has at least four characters, and no placeholder
-- has more than 64.
alter table patches drop constraint patches_instructions_check;
alter table patches add constraint patches_instructions_check
    check (char_length(instructions) <= 64000);
