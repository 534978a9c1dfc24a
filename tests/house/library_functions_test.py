"""Functions of CUDA's libraries are looked up when a library is opened, which is refused where one is missing: each is called."""
import re
import unittest
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"


class LibraryFunctions(unittest.TestCase):
    def test_each_is_called(self):
        words = set()
        for path in SRC.rglob("*"):
            if path.suffix in (".h", ".cpp"):
                words.update(re.findall(r"\w+", path.read_text()))
        for table in sorted((SRC / "device/cuda").glob("*.def")):
            rows = re.findall(r"^TENON_\w*FUNCTION\w*\((\w+)", table.read_text(), re.M)
            self.assertEqual([row for row in rows if row not in words], [], table.name)


if __name__ == "__main__":
    unittest.main()
