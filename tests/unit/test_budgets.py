"""Size budgets: what is over them wants to be two things."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("controller", "topologies", "nfv", "scripts")
SOURCES = sorted(path for part in PARTS for path in (ROOT / part).rglob("*.py"))
MODULE_LINES, CLASS_LINES, PUBLIC_METHODS, FUNCTION_LINES, ARGUMENTS, SCRIPT_LINES = 400, 150, 12, 40, 5, 60


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _lines(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_keeps_its_budget(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    over = [f"module: {text.count(chr(10))} lines"] if text.count("\n") > MODULE_LINES else []
    for node in _functions(tree):
        given = node.args.posonlyargs + node.args.args
        arguments = [argument.arg for argument in given if argument.arg not in ("self", "cls")]
        over += [f"{node.name}: {_lines(node)} lines"] if _lines(node) > FUNCTION_LINES else []
        over += [f"{node.name}: {len(arguments)} arguments"] if len(arguments) > ARGUMENTS else []
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        public = [child for child in _functions(node) if not child.name.startswith("_")]
        over += [f"class {node.name}: {_lines(node)} lines"] if _lines(node) > CLASS_LINES else []
        over += [f"class {node.name}: {len(public)} public methods"] if len(public) > PUBLIC_METHODS else []
    assert not over


def test_scripts_are_short() -> None:
    for path in (ROOT / "scripts").iterdir():
        if path.is_file() and path.suffix not in (".txt", ".py"):
            assert len(path.read_text().splitlines()) <= SCRIPT_LINES, path.name
