#include "device/cuda/library_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace tenon::cuda {
namespace {

using Relocation = ElfW(Rela);

/// What a library's dynamic section says of the functions that it takes from others.
struct Imports {
  explicit Imports(const link_map& library) : base(library.l_addr) {
    size_t bytes_of_calls = 0, bytes_of_rest = 0;
    const Relocation *of_calls = nullptr, *of_rest = nullptr;
    for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB) symbols = at<ElfW(Sym)>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRTAB) names = at<char>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_JMPREL) of_calls = at<Relocation>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_PLTRELSZ) bytes_of_calls = entry->d_un.d_val;
      if (entry->d_tag == DT_RELA) of_rest = at<Relocation>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_RELASZ) bytes_of_rest = entry->d_un.d_val;
    }
    calls = {of_calls, of_calls == nullptr ? 0 : bytes_of_calls / sizeof(Relocation)};
    rest = {of_rest, of_rest == nullptr ? 0 : bytes_of_rest / sizeof(Relocation)};
  }

  /// Some loaders leave offsets from the library's beginning in its section.
  template <class T> const T* at(ElfW(Addr) address) const {
    return std::bit_cast<const T*>(address < base ? base + address : address);
  }

  bool names_symbol(const Relocation& relocation, const char* symbol) const {
    const auto index = ELF64_R_SYM(relocation.r_info);
    return index != 0 && std::strcmp(names + symbols[index].st_name, symbol) == 0;
  }

  ElfW(Addr) base;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  std::span<const Relocation> calls, rest;
};

/// The loader may have made its page read-only; it stays writable.
bool write_place(ElfW(Addr) place, void* function) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = std::bit_cast<void*>(place / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref(*std::bit_cast<void**>(place)).store(function);
  return true;
}

}  // namespace

bool redirect_calls(void* library, const char* symbol, void* function) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return false;
  const Imports imports(*map);
  if (imports.symbols == nullptr || imports.names == nullptr) return false;
  bool found = false;
  for (const auto& table : {imports.calls, imports.rest})
    for (const Relocation& relocation : table)
      if (imports.names_symbol(relocation, symbol))
        found = write_place(imports.base + relocation.r_offset, function) || found;
  return found;
}

}  // namespace tenon::cuda
