"""Shells' requests for completions, where Click falls short: bash inserts what it receives unchanged, fish lost what follows a comma."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from click.shell_completion import BashComplete, CompletionItem, FishComplete, add_completion_class

from talm_sim.errors import quote

__all__ = ["Typed", "read_line"]

_PART = re.compile(
    r"""(?P<space>[ \t\n]+)
      | \$'(?P<ansi>(?:[^'\\]|\\.)*)(?P<ansi_end>'?)
      | \$?"(?P<double>(?:[^"\\]|\\.)*)(?P<double_end>"?)
      | '(?P<single>[^']*)(?P<single_end>'?)
      | \\(?P<escaped>.?)
      | (?P<plain>.)""",
    re.VERBOSE | re.DOTALL,
)
_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]*")
_ACTS = set("|&;<>()$`*?[]{}~!#^")
"""Characters that bash may interpret outside of quotes."""
_ACTS_IN_DOUBLE = set("$`!")
_ESCAPED_IN_ANSI = re.compile(r"\\(['\"\\])")
_ESCAPED_IN_DOUBLE = re.compile(r'\\([$`"\\])')


@dataclass
class Typed:
    """A command line up to the cursor, as bash reads it.

    Attributes:
        words: The words before the one under the cursor, without their quotes.
        word: The one under the cursor, as far as it is typed.
        quote: The quote that is open: `'`, `"` or none.
        escapes: Whether the line ends in a backslash that waits for its character.
        literal: Whether `word` is what will be passed: it has nothing that bash expands.
    """

    words: list[str]
    word: str = ""
    quote: str = ""
    escapes: bool = False
    literal: bool = True

    def complete_with(self, rest: str) -> str | None:
        """Return what to put after the word so that `rest` is added to it and its quote is closed; None if that is impossible."""
        escaped = ""
        if self.escapes:
            if self.quote or not rest:
                return None
            escaped, rest = rest[0], rest[1:]
        safe = _SAFE.match(rest)
        assert safe is not None
        tail = quote(rest[safe.end() :]) if safe.end() < len(rest) else ""
        if self.quote == "'" == tail[:1]:
            return safe[0] + tail[1:]
        return escaped + safe[0] + self.quote + tail


def read_line(line: str) -> Typed:
    """Split a command line; what bash expands in words before the last one stays as it is typed."""
    typed, begun = Typed([]), False
    for part in _PART.finditer(line):
        if typed.quote or typed.escapes:  # something precedes what is open: these rules cannot read it
            typed.literal = False
        if part["space"]:
            if begun:
                typed.words.append(typed.word)
            begun, typed = False, Typed(typed.words)
            continue
        begun = True
        _add(typed, part)
    return typed


def _add(typed: Typed, part: re.Match[str]) -> None:
    """Add a piece of a word."""
    if (text := part["ansi"]) is not None:
        typed.quote = "" if part["ansi_end"] else "'"
        typed.literal &= "\\" not in _ESCAPED_IN_ANSI.sub("", text)
        typed.word += _ESCAPED_IN_ANSI.sub(r"\1", text)
    elif (text := part["double"]) is not None:
        typed.quote = "" if part["double_end"] else '"'
        typed.literal &= not _ACTS_IN_DOUBLE & set(_ESCAPED_IN_DOUBLE.sub("", text))
        typed.word += _ESCAPED_IN_DOUBLE.sub(r"\1", text)
    elif (text := part["single"]) is not None:
        typed.quote = "" if part["single_end"] else "'"
        typed.word += text
    elif (text := part["escaped"]) is not None:
        typed.escapes = not text
        typed.word += text
    else:
        typed.literal &= part["plain"] not in _ACTS
        typed.word += part["plain"]


@add_completion_class
class _Bash(BashComplete):
    """Replaces, like bash, the part of the word that bash takes as the word under the cursor; bash quotes nothing.

    That word begins after the last break, for example a `:`, or after an open quote. Each candidate is that word as it is typed and
    the rest of the name, quoted.
    """

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' line
    COMPREPLY=()
    while read -r line; do
        case "$line" in
            dir,*) compopt -o dirnames ;;
            file,*) compopt -o default ;;
            plain,*) COMPREPLY+=("${line#plain,}") ;;
        esac
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="$2" %(complete_var)s=bash_complete "$1" 2>/dev/null)
    [[ ${COMPREPLY[0]} == *[:/=] ]] && compopt -o nospace
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def complete(self) -> str:
        """Return lines of the answer; none if bash expands the word under the cursor, or takes another word as that."""
        self._line, self._replaced = os.environ["COMP_LINE"], os.environ["COMP_WORD"]
        self._typed = read_line(self._line)
        if not self._typed.literal or not self._line.endswith(self._replaced):
            return ""
        items = self.get_completions(self._typed.words[1:], self._typed.word)
        return "\n".join(filter(None, map(self.format_completion, items)))

    def format_completion(self, item: CompletionItem) -> str:
        """Return a line of the answer: the replacement of the word that bash takes."""
        if item.type != "plain":
            return f"{item.type},{item.value}"
        word = self._typed.word
        given = word.partition("=")[2] if word.startswith("--") and "=" in word else word
        value = str(item.value)
        rest = self._typed.complete_with(value[len(given) :]) if value.startswith(given) else None
        if rest is None:
            return ""
        quote = self._line[: len(self._line) - len(self._replaced)][-1:]
        if quote not in ("'", '"'):
            return f"plain,{self._replaced}{rest}"
        # Where a quote is open, readline takes the quote that begins a candidate for the one that is typed, and closes a candidate that
        # does not end in it.
        whole = f"{quote}{self._replaced}{rest}"
        return f"plain,{whole if whole.endswith(quote) else whole + 2 * quote}"


@add_completion_class
class _Fish(FishComplete):
    """Like Click's, but handles values with a comma, and those that `echo` would take as its own option."""

    source_template = """\
function %(complete_func)s;
    set -l response (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) %(prog_name)s);

    for completion in $response;
        set -l metadata (string split -m1 "," $completion);

        if test $metadata[1] = "dir";
            __fish_complete_directories $metadata[2];
        else if test $metadata[1] = "file";
            __fish_complete_path $metadata[2];
        else if test $metadata[1] = "plain";
            printf '%%s\\n' $metadata[2];
        end;
    end;
end;

complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)";
"""
