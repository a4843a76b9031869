#include "probes/collect/perf/symbols.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "probes/collect/perf/constants.hpp"

namespace stallcast::collect {
namespace {

struct Asked {
  std::uint64_t address = 0;  ///< as symbols have it
  std::size_t index = 0;      ///< into what was asked
  std::uint64_t size = 0;     ///< of the symbol found; 0: none yet
  std::string symbol{};
};

/// An ELF file that is open for reading; ok() is false where it is none.
class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& path) {
    elf_version(EV_CURRENT);
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info {};
    if (file_ < 0 || fstat(file_, &info) != 0 || !S_ISREG(info.st_mode)) return;
    elf_ = elf_begin(file_, ELF_C_READ, nullptr);
  }
  ~ElfFile() {
    if (elf_ != nullptr) elf_end(elf_);
    if (file_ >= 0) close(file_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  [[nodiscard]] bool ok() const { return elf_ != nullptr && elf_kind(elf_) == ELF_K_ELF; }
  [[nodiscard]] Elf* get() const { return elf_; }

 private:
  int file_ = -1;
  Elf* elf_ = nullptr;
};

/// Offsets in the file to addresses, by the segments that are loaded; what lies in none is left out.
std::vector<Asked> addresses_of(Elf* elf, std::span<const std::uint64_t> offsets) {
  std::vector<Asked> asked;
  std::size_t headers = 0;
  if (elf_getphdrnum(elf, &headers) != 0) return asked;
  for (std::size_t h = 0; h < headers; ++h) {
    GElf_Phdr segment{};
    if (gelf_getphdr(elf, static_cast<int>(h), &segment) == nullptr || segment.p_type != PT_LOAD) continue;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] < segment.p_offset || offsets[i] - segment.p_offset >= segment.p_filesz) continue;
      if ((segment.p_flags & PF_X) == 0) continue;
      asked.push_back({segment.p_vaddr + (offsets[i] - segment.p_offset), i, 0, {}});
    }
  }
  std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.address < b.address; });
  return asked;
}

/// Gives `symbol` to what it covers; of several the smallest, which says most.
void offer(std::vector<Asked>& asked, const GElf_Sym& symbol, const char* name) {
  const auto by_address = [](const Asked& a, std::uint64_t address) { return a.address < address; };
  auto at = std::lower_bound(asked.begin(), asked.end(), symbol.st_value, by_address);
  for (; at != asked.end() && at->address - symbol.st_value < symbol.st_size; ++at) {
    if (at->size != 0 && at->size <= symbol.st_size) continue;
    at->size = symbol.st_size;
    at->symbol = name;
  }
}

void look_up(Elf* elf, std::vector<Asked>& asked) {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header{};
    if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) continue;
    if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    const auto symbols = static_cast<int>(data->d_size / header.sh_entsize);
    for (int i = 0; i < symbols; ++i) {
      GElf_Sym symbol{};
      if (gelf_getsym(data, i, &symbol) == nullptr || symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF) continue;
      // The code of an indirect function only chooses another.
      if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name != nullptr && *name != '\0') offer(asked, symbol, name);
    }
  }
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code failed;
  return !a.empty() && std::filesystem::equivalent(a, b, failed) && !failed;
}

/// The nearest of the C library's chosen functions below; all that lies between two of them belongs to variants that
/// this processor does not run.
void name_libc(std::vector<Asked>& asked) {
  const auto& entries = libc_functions().entries;
  for (Asked& one : asked) {
    if (one.size != 0) continue;
    auto after = std::upper_bound(entries.begin(), entries.end(), one.address,
                                  [](std::uint64_t address, const auto& entry) { return address < entry.first; });
    if (after == entries.begin()) continue;
    --after;
    // The others are short and lie among much else: they only bound what may be called a copy.
    const bool moves = after->second.starts_with("mem") && after->second.find("ch") == std::string::npos;
    if (moves && one.address - after->first < k_most_libc_code_bytes) one.symbol = after->second;
  }
}

}  // namespace

std::string short_function_name(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                              &std::free);
  if (!demangled) return symbol;
  std::string name;
  int depth = 0;
  const std::string_view full(demangled.get());
  for (std::size_t i = 0; i < full.size(); ++i) {
    const char c = full[i];
    const bool is_operator = name.ends_with("operator") || name.ends_with("operator<") || name.ends_with("operator>");
    if (full.substr(i).starts_with("(anonymous namespace)") && depth == 0) {
      name += "(anonymous)";
      i += std::string_view("(anonymous namespace)").size() - 1;
    } else if (c == '<' && !is_operator) {
      ++depth;
    } else if (c == '>' && !is_operator) {
      --depth;
    } else if (c == '(' && depth == 0 && !name.empty() && !is_operator) {
      // Of "f(int)::{lambda(int)#1}::operator()(int)" the outermost function is what people know.
      break;
    } else if (c == ' ' && depth == 0) {
      name.clear();  // the type that it returns
    } else if (depth == 0) {
      name += c;
    }
  }
  return name.empty() ? std::string(full) : name;
}

std::vector<std::string> function_names(const std::filesystem::path& file, std::span<const std::uint64_t> offsets) {
  std::vector<std::string> names(offsets.size());
  const ElfFile elf(file);
  if (!elf.ok()) return names;
  std::vector<Asked> asked = addresses_of(elf.get(), offsets);
  look_up(elf.get(), asked);
  if (same_file(libc_functions().file, file)) name_libc(asked);
  for (const Asked& one : asked) {
    if (!one.symbol.empty()) names[one.index] = short_function_name(one.symbol.c_str());
  }
  return names;
}

std::vector<std::string> kernel_names(std::string_view kallsyms, std::span<const std::uint64_t> addresses) {
  // "ffffffff81000000 T _text\t[module]": each symbol holds what lies between it and the next.
  std::vector<std::pair<std::uint64_t, std::string_view>> symbols;
  while (!kallsyms.empty()) {
    const std::size_t newline = std::min(kallsyms.find('\n'), kallsyms.size());
    const std::string_view line = kallsyms.substr(0, newline);
    kallsyms.remove_prefix(std::min(newline + 1, kallsyms.size()));
    std::uint64_t begin = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), begin, 16);
    const auto digits = static_cast<std::size_t>(parsed.ptr - line.data());
    if (parsed.ec != std::errc() || begin == 0 || line.size() < digits + 4) continue;
    const char type = line[digits + 1];
    if (type != 't' && type != 'T' && type != 'w' && type != 'W') continue;
    const std::string_view rest = line.substr(digits + 3);
    symbols.emplace_back(begin, rest.substr(0, rest.find_first_of("\t ")));
  }
  std::sort(symbols.begin(), symbols.end());
  std::vector<std::string> names(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto after =
        std::upper_bound(symbols.begin(), symbols.end(), addresses[i],
                         [](std::uint64_t address, const auto& symbol) { return address < symbol.first; });
    if (after != symbols.begin()) names[i] = std::prev(after)->second;
  }
  return names;
}

}  // namespace stallcast::collect
