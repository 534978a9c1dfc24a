// Collective operations of several devices.
#include <utility>

#include "network/collective_node.h"
#include "network/network.h"

namespace tenon::network {
namespace {

class CollectiveLayer final
    : public LayerOf<nvinfer1::IDistCollectiveLayer, LayerType::kDIST_COLLECTIVE> {
 public:
  CollectiveLayer(Network& network, plugin::Collective operation)
      : LayerOf(network), operation_(std::move(operation)) {}
  bool setNbRanks(int32_t ranks) noexcept override {
    if (!permit(ranks >= 1, "setNbRanks", "at least one rank")) return false;
    assign(operation_.ranks, ranks);
    return true;
  }
  int32_t getNbRanks() const noexcept override { return static_cast<int32_t>(operation_.ranks); }
  std::vector<Value*> lower(Emitter& e) override { return {collective(e, in(0), operation_)}; }

 private:
  plugin::Collective operation_;
};

}  // namespace

IDistCollectiveLayer* Network::addDistCollective(ITensor& input,
                                                 CollectiveOperation distCollectiveOp,
                                                 ReduceOperation reduceOp, int64_t root,
                                                 int64_t* groups, int64_t groupSize) noexcept {
  constexpr const char* kCall = "addDistCollective";
  if (!require(is_valid(distCollectiveOp) && is_valid(reduceOp), kCall,
               "a collective and a reduction") ||
      !require(groupSize >= 0 && groupSize <= INT32_MAX, kCall, "a group's size") ||
      !require(groups != nullptr || groupSize == 0, kCall, "the group's ranks"))
    return nullptr;
  return reporter_->guarded(kCall, nullptr, [&]() -> IDistCollectiveLayer* {
    plugin::Collective operation{static_cast<plugin::CollectiveKind>(distCollectiveOp),
                                 static_cast<int64_t>(reduceOp),
                                 root,
                                 1,
                                 {groups, groups + groupSize}};
    if (auto status = operation.check(); !status.ok()) {
      reporter_->report(std::move(status).error().with_context(kCall));
      return nullptr;
    }
    return insert<CollectiveLayer>(kCall, {&input}, 1, std::move(operation));
  });
}

}  // namespace tenon::network
