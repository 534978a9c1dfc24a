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
    int offset = 0;
    bool is_known_shape = false;  ///< Its contents are extents: others under other values.
  };
  const std::vector<OperandNumbers>& operands() const { return operands_; }
  int buffer_bytes(size_t buffer) const { return buffer_bytes_[buffer]; }
  int copy_bytes(size_t step) const { return copy_bytes_[step]; }
  /// The symbol of a step's scratch bytes; empty: it has none.
  const std::string& scratch_symbol(size_t step) const { return scratch_symbols_[step]; }

 private:
  int add(const Dim& dim);
  void add_operands();

  const Program& program_;
  bool serves_ = false;
  std::vector<Dim> dims_;
  std::map<std::string, int> places_;  ///< By text.
  std::vector<OperandNumbers> operands_;
  std::vector<int> buffer_bytes_, copy_bytes_;
  std::vector<std::string> scratch_symbols_;
};

}  // namespace tenon
