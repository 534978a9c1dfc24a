// The ONNX parser and its refitter.
#include <nanobind/stl/optional.h>

#include "NvOnnxParser.h"
#include "common.h"

namespace tenon::python {
namespace {

using namespace nvonnxparser;  // NOLINT: the names of this source are the parser's.
using Raise = nb::call_policy<RaiseKept>;

/// A model's path, for weights beside it.
using Path = std::optional<std::string>;

const char* c_string(const Path& path) {
  return path ? path->c_str() : nullptr;
}

/// Bytes of a model while Python is unlocked.
template <typename Work> auto with_bytes(nb::handle data, Work work) {
  Py_buffer view;
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE)) throw nb::python_error();
  InCall call;
  auto result = [&] {
    nb::gil_scoped_release released;
    return work(view.buf, static_cast<size_t>(view.len));
  }();
  PyBuffer_Release(&view);
  return result;
}

template <typename Class> const IParserError* error_at(const Class& parser, int32_t index) {
  if (index < 0 || index >= parser.getNbErrors())
    throw nb::index_error("the parser has fewer errors");
  return parser.getError(index);
}

std::vector<std::string> function_stack(const IParserError& error) {
  const char* const* names = error.localFunctionStack();
  return names ? std::vector<std::string>(names, names + error.localFunctionStackSize())
               : std::vector<std::string>();
}

std::string text_of(const IParserError& error) {
  std::string text = "In node " + std::to_string(error.node());
  if (error.nodeName()) text += std::string(" with name: ") + error.nodeName();
  if (error.nodeOperator()) text += std::string(" and operator: ") + error.nodeOperator();
  return text + " (" + (error.func() ? error.func() : "") +
         "): " + (error.desc() ? error.desc() : "");
}

void bind_error(nb::module_& m) {
  using Class = IParserError;
  Documented<Class>(m, "ParserError", "One problem that a parser met.")
      .def("code", &Class::code)
      .def("desc", &Class::desc)
      .def("file", &Class::file)
      .def("line", &Class::line)
      .def("func", &Class::func)
      .def("node", &Class::node)
      .def("node_name", &Class::nodeName)
      .def("node_operator", &Class::nodeOperator)
      .def("local_function_stack", &function_stack)
      .def("local_function_stack_size", &Class::localFunctionStackSize)
      .def("__str__", &text_of)
      .def("__repr__", &text_of);
}

IParser* create_parser(INetworkDefinition& network, ILogger& logger) {
  IParser* parser = createParser(network, logger);
  if (!parser) throw std::runtime_error("the parser could not be made: see the log");
  return parser;
}

/// The older form: (whether all is supported, [(nodes, whether they are)]).
std::pair<bool, SubGraphCollection_t> supports_model(IParser& parser, nb::object model,
                                                     const Path& path) {
  SubGraphCollection_t groups;
  const bool all = with_bytes(model, [&](const void* data, size_t size) {
    return parser.supportsModel(data, size, groups, c_string(path));
  });
  return {all, groups};
}

std::vector<int64_t> subgraph_nodes(IParser& parser, int64_t index) {
  int64_t count = 0;
  const int64_t* nodes = parser.getSubgraphNodes(index, count);
  return nodes ? std::vector<int64_t>(nodes, nodes + count) : std::vector<int64_t>();
}

std::vector<std::string> plugin_libraries(const IParser& parser) {
  int64_t count = 0;
  const char* const* paths = parser.getUsedVCPluginLibraries(count);
  return paths ? std::vector<std::string>(paths, paths + count) : std::vector<std::string>();
}

void bind_models(Documented<IParser>& bound) {
  using Class = IParser;
  bound
      .def(
          "parse",
          [](Class& parser, nb::object model, const Path& path) {
            return with_bytes(model, [&](const void* data, size_t size) {
              return parser.parse(data, size, c_string(path));
            });
          },
          "model"_a, "path"_a = nb::none(), Raise())
      .def(
          "parse_with_weight_descriptors",
          [](Class& parser, nb::object model) {
            return with_bytes(model, [&](const void* data, size_t size) {
              return parser.parseWithWeightDescriptors(data, size);
            });
          },
          "model"_a, Raise())
      .def(
          "parse_from_file",
          [](Class& parser, const std::string& path) {
            return parser.parseFromFile(path.c_str(),
                                        static_cast<int>(ILogger::Severity::kVERBOSE));
          },
          "model"_a, TENON_LONG)
      .def("supports_model", &supports_model, "model"_a, "path"_a = nb::none(), Raise())
      .def(
          "supports_model_v2",
          [](Class& parser, nb::object model, const Path& path) {
            return with_bytes(model, [&](const void* data, size_t size) {
              return parser.supportsModelV2(data, size, c_string(path));
            });
          },
          "model"_a, "path"_a = nb::none(), Raise())
      .def(
          "load_model_proto",
          [](Class& parser, nb::object model, const Path& path) {
            return with_bytes(model, [&](const void* data, size_t size) {
              return parser.loadModelProto(data, size, c_string(path));
            });
          },
          "model"_a, "path"_a = nb::none(), Raise())
      .def(
          "load_initializer",
          [](Class& parser, const char* name, Handle data, size_t size) {
            return parser.loadInitializer(name, pointer(data), size);
          },
          "name"_a, "data"_a, "size"_a)
      .def("parse_model_proto", &Class::parseModelProto, TENON_LONG)
      .def("set_builder_config", &Class::setBuilderConfig, "builder_config"_a,
           nb::keep_alive<1, 2>());
}

void bind_parser(nb::module_& m) {
  using Class = IParser;
  Documented<Class> bound(m, "OnnxParser", "Reads ONNX models into a network.");
  bound
      .def(nb::new_(&create_parser), "network"_a, "logger"_a, nb::keep_alive<0, 2>(),
           nb::keep_alive<0, 3>())
      .def("supports_operator", &Class::supportsOperator, "op_name"_a)
      .def_prop_ro("num_subgraphs", &Class::getNbSubgraphs)
      .def("is_subgraph_supported", &Class::isSubgraphSupported, "index"_a)
      .def("get_subgraph_nodes", &subgraph_nodes, "index"_a)
      .def_prop_ro("num_errors", &Class::getNbErrors)
      .def("get_error", &error_at<Class>, "index"_a, nb::rv_policy::reference_internal)
      .def("clear_errors", &Class::clearErrors)
      .def_prop_rw("flags", &Class::getFlags, &Class::setFlags)
      .def("clear_flag", &Class::clearFlag, "flag"_a)
      .def("set_flag", &Class::setFlag, "flag"_a)
      .def("get_flag", &Class::getFlag, "flag"_a)
      .def("get_layer_output_tensor", &Class::getLayerOutputTensor, "name"_a, "i"_a,
           nb::rv_policy::reference_internal)
      .def("get_used_vc_plugin_libraries", &plugin_libraries);
  bind_models(bound);
  with_statement(bound);
}

IParserRefitter* create_refitter(IRefitter& refitter, ILogger& logger) {
  IParserRefitter* made = createParserRefitter(refitter, logger);
  if (!made) throw std::runtime_error("the parser's refitter could not be made: see the log");
  return made;
}

void bind_parser_refitter(nb::module_& m) {
  using Class = IParserRefitter;
  Documented<Class>(m, "OnnxParserRefitter", "Puts the weights of an ONNX model into an engine.")
      .def(nb::new_(&create_refitter), "refitter"_a, "logger"_a, nb::keep_alive<0, 2>(),
           nb::keep_alive<0, 3>())
      .def(
          "refit_from_bytes",
          [](Class& refitter, nb::object model, const Path& path) {
            return with_bytes(model, [&](const void* data, size_t size) {
              return refitter.refitFromBytes(data, size, c_string(path));
            });
          },
          "model"_a, "path"_a = nb::none(), Raise())
      .def("refit_from_file", &Class::refitFromFile, "model"_a, TENON_LONG)
      .def_prop_ro("num_errors", &Class::getNbErrors)
      .def("get_error", &error_at<Class>, "index"_a, nb::rv_policy::reference_internal)
      .def("clear_errors", &Class::clearErrors)
      .def(
          "load_model_proto",
          [](Class& refitter, nb::object model, const Path& path) {
            return with_bytes(model, [&](const void* data, size_t size) {
              return refitter.loadModelProto(data, size, c_string(path));
            });
          },
          "model"_a, "path"_a = nb::none(), Raise())
      .def(
          "load_initializer",
          [](Class& refitter, const char* name, Handle data, size_t size) {
            return refitter.loadInitializer(name, pointer(data), size);
          },
          "name"_a, "data"_a, "size"_a)
      .def("refit_model_proto", &Class::refitModelProto, TENON_LONG);
}

}  // namespace

void bind_onnx(nb::module_& m) {
  bind_error(m);
  bind_parser(m);
  bind_parser_refitter(m);
  m.def("get_nv_onnx_parser_version", &getNvOnnxParserVersion);
}

}  // namespace tenon::python
