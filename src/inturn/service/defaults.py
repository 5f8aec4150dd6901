"""What the configuration file may say under `defaults`: options of a submission, with values they take."""

from __future__ import annotations

from inturn.core.options import OPTIONS
from inturn.core.request import Surroundings, apply_defaults, build
from inturn.core.values import meaning
from inturn.service.configure import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from inturn.service.context import Context

# Options that have a long name: `c` gives the command itself.
NAMES = tuple(name for name in OPTIONS if len(name) > 1)


def submission_rules(context: Context) -> Rules:
    """The rules for `defaults`, as `configure.defaults` and `configure.apply` want them."""
    now = context.now()

    def check(name: str, value: object) -> None:
        option = OPTIONS[name]
        for one in value if option.repeatable and isinstance(value, list) else [value]:
            meaning(option, one, now)

    def check_together(defaults: Mapping[str, object]) -> None:
        # Values that are right one by one, but exclude each other, would spoil every submission.
        for supervised in (True, False):
            filled = apply_defaults({}, defaults, supervised)
            filled.pop("env_file", None)
            nowhere = Surroundings((b"true",), b"/", (), 0o077, supervised)
            build(filled, nowhere, now, "defaults.{}".format)

    return Rules(NAMES, check, check_together)
