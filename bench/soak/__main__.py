"""`python -m bench.soak`: an hour of steady work on a small disk, and whether anything grew."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from bench import page
from bench.command import WRONG, at_least_one, tell
from bench.soak import disk, report, verdict
from bench.soak.course import soak
from bench.soak.settings import Settings

MARKS = page.Marks(
    "<!-- Filled in by `python -m bench.soak --write FILE`. -->",
    "<!-- End of what the soak has filled in. -->",
)

DEFAULT = Settings()


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code: 0 if the soak has passed, else 1."""
    options = _parser().parse_args(words)
    for one in (signal.SIGTERM, signal.SIGHUP):
        # Whoever ends it: what is mounted is unmounted. What nohup ignores stays ignored.
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, signal.default_int_handler)
    try:
        return _soak(options)
    except WRONG as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _soak(options: argparse.Namespace) -> int:
    if options.write:
        # Before an hour of work, not after it.
        page.check(options.write, MARKS)
    settings = Settings(options.minutes, options.rate, options.places, options.every, options.disk_mib)
    kinds = disk.KINDS if options.disk is None else (options.disk,)
    course = soak(settings, tell, options.directory, kinds)
    faults = list(course.faults)
    findings: list[verdict.Finding] = []
    try:
        findings = verdict.judge(course.samples, settings.warm_up, settings.rate)
    except ValueError as error:
        faults.append(str(error))
    tables = report.markdown({**course.facts, "run": _shown(settings)}, findings, faults)
    if options.write:
        page.write(options.write, tables, MARKS)
    print(tables, end="")
    return 0 if report.passed(findings, faults) else 1


def _shown(settings: Settings) -> str:
    """The command, with the options that decide about the numbers."""
    words = [
        f"--{name.replace('_', '-')} {value:g}"
        for name, value in settings._asdict().items()
        if value != getattr(DEFAULT, name)
    ]
    return " ".join(["python -m bench.soak", *words])


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("more than 0")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.soak",
        description="Keep a small disk at work, and see whether anything grows. See docs/performance.md.",
        allow_abbrev=False,
    )
    for name, kind, what in (
        ("minutes", _positive, "how long"),
        ("rate", at_least_one, "jobs a second"),
        ("places", at_least_one, "how many jobs the worker runs at a time"),
        ("every", _positive, "seconds between two samples"),
        ("disk-mib", at_least_one, "the size of the disk"),
    ):
        default = getattr(DEFAULT, name.replace("-", "_"))
        parser.add_argument(
            f"--{name}", type=kind, default=default, metavar="N", help=f"{what}; default {default}"
        )
    parser.add_argument(
        "--disk", choices=disk.KINDS, help="which kind of disk is made; default the first that can be made"
    )
    parser.add_argument("--directory", metavar="DIR", help="where it is made; default the temporary one")
    parser.add_argument("--write", metavar="FILE", help="put the result into this page, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
