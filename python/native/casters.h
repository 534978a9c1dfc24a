#pragma once

/// Values that Python gives in several forms: extents as any sequence of integers, weights as
/// arrays.

#include <nanobind/nanobind.h>

#include <cstdint>

#include "NvInfer.h"

namespace tenon::python {

namespace nb = nanobind;

/// Extents from a Dims object or any sequence of at most 8 integers; false where it is neither (no
/// error is set).
bool read_dims(nb::handle source, nvinfer1::Dims& out) noexcept;
/// Weights and the Python object that owns their memory (invalid where the application does): the
/// class `Weights`.
struct OwnedWeights {
  nvinfer1::Weights weights{nvinfer1::DataType::kFLOAT, nullptr, 0};
  nb::object owner;
};
/// An argument that takes weights, None (no weights), or anything with the buffer protocol or
/// __array__.
struct WeightsArg : OwnedWeights {};
bool read_weights(nb::handle source, OwnedWeights& out) noexcept;

/// An argument that is an address, a stream or an event: an integer, or an object of a library that
/// int() makes one of (PyCUDA's memory, the streams of CUDA's Python bindings).
struct Handle {
  std::uintptr_t value = 0;
  operator std::uintptr_t() const { return value; }  // NOLINT: it stands for the number.
};
bool read_handle(nb::handle source, Handle& out) noexcept;

/// The type of a NumPy array's elements; false where the surface has none.
bool data_type_of(const char* numpy_name, nvinfer1::DataType& out) noexcept;
/// NumPy's name of a type ("float32"; those of ml_dtypes for the rest), null where there is none.
const char* numpy_name(nvinfer1::DataType type) noexcept;
/// A NumPy array over memory that `owner` keeps alive.
nb::object array_over(const void* data, nvinfer1::DataType type, const nvinfer1::Dims& dims,
                      nb::handle owner);
/// Weights as NumPy shows them (flat), or the Weights themselves where NumPy has no such type.
nb::object weights_to_python(const nvinfer1::Weights& weights, nb::handle owner);
/// Bytes that the library gives for the duration of a call.
nb::object view_of(const void* data, size_t size, bool writable);

}  // namespace tenon::python

namespace nanobind::detail {

template <> struct type_caster<tenon::python::WeightsArg> {
  NB_TYPE_CASTER(tenon::python::WeightsArg, const_name("Weights | numpy.ndarray"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    return tenon::python::read_weights(source, value);
  }
};

template <> struct type_caster<tenon::python::Handle> {
  NB_TYPE_CASTER(tenon::python::Handle, const_name("int"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    return tenon::python::read_handle(source, value);
  }
};

}  // namespace nanobind::detail
