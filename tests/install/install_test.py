"""Projects outside of ours build against an installed tree and against the packages, and run."""
import os
import re
from pathlib import Path

from conftest import run

CLIENT = Path(__file__).parent / "client"
RESULT = "0 2 0 4"


def environment(**more) -> dict:
    """Without variables that would let a client find the libraries of the build folder."""
    return {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"} | \
        {"CUDA_VISIBLE_DEVICES": "-1"} | more


def cmake_client(folder: Path, *definitions: str) -> str:
    run("cmake", "-S", CLIENT, "-B", folder, *(f"-D{text}" for text in definitions))
    run("cmake", "--build", folder)
    return run(folder / "client", env=environment()).strip()


def test_cmake_package(prefix, tmp_path):
    assert cmake_client(tmp_path, f"CMAKE_PREFIX_PATH={prefix}", "PACKAGE=tenon", "VERSION=0.1",
                        "LIBRARIES=tenon::tenon") == RESULT


def test_find_tensorrt_by_its_root(prefix, tmp_path):
    """As projects find NVIDIA's: TensorRT_ROOT is a folder with include and lib."""
    root = prefix / "lib/tenon/tensorrt"
    assert (root / "include/NvInfer.h").exists() and (root / "lib/libnvinfer.so.10").exists()
    assert cmake_client(tmp_path, f"TensorRT_ROOT={root}", "PACKAGE=TensorRT", "VERSION=10.3",
                        "LIBRARIES=TensorRT::TensorRT;tenon::tenon") == RESULT


def test_find_tensorrt_as_a_module(prefix, tmp_path):
    assert cmake_client(tmp_path, f"CMAKE_MODULE_PATH={prefix}/lib/cmake/tenon", "PACKAGE=TensorRT", "VERSION=10",
                        "LIBRARIES=TensorRT::nvinfer;TensorRT::nvonnxparser;tenon::tenon") == RESULT


def test_compiler_and_pkg_config(prefix, tmp_path):
    flags = run("pkg-config", "--cflags", "--libs", "tenon",
                env=environment(PKG_CONFIG_LIBDIR=f"{prefix}/lib/pkgconfig")).split()
    run("g++", "-std=c++17", CLIENT / "client.cpp", "-o", tmp_path / "client", *flags)
    assert run(tmp_path / "client", env=environment(LD_LIBRARY_PATH=f"{prefix}/lib")).strip() == RESULT


def test_pkg_config_by_tensorrts_names(prefix):
    flags = run("pkg-config", "--libs", "tenon-tensorrt", env=environment(PKG_CONFIG_LIBDIR=f"{prefix}/lib/pkgconfig"))
    assert "-lnvinfer" in flags and "tensorrt/lib" in flags


def test_programs(prefix):
    for name in ("tenon", "trtexec"):
        assert "--onnx" in run(prefix / "bin" / name, *(["exec"] if name == "tenon" else []), "--help", env=environment())


def test_run_paths_are_relative(prefix):
    binaries = [file for file in [*prefix.glob("bin/*"), *prefix.rglob("*.so*")] if file.is_file() and not file.is_symlink()]
    assert len(binaries) >= 7, binaries
    for binary in binaries:
        for path in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-d", binary)):
            assert all(folder.startswith("$ORIGIN") for folder in path.split(":")), f"{binary}: {path}"


def test_nothing_of_the_build_is_named(prefix, build):
    """No file tells where it was built, and Python's part is left to the wheels."""
    texts = [file for file in prefix.rglob("*") if file.is_file() and file.suffix in (".cmake", ".pc", ".h")]
    assert texts and not [file for file in texts if str(build) in file.read_text()]
    assert not list(prefix.rglob("_native*"))


def test_fields_of_the_deb(packages):
    fields = run("dpkg-deb", "--info", next(packages.glob("*.deb")))
    assert re.search(r"Depends: .*libfmt", fields) and re.search(r"Depends: .*libprotobuf", fields), fields
    assert "Package: tenon" in fields and "Architecture:" in fields


def test_libraries_offer_their_own_functions_alone(prefix):
    """Else a process takes a part of the standard library from us and a part from elsewhere, and ends at free()."""
    ours = re.compile(r"tenon_|create\w+_INTERNAL|get\w+|setInternalLibraryPath|initLibNvInferPlugins|_ZNK?(5tenon|8nvinfer1|12nvonnxparser)")
    for library in [file for file in prefix.rglob("*.so*") if file.is_file() and not file.is_symlink()]:
        names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
        others = [name for name in names if not ours.match(name)]
        assert names and not others, f"{library}: {others[:5]}"
