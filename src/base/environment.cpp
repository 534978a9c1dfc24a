#include "base/environment.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace tenon {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// The folders of a variable that separates them by colons.
std::vector<fs::path> listed(const char* name) {
  std::vector<fs::path> folders;
  const std::string text = variable(name).value_or("");
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(':', start), text.size());
    if (end > start) folders.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return folders;
}

/// Folders directly inside `folder`, in the order of their names.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// NVIDIA's packages lie in lib/python3.N/site-packages/nvidia/PACKAGE/lib under the prefix.
void add_python_packages(const fs::path& prefix, std::vector<fs::path>& folders) {
  std::error_code error;
  for (const fs::path& python : folders_in(prefix / "lib")) {
    if (!python.filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"})
      for (const fs::path& package : folders_in(python / packages / "nvidia"))
        if (fs::is_directory(package / "lib", error)) folders.push_back(package / "lib");
  }
}

/// Prefixes of the Python installations on PATH.
std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  if (const auto environment = variable("VIRTUAL_ENV")) prefixes.emplace_back(*environment);
  std::error_code error;
  for (const fs::path& folder : listed("PATH"))
    if (fs::exists(folder / "python3", error)) prefixes.push_back(folder.parent_path());
  return prefixes;
}

}  // namespace

fs::path cache_folder() {
  if (const auto folder = variable("TENON_CACHE_DIR")) return *folder;
  if (const auto folder = variable("XDG_CACHE_HOME"); folder && !folder->empty())
    return fs::path(*folder) / "tenon";
  if (const auto home = variable("HOME"); home && !home->empty())
    return fs::path(*home) / ".cache" / "tenon";
  return {};
}

std::string instruction_set_limit() {
  return variable("TENON_CPU_ISA").value_or("");
}

std::vector<fs::path> cuda_library_folders() {
  std::vector<fs::path> folders;
  const auto add_installation = [&](const char* name) {
    const auto folder = variable(name);
    if (!folder) return;
    folders.push_back(fs::path(*folder) / "lib64");
    folders.push_back(fs::path(*folder) / "lib");
  };
  add_installation("TENON_CUDA_PATH");
  for (const fs::path& folder : listed("LD_LIBRARY_PATH")) folders.push_back(folder);
  add_installation("CUDA_HOME");
  add_installation("CUDA_PATH");
  for (const fs::path& prefix : python_prefixes()) add_python_packages(prefix, folders);
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

bool allows_tf32() {
  return variable("NVIDIA_TF32_OVERRIDE").value_or("") != "0";
}

bool allows_graph_replay() {
  return variable("TENON_GRAPH_REPLAY").value_or("") != "0";
}

fs::path reproducer_folder() {
  return variable("TENON_REPRODUCERS").value_or("");
}

bool profiler_is_attached() {
  return !variable("CUDA_INJECTION64_PATH").value_or("").empty() ||
         !variable("NVTX_INJECTION64_PATH").value_or("").empty();
}

bool wants_colors() {
  return variable("NO_COLOR").value_or("").empty() && variable("TERM").value_or("") != "dumb";
}

fs::path home_folder() {
  return variable("HOME").value_or("");
}

}  // namespace tenon
