// Arguments of plugins' methods: shapes as expressions, descriptions of tensors, fields.

#include "common.h"
#include "plugin_fields.h"

namespace tenon::python {
namespace {

constexpr auto kInside = nb::rv_policy::reference_internal;

int32_t checked(Py_ssize_t index, int32_t count) {
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw nb::index_error("index out of range");
  return static_cast<int32_t>(index);
}

void bind_expressions(nb::module_& m) {
  Documented<IDimensionExpr>(m, "IDimensionExpr",
                             "An extent of a plugin's output, as an expression of its inputs'.")
      .def("is_constant", &IDimensionExpr::isConstant)
      .def("get_constant_value", &IDimensionExpr::getConstantValue)
      .def("is_size_tensor", &IDimensionExpr::isSizeTensor);
  Documented<IExprBuilder>(m, "IExprBuilder", "Makes expressions; it owns them.")
      .def("constant", &IExprBuilder::constant, "value"_a, nb::rv_policy::reference)
      .def("operation", &IExprBuilder::operation, "op"_a, "first"_a, "second"_a,
           nb::rv_policy::reference)
      .def("declare_size_tensor", &IExprBuilder::declareSizeTensor, "output_index"_a, "opt"_a,
           "upper"_a, nb::rv_policy::reference);
  Documented<DimsExprs>(m, "DimsExprs", "A shape of expressions.")
      .def("__init__", [](DimsExprs* self) { new (self) DimsExprs{}; })
      .def(
          "__init__",
          [](DimsExprs* self, int32_t count) {
            if (count < 0 || count > Dims::MAX_DIMS)
              throw nb::value_error("a shape has at most 8 extents");
            new (self) DimsExprs{};
            self->nbDims = count;
          },
          "nb_dims"_a)
      .def(
          "__init__",
          [](DimsExprs* self, const std::vector<const IDimensionExpr*>& extents) {
            if (extents.size() > Dims::MAX_DIMS)
              throw nb::value_error("a shape has at most 8 extents");
            new (self) DimsExprs{};
            self->nbDims = static_cast<int32_t>(extents.size());
            std::copy(extents.begin(), extents.end(), self->d);
          },
          "extents"_a)
      .def("__len__", [](const DimsExprs& d) { return d.nbDims; })
      .def(
          "__getitem__", [](const DimsExprs& d, Py_ssize_t i) { return d.d[checked(i, d.nbDims)]; },
          nb::rv_policy::reference)
      .def("__setitem__", [](DimsExprs& d, Py_ssize_t i, const IDimensionExpr* value) {
        d.d[checked(i, d.nbDims)] = value;
      });
}

void bind_descriptions(nb::module_& m) {
  using Desc = PluginTensorDesc;
  Documented<Desc>(m, "PluginTensorDesc", "An operand with concrete extents.")
      .def("__init__", [](Desc* self) { new (self) Desc{}; })
      .def_rw("dims", &Desc::dims)
      .def_rw("type", &Desc::type)
      .def_rw("format", &Desc::format)
      .def_rw("scale", &Desc::scale);
  using Dynamic = DynamicPluginTensorDesc;
  Documented<Dynamic>(m, "DynamicPluginTensorDesc", "An operand with the range of its extents.")
      .def("__init__", [](Dynamic* self) { new (self) Dynamic{}; })
      .def_rw("desc", &Dynamic::desc, kInside)
      .def_rw("min", &Dynamic::min)
      .def_rw("opt", &Dynamic::opt)
      .def_rw("max", &Dynamic::max);
  using Context = IPluginResourceContext;
  Documented<Context>(m, "IPluginResourceContext", "Objects of a context that a plugin may use.")
      .def_prop_ro("error_recorder", &Context::getErrorRecorder, nb::rv_policy::reference)
      .def_prop_ro("gpu_allocator", &Context::getGpuAllocator, nb::rv_policy::reference);
}

struct FieldType {
  PluginFieldType type;
  const char* numpy;
  size_t bytes;
};

constexpr FieldType kFieldTypes[] = {
    {PluginFieldType::kFLOAT16, "float16", 2}, {PluginFieldType::kFLOAT32, "float32", 4},
    {PluginFieldType::kFLOAT64, "float64", 8}, {PluginFieldType::kINT8, "int8", 1},
    {PluginFieldType::kINT16, "int16", 2},     {PluginFieldType::kINT32, "int32", 4},
    {PluginFieldType::kCHAR, "int8", 1},       {PluginFieldType::kINT64, "int64", 8},
};

const FieldType* find(PluginFieldType type) {
  for (const FieldType& row : kFieldTypes)
    if (row.type == type) return &row;
  return nullptr;
}

Field make_field(const std::string& name, nb::object data, PluginFieldType type) {
  Field field;
  field.name = name;
  field.type = type;
  if (data.is_none()) return field;
  if (nb::isinstance<nb::str>(data)) data = data.attr("encode")();
  Py_buffer view;
  const nb::object array = PyObject_CheckBuffer(data.ptr())
                               ? data
                               : nb::module_::import_("numpy").attr("ascontiguousarray")(
                                     data, find(type) ? nb::cast(find(type)->numpy) : nb::none());
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_C_CONTIGUOUS)) throw nb::python_error();
  field.bytes.assign(static_cast<const char*>(view.buf), static_cast<size_t>(view.len));
  const auto item = find(type) ? find(type)->bytes : static_cast<size_t>(view.itemsize);
  field.length = static_cast<int32_t>(field.bytes.size() / std::max<size_t>(item, 1));
  PyBuffer_Release(&view);
  return field;
}

nb::object field_data(const Field& field) {
  const FieldType* row = find(field.type);
  const nb::bytes bytes(field.bytes.data(), field.bytes.size());
  if (!row) return bytes;
  return nb::module_::import_("numpy").attr("frombuffer")(bytes, row->numpy);
}

void bind_fields(nb::module_& m) {
  Documented<Field>(m, "PluginField", "A named value for making a plugin; the data are copied.")
      .def(
          "__init__",
          [](Field* self, const std::string& name, nb::object data, PluginFieldType type) {
            new (self) Field(make_field(name, data, type));
          },
          "name"_a = "", "data"_a = nb::none(), "type"_a = PluginFieldType::kUNKNOWN)
      .def_rw("name", &Field::name)
      .def_rw("type", &Field::type)
      .def_rw("size", &Field::length)
      .def_prop_rw("data", &field_data, [](Field& field, nb::object data) {
        field = make_field(field.name, data, field.type);
      });
  Documented<FieldCollection>(m, "PluginFieldCollection_", "Fields of one plugin.")
      .def(nb::init<>())
      .def(
          "__init__",
          [](FieldCollection* self, const std::vector<Field>& fields) {
            new (self) FieldCollection{fields, {}, {0, nullptr}};
          },
          "fields"_a)
      .def("__len__", [](const FieldCollection& c) { return c.fields.size(); })
      .def(
          "__getitem__",
          [](FieldCollection& c, Py_ssize_t i) -> Field& {
            return c.fields[static_cast<size_t>(checked(i, static_cast<int32_t>(c.fields.size())))];
          },
          kInside)
      .def("append", [](FieldCollection& c, const Field& field) { c.fields.push_back(field); })
      .def("clear", [](FieldCollection& c) { c.fields.clear(); })
      .def("extend", [](FieldCollection& c, const std::vector<Field>& fields) {
        c.fields.insert(c.fields.end(), fields.begin(), fields.end());
      });
  nb::implicitly_convertible<nb::list, FieldCollection>();
  m.attr("PluginFieldCollection") = m.attr("PluginFieldCollection_");
}

}  // namespace

const PluginFieldCollection* FieldCollection::surface() {
  table.clear();
  for (const Field& field : fields)
    table.emplace_back(field.name.c_str(), field.bytes.data(), field.type, field.length);
  view = {static_cast<int32_t>(table.size()), table.data()};
  return &view;
}

FieldCollection fields_from(const PluginFieldCollection* given) {
  FieldCollection made;
  for (int32_t i = 0; given && i < given->nbFields; ++i) {
    const PluginField& field = given->fields[i];
    Field copy{field.name ? field.name : "", field.type, field.length, {}};
    const FieldType* row = find(field.type);
    const size_t bytes = field.type == PluginFieldType::kDIMS ? sizeof(Dims) : row ? row->bytes : 1;
    if (field.data && field.length > 0)
      copy.bytes.assign(static_cast<const char*>(field.data),
                        bytes * static_cast<size_t>(field.length));
    made.fields.push_back(std::move(copy));
  }
  return made;
}

void bind_plugin_types(nb::module_& m) {
  bind_expressions(m);
  bind_descriptions(m);
  bind_fields(m);
}

}  // namespace tenon::python
