-- The same rules in other words. SQLite makes a table of each list of more than two in a CHECK, anew for each row that
-- is written, and that takes longer than to write the row; of two it makes comparisons.
-- Only the text of the schema changes, which sqlite.org/lang_altertable.html allows for rules that mean the same.

PRAGMA writable_schema = ON;

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (kind IN (''supervisor'', ''foreground'', ''worker''))',
    'CHECK (kind IN (''supervisor'', ''foreground'')
        OR kind = ''worker'')')
WHERE type = 'table' AND name = 'owners';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (phase IN
        (''submitting'', ''waiting'', ''queued'', ''starting'', ''running'', ''paused'', ''stopping'', ''completed''))',
    'CHECK (phase IN (''submitting'', ''waiting'')
        OR phase IN (''queued'', ''starting'')
        OR phase IN (''running'', ''paused'')
        OR phase IN (''stopping'', ''completed''))')
WHERE type = 'table' AND name = 'jobs';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (outcome IN
        (''success'', ''failure'', ''timed_out'', ''cancelled'', ''aborted'', ''lost'', ''submission_failed''))',
    'CHECK (outcome IN (''success'', ''failure'')
        OR outcome IN (''timed_out'', ''cancelled'')
        OR outcome IN (''aborted'', ''lost'')
        OR outcome = ''submission_failed'')')
WHERE type = 'table' AND name = 'jobs';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (stop_reason IN (''requeued'', ''run_timeout'', ''job_timeout'', ''cancelled''))',
    'CHECK (stop_reason IN (''requeued'', ''run_timeout'')
        OR stop_reason IN (''job_timeout'', ''cancelled''))')
WHERE type = 'table' AND name = 'jobs';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (in_line IN (0, 1, 2))',
    'CHECK (in_line BETWEEN 0 AND 2)')
WHERE type = 'table' AND name = 'jobs';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (retry_backoff IN (''constant'', ''linear'', ''exponential''))',
    'CHECK (retry_backoff IN (''constant'', ''linear'')
        OR retry_backoff = ''exponential'')')
WHERE type = 'table' AND name = 'specs';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (kind IN (''until'', ''delay'', ''file'', ''probe''))',
    'CHECK (kind IN (''until'', ''delay'')
        OR kind IN (''file'', ''probe''))')
WHERE type = 'table' AND name = 'conditions';

UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (outcome IN (''success'', ''failure'', ''timed_out'', ''cancelled'', ''start_failed'', ''lost''))',
    'CHECK (outcome IN (''success'', ''failure'')
        OR outcome IN (''timed_out'', ''cancelled'')
        OR outcome IN (''start_failed'', ''lost''))')
WHERE type = 'table' AND name = 'runs';

PRAGMA writable_schema = OFF;
