// `tenon cache`.
#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

#include "NvInfer.h"
#include "base/environment.h"
#include "tenon/device.h"
#include "tenon/inspect.h"
#include "tools/api_logger.h"
#include "tools/commands/command_line.h"
#include "tools/commands/plan_table.h"
#include "tools/exports.h"
#include "tools/page.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

constexpr Example kExamples[] = {
    {"tenon cache ls", "compiled kernels that are kept"},
    {"tenon cache ls yolo.cache", "devices and entries of a timing cache"},
    {"tenon cache merge all.cache a.cache b.cache", "all times in one file"},
    {"tenon cache prune all.cache --device=H100", "keeps the times of such devices alone"},
    {"tenon cache prune --older=30d", "deletes compiled kernels that are older"},
};

constexpr OwnFlag kFlags[] = {
    {"device", "TEXT", "prune: keep the entries of devices with this text in their description"},
    {"older", "TIME", "prune: delete compiled kernels that were written longer ago: 12h, 30d"},
};

constexpr Usage kUsage = {
    .command = "cache",
    .words = "ls|merge|prune [FILE...] [flags]",
    .purpose =
        "Lists, joins and prunes timing caches (--timingCacheFile) and the folder of "
        "compiled kernels (TENON_CACHE_DIR).",
    .examples = kExamples,
    .flags = kFlags,
    .most_words = 1000,
};

using Memory = std::unique_ptr<nvinfer1::IHostMemory>;

Error no_cache(Session& session, const std::string& file) {
  return user_error("'{}': {}", file, session.console().take_error("this is not a timing cache"));
}

Result<Json> cache_json(Session& session, std::span<const char> bytes, const std::string& file) {
  ApiLogger logger(session.console());
  const Memory text(describeTimingCache(bytes.data(), bytes.size(), logger));
  if (!text) return no_cache(session, file);
  const auto* begin = static_cast<const char*>(text->data());
  return Json::parse(begin, begin + text->size(), nullptr, /*allow_exceptions=*/false);
}

Status list_file(Session& session, const std::string& file) {
  TENON_ASSIGN(const std::vector<char> bytes, read_file(file));
  TENON_ASSIGN(const Json json, cache_json(session, bytes, file));
  session.line("{}: {}, {} times", session.bold(file),
               bytes_text(static_cast<double>(bytes.size())), json["entries"].get<int64_t>());
  Table table("lrrr");
  if (!json["devices"].empty()) table.add({"device", "problems", "times", "failed"});
  for (const auto& [device, counts] : json["devices"].items())
    table.add({device, fmt::format("{}", counts["problems"].get<int64_t>()),
               fmt::format("{}", counts["times"].get<int64_t>()),
               fmt::format("{}", counts["failed"].get<int64_t>())});
  if (!table.empty()) session.line("{}", table.text());
  if (const auto count = json["sequences"].get<int64_t>(); count > 0)
    session.line("  and {} times of whole sequences", count);
  return {};
}

struct KernelFile {
  fs::path path;
  double bytes, age_seconds;
};

std::vector<KernelFile> kernel_files() {
  std::vector<KernelFile> files;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(cache_folder() / "kernels", error)) {
    if (!entry.is_regular_file(error)) continue;
    const std::chrono::duration<double> age = now - entry.last_write_time(error);
    files.push_back({entry.path(), static_cast<double>(entry.file_size(error)), age.count()});
  }
  return files;
}

void list_kernels(Session& session) {
  const fs::path folder = cache_folder();
  if (folder.empty())
    return session.line("No folder for compiled kernels: TENON_CACHE_DIR is empty.");
  double bytes = 0, oldest = 0;
  const std::vector<KernelFile> files = kernel_files();
  for (const KernelFile& file : files) {
    bytes += file.bytes;
    oldest = std::max(oldest, file.age_seconds);
  }
  session.line("{}: {} compiled kernels, {}", session.bold((folder / "kernels").string()),
               files.size(), bytes_text(bytes));
  if (!files.empty()) session.line("  the oldest was written {} ago", seconds_text(oldest));
}

Status list(Session& session, std::span<const std::string> files) {
  if (files.empty()) list_kernels(session);
  for (const std::string& file : files) TENON_TRY(list_file(session, file));
  return {};
}

Status save(Session& session, const std::string& file, const nvinfer1::IHostMemory& bytes) {
  TENON_TRY(write_file(file, std::span(static_cast<const char*>(bytes.data()), bytes.size())));
  return list_file(session, file);
}

/// The first file is the result; it need not exist, and keeps what it has.
Status merge(Session& session, std::span<const std::string> files) {
  if (files.size() < 2)
    return session.fail(ErrorId::kMissingArgument, "usage: tenon cache merge RESULT FILE...");
  ApiLogger logger(session.console());
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  if (!builder) return internal_error("the builder could not be made");
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
  setBuildDevice(*config, kCpuDevice);
  const FolderLock lock(files.front());
  const std::unique_ptr<nvinfer1::ITimingCache> all(config->createTimingCache(nullptr, 0));
  for (const std::string& file : files) {
    auto bytes = read_file(file);
    if (!bytes.ok() && &file == &files.front()) continue;
    if (!bytes.ok()) return std::move(bytes).error();
    const std::unique_ptr<nvinfer1::ITimingCache> cache(
        config->createTimingCache(bytes->data(), bytes->size()));
    if (!cache || !all->combine(*cache, true)) return no_cache(session, file);
  }
  const Memory bytes(all->serialize());
  if (!bytes) return internal_error("the timing cache could not be serialized");
  return save(session, files.front(), *bytes);
}

Status prune_file(Session& session, const std::string& file, const std::string& device) {
  const FolderLock lock(file);
  TENON_ASSIGN(const std::vector<char> bytes, read_file(file));
  ApiLogger logger(session.console());
  const Memory kept(pruneTimingCache(bytes.data(), bytes.size(), device.c_str(), logger));
  if (!kept) return no_cache(session, file);
  return save(session, file, *kept);
}

Status prune_kernels(Session& session, const std::string& older) {
  const auto limit = parse_duration(older);
  if (!limit.has_value())
    return session.fail(ErrorId::kFlagValue, "--older={}: expected one of 12h, 30d", older);
  size_t count = 0;
  for (const KernelFile& file : kernel_files()) {
    std::error_code error;
    if (file.age_seconds > *limit && fs::remove(file.path, error)) ++count;
  }
  session.line("{} compiled kernels deleted", count);
  list_kernels(session);
  return {};
}

Status prune(Session& session, const CommandLine& line, std::span<const std::string> files) {
  if (files.empty() && !line.has("older"))
    return session.fail(ErrorId::kMissingArgument,
                        "usage: tenon cache prune FILE [--device=TEXT], or tenon cache prune "
                        "--older=30d");
  for (const std::string& file : files) TENON_TRY(prune_file(session, file, line.text("device")));
  return line.has("older") ? prune_kernels(session, line.text("older")) : Status();
}

Status cache(Session& session, const CommandLine& line) {
  session.enter(Stage::kRun);
  const std::string& action = line.words().front();
  const auto files = std::span(line.words()).subspan(1);
  if (action == "ls") return list(session, files);
  if (action == "merge") return merge(session, files);
  if (action == "prune") return prune(session, line, files);
  return session.fail(ErrorId::kUsage, "'{}' is none of ls, merge, prune", action);
}

}  // namespace

int run_cache(std::span<const char* const> words) {
  return run_with_line(kUsage, words, cache);
}

}  // namespace tenon::tools
