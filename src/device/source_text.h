#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

/// Text that is written when it is asked for. Immutable.
class UnwrittenText {
 public:
  virtual ~UnwrittenText() = default;
  /// Bytes that are equal where texts are.
  virtual std::string_view values() const = 0;
  virtual std::string write() const = 0;
};

/// The text of a program for a device in pieces: files of the library are referred to, so that a
/// kernel keeps in memory of its own the text alone that was made for it, and that mostly
/// unwritten.
class SourceText {
 public:
  SourceText() = default;
  SourceText(std::string text) { add(std::move(text)); }
  SourceText(const char* text) : SourceText(std::string(text)) {}

  void add(std::string text) { pieces_.push_back({std::move(text), {}, nullptr}); }
  /// Text that lives as long as the process.
  void add_file(std::string_view text) { pieces_.push_back({{}, text, nullptr}); }
  void add(std::shared_ptr<const UnwrittenText> text) {
    pieces_.push_back({{}, {}, std::move(text)});
  }
  void add(const SourceText& text) {
    pieces_.insert(pieces_.end(), text.pieces_.begin(), text.pieces_.end());
  }

  bool empty() const;
  /// All of it in one piece.
  std::string whole() const;
  /// Calls f(std::string_view, bool is_file) with one piece after the other.
  template <class Function>
  void for_each(Function f) const {
    for (const Piece& piece : pieces_)
      if (piece.unwritten != nullptr)
        f(std::string_view(piece.unwritten->write()), false);
      else
        f(piece.text(), piece.own.empty());
  }
  /// The same where nothing is written: f gets the values of unwritten pieces.
  template <class Function>
  void for_each_value(Function f) const {
    for (const Piece& piece : pieces_)
      if (piece.unwritten != nullptr)
        f(piece.unwritten->values(), false);
      else
        f(piece.text(), piece.own.empty());
  }
  bool operator==(const SourceText& other) const { return whole() == other.whole(); }

 private:
  struct Piece {
    std::string own;
    std::string_view file;
    std::shared_ptr<const UnwrittenText> unwritten;
    std::string_view text() const { return own.empty() ? file : std::string_view(own); }
  };
  std::vector<Piece> pieces_;
};

}  // namespace tenon
