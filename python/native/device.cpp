// GPUs for programs that do without the CUDA runtime (include/tenon/device.h).
#include "tenon/device.h"

#include "common.h"

namespace tenon::python {

void bind_device(nb::module_& m) {
  Documented<GpuDescription>(m, "GpuDescription", "Facts of a GPU.")
      .def_prop_ro("name", [](const GpuDescription& d) { return std::string(d.name); })
      .def_prop_ro("libraries", [](const GpuDescription& d) { return std::string(d.libraries); })
      .def_ro("compute_capability", &GpuDescription::computeCapability)
      .def_ro("multiprocessors", &GpuDescription::multiprocessors)
      .def_ro("memory_bytes", &GpuDescription::memoryBytes)
      .def_prop_ro("text", [](const GpuDescription& d) { return std::string(d.text); })
      .def_prop_ro("uuid", [](const GpuDescription& d) { return std::string(d.uuid); })
      .def_ro("index", &GpuDescription::index);
  Documented<IGpu>(m, "Gpu",
                   "A GPU: memory, streams and copies. Delete it after everything that it made.")
      .def("describe", &IGpu::describe)
      .def(
          "allocate", [](IGpu& gpu, size_t bytes) { return address_of(gpu.allocate(bytes)); },
          "bytes"_a)
      .def("create_stream", [](IGpu& gpu) { return address_of(gpu.createStream()); })
      .def(
          "destroy", [](IGpu& gpu, Handle made) { gpu.destroy(pointer(made)); }, "made"_a)
      .def(
          "copy_async",
          [](IGpu& gpu, Handle to, Handle from, size_t bytes, Handle stream) {
            return gpu.copyAsync(pointer(to), pointer(from), bytes, stream_of(stream));
          },
          "to"_a, "from_"_a, "bytes"_a, "stream"_a)
      .def(
          "synchronize",
          [](IGpu& gpu, Handle stream) { return gpu.synchronize(stream_of(stream)); }, "stream"_a,
          TENON_LONG);
  m.def("open_gpu", &tenon::openGpu, "device"_a, "logger"_a, nb::rv_policy::take_ownership,
        nb::keep_alive<0, 2>(), TENON_LONG);
  m.attr("CPU_DEVICE") = kCpuDevice;
  m.attr("DEFAULT_DEVICE") = kDefaultDevice;
}

}  // namespace tenon::python
