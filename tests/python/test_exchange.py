"""Arrays of libraries that have DLPack's functions in C."""
import ctypes
import sys

import numpy as np
import pytest
import tenon
from conftest import expected, onnx_model
from numerics import assert_close


class _Tensor(ctypes.Structure):
    """DLPack's description of an array."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


_VIEW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))


class _Exchange(ctypes.Structure):
    """DLPack's functions in C: of these, arrays of the host need one."""


_Exchange._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.POINTER(_Exchange)),
                      ("unused", ctypes.c_void_p * 3), ("view_of", _VIEW), ("current_stream", ctypes.c_void_p)]


@_VIEW
def _describe(array, out):
    array.seen += 1
    if array.values is None:
        return -1
    view = out.contents
    address = None if getattr(array, "absent", False) else array.values.ctypes.data
    view.data, view.device[0], view.ndim, view.code, view.bits, view.lanes = address, 1, 2, 2, 32, 1
    array.shape = (ctypes.c_int64 * 2)(*array.values.shape)
    view.shape, view.strides, view.offset = array.shape, None, 0
    return 0


def exchanged(versions):
    """A class of arrays whose functions in C have these major versions, the newest first."""
    chain = None
    for major in reversed(versions):
        chain = ctypes.pointer(_Exchange(major, 0, chain, view_of=_describe))
    ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
    ctypes.pythonapi.PyCapsule_New.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p

    class Array:
        kept = chain
        __dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(ctypes.cast(chain, ctypes.c_void_p), b"dlpack_exchange_api", None)

        def __init__(self, values):
            self.values, self.seen = values, 0

    return Array


def test_arrays_are_read_by_dlpacks_functions_in_c():
    run, values = tenon.build(onnx_model((2, 8)), device="cpu").session(), np.ones((2, 8), np.float32)
    for versions in ([1], [9, 1]):  # Of several versions, the one that is known.
        array = exchanged(versions)(values)
        assert_close(run(array), expected(values))
        assert array.seen == 1
    with pytest.raises(TypeError, match="is no array"):
        run(exchanged([9])(values))
    with pytest.raises(TypeError, match="is no array"):
        run(exchanged([1])(None))


def test_arrays_without_memory_are_refused():
    """As those of PyTorch's tracing are."""
    array = exchanged([1])(np.ones((2, 8), np.float32))
    array.absent, run = True, tenon.build(onnx_model((2, 8)), device="cpu").session()
    with pytest.raises(ValueError, match="input 'x': the array has no memory, only a shape"):
        run(array)


class _Emptied(np.ndarray):
    """Its elements are gone when it is: as with a library that reuses memory at once."""

    def __del__(self):
        if self.base is None:
            self.fill(np.nan)


def test_what_dlpack_hands_over_lives_until_the_run_has_ended():
    class Copying:
        """Hands over a copy, of which there is no other holder."""

        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **settings):
            copy = _Emptied(self.values.shape, np.float32)
            copy[:] = self.values
            return copy.__dlpack__()

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    run, values = tenon.build(onnx_model((2, 8)), device="cpu").session(), np.ones((2, 8), np.float32)
    assert_close(run(Copying(values)), expected(values))


def test_arrays_are_let_go_behind_the_run():
    run, values = tenon.build(onnx_model((2, 8)), device="cpu").session(), bytearray(np.ones((2, 8), np.float32).tobytes())
    run(memoryview(values).cast("f", (2, 8)))
    values.extend(b"x")  # Refused while someone has a view.
    array = np.ones((2, 8), np.float32)
    count = sys.getrefcount(array)
    with pytest.raises(ValueError, match="cannot be given|is float32"):
        run(array, out=np.ones((3, 3), np.float32))
    assert sys.getrefcount(array) == count
