from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from inturn.app import open_context
from inturn.cli.top.app import PANES, Top
from inturn.cli.top.dialogs import Keys, Question
from inturn.cli.top.panes import Jobs
from inturn.host import clock, tree
from tests.cli.top.screen import text_of
from tests.e2e.harness import DEADLINE, Cli
from tools.showcase import showcase


class Screen:
    """The view of the store of `cli` on a terminal that exists in memory only."""

    def __init__(self, view: Top, pilot: Pilot[None]) -> None:
        self.view = view
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def sees(self, what: str, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE
        while not holds():
            assert time.monotonic() < end, f"not seen: {what}; the screen is\n{self.text()}"
            await self.pilot.pause(0.02)

    async def shows(self, *texts: str) -> None:
        await self.sees(" and ".join(texts), lambda: all(text in self.text() for text in texts))

    async def selects(self, job: int) -> None:
        """Go to a job, and wait until all about it is there."""

        def selected() -> bool:
            seen = self.view.snapshot
            return seen is not None and seen.detail is not None and seen.detail.job.id == job

        table = self.view.screen_stack[0].query_one(Jobs)
        await self.sees(f"job {job}", lambda: job in self.jobs())
        while table.selected != job:
            await self.press("down" if self.jobs().index(job) > table.cursor_row else "up")
        await self.sees(f"job {job} selected", selected)

    def jobs(self) -> list[int]:
        seen = self.view.snapshot
        return [] if seen is None else [view.job.id for view in seen.page.views]

    def text(self) -> str:
        return text_of(self.view)


@asynccontextmanager
async def screen(cli: Cli, size: tuple[int, int] = (110, 30)) -> AsyncIterator[Screen]:
    def reopen() -> object:
        return open_context(str(cli.store), str(cli.config), False, lambda _: None)

    view = Top("here", reopen, clock.now)  # type: ignore[arg-type]
    async with view.run_test(size=size) as pilot:
        yield Screen(view, pilot)


def perform(play: Callable[[], Awaitable[None]], cli: Cli) -> None:
    """Run a test to its end, and reap what a retry has started: those are our children."""
    try:
        asyncio.run(play())  # type: ignore[arg-type]
    finally:
        cli.end_everything()
        tree.reap(())


def _sleeper(cli: Cli, *options: str) -> int:
    job = cli.run("run", *options, "--", "sleep", "600").id
    cli.wait_phase(job, "running")
    return job


def test_a_job_is_paused_resumed_and_cancelled_by_keys(cli: Cli) -> None:
    job = _sleeper(cli, "--name", "sleeper")

    async def play() -> None:
        async with screen(cli) as seen:
            await seen.selects(job)
            await seen.shows("1 running", "sleeper")
            await seen.press("p")
            await seen.shows("1 paused", "paused")
            await seen.press("u")
            await seen.shows("1 running", "resumed")
            await seen.press("c")
            await seen.shows("Cancel job 1 (sleeper)? It is running")
            await seen.press("n")
            await seen.sees("no question", lambda: not isinstance(seen.view.screen, Question))
            assert cli.phase(job) == "running"
            await seen.press("c")
            await seen.shows("Cancel job 1")
            await seen.press("enter")
            assert isinstance(seen.view.screen, Question)
            await seen.press("y")
            await seen.shows("1 cancelled", "is being stopped")

    perform(play, cli)


def test_what_waits_is_cancelled_without_a_question_and_refusals_are_told(cli: Cli) -> None:
    job = cli.run("add", "--", "true").id

    async def play() -> None:
        async with screen(cli) as seen:
            await seen.selects(job)
            await seen.press("u")
            await seen.shows("it is not paused")
            await seen.press("c")
            await seen.shows("1 cancelled")

    perform(play, cli)


def test_priorities_move_step_by_step_however_fast_the_keys(cli: Cli) -> None:
    job = cli.run("add", "--priority", 5, "--", "true").id

    async def play() -> None:
        async with screen(cli) as seen:
            await seen.selects(job)
            await seen.press("plus", "plus", "plus", "minus")
            await seen.shows("priority 7")
            assert cli.show(job)["priority"] == 7

    perform(play, cli)


def test_a_retry_revives_the_dependents_if_that_is_confirmed(cli: Cli) -> None:
    failed = cli.run("run", "--name", "flaky", "-c", "test -e good").id
    held_up = cli.run("run", "--after-success", failed, "--", "true").id
    cli.run("wait", failed, held_up).check(6)
    (cli.root / "good").touch()

    async def play() -> None:
        async with screen(cli) as seen:
            await seen.selects(failed)
            await seen.shows("needed by", f"{held_up} aborted")
            await seen.press("R")
            await seen.shows("Retry job 1 (flaky) with all that were aborted")
            await seen.press("y")
            await seen.shows("2 success", "retried, and 1 more")

    perform(play, cli)


def test_jobs_are_filtered_by_status_and_by_text(cli: Cli) -> None:
    alpha = cli.run("add", "--name", "alpha", "--", "true").id
    beta = cli.run("add", "--name", "beta", "--", "true").id
    cli.run("cancel", beta).check()

    async def play() -> None:
        async with screen(cli) as seen:
            await seen.sees("both", lambda: seen.jobs() == [beta, alpha])
            await seen.press("s")
            await seen.sees("what lives", lambda: seen.jobs() == [alpha])
            await seen.shows("live")
            await seen.press("S", "slash", "b", "e")
            await seen.sees("what was found", lambda: seen.jobs() == [beta])
            await seen.press("enter")
            await seen.shows("with 'be'")
            assert seen.view.focused is seen.view.query_one(Jobs)
            await seen.press("escape")
            await seen.sees("both again", lambda: seen.jobs() == [beta, alpha])

    perform(play, cli)


def test_ten_thousand_jobs_are_shown_page_by_page(cli: Cli) -> None:
    lines = '{"command": ["true"]}\n' * 10_000
    ids = cli.run("add", "--from-file", "-", input=lines).ids

    async def play() -> None:
        async with screen(cli) as seen:
            await seen.sees("a page", lambda: seen.jobs() == ids[: -1 - 200 : -1])
            await seen.press("right_square_bracket")
            await seen.sees("the next", lambda: seen.jobs() == ids[-201 : -1 - 400 : -1])
            await seen.press("left_square_bracket")
            await seen.sees("the first", lambda: seen.jobs() == ids[: -1 - 200 : -1])
            await seen.press("slash", *str(ids[2]))
            await seen.sees("one of the oldest", lambda: seen.jobs() == [ids[2]])

    perform(play, cli)


def test_the_cursor_stays_on_its_job_while_others_come(cli: Cli) -> None:
    first, second = (cli.run("add", "--", "true").id for _ in range(2))

    async def play() -> None:
        async with screen(cli) as seen:
            await seen.selects(first)
            third = cli.run("add", "--", "true").id
            await seen.sees("the new one", lambda: seen.jobs() == [third, second, first])
            assert seen.view.query_one(Jobs).selected == first

    perform(play, cli)


@pytest.mark.parametrize("name", PANES)
def test_the_smallest_screen_shows_one_pane(cli: Cli, name: str) -> None:
    job = _sleeper(cli, "--name", "sleeper")

    async def play() -> None:
        async with screen(cli, (40, 10)) as seen:
            await seen.selects(job)
            await seen.press(str(PANES.index(name) + 1))
            await seen.sees("one pane", lambda: _visible(seen.view) == [name])
            await seen.shows(
                {"jobs": "STATUS", "lanes": "in use", "why": "is running", "log": "no output"}[name]
            )
            await seen.pilot.resize_terminal(100, 30)
            await seen.sees("all panes", lambda: _visible(seen.view) == list(PANES))
            await seen.pilot.resize_terminal(40, 10)
            await seen.sees("one pane again", lambda: _visible(seen.view) == [name])
            await seen.press("c")
            await seen.shows("Cancel job 1", "y: yes")

    perform(play, cli)


def _visible(view: Top) -> list[str]:
    return [name for name in PANES if view.query_one(f"#{name}").region.height > 0]


def test_an_empty_store_and_none_at_all_are_no_trouble(cli: Cli) -> None:
    async def play() -> None:
        async with screen(cli) as seen:
            await seen.shows("there is no store")
            await seen.press("p", "c", "plus", "right_square_bracket")
            await seen.shows("there is no job here")
            cli.run("pools", "set", "gpu", 2).check()
            await seen.shows("no jobs", "pool gpu  0/2")
            await seen.press("question_mark")
            await seen.sees("the keys", lambda: isinstance(seen.view.screen, Keys))
            await seen.press("q")
            await seen.press("q")

    perform(play, cli)


def test_hostile_names_are_shown_and_not_obeyed(cli: Cli) -> None:
    name = "[red]x[/red] [@click=app.quit]y[/] 漢字" * 3
    cli.run("add", "--name", name, "--", "printf", "\x1b[2J\x1b]0;owned\x07[bold]").check()
    job = cli.run("run", "--name", name, "-c", "printf '\\033[2J[red]z[/red]\\n'; exec sleep 600").id

    async def play() -> None:
        async with screen(cli, (140, 30)) as seen:
            await seen.selects(job)
            await seen.shows("[red]x[/red]", "[red]z[/red]", "[@click=app.quit]y[/]")
            assert "\x1b" not in seen.text()

    perform(play, cli)


def test_the_screen_of_a_store_that_stands_still_is_always_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    expected = Path(__file__).with_name("screen.txt").read_text(encoding="utf-8")

    async def play() -> None:
        with showcase(tmp_path) as scene:
            view = Top("/store", scene.reopen, scene.now)
            async with view.run_test(size=(100, 30)) as pilot:
                seen = Screen(view, pilot)
                await seen.selects(6)
                # The last line is textual's own.
                await seen.sees("the screen", lambda: seen.text().splitlines()[:-1] == expected.splitlines())

    try:
        asyncio.run(play())
    finally:
        monkeypatch.undo()
        time.tzset()
