# SPDX-License-Identifier: GPL-3.0-or-later
"""What a header declares."""
import re


def functions(path):
    """Names of the functions that a header declares and does not define."""
    text = re.sub(r'/\*.*?\*/|^#(?:[^\n]*\\\n)*[^\n]*', '', path.read_text(), flags=re.S | re.M)
    text = text.replace('extern "C" {', '')
    while '{' in text:  # bodies of functions, of structures
        shorter = re.sub(r'\)\s*\{[^{}]*\}', ') static;', text)
        if shorter == text:
            shorter = re.sub(r'\{[^{}]*\}', '', text)
        if shorter == text:
            break
        text = shorter
    return [m[1] for s in text.split(';') if 'typedef' not in s and 'static' not in s
            for m in [re.match(r'[\w\s*]*?\b(perp_\w+)\s*\(', s.strip())] if m]
