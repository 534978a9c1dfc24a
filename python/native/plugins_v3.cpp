// Adapters of IPluginV3 and its capabilities.
#include "plugins.h"

namespace tenon::python {
namespace {

using Desc = PluginTensorDesc;
using Dynamic = DynamicPluginTensorDesc;

struct CoreAdapter final : IPluginV3OneCore, FromPython {
  using FromPython::FromPython;
  const AsciiChar* getPluginName() const noexcept override { return text("plugin_name", name_); }
  const AsciiChar* getPluginVersion() const noexcept override {
    return text("plugin_version", version_);
  }
  const AsciiChar* getPluginNamespace() const noexcept override {
    return text("plugin_namespace", space_);
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  mutable std::string name_, version_, space_;
};

/// Copies a method's results for the outputs; false where the number differs.
template <typename T> int32_t fill(nb::handle given, T* out, int32_t count, const char* method) {
  int32_t filled = 0;
  for (nb::handle item : given) {
    if (filled == count) break;
    out[filled++] = nb::cast<T>(item);
  }
  if (filled == count) return 0;
  throw nb::value_error(
      (std::string(method) + "() gave fewer items than the plugin has outputs").c_str());
}

struct BuildAdapter final : IPluginV3OneBuildV2, FromPython {
  using FromPython::FromPython;
  int32_t configurePlugin(const Dynamic* in, int32_t inputs, const Dynamic* out,
                          int32_t outputs) noexcept override {
    return locked(-1, [&] {
      return status_of(
          held.get().attr("configure_plugin")(list_of(in, inputs), list_of(out, outputs)));
    });
  }
  int32_t getOutputDataTypes(DataType* types, int32_t outputs, const DataType* in,
                             int32_t inputs) const noexcept override {
    return locked(-1, [&] {
      return fill(held.get().attr("get_output_data_types")(list_of(in, inputs)), types, outputs,
                  "get_output_data_types");
    });
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t inputs, const DimsExprs* shapes,
                          int32_t shape_count, DimsExprs* out, int32_t outputs,
                          IExprBuilder& builder) noexcept override {
    return locked(-1, [&] {
      return fill(
          held.get().attr("get_output_shapes")(list_of(in, inputs), list_of(shapes, shape_count),
                                               nb::cast(&builder, nb::rv_policy::reference)),
          out, outputs, "get_output_shapes");
    });
  }
  bool supportsFormatCombination(int32_t pos, const Dynamic* all, int32_t inputs,
                                 int32_t outputs) noexcept override {
    return locked(false, [&] {
      const nb::object answer = held.get().attr("supports_format_combination")(
          pos, list_of(all, inputs + outputs), inputs);
      return truth_of(answer);
    });
  }
  int32_t getNbOutputs() const noexcept override {
    return locked(0, [&] { return nb::cast<int32_t>(held.get().attr("num_outputs")); });
  }
  size_t getWorkspaceSize(const Dynamic* in, int32_t inputs, const Dynamic* out,
                          int32_t outputs) const noexcept override {
    return locked(size_t{0}, [&] {
      const nb::object bytes =
          held.get().attr("get_workspace_size")(list_of(in, inputs), list_of(out, outputs));
      return bytes.is_none() ? size_t{0} : nb::cast<size_t>(bytes);
    });
  }
  int32_t getNbTactics() noexcept override {
    return locked(0, [&] {
      const nb::object given = held.get().attr("get_valid_tactics")();
      tactics_ = given.is_none() ? std::vector<int32_t>() : nb::cast<std::vector<int32_t>>(given);
      return static_cast<int32_t>(tactics_.size());
    });
  }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    if (static_cast<size_t>(count) != tactics_.size() && getNbTactics() != count) return -1;
    std::copy(tactics_.begin(), tactics_.end(), tactics);
    return 0;
  }
  const char* getTimingCacheID() noexcept override {
    return optional("timing_cache_id", timing_id_);
  }
  const char* getMetadataString() noexcept override {
    return optional("metadata_string", metadata_);
  }
  int32_t getFormatCombinationLimit() noexcept override {
    return locked(kDEFAULT_FORMAT_COMBINATION_LIMIT,
                  [&] { return nb::cast<int32_t>(held.get().attr("format_combination_limit")); });
  }
  int32_t getAliasedInput(int32_t output) noexcept override {
    return locked(-1, [&] {
      if (!nb::hasattr(held.get(), "get_aliased_input")) return -1;
      return nb::cast<int32_t>(held.get().attr("get_aliased_input")(output));
    });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

 private:
  const char* optional(const char* attribute, std::string& store) noexcept {
    return locked<const char*>(nullptr, [&]() -> const char* {
      const nb::object value = nb::getattr(held.get(), attribute, nb::none());
      if (value.is_none()) return nullptr;
      store = nb::cast<std::string>(value);
      return store.c_str();
    });
  }
  std::vector<int32_t> tactics_;
  std::string timing_id_, metadata_;
};

struct RuntimeAdapter final : IPluginV3OneRuntime, FromPython {
  using FromPython::FromPython;
  int32_t setTactic(int32_t tactic) noexcept override {
    return locked(-1, [&] { return status_of(held.get().attr("set_tactic")(tactic)); });
  }
  int32_t onShapeChange(const Desc* in, int32_t inputs, const Desc* out,
                        int32_t outputs) noexcept override {
    inputs_ = inputs;
    outputs_ = outputs;
    return locked(-1, [&] {
      return status_of(
          held.get().attr("on_shape_change")(list_of(in, inputs), list_of(out, outputs)));
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
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    return locked<IPluginV3*>(nullptr, [&]() -> IPluginV3* {
      const nb::object given =
          held.get().attr("attach_to_context")(nb::cast(context, nb::rv_policy::reference));
      return given.is_none() ? nullptr : adapt_v3(given);
    });
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    return locked<const PluginFieldCollection*>(nullptr, [&]() -> const PluginFieldCollection* {
      const nb::object given = held.get().attr("get_fields_to_serialize")();
      fields_ = given.is_none() ? FieldCollection() : nb::cast<FieldCollection>(given);
      return fields_.surface();
    });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

 private:
  int32_t inputs_ = 0, outputs_ = 0;  // enqueue() is not told: onShapeChange() comes first.
  FieldCollection fields_;
};

struct PluginAdapter final : IPluginV3, FromPython {
  using FromPython::FromPython;
  ~PluginAdapter() override {
    locked(0, [&] { return held.get().attr("destroy")(), 0; });
  }
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    return locked<IPluginCapability*>(nullptr, [&]() -> IPluginCapability* {
      const nb::object given = held.get().attr("get_capability_interface")(type);
      if (given.is_none()) return nullptr;
      switch (type) {
        case PluginCapabilityType::kCORE: return made(core_, given);
        case PluginCapabilityType::kBUILD: return made(build_, given);
        default: return made(runtime_, given);
      }
    });
  }
  IPluginV3* clone() noexcept override {
    return locked<IPluginV3*>(nullptr, [&]() -> IPluginV3* {
      const nb::object copy = held.get().attr("clone")();
      return copy.is_none() ? nullptr : new PluginAdapter(copy);
    });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

 private:
  template <typename Adapter>
  static Adapter* made(std::unique_ptr<Adapter>& kept, const nb::object& object) {
    if (!kept || !kept->held.get().is(object)) kept = std::make_unique<Adapter>(object);
    return kept.get();
  }
  std::unique_ptr<CoreAdapter> core_;
  std::unique_ptr<BuildAdapter> build_;
  std::unique_ptr<RuntimeAdapter> runtime_;
};

struct CreatorAdapter final : IPluginCreatorV3One, FromPython {
  using FromPython::FromPython;
  IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fields,
                          TensorRTPhase phase) noexcept override {
    return locked<IPluginV3*>(nullptr, [&]() -> IPluginV3* {
      const nb::object made = held.get().attr("create_plugin")(name, fields_from(fields), phase);
      return made.is_none() ? nullptr : adapt_v3(made);
    });
  }
  const PluginFieldCollection* getFieldNames() noexcept override {
    return locked<const PluginFieldCollection*>(nullptr, [&]() -> const PluginFieldCollection* {
      const nb::object given = nb::getattr(held.get(), "field_names", nb::none());
      fields_ = given.is_none() ? FieldCollection() : nb::cast<FieldCollection>(given);
      return fields_.surface();
    });
  }
  const AsciiChar* getPluginName() const noexcept override { return text("name", name_); }
  const AsciiChar* getPluginVersion() const noexcept override {
    return text("plugin_version", version_);
  }
  const AsciiChar* getPluginNamespace() const noexcept override {
    return text("plugin_namespace", space_);
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

  FieldCollection fields_;
  mutable std::string name_, version_, space_;
};

struct ResourceAdapter final : IPluginResource, FromPython {
  using FromPython::FromPython;
  int32_t release() noexcept override {
    return locked(-1, [&] { return status_of(held.get().attr("release")()); });
  }
  IPluginResource* clone() noexcept override {
    return locked<IPluginResource*>(nullptr, [&]() -> IPluginResource* {
      return new ResourceAdapter(nb::borrow(held.get().attr("clone")()));
    });
  }
};

}  // namespace

IPluginV3* adapt_v3(nb::object plugin) {
  if (!nb::hasattr(plugin, "get_capability_interface"))
    throw nb::type_error("a plugin is an object of IPluginV3");
  return new PluginAdapter(std::move(plugin));
}

IPluginCreatorInterface* adapt_creator_v3(nb::object creator) {
  return new CreatorAdapter(std::move(creator));
}

IPluginResource* adapt_resource(nb::object resource) {
  return new ResourceAdapter(std::move(resource));
}

void bind_plugin_v3(nb::module_& m) {
  Documented<IPluginV3>(m, "_NativePluginV3", "A plugin that is not from Python.")
      .def("clone", &IPluginV3::clone, nb::rv_policy::take_ownership)
      .def("get_capability_interface", &IPluginV3::getCapabilityInterface, "type"_a,
           nb::rv_policy::reference_internal)
      .def("destroy", [](IPluginV3&) {});
  Documented<IPluginCapability>(m, "_NativePluginCapability",
                                "A capability of a plugin that is not from Python.");
  Documented<IPluginResource>(m, "_NativePluginResource", "A resource that is not from Python.")
      .def("release", &IPluginResource::release);
}

}  // namespace tenon::python
