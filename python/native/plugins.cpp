#include "plugins.h"

namespace tenon::python {

Held::~Held() {
  if (!Py_IsInitialized()) {
    object_.release();
    return;
  }
  nb::gil_scoped_acquire gil;
  object_.reset();
}

const char* FromPython::text(const char* attribute, std::string& store) const noexcept {
  return locked<const char*>("", [&] {
    store = nb::cast<std::string>(held.get().attr(attribute));
    return store.c_str();
  });
}

nb::list addresses(const void* const* items, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(address_of(items[i]));
  return list;
}

nb::object plugin_to_python(IPluginV3* plugin, nb::handle owner) {
  if (const auto* ours = dynamic_cast<const FromPython*>(plugin))
    return nb::borrow(ours->held.get());
  return nb::cast(plugin, nb::rv_policy::reference_internal, owner);
}

nb::object plugin_to_python(IPluginV2* plugin, nb::handle owner) {
  if (const auto* ours = dynamic_cast<const FromPython*>(plugin))
    return nb::borrow(ours->held.get());
  return nb::cast(plugin, nb::rv_policy::reference_internal, owner);
}

IPluginV3* native_v3(nb::handle plugin) {
  return nb::isinstance<IPluginV3>(plugin) ? nb::cast<IPluginV3*>(plugin) : nullptr;
}

IPluginV2* native_v2(nb::handle plugin) {
  return nb::isinstance<IPluginV2>(plugin) ? nb::cast<IPluginV2*>(plugin) : nullptr;
}

void bind_plugins(nb::module_& m) {
  bind_plugin_v3(m);
  bind_plugin_v2(m);
  bind_registry(m);
}

}  // namespace tenon::python
