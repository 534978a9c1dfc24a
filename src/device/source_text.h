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

/// Files of the library in a row, in which the sources of many kernels end. Immutable; its files,
/// and itself, live as long as the process.
class FileBlock {
 public:
  explicit FileBlock(std::vector<std::string_view> files);
  const std::vector<std::string_view>& files() const { return files_; }
  /// A hash of each file, which hashes of sources take in its place.
  std::string_view keys() const { return keys_; }

 private:
  std::vector<std::string_view> files_;
  std::string keys_;
};

/// The text of a program for a device in pieces: files of the library are referred to, so that a
/// kernel keeps in memory of its own the text alone that was made for it, and that mostly
/// unwritten.
class SourceText {
 public:
  SourceText() = default;
  SourceText(std::string text) { add(std::move(text)); }
  SourceText(const char* text) : SourceText(std::string(text)) {}

  void add(std::string text) { pieces_.push_back({.own = std::move(text)}); }
  /// Text that lives as long as the process.
  void add_file(std::string_view text) { pieces_.push_back({.file = text}); }
  void add(const FileBlock& block) { pieces_.push_back({.block = &block}); }
  void add(std::shared_ptr<const UnwrittenText> text) {
    pieces_.push_back({.unwritten = std::move(text)});
  }
  /// Makes room for so many pieces.
  void reserve(size_t count) { pieces_.reserve(count); }
  void add(const SourceText& text) {
    pieces_.insert(pieces_.end(), text.pieces_.begin(), text.pieces_.end());
  }

  bool empty() const;
  /// All of it in one piece.
  std::string whole() const;
  /// Calls f(std::string_view, bool is_file) with one piece after the other.
  template <class Function> void for_each(Function f) const {
    for (const Piece& piece : pieces_)
      if (piece.unwritten != nullptr)
        f(std::string_view(piece.unwritten->write()), false);
      else
        piece.show(f);
  }
  /// The same where nothing is written: f gets the values of unwritten pieces.
  template <class Function> void for_each_value(Function f) const {
    for (const Piece& piece : pieces_)
      if (piece.unwritten != nullptr)
        f(piece.unwritten->values(), false);
      else
        piece.show(f);
  }
  /// The same, but the keys of blocks go to `g` instead of their files.
  template <class Function, class ForKeys> void for_each_value(Function f, ForKeys g) const {
    for (const Piece& piece : pieces_)
      if (piece.unwritten != nullptr)
        f(piece.unwritten->values(), false);
      else if (piece.block != nullptr)
        g(piece.block->keys());
      else
        piece.show(f);
  }
  bool operator==(const SourceText& other) const { return whole() == other.whole(); }

 private:
  struct Piece {
    std::string own = {};
    std::string_view file = {};
    std::shared_ptr<const UnwrittenText> unwritten = nullptr;
    const FileBlock* block = nullptr;

    template <class Function> void show(Function& f) const {
      if (block == nullptr) return f(own.empty() ? file : std::string_view(own), own.empty());
      for (const std::string_view text : block->files()) f(text, true);
    }
  };
  std::vector<Piece> pieces_;
};

}  // namespace tenon
