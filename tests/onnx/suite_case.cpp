#include "suite_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "onnx/external_data.h"
#include "onnx/tensor_reader.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::onnx_suite {
namespace {

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

/// data/<kind>_0.pb, data/<kind>_1.pb, ...
Result<std::vector<Tensor>> read_tensors(const std::string& folder, const std::string& kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const std::string path = fmt::format("{}/{}_{}.pb", folder, kind, i);
    const std::optional<std::string> bytes = read_file(path);
    if (!bytes) return tensors;
    auto proto = std::make_shared<::onnx::TensorProto>();
    if (!proto->ParseFromString(*bytes)) return user_error("{} is no tensor", path);
    importer::ExternalDataFolder none("");
    importer::TensorReader reader(proto, none, false);
    TENON_ASSIGN(Tensor tensor, reader.read(*proto));
    tensors.push_back(std::move(tensor));
  }
}

/// No case can ask for more than two units in the last place of the narrow types, whose
/// intermediate results implementations round in different places.
double least_tolerance(DataType type) {
  if (type == DataType::kBFloat16) return 0x1p-6;
  return type == DataType::kFloat16 ? 0x1p-9 : 0;
}

bool close(double got, double expected, const Case& one) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= one.atol + one.rtol * std::abs(expected);
}

/// Which inputs are given at build time: none, then small integers, then everything small.
enum class Given { kNothing, kIntegers, kSmall };

bool is_given(const Tensor& tensor, Given given) {
  if (given == Given::kNothing || tensor.rank() > 1 || tensor.count() > 64) return false;
  const bool shape_type = tensor.type() == DataType::kInt64 || tensor.type() == DataType::kInt32;
  return given == Given::kSmall || shape_type;
}

/// Which extents of the inputs become symbols: those of all inputs, of the first, its first one.
enum class Open { kAll, kFirstInput, kFirstAxis, kNone };

std::string opened(const std::string& model, Open open) {
  ::onnx::ModelProto proto;
  if (open == Open::kNone || !proto.ParseFromString(model)) return model;
  for (auto& input : *proto.mutable_graph()->mutable_input()) {
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape()) continue;
    auto& dims = *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
    for (int i = 0; i < (open == Open::kFirstAxis ? std::min(dims.size(), 1) : dims.size()); ++i)
      dims[i].set_dim_param(fmt::format("{}_{}", input.name(), i));
    if (open != Open::kAll) break;
  }
  return proto.SerializeAsString();
}

TensorType type_of(const DataSet& data, const std::string& name) {
  for (size_t i = 0; i < data.names.size(); ++i)
    if (data.names[i] == name) return {data.inputs[i].type(), to_shape(data.inputs[i].extents())};
  return {};
}

struct Attempt {
  bool imported = false;
  Status status;
  std::vector<std::string> given;
};

Status compare(std::span<const Tensor> got, const DataSet& data, const Case& one) {
  if (got.size() < data.outputs.size())
    return user_error("{} outputs instead of {}", got.size(), data.outputs.size());
  for (size_t i = 0; i < data.outputs.size(); ++i)
    if (auto text = difference(got[i], data.outputs[i], one))
      return user_error("output {}: {}", i, *text);
  return {};
}

Attempt attempt(const std::string& folder, const std::string& model, const DataSet& data,
                const Case& one, const Runner& runner, Given given) {
  const std::vector<std::string>& names = data.names;
  ImportRequest request;
  request.bytes = std::as_bytes(std::span(model));
  request.directory = folder;
  Attempt result;
  for (size_t i = 0; i < data.inputs.size() && i < names.size(); ++i) {
    if (!is_given(data.inputs[i], given)) continue;
    request.options.values[names[i]] = data.inputs[i];
    result.given.push_back(names[i]);
  }
  for (const auto& [name, length] : data.lists)
    for (int i = 0; i < std::max(length, 1); ++i) {
      auto& types = request.options.lists[name];
      if (length > 0) types.push_back(type_of(data, fmt::format("{}[{}]", name, i)));
    }
  Result<ImportedModel> imported = import_model(request);
  if (!imported.ok()) {
    result.status = imported.error();
    return result;
  }
  result.imported = true;
  std::vector<Tensor> inputs;
  for (const Value* input : imported->graph->inputs())
    for (size_t i = 0; i < names.size() && i < data.inputs.size(); ++i)
      if (names[i] == input->name) inputs.push_back(data.inputs[i]);
  if (inputs.size() != imported->graph->inputs().size()) {
    result.status = user_error("the data set lacks inputs");
    return result;
  }
  result.status = runner(*imported, inputs, [&](std::span<const Tensor> outputs) {
    return compare(outputs, data, one);
  });
  return result;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  return text.substr(0, 400);
}

}  // namespace

Result<std::vector<Case>> read_cases(const std::string& folder) {
  std::ifstream file(folder + "/cases.txt");
  if (!file) return user_error("{}/cases.txt is missing: run generate_cases.py", folder);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    std::stringstream fields(line);
    Case one;
    std::string rtol, atol, random;
    std::getline(fields, one.set, '\t');
    std::getline(fields, one.name, '\t');
    std::getline(fields, rtol, '\t');
    std::getline(fields, atol, '\t');
    std::getline(fields, one.operators, '\t');
    std::getline(fields, random, '\t');
    std::getline(fields, one.unreadable, '\t');
    one.random = random == "random";
    one.rtol = std::stod(rtol);
    one.atol = std::stod(atol);
    cases.push_back(std::move(one));
  }
  return cases;
}

Result<std::vector<DataSet>> read_data(const std::string& folder) {
  std::vector<DataSet> sets;
  for (int i = 0; std::filesystem::exists(fmt::format("{}/data_{}", folder, i)); ++i) {
    const std::string data = fmt::format("{}/data_{}", folder, i);
    DataSet set;
    TENON_ASSIGN(set.inputs, read_tensors(data, "input"));
    TENON_ASSIGN(set.outputs, read_tensors(data, "output"));
    std::ifstream names(data + "/inputs.txt"), lists(data + "/lists.txt");
    for (std::string name; std::getline(names, name);) set.names.push_back(name);
    for (std::string length, name; std::getline(lists, length, '\t') && std::getline(lists, name);)
      set.lists[name] = std::stoi(length);
    sets.push_back(std::move(set));
  }
  if (sets.empty()) return user_error("the case has no data");
  return sets;
}

std::optional<std::string> difference(const Tensor& got, const Tensor& expected, const Case& one) {
  if (got.type() != expected.type())
    return fmt::format("{} instead of {}", name_of(got.type()), name_of(expected.type()));
  if (got.extents() != expected.extents())
    return fmt::format("extents [{}] instead of [{}]", fmt::join(got.extents(), ","),
                       fmt::join(expected.extents(), ","));
  if (one.random) return std::nullopt;
  const bool real = is_real(got.type());
  Case tolerant = one;
  tolerant.rtol = std::max(one.rtol, least_tolerance(got.type()));
  for (int64_t i = 0; i < got.count(); ++i) {
    const bool same = real ? close(got.as_double(i), expected.as_double(i), tolerant)
                           : got.as_int64(i) == expected.as_int64(i);
    if (!same)
      return fmt::format("element {} is {} instead of {}", i, got.as_double(i),
                         expected.as_double(i));
  }
  return std::nullopt;
}

namespace {

/// Values that the importer must know at build time is given to it; a model that was imported and
/// then gives wrong results gets no second chance.
Outcome run_data(const std::string& folder, const std::string& model, const DataSet& data,
                 const Case& one, const Way& way) {
  Attempt last;
  for (Open open : {Open::kAll, Open::kFirstInput, Open::kFirstAxis, Open::kNone}) {
    if (open != Open::kNone && !way.open_extents) continue;
    for (Given given : {Given::kNothing, Given::kIntegers, Given::kSmall}) {
      last = attempt(folder, opened(model, open), data, one, way.runner, given);
      if (!last.imported) continue;
      if (!last.status.ok()) return {false, one_line(last.status.error().message)};
      if (last.given.empty()) return {true, ""};
      return {true, fmt::format("given at build time: {}", fmt::join(last.given, ", "))};
    }
  }
  return {false, one_line(last.status.error().message)};
}

}  // namespace

Outcome run_case(const std::string& folder, const Case& one, const Way& way) {
  const std::optional<std::string> model = read_file(folder + "/model.onnx");
  if (!model) return {false, "model.onnx is missing"};
  Result<std::vector<DataSet>> sets = read_data(folder);
  if (!sets.ok()) return {false, one_line(sets.error().message)};
  Outcome outcome;
  for (const DataSet& data : *sets) {
    outcome = run_data(folder, *model, data, one, way);
    if (!outcome.passed) break;
  }
  if (outcome.passed && one.random) outcome.note = "random numbers: type and extents are compared";
  return outcome;
}

}  // namespace tenon::onnx_suite
