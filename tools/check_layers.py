#!/usr/bin/env python3
"""Hold every `#include "folder/..."` in src/ to the dependencies that the folders' CMakeLists.txt declare.

A folder may include its own headers, those of the folders in the transitive closure of its DEPENDS, and the
public headers of include/. Also refused: cycles, a folder with sources and no tenon_library, and anything
deeper than src/a/b/file.

usage: check_layers.py [ROOT]
"""
import re
import sys
from pathlib import Path

LIBRARY = re.compile(r"tenon_library\(\s*(\w+)([^)]*)\)")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
SOURCE = {".h", ".cpp", ".cu", ".def", ".cuh", ".inc"}


def read_libraries(src: Path) -> dict[str, tuple[str, list[str]]]:
    """Maps each folder (relative to src) to its target's name and declared dependencies."""
    libraries = {}
    for cmake in sorted(src.rglob("CMakeLists.txt")):
        text = re.sub(r"#.*", "", cmake.read_text())
        declared = LIBRARY.search(text)
        if declared:
            words = declared.group(2).split()
            depends = words[words.index("DEPENDS") + 1 :] if "DEPENDS" in words else []
            linked = re.findall(rf"target_link_libraries\(\s*{declared.group(1)}\s([^)]*)\)", text)
            depends += [word for group in linked for word in group.split()]
            libraries[str(cmake.parent.relative_to(src))] = (declared.group(1), depends)
    return libraries


def closure(target: str, edges: dict[str, list[str]], path: tuple[str, ...] = ()) -> set[str]:
    if target in path:
        raise SystemExit(f"check_layers: cycle {' -> '.join(path + (target,))}")
    reached = {target}
    for depend in edges.get(target, []):
        reached |= closure(depend, edges, path + (target,))
    return reached


def owner(include: str, folders: list[str]) -> str | None:
    """The deepest folder of src that holds `include`, or None for a header from elsewhere."""
    parents = [str(parent) for parent in Path(include).parents]
    return next((parent for parent in parents if parent in folders), None)


def check_file(file: Path, src: Path, folder: str, allowed: set[str], folders: list[str]) -> list[str]:
    problems = []
    for include in INCLUDE.findall(file.read_text()):
        beside = (src / folder / include).exists() and "/" not in include
        holder = folder if beside else owner(include, folders)
        if holder and holder not in allowed:
            problems.append(f"{file.relative_to(src.parent)}: includes {include}, but {folder} does not depend on {holder}")
    return problems


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    src = root / "src"
    libraries = read_libraries(src)
    folder_of = {target: folder for folder, (target, _) in libraries.items()}
    edges = {target: depends for target, depends in libraries.values()}
    files = [f for f in sorted(src.rglob("*")) if f.suffix in SOURCE]
    folders = sorted({str(f.parent.relative_to(src)) for f in files} | set(libraries), key=len, reverse=True)
    problems = []
    for file in files:
        folder = str(file.parent.relative_to(src))
        if folder.count("/") > 1:
            problems.append(f"src/{folder}: deeper than src/a/b/file")
        if folder not in libraries:
            problems.append(f"src/{folder}: holds {file.name} but declares no tenon_library")
            continue
        allowed = {folder_of[t] for t in closure(libraries[folder][0], edges) if t in folder_of}
        problems += check_file(file, src, folder, allowed, folders)
    print("\n".join(problems) or f"check_layers: {len(files)} files in {len(libraries)} folders keep to their layers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
