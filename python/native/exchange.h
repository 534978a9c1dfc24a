#pragma once

/// DLPack's functions in C: libraries that have them (PyTorch from 2.10 on) tell of an array and of
/// their stream without a call into Python.

#include <nanobind/ndarray.h>

#include <optional>

#include "common.h"

namespace tenon::python {

/// Of an array's type; the layout is DLPack's.
struct Exchange;

/// Null where the type has none, or one of a later major version. Never raises.
const Exchange* exchange_of(nb::handle array) noexcept;

/// Where the array's elements are; `out` holds while the array lives. False, and nothing raised,
/// for arrays that DLPack cannot describe.
bool read_exchange(const Exchange& exchange, nb::handle array, nb::dlpack::dltensor& out) noexcept;

/// The stream that the library works on now, on a GPU. Nothing where it does not tell.
std::optional<Address> exchange_stream(const Exchange& exchange, int32_t gpu) noexcept;

}  // namespace tenon::python
