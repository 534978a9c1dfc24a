#include "plugin/stock.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>

#include "plugin/registry.h"
#include "plugin/stock_object.h"

namespace tenon::plugin {
namespace {

using namespace nvinfer1;

constexpr int kByLengths = StockRow::kByLengths, kByLayers = StockRow::kByLayers;

std::vector<StockRow> make_rows() {
  std::vector<StockRow> rows = {
#define STOCK_PLUGIN(function, name, version, generation, outputs, fields) \
  {0, name, version, generation, outputs, fields},
#include "plugin/stock.def"
  };
  for (size_t i = 0; i < rows.size(); ++i) rows[i].index = static_cast<int>(i);
  return rows;
}

const std::vector<StockRow>& rows() {
  static const std::vector<StockRow> all = make_rows();
  return all;
}

PluginFieldType type_of(char letter) {
  return letter == 'i'   ? PluginFieldType::kINT32
         : letter == 'f' ? PluginFieldType::kFLOAT32
                         : PluginFieldType::kCHAR;
}

/// The fields that a row reads, as creators tell them.
class FieldNames {
 public:
  explicit FieldNames(const StockRow& row) {
    std::istringstream words(row.fields);
    for (std::string word; words >> word;) names_.push_back(word);
    for (std::string& word : names_) {
      const PluginFieldType type = type_of(word.back());
      word.resize(word.size() - 2);
      fields_.emplace_back(word.c_str(), nullptr, type, 1);
    }
    collection_ = {static_cast<int32_t>(fields_.size()), fields_.data()};
  }
  const PluginFieldCollection* collection() const { return &collection_; }
  bool has(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }

 private:
  std::vector<std::string> names_;
  std::vector<PluginField> fields_;
  PluginFieldCollection collection_;
};

std::string text_of(const PluginFieldCollection* fields) {
  return fields == nullptr ? std::string() : fields_to_text(*fields);
}

/// Attributes of ONNX nodes that name a creator. Programs also give them as fields.
bool names_creator(std::string_view field) {
  return field == "plugin_version" || field == "plugin_namespace";
}

/// An error for a field that the row does not read.
Status check_names(const StockRow& row, const PluginFieldCollection& given) {
  const FieldNames names(row);
  for (int32_t i = 0; i < given.nbFields; ++i)
    if (const char* name = given.fields[i].name; !names.has(name) && !names_creator(name))
      return user_error("plugin '{}' version {} has no field '{}' (it has: {})", row.name,
                        row.version, name, row.fields);
  return {};
}

class CreatorV2 final : public IPluginCreator {
 public:
  CreatorV2(const StockRow& row, std::string space)
      : row_(row), names_(row), space_(std::move(space)) {}
  const char* getPluginName() const noexcept override { return row_.name; }
  const char* getPluginVersion() const noexcept override { return row_.version; }
  const PluginFieldCollection* getFieldNames() noexcept override { return names_.collection(); }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection* fields) noexcept override {
    return or_null([&] { return make_stock_v2(row_, text_of(fields), space_); });
  }
  IPluginV2* deserializePlugin(const char*, const void* data, size_t length) noexcept override {
    const std::string_view bytes(static_cast<const char*>(data), length);
    if (!bytes.starts_with(kStockMark)) return nullptr;
    return or_null(
        [&] { return make_stock_v2(row_, std::string(bytes.substr(kStockMark.size())), space_); });
  }
  void setPluginNamespace(const char* space) noexcept override {
    space_ = space == nullptr ? "" : space;
  }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  const StockRow& row_;
  FieldNames names_;
  std::string space_;
};

class CreatorV3 final : public IPluginCreatorV3One {
 public:
  CreatorV3(const StockRow& row, std::string space)
      : row_(row), names_(row), space_(std::move(space)) {}
  const char* getPluginName() const noexcept override { return row_.name; }
  const char* getPluginVersion() const noexcept override { return row_.version; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }
  const PluginFieldCollection* getFieldNames() noexcept override { return names_.collection(); }
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields,
                          TensorRTPhase) noexcept override {
    return or_null([&] { return make_stock_v3(row_, text_of(fields), space_); });
  }

 private:
  const StockRow& row_;
  FieldNames names_;
  std::string space_;
};

/// Creators of all rows; they live as long as the process, as the registry does.
struct Creators {
  explicit Creators(const std::string& space) {
    for (const StockRow& row : rows()) {
      std::unique_ptr<IPluginCreatorInterface> creator;
      if (row.generation == 2)
        creator = std::make_unique<CreatorV2>(row, space);
      else
        creator = std::make_unique<CreatorV3>(row, space);
      all.emplace_back(&row, std::move(creator));
    }
  }
  std::vector<std::pair<const StockRow*, std::unique_ptr<IPluginCreatorInterface>>> all;
};

const StockRow* row_of(const Identity& identity) {
  for (const StockRow& row : rows())
    if (identity.type == row.name && identity.version == row.version) return &row;
  return nullptr;
}

/// The text of its fields, where the object is ours.
std::optional<std::string> own_fields(const StockRow& row, Instance& instance) {
  auto text = instance.serialized();
  if (!text.ok()) return {};
  if (row.generation == 2) {
    auto bytes = from_hex(*text);
    if (!bytes.ok() || !bytes->starts_with(kStockMark)) return {};
    return bytes->substr(kStockMark.size());
  }
  auto stored = StoredFields::read(*text);
  if (!stored.ok()) return {};
  const PluginFieldCollection fields = stored->collection();
  if (fields.nbFields != 1 || fields.fields[0].name != kStockMark) return {};
  return std::string(static_cast<const char*>(fields.fields[0].data),
                     static_cast<size_t>(fields.fields[0].length));
}

double number_at(const PluginField& field, int32_t index) {
  switch (field.type) {
    case PluginFieldType::kFLOAT64: return static_cast<const double*>(field.data)[index];
    case PluginFieldType::kFLOAT32: return static_cast<const float*>(field.data)[index];
    case PluginFieldType::kINT64:
      return static_cast<double>(static_cast<const int64_t*>(field.data)[index]);
    case PluginFieldType::kINT16: return static_cast<const int16_t*>(field.data)[index];
    case PluginFieldType::kINT32: return static_cast<const int32_t*>(field.data)[index];
    default: return static_cast<const int8_t*>(field.data)[index];
  }
}

}  // namespace

bool register_stock_plugins(Registry& where, const char* space) {
  // One set of creators a namespace, as long as the process.
  static std::mutex mutex;
  static std::map<std::string, Creators> sets;
  const std::string name = space == nullptr ? "" : space;
  const std::lock_guard lock(mutex);
  bool all = true;
  for (const auto& [row, creator] : sets.try_emplace(name, name).first->second.all)
    if (where.find(row->name, row->version, name) != creator.get())
      all &= where.registerCreator(*creator, name.c_str());
  return all;
}

Result<std::optional<StockPlugin>> stock_plugin(Instance& instance) {
  const StockRow* row = row_of(instance.identity());
  if (row == nullptr) return std::optional<StockPlugin>();
  const std::optional<std::string> text = own_fields(*row, instance);
  if (!text.has_value()) return std::optional<StockPlugin>();
  TENON_ASSIGN(StockFields fields, StockFields::read(*row, *text));
  return std::optional<StockPlugin>({*row, std::move(fields)});
}

Result<StockFields> StockFields::read(const StockRow& row, const std::string& text) {
  TENON_ASSIGN(StoredFields stored, StoredFields::read(text));
  TENON_TRY(check_names(row, stored.collection()));
  return StockFields(std::move(stored));
}

const PluginField* StockFields::find(std::string_view name) const {
  for (int32_t i = 0; i < fields_.nbFields; ++i)
    if (name == fields_.fields[i].name) return &fields_.fields[i];
  return nullptr;
}

std::vector<double> StockFields::numbers(std::string_view name) const {
  std::vector<double> values;
  if (const PluginField* field = find(name))
    for (int32_t i = 0; i < field->length; ++i) values.push_back(number_at(*field, i));
  return values;
}

std::vector<int64_t> StockFields::integers(std::string_view name) const {
  std::vector<int64_t> values;
  for (const double value : numbers(name)) values.push_back(static_cast<int64_t>(value));
  return values;
}

double StockFields::real(std::string_view name, double otherwise) const {
  const std::vector<double> values = numbers(name);
  return values.empty() ? otherwise : values[0];
}

int64_t StockFields::integer(std::string_view name, int64_t otherwise) const {
  return static_cast<int64_t>(real(name, static_cast<double>(otherwise)));
}

std::string StockFields::text(std::string_view name, std::string_view otherwise) const {
  const PluginField* field = find(name);
  if (field == nullptr) return std::string(otherwise);
  const std::string_view bytes(static_cast<const char*>(field->data),
                               static_cast<size_t>(field->length));
  return std::string(bytes.substr(0, bytes.find('\0')));
}

}  // namespace tenon::plugin
