"""`recover --at-boot`, with programs that stand in for systemctl, loginctl and crontab."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Cli, Result

# Each writes down how it was called. The crontab keeps its lines in a file, as cron does.
SYSTEMCTL = 'echo "$@" >> "$HOME/calls"\n'
NO_SYSTEMCTL = "exit 1\n"
LOGINCTL = "echo Linger=no\n"
CRONTAB = """
case $1 in
  -l) [ -e "$HOME/cron" ] && exec cat "$HOME/cron"; echo "no crontab for $USER" >&2; exit 1 ;;
  -) cat > "$HOME/cron.new" && mv "$HOME/cron.new" "$HOME/cron" ;;
esac
"""


class Machine:
    """A home directory, and the programs that are there beside the necessary ones."""

    def __init__(self, cli: Cli, **programs: str) -> None:
        self.cli = cli
        self.home = cli.root / "home"
        self._bin = cli.root / "bin"
        self.home.mkdir()
        self._bin.mkdir()
        for tool in ("cat", "mv", "sh", "echo"):
            (self._bin / tool).symlink_to(f"/bin/{tool}")
        for name, script in programs.items():
            self.write(name, script)

    def write(self, name: str, script: str) -> None:
        """Put a program in place."""
        path = self._bin / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def at_boot(self, action: str, *options: str, code: int = 0) -> Result:
        env: dict[str, str | None] = {"HOME": str(self.home), "PATH": str(self._bin), "XDG_CONFIG_HOME": None}
        return self.cli.run(*options, "recover", "--at-boot", action, env=env).check(code)

    def data(self, action: str) -> dict[str, Any]:
        found: dict[str, Any] = self.at_boot(action, "--json").data
        return found

    @property
    def units(self) -> list[Path]:
        place = self.home / ".config" / "systemd" / "user"
        return sorted(place.iterdir()) if place.exists() else []

    @property
    def calls(self) -> list[str]:
        calls = self.home / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    @property
    def cron(self) -> str:
        cron = self.home / "cron"
        return cron.read_text() if cron.exists() else ""


def assert_recovers(cli: Cli, command: str) -> None:
    """Check that the command line recovers the store, with our interpreter by whichever of its names."""
    python, *words = shlex.split(command)
    assert os.path.samefile(python, sys.executable)
    assert os.path.dirname(python) == os.path.dirname(sys.executable)
    assert words == ["-P", "-m", "inturn", "--dir", str(cli.store), "recover"]


# --- systemd


def test_where_the_users_systemd_answers_a_unit_is_written_and_enabled(cli: Cli) -> None:
    machine = Machine(cli, systemctl=SYSTEMCTL, loginctl=LOGINCTL, crontab="exit 9\n")
    told = machine.at_boot("install")
    (unit,) = machine.units
    lines = unit.read_text().splitlines()
    assert "Type=oneshot" in lines
    assert "WantedBy=default.target" in lines
    # What it starts has to outlive it.
    assert {"KillMode=process", "RemainAfterExit=yes"} <= set(lines)
    (start,) = (line for line in lines if line.startswith("ExecStart="))
    assert_recovers(cli, start.removeprefix("ExecStart="))
    assert machine.calls == [
        "--user show-environment",
        "--user daemon-reload",
        f"--user enable {unit.name}",
    ]
    assert str(unit) in told.text
    assert start in told.text
    assert b"loginctl enable-linger" in told.err
    assert machine.cron == ""


def test_the_unit_is_where_the_user_has_their_configuration(cli: Cli) -> None:
    machine = Machine(cli, systemctl=SYSTEMCTL)
    env = {"HOME": str(machine.home), "PATH": f"{cli.root}/bin", "XDG_CONFIG_HOME": str(cli.root / "xdg")}
    path = cli.run("recover", "--at-boot", "install", "--json", env=env).check().data["path"]
    assert Path(path).parent == cli.root / "xdg" / "systemd" / "user"
    assert machine.units == []


def test_the_status_tells_what_is_there_and_remove_takes_it_away(cli: Cli) -> None:
    machine = Machine(cli, systemctl=SYSTEMCTL, loginctl="echo Linger=yes\n")
    nothing = machine.data("status")
    assert (nothing["installed"], nothing["how"], nothing["path"]) == (False, None, None)
    installed = machine.data("install")
    assert machine.data("status") == installed
    assert (installed["installed"], installed["how"], installed["lingers"]) == (True, "systemd", True)
    assert installed["directory"] == str(cli.store)
    assert machine.data("install") == installed
    (unit,) = machine.units
    removed = machine.data("remove")
    assert (removed["installed"], removed["path"]) == (False, str(unit))
    assert machine.units == []
    assert f"--user disable {unit.name}" in machine.calls
    assert machine.at_boot("remove").text == "there was nothing to remove\n"


def test_each_store_has_a_unit_of_its_own_whatever_characters_it_has(cli: Cli) -> None:
    machine = Machine(cli, systemctl=SYSTEMCTL)
    odd = str(cli.root / 'a "b" $c %d \\e')
    machine.at_boot("install")
    machine.at_boot("install", "--dir", odd)
    assert len(machine.units) == 2
    (text,) = (unit.read_text() for unit in machine.units if "%%d" in unit.read_text())
    assert r'a \"b\" $$c %%d \\e"' in text
    machine.at_boot("remove", "--dir", odd)
    assert len(machine.units) == 1


def test_a_name_that_no_file_of_lines_can_hold_is_refused(cli: Cli) -> None:
    machine = Machine(cli, systemctl=SYSTEMCTL)
    told = machine.at_boot("install", "--json", "--dir", str(cli.root / "a\nb"), code=2)
    assert told.json["error"]["code"] == "invalid_value"
    assert machine.units == []


def test_that_the_unit_cannot_be_enabled_is_an_error(cli: Cli) -> None:
    machine = Machine(cli, systemctl='[ "$2" != enable ]\n')
    told = machine.at_boot("install", "--json", code=1)
    assert "systemctl --user enable" in told.json["error"]["message"]


# --- cron


def test_without_a_systemd_of_the_user_it_is_a_line_of_the_crontab(cli: Cli) -> None:
    machine = Machine(cli, systemctl=NO_SYSTEMCTL, crontab=CRONTAB)
    told = machine.at_boot("install")
    marker, line = machine.cron.splitlines()
    assert marker.startswith("# ")
    assert str(cli.store) in marker
    assert line.startswith("@reboot ")
    assert_recovers(cli, line.removeprefix("@reboot "))
    assert line in told.text
    assert machine.data("status")["how"] == "crontab"
    assert machine.units == []


def test_all_other_lines_of_the_crontab_stay_as_they_are(cli: Cli) -> None:
    machine = Machine(cli, crontab=CRONTAB)
    theirs = 'MAILTO=me\n\n# a remark\n*/5 * * * * backup  "%H"\n@reboot something else\n'
    (machine.home / "cron").write_text(theirs)
    machine.at_boot("install")
    assert machine.cron.startswith(theirs)
    assert len(machine.cron.splitlines()) == len(theirs.splitlines()) + 2
    machine.at_boot("install")
    assert len(machine.cron.splitlines()) == len(theirs.splitlines()) + 2
    machine.at_boot("install", "--dir", str(cli.root / "other"))
    machine.at_boot("remove")
    assert str(cli.root / "other") in machine.cron
    machine.at_boot("remove", "--dir", str(cli.root / "other"))
    assert machine.cron == theirs


def test_a_percent_sign_is_no_line_end_for_cron(cli: Cli) -> None:
    machine = Machine(cli, crontab=CRONTAB)
    machine.at_boot("install", "--dir", str(cli.root / "100%"))
    line = machine.cron.splitlines()[1]
    assert r"100\%" in line
    assert "%" not in line.replace(r"\%", "")
    assert machine.at_boot("status", "--dir", str(cli.root / "100%"), "--json").data["installed"]


def test_a_crontab_that_cannot_be_read_is_not_written(cli: Cli) -> None:
    broken = 'case $1 in -l) echo "disk trouble" >&2; exit 1 ;; -) echo written > "$HOME/cron" ;; esac\n'
    machine = Machine(cli, crontab=broken)
    told = machine.at_boot("install", "--json", code=1)
    assert "disk trouble" in told.json["error"]["message"]
    assert machine.cron == ""


def test_a_crontab_that_refuses_the_lines_is_an_error(cli: Cli) -> None:
    machine = Machine(cli, crontab='[ "$1" != - ] || { echo "not allowed" >&2; exit 1; }; echo\n')
    assert "not allowed" in machine.at_boot("install", "--json", code=1).json["error"]["message"]


def test_where_there_is_neither_it_is_said_what_to_do(cli: Cli) -> None:
    machine = Machine(cli)
    error = machine.at_boot("install", "--json", code=1).json["error"]
    assert error["code"] == "failed"
    assert "inturn recover" in error["hint"]
    assert machine.at_boot("status").text.startswith("not installed")
    assert machine.at_boot("remove").text == "there was nothing to remove\n"


# --- it does what it is for


@pytest.mark.parametrize("how", ["systemd", "cron"])
def test_what_is_written_recovers_the_jobs_of_the_store(cli: Cli, how: str) -> None:
    machine = Machine(cli, systemctl=SYSTEMCTL if how == "systemd" else NO_SYSTEMCTL, crontab=CRONTAB)
    job = cli.run("run", "--wait-file", "there", "--", "true").id
    owner = cli.show(job)["owner"]["pid"]
    os.kill(owner, 9)
    machine.at_boot("install")
    if how == "systemd":
        (unit,) = machine.units
        (start,) = (line for line in unit.read_text().splitlines() if line.startswith("ExecStart="))
        words = shlex.split(start.removeprefix("ExecStart="))
    else:
        words = ["sh", "-c", machine.cron.splitlines()[1].removeprefix("@reboot ").replace(r"\%", "%")]
    # At boot there is hardly any environment, and the directory is the user's home.
    (machine.home / "inturn").mkdir()
    (machine.home / "inturn" / "__init__.py").write_text("raise SystemExit('not this one')")
    done = subprocess.run(
        words,
        env={"HOME": str(machine.home), "PATH": "/usr/bin:/bin"},
        cwd=machine.home,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert cli.show(job)["owner"]["pid"] != owner
    (cli.root / "there").touch()
    cli.run("wait", job).check()
