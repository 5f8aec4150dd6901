from __future__ import annotations

import pytest

from tests.e2e.harness import Cli
from tests.e2e.terminal import at_a_terminal


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "serving queue default, one job at a time; "),
        (("--queue", "gpu", "--queue", "cpu", "-j", "4"), "serving queues gpu, cpu, 4 jobs at a time; "),
    ],
)
def test_a_person_is_told_what_is_served_and_how_to_end_it(
    cli: Cli, options: tuple[str, ...], told: str
) -> None:
    shown = at_a_terminal(cli, "work", *options, "--drain").check().text
    assert shown.startswith(f"inturn: {told}Ctrl-C ")
    done = cli.run("work", *options, "--drain").check()
    assert (done.out, done.err) == (b"", b"")
