// The plugin registry, and creators that are not from Python.
#include <unordered_map>

#include "NvInferPlugin.h"
#include "plugins.h"

namespace tenon::python {

IPluginCreatorInterface* adapt_creator_v2(nb::object creator);
IPluginCreatorInterface* adapt_creator_v3(nb::object creator);
IPluginResource* adapt_resource(nb::object resource);

namespace {

using Class = IPluginRegistry;

/// Adapters of the creators that Python registered, by their Python objects: they live while they
/// are registered. Python's lock guards it.
std::unordered_map<PyObject*, std::unique_ptr<IPluginCreatorInterface>>& registered() {
  static auto* const adapters =
      new std::unordered_map<PyObject*, std::unique_ptr<IPluginCreatorInterface>>;
  return *adapters;
}

nb::object to_python(IPluginCreatorInterface* creator) {
  if (!creator) return nb::none();
  if (const auto* ours = dynamic_cast<const FromPython*>(creator))
    return nb::borrow(ours->held.get());
  if (auto* v3 = dynamic_cast<IPluginCreatorV3One*>(creator))
    return nb::cast(v3, nb::rv_policy::reference);
  if (auto* v2 = dynamic_cast<IPluginCreator*>(creator))
    return nb::cast(v2, nb::rv_policy::reference);
  return nb::none();
}

template <typename T> nb::list all(T* const* creators, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(to_python(creators[i]));
  return list;
}

bool register_creator(Class& registry, nb::object creator, const char* space) {
  if (registered().contains(creator.ptr())) return false;
  const bool is_v2 = nb::hasattr(creator, "deserialize_plugin");
  std::unique_ptr<IPluginCreatorInterface> adapter(is_v2 ? adapt_creator_v2(creator)
                                                         : adapt_creator_v3(creator));
  if (!registry.registerCreator(*adapter, space)) return false;
  registered()[creator.ptr()] = std::move(adapter);
  return true;
}

bool deregister_creator(Class& registry, nb::object creator) {
  const auto found = registered().find(creator.ptr());
  if (found == registered().end()) {
    if (nb::isinstance<IPluginCreatorV3One>(creator))
      return registry.deregisterCreator(*nb::cast<IPluginCreatorV3One*>(creator));
    if (nb::isinstance<IPluginCreator>(creator))
      return registry.deregisterCreator(*nb::cast<IPluginCreator*>(creator));
    return false;
  }
  const bool done = registry.deregisterCreator(*found->second);
  registered().erase(found);
  return done;
}

nb::object acquire(Class& registry, const char* key, nb::object resource) {
  std::unique_ptr<IPluginResource> given(adapt_resource(resource));
  IPluginResource* kept = registry.acquirePluginResource(key, given.get());
  if (const auto* ours = dynamic_cast<const FromPython*>(kept)) return nb::borrow(ours->held.get());
  return nb::cast(kept, nb::rv_policy::reference);
}

void bind_creators(nb::module_& m) {
  using V3 = IPluginCreatorV3One;
  Documented<V3>(m, "_NativePluginCreatorV3One", nb::never_destruct(),
                 "A creator that is not from Python.")
      .def_prop_ro("name", &V3::getPluginName)
      .def_prop_ro("plugin_version", &V3::getPluginVersion)
      .def_prop_ro("plugin_namespace", &V3::getPluginNamespace)
      .def_prop_ro("field_names", [](V3& creator) { return fields_from(creator.getFieldNames()); })
      .def(
          "create_plugin",
          [](V3& creator, const char* name, FieldCollection fields, TensorRTPhase phase) {
            return creator.createPlugin(name, fields.surface(), phase);
          },
          "name"_a, "field_collection"_a, "phase"_a, nb::rv_policy::take_ownership);
  using V2 = IPluginCreator;
  Documented<V2>(m, "_NativePluginCreator", nb::never_destruct(),
                 "A creator that is not from Python.")
      .def_prop_ro("name", &V2::getPluginName)
      .def_prop_ro("plugin_version", &V2::getPluginVersion)
      .def_prop_rw("plugin_namespace", &V2::getPluginNamespace, &V2::setPluginNamespace)
      .def_prop_ro("field_names", [](V2& creator) { return fields_from(creator.getFieldNames()); })
      .def(
          "create_plugin",
          [](V2& creator, const char* name, FieldCollection fields) {
            return creator.createPlugin(name, fields.surface());
          },
          "name"_a, "field_collection"_a, nb::rv_policy::reference)
      .def(
          "deserialize_plugin",
          [](V2& creator, const char* name, nb::bytes data) {
            return creator.deserializePlugin(name, data.data(), data.size());
          },
          "name"_a, "serialized_plugin"_a, nb::rv_policy::reference);
}

void bind_lookups(Documented<Class>& bound) {
  bound
      .def_prop_ro("plugin_creator_list",
                   [](const Class& registry) {
                     int32_t count = 0;
                     IPluginCreator* const* creators = registry.getPluginCreatorList(&count);
                     return all(creators, count);
                   })
      .def_prop_ro("all_creators",
                   [](const Class& registry) {
                     int32_t count = 0;
                     IPluginCreatorInterface* const* creators = registry.getAllCreators(&count);
                     return all(creators, count);
                   })
      .def_prop_ro("all_creators_recursive",
                   [](Class& registry) {
                     int32_t count = 0;
                     IPluginCreatorInterface* const* creators =
                         registry.getAllCreatorsRecursive(&count);
                     return all(creators, count);
                   })
      .def(
          "get_plugin_creator",
          [](Class& registry, const char* type, const char* version, const char* space) {
            return to_python(registry.getPluginCreator(type, version, space));
          },
          "type"_a, "version"_a, "plugin_namespace"_a = "")
      .def(
          "get_creator",
          [](Class& registry, const char* type, const char* version, const char* space) {
            return to_python(registry.getCreator(type, version, space));
          },
          "type"_a, "version"_a, "plugin_namespace"_a = "");
}

}  // namespace

void bind_registry(nb::module_& m) {
  bind_creators(m);
  Documented<Class> bound(m, "IPluginRegistry", nb::never_destruct(),
                          "Where plugin creators are found.");
  bind_lookups(bound);
  bound.def("register_creator", &register_creator, "creator"_a, "plugin_namespace"_a = "")
      .def("deregister_creator", &deregister_creator, "creator"_a)
      .def_prop_rw("error_recorder", &Class::getErrorRecorder, &Class::setErrorRecorder,
                   nb::rv_policy::reference, nb::for_setter(nb::arg("value").none()),
                   nb::for_setter(nb::keep_alive<1, 2>()))
      .def_prop_rw("parent_search_enabled", &Class::isParentSearchEnabled,
                   &Class::setParentSearchEnabled)
      .def(
          "load_library",
          [](Class& registry, const char* path) -> nb::object {
            void* library = registry.loadLibrary(path);
            return library ? nb::object(nb::capsule(library)) : nb::none();
          },
          "plugin_path"_a)
      .def(
          "deregister_library",
          [](Class& registry, nb::capsule handle) { registry.deregisterLibrary(handle.data()); },
          "handle"_a)
      .def("acquire_plugin_resource", &acquire, "key"_a, "resource"_a)
      .def("release_plugin_resource", &Class::releasePluginResource, "key"_a);
  m.def("get_plugin_registry", &::getPluginRegistry, nb::rv_policy::reference);
  m.def("get_builder_plugin_registry", &nvinfer1::getBuilderPluginRegistry, "capability"_a,
        nb::rv_policy::reference);
  m.def(
      "init_libnvinfer_plugins",
      [](ILogger* logger, const char* space) { return initLibNvInferPlugins(logger, space); },
      "logger"_a.none(), "namespace"_a, TENON_CALL);
}

}  // namespace tenon::python
