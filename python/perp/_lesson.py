# SPDX-License-Identifier: GPL-3.0-or-later
"""Lessons of perp in Python, and as notebooks with the same exercises."""
import json
import os
import pathlib
import tempfile
import typing

from . import _program, _tables
from ._errors import Error


class Lesson:
    """A lesson; see lesson().

    name, title, minutes, story, conclusion, notes   texts in Markdown with $mathematics$
    predict       ask, choices
    exercises     a list of ask, hint
    """

    name: str
    title: str
    minutes: int
    story: str
    conclusion: str
    notes: typing.Optional[str]
    predict: typing.Dict[str, typing.Any]
    exercises: typing.List[typing.Dict[str, typing.Any]]

    def __init__(self, name: typing.Union[str, 'os.PathLike[str]']) -> None:
        self.path = os.fspath(name)
        data = _program.ask(['lesson', self.path], ())
        if not isinstance(data, dict):
            raise Error(f'{self.path} is not one lesson')
        self.table: typing.Optional[_tables.Table] = None
        self._answer = ''
        for key, text in data.items():
            setattr(self, key, text)

    def _tell(self, *more: str) -> typing.Tuple[int, str]:
        status, out, err = _program.start(['lesson', self.path, *more])
        if status not in (_program.OK, _program.FAILED):
            raise Error(_program.said(status, err))
        return status, out

    def run(self, prediction: int = 0) -> str:
        """Runs the experiment: what perp shows before the answer.  prediction: number of the choice, 0 for none."""
        words = ['--answer', str(prediction)] if prediction else []
        with tempfile.TemporaryDirectory() as folder:
            _, out = self._tell(*words, '-o', folder)
            self.table = _tables.load(folder) if os.path.exists(os.path.join(folder, 'derived')) else None
        shown, _, answer = out.partition('\nANSWER ')
        at = shown.find('\nRUN ')
        self._answer = ' '.join(answer.split('\n\n')[0].split())
        return shown[at + 1:] if at >= 0 else shown[shown.find('\n\n', shown.find('\nPREDICT')) + 2:]

    def answer(self) -> str:
        """The right choice, and why; after run()."""
        return self._answer

    def check(self, answer: typing.Any, exercise: int = 1) -> bool:
        """Is the answer to an exercise right?  perp judges it, and what it says is printed."""
        status, out = self._tell('--check', str(answer), '--exercise', str(exercise))
        print(out.strip())
        return status == _program.OK

    def notebook(self, path: typing.Union[str, 'os.PathLike[str]']) -> pathlib.Path:
        """Writes a notebook (nbformat 4): story, prediction, run, answer, conclusion, exercises that perp checks."""
        cells: typing.List[typing.Dict[str, typing.Any]] = []

        def put(kind: str, text: str) -> None:
            cells.append({'cell_type': kind, 'id': f'cell-{len(cells) + 1}', 'metadata': {}, 'source': text.strip(),
                          **({'outputs': [], 'execution_count': None} if kind == 'code' else {})})

        choices = '\n'.join(f'{k}. {text}' for k, text in enumerate(self.predict['choices'], 1))
        put('markdown', f'# {self.title}\n\n{self.minutes} minutes\n\n{self.story}')
        put('markdown', f'## Predict\n\n{self.predict["ask"]}\n\n{choices}')
        put('code', 'prediction = 0  # the number of your choice')
        put('code', f'import perp\nlesson = perp.lesson({self.path!r})\nprint(lesson.run(prediction))')
        put('code', 'print(lesson.answer())')
        put('code', 'lesson.table  # all runs')
        put('markdown', f'## Conclusion\n\n{self.conclusion}')
        for k, exercise in enumerate(self.exercises, 1):
            put('markdown', f'## Exercise {k}\n\n{exercise["ask"]}')
            put('code', f"answer = None  # {'a value of ' + exercise['try'] if exercise.get('try') else 'a number'}\n"
                        f'if answer is not None:\n    lesson.check(answer, exercise={k})')
        pathlib.Path(path).write_text(json.dumps({'cells': cells, 'metadata': {'kernelspec': {
            'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}}, 'nbformat': 4, 'nbformat_minor': 5},
            indent=1) + '\n', encoding='utf-8')
        return pathlib.Path(path)

    def __repr__(self) -> str:
        return f'<lesson {self.name}: {self.title}, {self.minutes} minutes>'


def lesson(name: typing.Union[str, 'os.PathLike[str]']) -> Lesson:
    """A lesson of perp, or one in a folder.

        lesson = perp.lesson("drift")
        print(lesson.run())
        lesson.check("post", exercise=1)
        lesson.notebook("drift.ipynb")
    """
    return Lesson(name)
