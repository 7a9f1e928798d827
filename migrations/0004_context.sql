-- What a passage can't be understood without, and who said it.
alter table passages
    -- What stood before it in a conversation (when it was, the messages before): indexed and
    -- embedded with the text, not shown as part of it.
    add column context text not null default '',
    -- Who said or wrote it; empty where that is nobody in particular.
    add column author  text not null default '';
