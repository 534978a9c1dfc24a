// tenon_getter_walk: the models of the ONNX backend test cases as networks that programs read.
//
//     tenon_getter_walk CASES [--only=TEXT]
//
// Each model that our parser takes is parsed through the public headers, and each layer is asked
// for all that its class tells (ask_layers.h). CASES is the folder that generate_cases.py writes.
// Fails where an answer is none; where the process ends, the case's name was the last line.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "NvOnnxParser.h"
#include "ask_layers.h"

namespace tenon::getter_walk {
namespace {

class Silent final : public nvinfer1::ILogger {
 public:
  void log(Severity, const char*) noexcept override {}
};

char running[256];

void tell_case(int signal) {
  (void)!write(STDERR_FILENO, running, std::strlen(running));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Models, as "set/name".
std::vector<std::string> read_names(const std::string& folder) {
  std::vector<std::string> names;
  std::ifstream file(folder + "/cases.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string set, name;
    std::getline(words, set, '\t');
    std::getline(words, name, '\t');
    names.push_back(set + "/" + name);
  }
  return names;
}

struct Tally {
  int parsed = 0, layers = 0, failed = 0;
};

void walk_model(const std::string& folder, const std::string& name, Tally& tally) {
  fmt::format_to_n(running, sizeof running - 1, "ended in {}\n{}", name, '\0');
  Silent log;
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(log));
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, log));
  if (!parser->parseFromFile((folder + "/" + name + "/model.onnx").c_str(), 0)) return;
  ++tally.parsed;
  tally.layers += network->getNbLayers();
  const std::vector<std::string> found = ask(*network);
  if (!found.empty()) ++tally.failed;
  for (const std::string& one : found) fmt::print("FAILS {}: {}\n", name, one);
}

int walk(const std::string& folder, std::string_view only) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, tell_case);
  Tally tally;
  for (const std::string& name : read_names(folder))
    if (name.find(only) != std::string::npos) walk_model(folder, name, tally);
  fmt::print("{} models of {} layers answered, {} of them wrongly\n", tally.parsed, tally.layers,
             tally.failed);
  return tally.failed == 0 && tally.parsed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace tenon::getter_walk

int main(int count, char** arguments) {
  if (count < 2) {
    fmt::print(stderr, "usage: tenon_getter_walk CASES [--only=TEXT]\n");
    return 2;
  }
  const std::string_view only = count > 2 ? arguments[2] : "";
  return tenon::getter_walk::walk(arguments[1], only.starts_with("--only=") ? only.substr(7) : "");
}
