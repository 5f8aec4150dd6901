"""What the engine is told of a run that is to be started."""

from __future__ import annotations

import os

from inturn.core.environment import device_variables, run_environment
from inturn.engines.base import Launch
from inturn.store import admissions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job, Run
    from inturn.core.spec import Spec
    from inturn.owners.tools import Tools


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
