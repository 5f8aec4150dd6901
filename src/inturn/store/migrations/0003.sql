-- How often a second all who wait look at the store together, if the configuration file says so.

ALTER TABLE configuration ADD COLUMN looks_per_second INTEGER CHECK (looks_per_second >= 1);
