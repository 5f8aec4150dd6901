-- The first schema. Times are wall microseconds unless a column's name says otherwise; `boot` columns hold the
-- kernel's boot id, or '' where the wall clock decides. Text that users chose is stored as they wrote it.

CREATE TABLE migrations (
    number INTEGER PRIMARY KEY,
    checksum INTEGER NOT NULL,               -- CRC-32 of the file as it was applied
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE owners (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('supervisor', 'foreground', 'worker')),
    accepting INTEGER NOT NULL DEFAULT 0,    -- a worker that claims jobs
    places INTEGER NOT NULL DEFAULT 1,       -- how many jobs it runs at a time
    silent INTEGER NOT NULL DEFAULT 0,       -- it left an offer unanswered; until it shows up it does not count
    token TEXT NOT NULL UNIQUE,              -- names its lock and its FIFO in owners/
    identity TEXT NOT NULL,                  -- pid:ticks:boot:namespace
    lock_dev INTEGER NOT NULL,
    lock_ino INTEGER NOT NULL,
    version TEXT NOT NULL,
    registered_at INTEGER NOT NULL,
    gone_at INTEGER,                         -- proven dead; one that says goodbye is deleted
    lease_boot TEXT NOT NULL DEFAULT '',
    lease_mono INTEGER NOT NULL DEFAULT 0,   -- the lease ends at this monotonic instant of lease_boot
    lease_wall INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX owners_live ON owners (id) WHERE gone_at IS NULL;
CREATE INDEX owners_gone ON owners (id) WHERE gone_at IS NOT NULL;
CREATE INDEX owners_lease ON owners (lease_boot, lease_mono) WHERE gone_at IS NULL AND lease_boot <> '';

-- The queues that a worker serves; `ceiling` is its --slots, NULL if it has none.
CREATE TABLE worker_queues (
    owner INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
    queue TEXT NOT NULL,
    ceiling INTEGER CHECK (ceiling >= 1),
    PRIMARY KEY (owner, queue)
) STRICT, WITHOUT ROWID;
CREATE INDEX worker_queues_queue ON worker_queues (queue);

CREATE TABLE environments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    checksum INTEGER NOT NULL,               -- finds an equal body; two bodies may share one
    body BLOB NOT NULL                       -- NAME=VALUE, joined by NUL
) STRICT;
CREATE INDEX environments_checksum ON environments (checksum);

-- The hot, narrow half of a job: what scheduling reads and writes.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    revision INTEGER NOT NULL DEFAULT 1,
    phase TEXT NOT NULL CHECK (phase IN
        ('submitting', 'waiting', 'queued', 'starting', 'running', 'paused', 'stopping', 'completed')),
    held_phase TEXT,
    outcome TEXT CHECK (outcome IN
        ('success', 'failure', 'timed_out', 'cancelled', 'aborted', 'lost', 'submission_failed')),
    reason TEXT,
    stop_reason TEXT CHECK (stop_reason IN ('requeued', 'run_timeout', 'job_timeout', 'cancelled')),
    queue TEXT NOT NULL,                     -- '' for a supervised job
    pool TEXT NOT NULL,                      -- '' without a pool
    slots INTEGER NOT NULL CHECK (slots >= 1),
    priority INTEGER NOT NULL CHECK (priority BETWEEN -2147483648 AND 2147483647),
    next_run_at INTEGER NOT NULL,
    due_boot TEXT NOT NULL,
    due_at INTEGER NOT NULL,                 -- monotonic µs of due_boot, or next_run_at if that is ''
    in_line INTEGER NOT NULL DEFAULT 0 CHECK (in_line IN (0, 1, 2)),
    bypass_count INTEGER NOT NULL DEFAULT 0 CHECK (bypass_count BETWEEN 0 AND 3),
    yielded_mono INTEGER,                    -- since when an offer has been unanswered
    yielded_boot TEXT,
    round INTEGER NOT NULL DEFAULT 1,
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    successes INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    runs INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    owner INTEGER REFERENCES owners (id),
    epoch INTEGER NOT NULL DEFAULT 0,
    watch_used INTEGER NOT NULL DEFAULT 0,
    watch_wall INTEGER NOT NULL DEFAULT 0,
    watch_mono INTEGER NOT NULL DEFAULT 0,
    watch_boot TEXT NOT NULL DEFAULT '',
    name TEXT,
    array_id INTEGER,                        -- the id of the first job of the array
    array_index INTEGER,
    throttle INTEGER NOT NULL DEFAULT 0,     -- array_id again if only so many of the array run at once, else 0
    conditional INTEGER NOT NULL DEFAULT 0,  -- 1: it has wait conditions
    submitted_at INTEGER NOT NULL,
    started_at INTEGER,
    completed_at INTEGER,
    status TEXT GENERATED ALWAYS AS (
        CASE
            WHEN outcome IS NOT NULL THEN outcome
            WHEN phase = 'queued' AND in_line = 0
                THEN CASE WHEN attempts > 0 THEN 'backoff' ELSE 'scheduled' END
            ELSE phase
        END) VIRTUAL,
    CHECK ((phase = 'completed') = (outcome IS NOT NULL)),
    CHECK ((phase = 'completed') = (completed_at IS NOT NULL)),
    CHECK ((phase = 'paused') = (held_phase IS NOT NULL)),
    CHECK (in_line = 0 OR phase = 'queued'),
    CHECK (stop_reason IS NULL OR phase IN ('stopping', 'paused')),
    CHECK (phase <> 'stopping' OR stop_reason IS NOT NULL OR runs > 0)
) STRICT;
-- The line: within a class of equal pool, queue, array and size the first row is the head.
CREATE INDEX jobs_passed ON jobs (bypass_count) WHERE in_line = 1 AND bypass_count = 3;
CREATE INDEX jobs_line ON jobs (pool, queue, throttle, slots, priority DESC, next_run_at, id) WHERE in_line = 1;
-- Queued jobs whose wait conditions nobody looks at yet.
CREATE INDEX jobs_gates ON jobs (queue, id)
    WHERE phase = 'waiting' AND owner IS NULL AND conditional = 1 AND queue <> '';
CREATE INDEX jobs_array ON jobs (array_id, array_index) WHERE array_id IS NOT NULL;
-- What is to be promoted to the line when its time comes.
CREATE INDEX jobs_due ON jobs (due_boot, due_at) WHERE phase = 'queued' AND in_line = 0;
CREATE INDEX jobs_live ON jobs (phase, queue) WHERE phase <> 'completed';
CREATE INDEX jobs_owner ON jobs (owner) WHERE owner IS NOT NULL;
CREATE INDEX jobs_name ON jobs (name, id) WHERE name IS NOT NULL;

-- The cold half: what the user asked for.
CREATE TABLE specs (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    argv BLOB NOT NULL,                      -- joined by NUL
    cwd BLOB NOT NULL,
    environment INTEGER NOT NULL REFERENCES environments (id),
    env_changes BLOB NOT NULL,               -- NAME=VALUE to set and NAME to unset, joined by NUL
    umask INTEGER NOT NULL,
    stdin_file BLOB,
    merge_output INTEGER NOT NULL,
    leave_children INTEGER NOT NULL,
    nice INTEGER NOT NULL,
    success_codes TEXT NOT NULL,             -- '0', '0,3-5'
    retry_codes TEXT NOT NULL,
    retry_signals TEXT NOT NULL,
    retry_timeouts INTEGER NOT NULL,
    retry_start_failures INTEGER NOT NULL,
    success_target INTEGER,                  -- NULL: unlimited, as with the other limits
    run_limit INTEGER,
    failure_limit INTEGER,
    retry_delay INTEGER NOT NULL,
    retry_backoff TEXT NOT NULL CHECK (retry_backoff IN ('constant', 'linear', 'exponential')),
    retry_max_delay INTEGER,
    retry_jitter INTEGER NOT NULL,
    retry_abort_at INTEGER,
    run_timeout INTEGER,
    job_timeout INTEGER,
    stop_grace INTEGER NOT NULL,
    max_crashes INTEGER,
    wait_mode TEXT NOT NULL CHECK (wait_mode IN ('all', 'any')),
    wait_poll INTEGER NOT NULL,
    probe_timeout INTEGER NOT NULL,
    wait_abort_at INTEGER,
    note TEXT
) STRICT;
-- Whether an environment is still used, when jobs are removed.
CREATE INDEX specs_environment ON specs (environment);

-- Arrays: `id` is that of the first job, `at_once` how many may run together (NULL: any number).
CREATE TABLE arrays (
    id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    size INTEGER NOT NULL,
    at_once INTEGER CHECK (at_once >= 1)
) STRICT;

-- When queued jobs that nobody owns are over before a run could start. One that is owned is its owner's business.
CREATE TABLE deadlines (
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    wall INTEGER NOT NULL,
    boot TEXT NOT NULL,                      -- as jobs.due_boot
    at INTEGER NOT NULL,
    PRIMARY KEY (job_id, boot)
) STRICT, WITHOUT ROWID;
CREATE INDEX deadlines_at ON deadlines (boot, at);

CREATE TABLE tags (
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    value TEXT,
    PRIMARY KEY (job_id, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_tag ON tags (tag, value);

-- Idempotency keys of jobs that are not completed.
CREATE TABLE keys (
    key TEXT PRIMARY KEY,
    job_id INTEGER NOT NULL UNIQUE REFERENCES jobs (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE edges (
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    parent_id INTEGER NOT NULL REFERENCES jobs (id),
    outcomes TEXT NOT NULL,                  -- joined by commas
    observed_outcome TEXT,
    observed_revision INTEGER,
    observed_completed_at INTEGER,
    observed_at INTEGER,
    PRIMARY KEY (job_id, parent_id),
    CHECK (job_id <> parent_id),
    CHECK ((observed_at IS NULL) = (observed_outcome IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_parent ON edges (parent_id);
CREATE INDEX edges_open ON edges (parent_id, job_id) WHERE observed_at IS NULL;
CREATE TRIGGER edges_receipt_once BEFORE UPDATE ON edges
WHEN old.observed_at IS NOT NULL AND new.observed_at IS NOT NULL
BEGIN
    SELECT raise(ABORT, 'a receipt is written once');
END;

-- Completed jobs with more dependents than the completing transaction settled.
CREATE TABLE unsettled (
    parent_id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE
) STRICT;

CREATE TABLE conditions (
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('until', 'delay', 'file', 'probe')),
    argument BLOB NOT NULL,
    due_wall INTEGER NOT NULL,
    due_boot TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    satisfied_at INTEGER,
    observed_at INTEGER,
    diagnostic TEXT,
    PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    round INTEGER NOT NULL,
    token TEXT NOT NULL,
    log TEXT NOT NULL,
    admitted_at INTEGER NOT NULL,
    outcome TEXT CHECK (outcome IN ('success', 'failure', 'timed_out', 'cancelled', 'start_failed', 'lost')),
    exit_code INTEGER,
    signal INTEGER,
    failure TEXT,                            -- the engine's word for why nothing could be started
    diagnostic TEXT,
    started_at INTEGER,
    finished_at INTEGER,
    native_id TEXT NOT NULL DEFAULT '',
    executable BLOB NOT NULL DEFAULT x'',
    devices TEXT NOT NULL DEFAULT '',        -- joined by commas
    watch_used INTEGER NOT NULL DEFAULT 0,
    watch_wall INTEGER NOT NULL DEFAULT 0,
    watch_mono INTEGER NOT NULL DEFAULT 0,
    watch_boot TEXT NOT NULL DEFAULT '',
    user_us INTEGER,
    system_us INTEGER,
    max_rss INTEGER,
    log_incomplete INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, number),
    CHECK ((outcome IS NULL) = (finished_at IS NULL))
) STRICT, WITHOUT ROWID;

-- Slots in use: one row for each active job.
CREATE TABLE admissions (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
    run INTEGER NOT NULL,
    owner INTEGER NOT NULL REFERENCES owners (id),
    pool TEXT NOT NULL,
    queue TEXT NOT NULL,
    slots INTEGER NOT NULL,
    throttle INTEGER NOT NULL DEFAULT 0,
    devices TEXT NOT NULL DEFAULT '',        -- those of the pool that this run may use, joined by commas
    granted_at INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    source TEXT,                             -- the phase before; NULL for a submission
    target TEXT NOT NULL,
    reason TEXT,
    run INTEGER
) STRICT;
CREATE INDEX events_job ON events (job_id, id);
CREATE TRIGGER events_append_only BEFORE UPDATE ON events
BEGIN
    SELECT raise(ABORT, 'the ledger is append-only');
END;

-- Capacities: the store-wide limit is the row ''. A pool without a row does not exist.
CREATE TABLE pools (
    name TEXT PRIMARY KEY,
    slots INTEGER CHECK (slots >= 1),        -- NULL: unlimited
    declared INTEGER NOT NULL,               -- 1: by the configuration file, 0: by a command
    devices TEXT NOT NULL DEFAULT '',        -- names, joined by commas; '' for a plain pool
    per_device INTEGER NOT NULL DEFAULT 1,   -- how many admissions share a device
    variable TEXT NOT NULL DEFAULT '',       -- the environment variable that names a run's devices
    others TEXT NOT NULL DEFAULT 'none' CHECK (others IN ('none', 'all'))
) STRICT, WITHOUT ROWID;

-- Queues and pools that are paused as a whole: nothing new is admitted from them.
CREATE TABLE held (
    kind TEXT NOT NULL CHECK (kind IN ('queue', 'pool')),
    name TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- The configuration file last applied (one row), and what it gives as defaults.
CREATE TABLE configuration (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    defaults TEXT NOT NULL,                  -- JSON; '' if there are none
    applied_at INTEGER NOT NULL
) STRICT;

-- Counters instead of scans: how many jobs have each status, by queue and pool.
CREATE TABLE tallies (
    queue TEXT NOT NULL,
    pool TEXT NOT NULL,
    status TEXT NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (queue, pool, status)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER jobs_tally_insert AFTER INSERT ON jobs
BEGIN
    INSERT INTO tallies VALUES (new.queue, new.pool, new.status, 1)
        ON CONFLICT DO UPDATE SET jobs = jobs + 1;
END;
CREATE TRIGGER jobs_tally_update AFTER UPDATE OF phase, outcome, in_line, attempts, queue, pool ON jobs
WHEN new.status <> old.status OR new.queue <> old.queue OR new.pool <> old.pool
BEGIN
    UPDATE tallies SET jobs = jobs - 1 WHERE queue = old.queue AND pool = old.pool AND status = old.status;
    INSERT INTO tallies VALUES (new.queue, new.pool, new.status, 1)
        ON CONFLICT DO UPDATE SET jobs = jobs + 1;
END;
CREATE TRIGGER jobs_tally_delete AFTER DELETE ON jobs
BEGIN
    UPDATE tallies SET jobs = jobs - 1 WHERE queue = old.queue AND pool = old.pool AND status = old.status;
END;
CREATE TRIGGER jobs_free_key AFTER UPDATE OF phase ON jobs WHEN new.phase = 'completed'
BEGIN
    DELETE FROM keys WHERE job_id = new.id;
END;
