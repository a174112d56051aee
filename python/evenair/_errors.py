"""The exceptions of evenair."""

from __future__ import annotations


class ScenarioError(ValueError):
    """A scenario is not right: the place, the key, and the allowed values."""

    def __init__(
        self, text: str, file: str, line: int | None, column: int | None, key: str | None, message: str
    ) -> None:
        """Keep the parts of the message, each by its name."""
        super().__init__(text)
        self.file = file
        """The file, as it was named."""
        self.line = line
        """Its line, from one."""
        self.column = column
        """Its column, from one."""
        self.key = key
        """The key, such as ``flows[2].to``."""
        self.message = message
        """The fault, and the allowed values."""

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[object, ...]]:
        """Let it cross to another process."""
        return type(self), (self.args[0], self.file, self.line, self.column, self.key, self.message)


class StudyError(ValueError):
    """A study is not right, or there is none of that name."""


class TheoryError(ValueError):
    """The theory has no answer for a scenario: why not."""
