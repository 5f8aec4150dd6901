-- How often a second all who wait look at the store together, if the configuration file says so, and the digest
-- of the file that was asked. An older inturn leaves both as they are when it applies another file: as that has
-- another digest, what the one before had said does not count any more.

ALTER TABLE configuration ADD COLUMN looks_per_second INTEGER CHECK (looks_per_second >= 1);
ALTER TABLE configuration ADD COLUMN asked TEXT;
