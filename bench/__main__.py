"""`python -m bench`: measure, and print what was found."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import NamedTuple

from bench import install, machine, page, rounds, table
from bench.command import WRONG, at_least_one, tell
from bench.place import Failed, arena
from bench.records import Record
from bench.scenarios import SCENARIOS
from bench.scenarios.base import Scenario, Setting
from bench.sizes import FULL, QUICK, Sizes
from bench.tools import INTURN, NEIGHBOURS, installed
from bench.tools.base import Tool
from bench.tools.inturn import PROGRAM


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    options = _parser().parse_args(words)
    # Whoever ends it: processes and files are seen to.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _install(options.install) if options.install is not None else _measure(options)
    except WRONG as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


class Result(NamedTuple):
    """What was found: facts about the machine, the records, and what went wrong, by scenario."""

    facts: dict[str, str]
    records: list[Record]
    failures: dict[str, str]


def run(
    chosen: Sequence[Scenario], sizes: Sizes, neighbours: Sequence[Tool], directory: str | None = None
) -> Result:
    """Measure these scenarios. One that fails takes nothing from the others."""
    with arena(directory) as made:
        facts = machine.facts(made.path, (INTURN, *neighbours))
        result = Result(facts, [], {})
        for scenario in chosen:
            try:
                cases = scenario.cases(Setting(sizes, neighbours, made))
                result.records.extend(rounds.measure(scenario.name, cases, made, sizes.rounds, tell))
            except WRONG as error:
                result.failures[scenario.name] = str(error)
                tell(f"{scenario.name} is left out: {error}")
    return result


def _measure(options: argparse.Namespace) -> int:
    if not os.path.exists(PROGRAM):
        raise Failed(
            f"{PROGRAM} does not exist: run this with an interpreter beside which inturn is installed"
        )
    if options.write:
        # Before an hour of measuring, not after it.
        page.check(options.write)
    chosen = [one for one in SCENARIOS if not options.scenario or one.name in options.scenario]
    facts, records, failures = run(chosen, _sizes(options), _neighbours(options.tool), options.directory)
    facts["run"] = "python -m bench" + "".join(f" {word}" for word in _shown(options))
    if failures:
        facts["left out"] = "; ".join(f"{name}, because it failed" for name in failures)
    tables = table.markdown(facts, {one.name: one.title for one in chosen}, records)
    if options.write:
        page.write(options.write, tables)
    if options.json:
        document = {"schema_version": 1, "machine": facts, "records": [record.plain() for record in records]}
        print(json.dumps(document, indent=1, ensure_ascii=False))
    elif not options.write:
        print(tables, end="")
    return 1 if failures else 0


def _install(names: Sequence[str]) -> int:
    install.install([tool for tool in NEIGHBOURS if not names or tool.name in names])
    return 0


def _sizes(options: argparse.Namespace) -> Sizes:
    sizes = QUICK if options.quick else FULL
    given = {"rounds": options.rounds, "waiting": options.waiting}
    return sizes._replace(**{name: value for name, value in given.items() if value is not None})


def _neighbours(names: Sequence[str] | None) -> list[Tool]:
    """Those that are installed, or the named ones, which then have to be."""
    there = installed()
    for tool in NEIGHBOURS:
        if tool not in there:
            if names and tool.name in names:
                raise Failed(f"{tool.name} is not installed: python -m bench --install {tool.name}")
            tell(f"{tool.name} is not installed, and left out (python -m bench --install {tool.name})")
    return there if names is None else [tool for tool in there if tool.name in names]


def _shown(options: argparse.Namespace) -> list[str]:
    """The options that decide about the numbers."""
    words = [*options.scenario, *(["--quick"] if options.quick else [])]
    for name in ("rounds", "waiting"):
        if getattr(options, name) is not None:
            words += [f"--{name}", str(getattr(options, name))]
    return words


def _scenario(name: str) -> str:
    if all(scenario.name != name for scenario in SCENARIOS):
        raise argparse.ArgumentTypeError(f"there is no scenario {name!r}")
    return name


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure inturn and its neighbours on the same work, in turns. See docs/performance.md.",
        allow_abbrev=False,
    )
    neighbours = [tool.name for tool in NEIGHBOURS]
    parser.add_argument(
        "scenario",
        nargs="*",
        metavar="SCENARIO",
        type=_scenario,
        help=f"which of {', '.join(one.name for one in SCENARIOS)}; default all",
    )
    parser.add_argument("--rounds", type=at_least_one, metavar="N", help=f"default {FULL.rounds}")
    parser.add_argument("--quick", action="store_true", help="less of everything: minutes instead of an hour")
    parser.add_argument(
        "--waiting", type=at_least_one, metavar="N", help=f"jobs that wait at once; default {FULL.waiting}"
    )
    parser.add_argument("--tool", action="append", choices=neighbours, help="only this neighbour; repeatable")
    parser.add_argument(
        "--directory", metavar="DIR", help="where the stores are made; default the temporary one"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--write", metavar="FILE", help="put the tables into this page")
    parser.add_argument(
        "--install", nargs="*", choices=neighbours, help="measure nothing; install these neighbours, or all"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
