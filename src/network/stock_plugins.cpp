#include "network/stock_plugins.h"

namespace tenon::network {

Values expand_stock_plugin(Emitter& e, const plugin::StockRow& row, const StockFields& fields,
                           Inputs in) {
  using Expand = Values (*)(Emitter&, const StockFields&, Inputs);
  constexpr Expand kExpansions[] = {
#define STOCK_PLUGIN(function, ...) &stock_##function,
#include "plugin/stock.def"
  };
  return kExpansions[static_cast<size_t>(row.index)](e, fields, in);
}

Value* reals(Emitter& e, const std::vector<double>& numbers, std::vector<int64_t> extents,
             Value* like) {
  if (element_count(extents) != static_cast<int64_t>(numbers.size())) {
    e.fail(user_error("a field has {} numbers where {} are needed", numbers.size(),
                      element_count(extents)));
    return nullptr;
  }
  Tensor tensor(DataType::kFloat32, std::move(extents));
  for (size_t i = 0; i < numbers.size(); ++i)
    tensor.set_from_double(static_cast<int64_t>(i), numbers[i]);
  return e.cast(e.constant(std::move(tensor)), e.type(like));
}

bool takes(Emitter& e, Inputs in, size_t least, size_t most) {
  if (in.size() < least || in.size() > most)
    e.fail(user_error("it has {} inputs; it takes {}{}", in.size(), least,
                      most == least ? "" : fmt::format(" to {}", most)));
  return e.ok();
}

std::vector<double> image_extents(Emitter& e, const StockFields& fields,
                                  std::vector<double> otherwise) {
  const std::vector<double> given = fields.numbers("image_size");
  if (given.empty()) return otherwise;
  if (given.size() != 3 || given[1] < 2 || given[2] < 2) {
    e.fail(user_error("image_size holds channels, height and width, the latter at least 2"));
    return otherwise;
  }
  return {given[1], given[2]};
}

}  // namespace tenon::network
