#!/usr/bin/env python3
"""Hold every `#include "folder/..."` in src/ to the dependencies that the folders' CMakeLists.txt declare.

A source may include the headers of its own target and those of the targets in the transitive closure of its
dependencies. A folder may hold several targets (tenon_library, add_library): a header belongs to the one that
compiles the source of the same name, else to the folder's first; files named *_cuda to the target named so. Also refused: cycles, a file that belongs to no
target, and anything deeper than src/a/b/file.

usage: check_layers.py [ROOT]
"""
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

DECLARED = re.compile(r"(tenon_library|tenon_cuda_library|add_library|add_executable)\(\s*(\w+)([^)]*)\)")
LINKED = re.compile(r"target_link_libraries\(\s*(\w+)([^)]*)\)")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
SOURCES = {".h", ".cpp", ".cu", ".def", ".cuh", ".inc"}


@dataclass
class Target:
    name: str
    folder: str
    stems: set[str] = field(default_factory=set)  # of the sources listed by name
    depends: list[str] = field(default_factory=list)


def read_targets(src: Path) -> dict[str, Target]:
    targets: dict[str, Target] = {}
    for cmake in sorted(src.rglob("CMakeLists.txt")):
        text, folder = re.sub(r"#.*", "", cmake.read_text()), str(cmake.parent.relative_to(src))
        for macro, name, rest in DECLARED.findall(text):
            words = rest.split()
            depends = words[words.index("DEPENDS") + 1 :] if "DEPENDS" in words else []
            stems = {Path(word).stem for word in words if Path(word).suffix in SOURCES}
            targets[name] = Target(name, folder, stems, depends)
            if macro == "tenon_cuda_library":
                targets[name].depends.append("tenon_kernel_cuda")
        for name, rest in LINKED.findall(text):
            if name in targets:
                targets[name].depends += rest.split()
    for target in targets.values():  # a variable in a list stands for the targets of the folders inside
        inside = [t.name for t in targets.values() if t.folder.startswith(target.folder + "/")]
        if any(word.startswith("${") for word in target.depends):
            target.depends += inside
    return targets


def closure(name: str, targets: dict[str, Target], path: tuple[str, ...] = ()) -> set[str]:
    if name in path:
        raise SystemExit(f"check_layers: cycle {' -> '.join(path + (name,))}")
    if name not in targets:
        return set()
    reached = {name}
    for depend in targets[name].depends:
        reached |= closure(depend, targets, path + (name,))
    return reached


def owner(file: Path, targets: dict[str, Target]) -> Target | None:
    """The target that a file (relative to src) belongs to."""
    beside = [t for t in targets.values() if t.folder == str(file.parent)]
    if file.stem.endswith("_cuda") and any(t.name.endswith("_cuda") for t in beside):
        beside = [t for t in beside if t.name.endswith("_cuda")]
    return next((t for t in beside if file.stem in t.stems), beside[0] if beside else None)


def check_file(file: Path, src: Path, targets: dict[str, Target]) -> list[str]:
    name = file.relative_to(src)
    target = owner(name, targets)
    if len(name.parts) > 3:
        return [f"src/{name}: deeper than src/a/b/file"]
    if target is None:
        return [f"src/{name}: its folder declares no tenon_library"]
    allowed, problems = closure(target.name, targets), []
    for include in INCLUDE.findall(file.read_text()):
        holder = owner(Path(include), targets) if (src / include).exists() else None
        if holder and holder.name not in allowed:
            problems.append(f"src/{name}: includes {include}, but {target.name} does not depend on {holder.name}")
    return problems


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    src = root / "src"
    targets = read_targets(src)
    for name in targets:
        closure(name, targets)
    files = [f for f in sorted(src.rglob("*")) if f.suffix in SOURCES]
    problems = [problem for file in files for problem in check_file(file, src, targets)]
    print("\n".join(problems) or f"check_layers: {len(files)} files in {len(targets)} targets keep to their layers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
