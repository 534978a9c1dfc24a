#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/engine.h"
#include "network/fixed_weights.h"
#include "ops/structure.h"
#include "plugin/logger_lease.h"
#include "quantizer/graph_scales.h"

namespace tenon::api {

/// IRefitter: new weights go into the network that the plan keeps, which is optimized again with
/// the tactics of the plan; so whatever passes made of the weights follows. Not thread-safe.
class Refitter final : public network::Threaded<IRefitter>, public network::FixedWeights {
 public:
  static Result<std::unique_ptr<Refitter>> create(EngineHandle& engine,
                                                  std::shared_ptr<network::Reporter> reporter);

  bool setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept override;
  bool refitCudaEngine() noexcept override;
  int32_t getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept override;
  int32_t getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept override;
  bool setDynamicRange(const char* tensorName, float min, float max) noexcept override;
  float getDynamicRangeMin(const char* tensorName) const noexcept override;
  float getDynamicRangeMax(const char* tensorName) const noexcept override;
  int32_t getTensorsWithDynamicRange(int32_t size, const char** names) const noexcept override;
  bool setNamedWeights(const char* name, Weights weights) noexcept override;
  int32_t getMissingWeights(int32_t size, const char** names) noexcept override;
  int32_t getAllWeights(int32_t size, const char** names) noexcept override;
  bool setNamedWeightsWithLocation(const char* name, Weights weights,
                                   TensorLocation location) noexcept override;
  Weights getNamedWeights(const char* name) const noexcept override;
  TensorLocation getWeightsLocation(const char* name) const noexcept override;
  bool unsetNamedWeights(const char* name) noexcept override;
  void setWeightsValidation(bool validate) noexcept override { validate_ = validate; }
  bool getWeightsValidation() const noexcept override { return validate_; }
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept override;
  Weights getWeightsPrototype(const char* name) const noexcept override;
  const Tensor* fixed_weights(const std::string& name) const override;

 private:
  /// One constant of the network.
  struct Entry {
    std::string name, layer;
    WeightsRole role = WeightsRole::kCONSTANT;
    Constant* constant = nullptr;
    std::optional<Weights> given;
    std::vector<Constant*> copies =
        {};                            ///< In bodies that use the constant of a graph around them.
    std::vector<std::byte> copy = {};  ///< Of `device`, for the refit.
    std::optional<Weights> device = {};  ///< As given, where they lie in memory of the device.
    bool missing() const;
    void forget() {
      given.reset();
      device.reset();
      copy = {};
    }
  };
  /// A tensor whose scale in 8 bits follows from a range.
  struct Range {
    RoundedTensor tensor;
    std::optional<std::pair<float, float>> given;
    float most() const { return range_of_scale(tensor.scale->value.values<float>()[0]); }
  };
  /// Other contents of the network's constants, as long as they are not taken back.
  class Changes;

  Refitter(EngineHandle& engine, std::shared_ptr<network::Reporter> reporter)
      : Threaded(std::move(reporter)), engine_(engine), lease_(*reporter_->logger()) {}
  /// Places in entries_ of the constants of a graph and of those around it.
  using Names = std::map<std::string, size_t>;
  void collect(const Graph& graph, const std::vector<std::string>& only, Names& names);
  void collect(const Node& node, Constant& constant, const std::vector<std::string>& only,
               Names& names);
  Entry* find(const char* name, const char* method) const;
  const Range* range_of(const char* tensor) const;
  static bool fits(const Entry& entry, const Weights& weights);
  bool take_from_device(const char* name, const Weights& weights);
  bool give(Entry& entry, const Weights& weights);
  /// Weights from memory of the device.
  Status fetch(const Weights& weights, std::vector<std::byte>& copy) const;
  Status refit();
  void change(Changes& changes) const;
  template <class Keep> int32_t list(int32_t size, const char** names, Keep keep) const;
  template <class Keep>
  int32_t list_roles(int32_t size, const char** layers, WeightsRole* roles, Keep keep) const;

  EngineHandle& engine_;
  plugin::LoggerLease lease_;
  std::unique_ptr<Graph> network_;
  mutable std::vector<Entry> entries_;
  std::map<std::string, const Tensor*> fixed_;  ///< Constants that are integers, in network_.
  std::vector<Range> ranges_;                   ///< Empty where the network has scales of its own.
  bool validate_ = true;
};

}  // namespace tenon::api
