# SPDX-License-Identifier: GPL-3.0-or-later
"""Methods in Python that serve a Simulation in this process: descriptors of C whose functions are those of Python."""
from __future__ import annotations

import typing

from . import _library as c


class Table:
    """Methods of one Simulation."""

    def __init__(self) -> None:
        self.failed = False

    def add(self, method: typing.Any) -> None:
        raise NotImplementedError

    def register(self, ctx: c.Ctx) -> None:
        pass

    def raised(self) -> typing.Optional[BaseException]:
        return None
