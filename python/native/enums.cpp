// Every enumeration, from enums.def.
#include <nanobind/eval.h>

#include "NvOnnxParser.h"
#include "common.h"
#include "impl/NvInferPythonPlugin.h"

namespace tenon::python {
namespace {

/// bytes an element takes; half of one for types of 4 bits.
nb::object item_size(DataType type) {
  switch (type) {
    case DataType::kINT4:
    case DataType::kFP4: return nb::float_(0.5);
    case DataType::kFLOAT:
    case DataType::kINT32: return nb::int_(4);
    case DataType::kINT64: return nb::int_(8);
    case DataType::kHALF:
    case DataType::kBF16: return nb::int_(2);
    default: return nb::int_(1);
  }
}

/// Values are equal to those of their own enumeration alone, become integers by int(), and are
/// ordered. Tools tell enumerations by `__entries`: values and their documentation by name.
constexpr const char kBehaviour[] = R"(
def _integer(self):
    return self._value_

def _compare(operation):
    def compare(self, other):
        return getattr(self._value_, operation)(other._value_) if type(self) is type(other) else NotImplemented
    return compare

def _hash(self):
    return hash(self._value_)

def _representation(self):
    return f"<{self}: {self._value_}>"

_COMPARISONS = [(name, _compare(name)) for name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")]

def behave(kind):
    kind.__int__ = kind.__index__ = _integer
    kind.__hash__ = _hash
    kind.__repr__ = _representation
    setattr(kind, "__entries", {name: (value, value.__doc__) for name, value in kind.__members__.items()})
    for name, compare in _COMPARISONS:
        setattr(kind, name, compare)
)";

}  // namespace

void bind_enums(nb::module_& m) {
  nb::dict scope;
  nb::exec(nb::str(kBehaviour), scope);
  const nb::object behave = scope["behave"];
#define TENON_ENUM(name, type)        \
  {                                   \
    using Type = type;                \
    nb::enum_<Type> values(m, #name); \
    values
#define TENON_VALUE(name, enumerator) .value(#name, Type::enumerator)
#define TENON_END \
  ;               \
  behave(values); \
  }
#include "enums.def"

  const nb::object data_type = m.attr("DataType");
  data_type.attr("itemsize") =
      nb::module_::import_("builtins").attr("property")(nb::cpp_function(&item_size));
  for (const auto& [alias, name] :
       {std::pair{"float32", "FLOAT"}, std::pair{"float16", "HALF"}, std::pair{"bfloat16", "BF16"},
        std::pair{"int8", "INT8"}, std::pair{"int32", "INT32"}, std::pair{"int64", "INT64"},
        std::pair{"bool", "BOOL"}, std::pair{"uint8", "UINT8"}, std::pair{"fp8", "FP8"},
        std::pair{"int4", "INT4"}, std::pair{"fp4", "FP4"}, std::pair{"e8m0", "E8M0"}})
    m.attr(alias) = data_type.attr(name);
}

}  // namespace tenon::python
