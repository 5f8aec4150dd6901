"""What the engine is told of a run that is to be started, and what is made of it if it cannot be."""

from __future__ import annotations

import os

from inturn.core.environment import device_variables, run_environment
from inturn.core.retry import ever_later
from inturn.engines.base import OUT_OF_RESOURCES, Launch
from inturn.store import admissions, jobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job, Run
    from inturn.core.moment import Now
    from inturn.core.spec import Spec
    from inturn.engines.base import StartFailed
    from inturn.owners.tools import Tools
    from inturn.store.db import Store


def stem_of(tools: Tools, run: Run) -> str:
    """The path of a run's logs without their suffixes."""
    return os.path.join(tools.directory, run.log)


def launch_of(tools: Tools, job: Job, spec: Spec, run: Run) -> Launch:
    """Everything that defines the run, which has been reserved for the job."""
    pools = admissions.pools_with_devices(tools.store)
    variables = device_variables(job, spec, run, pools) if pools else {}
    return Launch(
        argv=spec.argv,
        cwd=spec.cwd,
        env=run_environment(job, spec, run, os.fsencode(tools.directory), variables),
        umask=spec.umask,
        nice=spec.nice,
        stdin=spec.stdin_file,
        keep_stdin=tools.keep_stdin,
        merge=spec.merge_output,
        log=stem_of(tools, run),
        token=run.token,
    )


def failed_start(run: Run, failure: StartFailed, now: Now) -> Run:
    """The run that could not be started through a fault of its job."""
    return run._replace(
        outcome="start_failed", failure=failure.reason, diagnostic=failure.message, finished_at=now.wall
    )


def pause_after_lack(store: Store, run: Run) -> int:
    """Microseconds before what could not be started for want of something is tried again.

    They grow with the runs in a row, this one included, that could not; no more are read than that matters.
    """
    times = 1
    while ever_later(times) < ever_later(times + 1):
        earlier = jobs.load_run(store, run.job_id, run.number - times)
        if earlier is None or earlier.failure != OUT_OF_RESOURCES:
            break
        times += 1
    return ever_later(times)
