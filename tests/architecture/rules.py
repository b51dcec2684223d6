"""What no import contract can say: rules over the syntax tree of one file. Each yields `path:line what is wrong`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

FUNCTION_LINES = 40
VIEW_LINES = 15
FILE_LINES = 300

LONG_FILES: dict[str, str] = {}
"""Files over the budget, each with its reason. Splitting is better."""

LONG_FUNCTIONS: dict[str, str] = {}
"""Functions over the budget as `path::name`, each with its reason."""

Rule = Callable[[ast.Module, Path], Iterator[str]]
Function = ast.FunctionDef | ast.AsyncFunctionDef

_WALL_CLOCK = {
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "timezone.now", "timezone.localdate",
    "time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.ctime", "functions.Now", "Now",
}  # fmt: skip
_SIGNALS = {"django.dispatch", "django.db.models.signals", "django.core.signals", "django.contrib.auth.signals"}
_STATUS_SQL = re.compile(r"\bUPDATE\b.*\bSET\b.*\bstatus\s*=", re.IGNORECASE | re.DOTALL)


def functions(tree: ast.AST) -> Iterator[Function]:
    """Yield every function of the tree, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def _at(path: Path, node: ast.AST, what: str) -> str:
    return f"{path}:{getattr(node, 'lineno', 1)} {what}"


def _room(path: Path) -> str:
    return path.with_suffix("").parts[1] if len(path.parts) > 1 else ""


def dotted(node: ast.AST) -> str:
    """Return the last two names of `a.b.c` as `b.c`, the name of a bare name, else an empty text."""
    if isinstance(node, ast.Attribute):
        left = node.value
        name = left.attr if isinstance(left, ast.Attribute) else left.id if isinstance(left, ast.Name) else ""
        return f"{name}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def status_is_written_by_lifecycles_only(tree: ast.Module, path: Path) -> Iterator[str]:
    """The status of turns and runs: assignments, updates and SQL that set one stand in lifecycle rooms only."""
    if path.parts[0] not in ("chats", "schedules", "config") or _room(path) == "lifecycle":
        return  # apps further left cannot import a turn or a run
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            flat = [leaf for target in targets for leaf in ast.walk(target)]
            if any(isinstance(leaf, ast.Attribute) and leaf.attr == "status" for leaf in flat):
                yield _at(path, node, "assigns a status")
        elif isinstance(node, ast.Call) and _call_writes_status(node):
            yield _at(path, node, "writes a status")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _STATUS_SQL.search(node.value):
            yield _at(path, node, "sets a status in SQL")


def _call_writes_status(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("update", "create", "update_or_create", "get_or_create", "Run", "Turn"):
        defaults = [key.value for part in call.keywords if part.arg == "defaults" for key in _keys(part.value)]
        return any(part.arg == "status" for part in call.keywords) or "status" in defaults
    if name == "bulk_update":
        return any(isinstance(leaf, ast.Constant) and leaf.value == "status" for leaf in ast.walk(call))
    if name == "setattr" and len(call.args) > 1:
        return isinstance(call.args[1], ast.Constant) and call.args[1].value == "status"
    return False


def _keys(node: ast.AST) -> list[ast.Constant]:
    return [key for key in node.keys if isinstance(key, ast.Constant)] if isinstance(node, ast.Dict) else []


def only_the_clock_reads_the_clock(tree: ast.Module, path: Path) -> Iterator[str]:
    """R9: `now` comes in as an argument; the wall clock is read in core/clock.py alone."""
    if path == Path("core/clock.py"):
        return
    imported = {name for node in ast.walk(tree) for name in _clock_names(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            name = dotted(node)
            if ("." in name and name in _WALL_CLOCK) or (isinstance(node, ast.Name) and name in imported):
                yield _at(path, node, f"reads the wall clock ({name})")
        elif isinstance(node, ast.keyword) and node.arg in ("auto_now", "auto_now_add"):
            yield _at(path, node, f"has the field read the wall clock ({node.arg})")


def _clock_names(node: ast.AST) -> list[str]:
    """Return the names under which a `from ... import` brings a reader of the clock."""
    if not isinstance(node, ast.ImportFrom):
        return []
    readers = {
        "time": {"time", "time_ns", "localtime", "gmtime"},
        "django.utils.timezone": {"now", "localdate"},
        "django.db.models.functions": {"Now"},
    }.get(node.module or "", set())
    return [alias.asname or alias.name for alias in node.names if alias.name in readers]


def there_are_no_signals(tree: ast.Module, path: Path) -> Iterator[str]:
    """Nothing happens behind the back of a service."""
    for node in ast.walk(tree):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if any(name in _SIGNALS or name.endswith(".signals") for name in names):
            yield _at(path, node, "imports signals")


def services_are_keyword_only(tree: ast.Module, path: Path) -> Iterator[str]:
    """A service (a public function of that room that is told `now`) takes keywords.

    At most the one thing that the verb acts on stands before them, and never `now`.
    """
    if _room(path) != "services":
        return
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            positional = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
            told_now = "now" in positional or any(argument.arg == "now" for argument in node.args.kwonlyargs)
            if told_now and (len(positional) > 1 or positional == ["now"] or node.args.vararg):
                yield _at(path, node, f"{node.name} takes {', '.join(positional)} by position")


def views_are_short(tree: ast.Module, path: Path) -> Iterator[str]:
    """Views of panels translate and call one service: under 15 lines, their docstring not counted."""
    if _room(path) != "panel" or path.parts[0] == "core":
        return
    for node in functions(tree):
        is_view = any(argument.arg == "request" for argument in node.args.args[:2]) and not node.name.startswith("_")
        if is_view and _code_lines(node) > VIEW_LINES:
            yield _at(path, node, f"the view {node.name} has {_code_lines(node)} lines; {VIEW_LINES} is the most")


def _code_lines(node: Function) -> int:
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    spent = (docstring.end_lineno or 0) - docstring.lineno + 1 if docstring else 0
    return _lines(node) - spent


def _lines(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def functions_are_short(tree: ast.Module, path: Path) -> Iterator[str]:
    """A function has at most 40 lines, its docstring included."""
    for node in functions(tree):
        if _lines(node) > FUNCTION_LINES and f"{path}::{node.name}" not in LONG_FUNCTIONS:
            yield _at(path, node, f"{node.name} has {_lines(node)} lines; {FUNCTION_LINES} is the most")


def files_are_short(source: str, path: Path) -> Iterator[str]:
    """A file has at most 300 lines."""
    lines = len(source.splitlines())
    if lines > FILE_LINES and str(path) not in LONG_FILES:
        yield f"{path} has {lines} lines; {FILE_LINES} is the most"


PRODUCT_RULES: list[Rule] = [
    status_is_written_by_lifecycles_only,
    only_the_clock_reads_the_clock,
    there_are_no_signals,
    services_are_keyword_only,
    views_are_short,
    functions_are_short,
]
