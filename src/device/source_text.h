#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

/// The text of a program for a device in pieces: files of the library are referred to, so that a
/// kernel keeps in memory of its own the text alone that was written for it.
class SourceText {
 public:
  SourceText() = default;
  SourceText(std::string text) { add(std::move(text)); }
  SourceText(const char* text) : SourceText(std::string(text)) {}

  void add(std::string text) { pieces_.push_back({std::move(text), {}}); }
  /// Text that lives as long as the process.
  void add_file(std::string_view text) { pieces_.push_back({{}, text}); }
  void add(const SourceText& text) {
    pieces_.insert(pieces_.end(), text.pieces_.begin(), text.pieces_.end());
  }

  bool empty() const;
  size_t size() const;
  /// All of it in one piece.
  std::string whole() const;
  /// Calls f(std::string_view, bool is_file) with one piece after the other.
  template <class Function>
  void for_each(Function f) const {
    for (const Piece& piece : pieces_) f(piece.text(), piece.own.empty());
  }
  bool operator==(const SourceText& other) const { return whole() == other.whole(); }

 private:
  struct Piece {
    std::string own;
    std::string_view file;
    std::string_view text() const { return own.empty() ? file : std::string_view(own); }
  };
  std::vector<Piece> pieces_;
};

}  // namespace tenon
