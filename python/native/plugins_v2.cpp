// Adapters of IPluginV2DynamicExt and its creator.
#include <cstring>

#include "plugins.h"

namespace tenon::python {
namespace {

using Desc = PluginTensorDesc;
using Dynamic = DynamicPluginTensorDesc;

/// Of bytes or of text, as JSON is.
std::string bytes_of(nb::handle given) {
  if (given.is_none()) return {};
  if (nb::isinstance<nb::str>(given)) return nb::cast<std::string>(given);
  const nb::bytes bytes(given);
  return {bytes.c_str(), bytes.size()};
}

struct Adapter final : IPluginV2DynamicExt, FromPython {
  using FromPython::FromPython;

  const AsciiChar* getPluginType() const noexcept override { return text("plugin_type", type_); }
  const AsciiChar* getPluginVersion() const noexcept override {
    return text("plugin_version", version_);
  }
  const AsciiChar* getPluginNamespace() const noexcept override {
    return text("plugin_namespace", space_);
  }
  void setPluginNamespace(const AsciiChar* space) noexcept override {
    locked(0, [&] { return held.get().attr("plugin_namespace") = nb::str(space), 0; });
  }
  int32_t getNbOutputs() const noexcept override {
    return locked(0, [&] { return nb::cast<int32_t>(held.get().attr("num_outputs")); });
  }
  int32_t initialize() noexcept override {
    return locked(-1, [&] { return status_of(held.get().attr("initialize")()); });
  }
  void terminate() noexcept override {
    locked(0, [&] { return held.get().attr("terminate")(), 0; });
  }
  size_t getSerializationSize() const noexcept override {
    return locked(size_t{0}, [&] {
      serialized_ = bytes_of(held.get().attr("serialize")());
      return serialized_.size();
    });
  }
  void serialize(void* buffer) const noexcept override {
    std::memcpy(buffer, serialized_.data(), serialized_.size());
  }
  void destroy() noexcept override {
    locked(0, [&] { return held.get().attr("destroy")(), 0; });
    delete this;
  }
  IPluginV2DynamicExt* clone() const noexcept override {
    return locked<IPluginV2DynamicExt*>(nullptr, [&]() -> IPluginV2DynamicExt* {
      const nb::object copy = held.get().attr("clone")();
      return copy.is_none() ? nullptr : new Adapter(copy);
    });
  }
  DataType getOutputDataType(int32_t index, const DataType* types,
                             int32_t inputs) const noexcept override {
    return locked(DataType::kFLOAT, [&] {
      return nb::cast<DataType>(
          held.get().attr("get_output_datatype")(index, list_of(types, inputs)));
    });
  }
  DimsExprs getOutputDimensions(int32_t index, const DimsExprs* in, int32_t inputs,
                                IExprBuilder& builder) noexcept override {
    return locked(DimsExprs{-1, {}}, [&] {
      return nb::cast<DimsExprs>(held.get().attr("get_output_dimensions")(
          index, list_of(in, inputs), nb::cast(&builder, nb::rv_policy::reference)));
    });
  }
  bool supportsFormatCombination(int32_t pos, const Desc* all, int32_t inputs,
                                 int32_t outputs) noexcept override {
    return locked(false, [&] {
      const nb::object answer = held.get().attr("supports_format_combination")(
          pos, list_of(all, inputs + outputs), inputs);
      return truth_of(answer);
    });
  }
  void configurePlugin(const Dynamic* in, int32_t inputs, const Dynamic* out,
                       int32_t outputs) noexcept override {
    inputs_ = inputs;
    outputs_ = outputs;
    locked(0, [&] {
      return held.get().attr("configure_plugin")(list_of(in, inputs), list_of(out, outputs)), 0;
    });
  }
  size_t getWorkspaceSize(const Desc* in, int32_t inputs, const Desc* out,
                          int32_t outputs) const noexcept override {
    return locked(size_t{0}, [&] {
      const nb::object bytes =
          held.get().attr("get_workspace_size")(list_of(in, inputs), list_of(out, outputs));
      return bytes.is_none() ? size_t{0} : nb::cast<size_t>(bytes);
    });
  }
  int32_t enqueue(const Desc* in, const Desc* out, const void* const* inputs, void* const* outputs,
                  void* workspace, cudaStream_t stream) noexcept override {
    return locked(-1, [&] {
      return status_of(held.get().attr("enqueue")(
          list_of(in, inputs_), list_of(out, outputs_), addresses(inputs, inputs_),
          addresses(outputs, outputs_), address_of(workspace), address_of(stream)));
    });
  }

 private:
  int32_t inputs_ = 0, outputs_ = 0;  // enqueue() is not told: configurePlugin() comes first.
  mutable std::string type_, version_, space_, serialized_;
};

struct CreatorAdapter final : IPluginCreator, FromPython {
  using FromPython::FromPython;
  const AsciiChar* getPluginName() const noexcept override { return text("name", name_); }
  const AsciiChar* getPluginVersion() const noexcept override {
    return text("plugin_version", version_);
  }
  const AsciiChar* getPluginNamespace() const noexcept override {
    return text("plugin_namespace", space_);
  }
  void setPluginNamespace(const AsciiChar* space) noexcept override {
    locked(0, [&] { return held.get().attr("plugin_namespace") = nb::str(space), 0; });
  }
  const PluginFieldCollection* getFieldNames() noexcept override {
    return locked<const PluginFieldCollection*>(nullptr, [&]() -> const PluginFieldCollection* {
      const nb::object given = nb::getattr(held.get(), "field_names", nb::none());
      fields_ = given.is_none() ? FieldCollection() : nb::cast<FieldCollection>(given);
      return fields_.surface();
    });
  }
  IPluginV2* createPlugin(const AsciiChar* name,
                          const PluginFieldCollection* fields) noexcept override {
    return locked<IPluginV2*>(nullptr, [&]() -> IPluginV2* {
      const nb::object made = held.get().attr("create_plugin")(name, fields_from(fields));
      return made.is_none() ? nullptr : adapt_v2(made);
    });
  }
  IPluginV2* deserializePlugin(const AsciiChar* name, const void* data,
                               size_t size) noexcept override {
    return locked<IPluginV2*>(nullptr, [&]() -> IPluginV2* {
      const nb::object made = held.get().attr("deserialize_plugin")(name, nb::bytes(data, size));
      return made.is_none() ? nullptr : adapt_v2(made);
    });
  }

  FieldCollection fields_;
  mutable std::string name_, version_, space_;
};

}  // namespace

IPluginV2DynamicExt* adapt_v2(nb::object plugin) {
  if (!nb::hasattr(plugin, "get_output_dimensions"))
    throw nb::type_error("a plugin is an object of IPluginV2DynamicExt");
  return new Adapter(std::move(plugin));
}

IPluginCreatorInterface* adapt_creator_v2(nb::object creator) {
  return new CreatorAdapter(std::move(creator));
}

void bind_plugin_v2(nb::module_& m) {
  using Class = IPluginV2;
  Documented<Class>(m, "_NativePluginV2", nb::never_destruct(), "A plugin that is not from Python.")
      .def_prop_ro("num_outputs", &Class::getNbOutputs)
      .def_prop_ro("tensorrt_version", &Class::getTensorRTVersion)
      .def_prop_ro("plugin_type", &Class::getPluginType)
      .def_prop_ro("plugin_version", &Class::getPluginVersion)
      .def_prop_rw("plugin_namespace", &Class::getPluginNamespace, &Class::setPluginNamespace)
      .def_prop_ro("serialization_size", &Class::getSerializationSize)
      .def("initialize", &Class::initialize)
      .def("terminate", &Class::terminate)
      .def("destroy", &Class::destroy)
      .def("clone", &Class::clone, nb::rv_policy::reference)
      .def("serialize", [](const Class& plugin) {
        std::string bytes(plugin.getSerializationSize(), '\0');
        plugin.serialize(bytes.data());
        return nb::bytes(bytes.data(), bytes.size());
      });
}

}  // namespace tenon::python
