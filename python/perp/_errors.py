# SPDX-License-Identifier: GPL-3.0-or-later


class Error(Exception):
    """What perp says when it cannot do what was asked: one line, and how to mend it."""
