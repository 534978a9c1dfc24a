// Memory and bytes that applications provide: allocators, output allocators, streams.
#include <cstring>

#include "common.h"

namespace tenon::python {
namespace {

template <typename... Args>
void* call_for_address(const nb::detail::trampoline& object, const char* name,
                       Args&&... args) noexcept {
  try {
    nb::gil_scoped_acquire gil;
    const nb::object result = object.base().attr(name)(std::forward<Args>(args)...);
    return result.is_none() ? nullptr : pointer(nb::cast<Handle>(result));
  } catch (...) {
    keep_error();
    return nullptr;
  }
}

template <typename Base> struct PyAllocatorOf : Base {
  NB_TRAMPOLINE(Base);
  void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                      cudaStream_t stream) noexcept override {
    return call_for_address(nb_trampoline, "allocate_async", size, alignment, flags,
                            address_of(stream));
  }
  bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override {
    return call_python(nb_trampoline, "deallocate_async", false, address_of(memory),
                       address_of(stream));
  }
  void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept override {
    return call_for_address(nb_trampoline, "allocate", size, alignment, flags);
  }
  bool deallocate(void* memory) noexcept override {
    return call_python(nb_trampoline, "deallocate", false, address_of(memory));
  }
  void* reallocate(void* memory, uint64_t alignment, uint64_t size) noexcept override {
    return call_for_address(nb_trampoline, "reallocate", address_of(memory), alignment, size);
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

struct PyOutputAllocator : IOutputAllocator {
  NB_TRAMPOLINE(IOutputAllocator);
  void* reallocateOutput(const char* name, void* memory, uint64_t size,
                         uint64_t alignment) noexcept override {
    return call_for_address(nb_trampoline, "reallocate_output", name, address_of(memory), size,
                            alignment);
  }
  void* reallocateOutputAsync(const char* name, void* memory, uint64_t size, uint64_t alignment,
                              cudaStream_t stream) override {
    nb::gil_scoped_acquire gil;
    if (!nb::hasattr(nb_trampoline.base(), "reallocate_output_async"))
      return reallocateOutput(name, memory, size, alignment);
    return call_for_address(nb_trampoline, "reallocate_output_async", name, address_of(memory),
                            size, alignment, address_of(stream));
  }
  void notifyShape(const char* name, const Dims& shape) noexcept override {
    call_python_void(nb_trampoline, "notify_shape", name, Dims(shape));
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

/// Copies the result of Python's read(); -1 where it is no buffer or too long.
int64_t copy_read(nb::handle data, void* destination, int64_t most) {
  Py_buffer view;
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE)) throw nb::python_error();
  const int64_t size = view.len;
  if (size <= most) std::memcpy(destination, view.buf, static_cast<size_t>(size));
  PyBuffer_Release(&view);
  if (size > most) throw nb::value_error("read() returned more bytes than it was asked for");
  return size;
}

struct PyStreamReader : IStreamReader {
  NB_TRAMPOLINE(IStreamReader);
  int64_t read(void* destination, int64_t size) override {
    try {
      nb::gil_scoped_acquire gil;
      return copy_read(nb_trampoline.base().attr("read")(size), destination, size);
    } catch (...) {
      keep_error();
      return -1;
    }
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

struct PyStreamReaderV2 : IStreamReaderV2 {
  NB_TRAMPOLINE(IStreamReaderV2);
  int64_t read(void* destination, int64_t size, cudaStream_t stream) noexcept override {
    try {
      nb::gil_scoped_acquire gil;
      return copy_read(nb_trampoline.base().attr("read")(size, address_of(stream)), destination,
                       size);
    } catch (...) {
      keep_error();
      return -1;
    }
  }
  bool seek(int64_t offset, SeekPosition where) noexcept override {
    return call_python(nb_trampoline, "seek", false, offset, where);
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

struct PyStreamWriter : IStreamWriter {
  NB_TRAMPOLINE(IStreamWriter);
  int64_t write(const void* data, int64_t size) override {
    try {
      nb::gil_scoped_acquire gil;
      const nb::bytes copy(data, static_cast<size_t>(size));  // Applications may keep the bytes.
      return nb::cast<int64_t>(nb_trampoline.base().attr("write")(copy));
    } catch (...) {
      keep_error();
      return -1;
    }
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

void bind_allocators(nb::module_& m) {
  using Class = IGpuAllocator;
  Documented<Class, IVersionedInterface, PyAllocatorOf<Class>>(m, "IGpuAllocator",
                                                               "Device memory for the library.")
      .def(nb::init<>())
      .def("allocate",
           [](Class&, nb::args, nb::kwargs) { must_override("IGpuAllocator.allocate"); })
      .def("deallocate",
           [](Class&, nb::args, nb::kwargs) { must_override("IGpuAllocator.deallocate"); })
      .def(
          "reallocate", [](Class&, Address, uint64_t, uint64_t) { return nb::none(); }, "address"_a,
          "alignment"_a, "new_size"_a)
      .def(
          "allocate_async",
          [](nb::object self, uint64_t size, uint64_t alignment, AllocatorFlags flags, Address) {
            return self.attr("allocate")(size, alignment, flags);
          },
          "size"_a, "alignment"_a, "flags"_a, "stream"_a)
      .def(
          "deallocate_async",
          [](nb::object self, Address memory, Address) { return self.attr("deallocate")(memory); },
          "memory"_a, "stream"_a);
  using Async = IGpuAsyncAllocator;
  Documented<Async, IGpuAllocator, PyAllocatorOf<Async>>(m, "IGpuAsyncAllocator",
                                                         "Device memory in a stream's order.")
      .def(nb::init<>())
      .def("allocate_async",
           [](Async&, nb::args, nb::kwargs) { must_override("IGpuAsyncAllocator.allocate_async"); })
      .def("deallocate_async",
           [](Async&, nb::args, nb::kwargs) {
             must_override("IGpuAsyncAllocator.deallocate_async");
           })
      .def(
          "allocate",
          [](nb::object self, uint64_t size, uint64_t alignment, AllocatorFlags flags) {
            return self.attr("allocate_async")(size, alignment, flags, 0);
          },
          "size"_a, "alignment"_a, "flags"_a)
      .def(
          "deallocate",
          [](nb::object self, Address memory) { return self.attr("deallocate_async")(memory, 0); },
          "memory"_a);
}

}  // namespace

void bind_memory(nb::module_& m) {
  bind_allocators(m);
  Documented<IOutputAllocator, IVersionedInterface, PyOutputAllocator>(
      m, "IOutputAllocator",
      "Memory for outputs whose extents are known during a run only: override reallocate_output() "
      "or "
      "reallocate_output_async(), and notify_shape().")
      .def(nb::init<>());
  Documented<IStreamReader, IVersionedInterface, PyStreamReader>(m, "IStreamReader",
                                                                 "Gives a plan's bytes.")
      .def(nb::init<>())
      .def("read",
           [](IStreamReader&, nb::args, nb::kwargs) { must_override("IStreamReader.read"); });
  Documented<IStreamReaderV2, IVersionedInterface, PyStreamReaderV2>(m, "IStreamReaderV2",
                                                                     "Gives a plan's bytes.")
      .def(nb::init<>())
      .def("read",
           [](IStreamReaderV2&, nb::args, nb::kwargs) { must_override("IStreamReaderV2.read"); })
      .def("seek",
           [](IStreamReaderV2&, nb::args, nb::kwargs) { must_override("IStreamReaderV2.seek"); });
  Documented<IStreamWriter, IVersionedInterface, PyStreamWriter>(m, "IStreamWriter",
                                                                 "Receives a plan's bytes.")
      .def(nb::init<>())
      .def("write",
           [](IStreamWriter&, nb::args, nb::kwargs) { must_override("IStreamWriter.write"); });
}

}  // namespace tenon::python
