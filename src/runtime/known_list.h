#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program.h"

namespace tenon {

/// The list of a program's steps, made ready to serve programs of the same graph and kernels under
/// other values of the symbols: its numbers as one table, which is gone through once for each, and
/// the facts that must be the same for the list to hold.
class KnownList {
 public:
  explicit KnownList(const Program& program);

  /// Whether programs may take it at all.
  bool serves() const { return serves_; }
  const Program& program() const { return program_; }

  /// The numbers under these values; nothing where one has none.
  std::optional<std::vector<int64_t>> numbers(const SymbolValues& symbols) const;
  /// Steps that run kernels, which come ahead of copies.
  size_t kernel_count() const;
  /// Places in that table, in the order of Program's operands.
  struct OperandNumbers {
    const Value* value = nullptr;  ///< Null: absent, not read, or scratch.
    int offset = 0, each = 0;
    bool is_known_shape = false;  ///< Its contents are extents: others under other values.
  };
  const std::vector<OperandNumbers>& operands() const { return operands_; }
  struct BufferNumbers {
    const Value* value = nullptr;  ///< Null: scratch.
    int bytes = 0;
    int samples = 0;  ///< Of the value, of which it holds one at a time.
  };
  const std::vector<BufferNumbers>& buffers() const { return buffers_; }
  struct StepNumbers {
    int copy_bytes = 0, samples = 0;
    std::string scratch;  ///< The symbol of its bytes; empty: it has none.
  };
  const std::vector<StepNumbers>& steps() const { return steps_; }
  /// Results that take the memory of others, which are as large.
  const std::vector<std::pair<const Value*, const Value*>>& in_place() const { return in_place_; }

 private:
  int add(const Dim& dim);
  void add_buffers();
  void add_operands();

  const Program& program_;
  bool serves_ = false;
  std::vector<Dim> dims_;
  std::map<int64_t, int> constants_;
  std::map<std::string, int> places_;  ///< Of others, by text.
  std::vector<OperandNumbers> operands_;
  std::vector<BufferNumbers> buffers_;
  std::vector<StepNumbers> steps_;
  std::vector<std::pair<const Value*, const Value*>> in_place_;
};

}  // namespace tenon
