"""The text of a condition as a tree: comparisons, and, or, not, arithmetic, changes of a field.

A condition comes from a file or from a language model, so its length, its depth and its size are bounded, and nothing
of it is ever run as Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from parcade.errors import SettingsError
from parcade.host.input_file import short

LONGEST, DEEPEST, MOST_PARTS = 500, 16, 100  # characters, brackets in one another, names and numbers and operators
CHANGES = ("changed", "increased", "decreased")
COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")
_WORDS = ("and", "or", "not", "true", "false", *CHANGES)
_OTHER_SIGNS = {"=": "==", "&": "and", "|": "or", "!": "not", "^": "a * a"}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d{1,15}(?:\.\d{1,15})?)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<text>'[^']*'|"[^"]*")
      | (?P<sign><=|>=|==|!=|//|[-+*/%<>()])
    )""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it stands."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """The name of a choice's value, in quotes."""

    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Name:
    """A field."""

    name: str
    column: int


@dataclass(frozen=True, slots=True)
class Change:
    """``changed(field)`` and the like: the step before against this one."""

    what: str
    of: Name


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    of: Node


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions joined by ``and`` or by ``or``."""

    word: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain of comparisons: ``1 < x <= y``."""

    parts: tuple[Node, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers and a sign between them."""

    sign: str
    left: Node
    right: Node


Node = Number | Text | Name | Change | Not | Junction | Comparison | Arithmetic


class _Token(NamedTuple):
    kind: str  # number, name, word, text, sign or end
    text: str
    column: int  # from 1


def parse(text: str) -> Node:
    """Return the tree of a condition; raise SettingsError, with the column, for text that is none."""
    if len(text) > LONGEST:
        raise SettingsError(f"it has {len(text):,} characters, the most is {LONGEST}")
    tokens = _tokens(text)
    if len(tokens) > MOST_PARTS:
        raise SettingsError(f"it has {len(tokens) - 1} names, numbers and signs, the most is {MOST_PARTS - 1}")
    return _Parser(tokens).whole()


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:].lstrip()
            hint = next((f"; write {ours!r}" for theirs, ours in _OTHER_SIGNS.items() if rest.startswith(theirs)), "")
            raise SettingsError(f"column {len(text) - len(rest) + 1}: {short(rest[:20])} cannot be read{hint}")
        kind = str(match.lastgroup)
        word = match[kind]
        found.append(_Token("word" if word in _WORDS else kind, word, match.start(kind) + 1))
        at = match.end()
    return [*found, _Token("end", "the end", len(text) + 1)]


class _Parser:
    """Reads tokens from left to right; a method for each level of binding, the loosest first."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def whole(self) -> Node:
        """Return the whole condition."""
        node = self._or()
        if self._next.kind != "end":
            self._refuse("and, or, a comparison or the end")
        return node

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> str | None:
        """Return the next sign or word if it is one of ``texts``, and go on."""
        token = self._next
        if token.kind not in ("sign", "word") or token.text not in texts:
            return None
        self._at += 1
        return token.text

    def _refuse(self, wanted: str) -> NoReturn:
        token = self._next
        came = token.text if token.kind == "end" else short(token.text)
        raise SettingsError(f"column {token.column}: {came} where {wanted} should be")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise SettingsError(f"column {self._next.column}: it is nested more than {DEEPEST} deep")

    def _or(self) -> Node:
        parts = [self._and()]
        while self._take("or"):
            parts.append(self._and())
        return Junction("or", tuple(parts)) if len(parts) > 1 else parts[0]

    def _and(self) -> Node:
        parts = [self._not()]
        while self._take("and"):
            parts.append(self._not())
        return Junction("and", tuple(parts)) if len(parts) > 1 else parts[0]

    def _not(self) -> Node:
        if not self._take("not"):
            return self._comparison()
        self._deeper()
        node = Not(self._not())
        self._depth -= 1
        return node

    def _comparison(self) -> Node:
        parts, signs = [self._sum()], []
        while sign := self._take(*COMPARISONS):
            signs.append(sign)
            parts.append(self._sum())
        return Comparison(tuple(parts), tuple(signs)) if signs else parts[0]

    def _sum(self) -> Node:
        node = self._product()
        while sign := self._take("+", "-"):
            node = self._joined(sign, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._signed()
        while sign := self._take("*", "//", "/", "%"):
            node = self._joined(sign, node, self._signed())
        return node

    def _joined(self, sign: str, left: Node, right: Node) -> Node:
        for side in (left, right):
            if isinstance(side, Text):
                raise SettingsError(f"column {side.column}: {short(side.text)} is a name, which has no {sign!r}")
        return Arithmetic(sign, left, right)

    def _signed(self) -> Node:
        if not self._take("-"):
            return self._atom()
        self._deeper()
        node = self._joined("-", Number(0), self._signed())
        self._depth -= 1
        return node

    def _atom(self) -> Node:
        token = self._next
        if token.kind in ("number", "name", "text"):
            self._at += 1
        if token.kind == "number":
            return Number(float(token.text) if "." in token.text else int(token.text))
        if token.kind == "name":
            return Name(token.text, token.column)
        if token.kind == "text":
            return Text(token.text[1:-1], token.column)
        word = self._take("true", "false", "(", *CHANGES)
        if word in CHANGES:
            return self._change(str(word))
        if word == "(":
            return self._bracket()
        if word is None:
            self._refuse("a field, a number or a bracket")
        return Number(int(word == "true"))

    def _change(self, what: str) -> Node:
        self._expect("(")
        token = self._next
        if token.kind != "name":
            self._refuse("a field")
        self._at += 1
        self._expect(")")
        return Change(what, Name(token.text, token.column))

    def _bracket(self) -> Node:
        self._deeper()
        node = self._or()
        self._expect(")")
        self._depth -= 1
        return node

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            self._refuse(f"{sign!r}")
