#include "case_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/data_type.h"
#include "ir/text.h"
#include "ops/table.h"

namespace tenon {
namespace {

constexpr std::string_view kFires = "=== fires: ", kStays = "=== stays: ", kOption = "option ";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Status read_flag(const std::string& name, bool on, PassOptions& options) {
  for (const PassFlag& flag : kPassFlags) {
    if (flag.name != name) continue;
    options.*flag.member = on;
    return {};
  }
  return user_error("\"{}\" is no option", name);
}

/// "option precision = bf16", "option disabled = fold_constants:x*", "option no_fuse = conv1",
/// "option bf16 = conv1".
Status read_option(const std::string& line, PassOptions& options) {
  const std::vector<std::string> words = words_of(line);
  if (words.size() != 4 || words[2] != "=") return user_error("\"{}\" is no option", line);
  if (words[1] == "precision")
    options.precision = data_type_by_name(words[3]);
  else if (words[1] == "half_as")
    options.half_as = data_type_by_name(words[3]);
  else if (words[1] == "disabled")
    options.disabled.push_back(words[3]);
  else if (words[1] == "no_fuse")
    options.no_fuse.push_back(words[3]);
  else if (words[1] == "f16" || words[1] == "bf16")
    options.types.emplace_back(words[3], *data_type_by_name(words[1]));
  else
    return read_flag(words[1], words[3] == "on", options);
  return {};
}

std::string option_lines(const PassOptions& options) {
  std::string text;
  if (options.precision.has_value())
    text += fmt::format("option precision = {}\n", name_of(*options.precision));
  if (options.half_as.has_value())
    text += fmt::format("option half_as = {}\n", name_of(*options.half_as));
  for (const PassFlag& flag : kPassFlags)
    if (options.*flag.member != PassOptions().*flag.member)
      text += fmt::format("option {} = {}\n", flag.name, options.*flag.member ? "on" : "off");
  for (const std::string& entry : options.disabled)
    text += fmt::format("option disabled = {}\n", entry);
  for (const auto& [pattern, type] : options.types)
    text += fmt::format("option {} = {}\n", name_of(type), pattern);
  for (const std::string& entry : options.no_fuse)
    text += fmt::format("option no_fuse = {}\n", entry);
  return text;
}

/// Lines that define values may end without a type: inference sets it.
std::string with_types(const std::string& text) {
  std::istringstream stream(text);
  std::string result;
  for (std::string line; std::getline(stream, line);) {
    const size_t first = line.find_first_not_of(' ');
    const size_t assigned = line.find(" = ");
    if (first != std::string::npos && line[first] == '%' && assigned != std::string::npos &&
        line.find(" : ") == std::string::npos && line.find(" graph ") == std::string::npos) {
      std::string types = " : f32[]";
      for (size_t i = 0; i < assigned; ++i)
        if (line[i] == ',') types += ", f32[]";
      line.insert(std::min(line.find(" from ["), line.size()), types);
    }
    result += line + "\n";
  }
  return result;
}

}  // namespace

Result<CaseFile> read_case_file(const std::string& path) {
  CaseFile file;
  file.path = path;
  const std::filesystem::path whole(path);
  file.rule = whole.stem().string();
  file.pass = whole.parent_path().filename().string();
  std::ifstream stream(path);
  bool expected = false;
  for (std::string line; std::getline(stream, line);) {
    const bool fires = line.starts_with(kFires);
    if (fires || line.starts_with(kStays)) {
      file.cases.emplace_back();
      file.cases.back().title = line.substr(kFires.size());
      file.cases.back().fires = fires;
      expected = false;
    } else if (file.cases.empty()) {
      file.heading += line + "\n";
    } else if (line.starts_with(kOption)) {
      TENON_TRY(read_option(line, file.cases.back().options));
    } else if (line == "--- becomes") {
      expected = true;
    } else {
      (expected ? file.cases.back().expected : file.cases.back().given) += line + "\n";
    }
  }
  return file;
}

Status write_case_file(const CaseFile& file) {
  std::ofstream stream(file.path);
  stream << file.heading;
  for (const PassCase& item : file.cases) {
    stream << (item.fires ? kFires : kStays) << item.title << "\n"
           << option_lines(item.options) << item.given;
    if (item.fires) stream << "--- becomes\n" << item.expected;
  }
  return stream ? Status() : Status(user_error("cannot write {}", file.path));
}

std::vector<std::string> find_case_files(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::unique_ptr<Graph>> graph_of_case(const PassCase& item) {
  TENON_ASSIGN(auto graph, parse_graph("graph \"\" " + with_types(item.given)));
  TENON_TRY(infer_graph(*graph));
  return graph;
}

}  // namespace tenon
