-- The digest of the file that was asked how often all who wait look at the store. An older inturn leaves the
-- answer as it is when it applies another file: as that has another digest, it does not count any more.

ALTER TABLE configuration ADD COLUMN asked TEXT;
UPDATE configuration SET asked = digest;
