/// Names for addresses: of this very program, of the C library, of a kernel that we make up.
#include "probes/collect/perf/symbols.hpp"

#include <doctest/doctest.h>
#include <link.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect::probe_me {

/// What the test looks for: neither inlined nor dropped.
__attribute__((noinline, used)) int a_function_with_a_name(int value) {
  return value * 3 + 1;
}

}  // namespace stallcast::collect::probe_me

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

/// Where an address of this process lies in its file.
struct InFile {
  std::string path{};
  std::uint64_t offset = 0;
};

InFile in_file(const void* pointer) {
  struct Search {
    std::uintptr_t address;
    InFile found{};
  } search{reinterpret_cast<std::uintptr_t>(pointer)};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = object->dlpi_phdr[i];
          const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || wanted->address < begin || wanted->address - begin >= segment.p_memsz)
            continue;
          wanted->found.path = *object->dlpi_name == '\0' ? "/proc/self/exe" : object->dlpi_name;
          wanted->found.offset = wanted->address - begin + segment.p_offset;
        }
        return 0;
      },
      &search);
  return search.found;
}

TEST_CASE("a function of this program is found by where it lies in the file") {
  const InFile at = in_file(reinterpret_cast<const void*>(&probe_me::a_function_with_a_name));
  REQUIRE_FALSE(at.path.empty());
  const std::vector<std::uint64_t> offsets{0, at.offset, at.offset + 1};
  const auto names = function_names(at.path, offsets);
  REQUIRE(names.size() == 3);
  CHECK(names[0].empty());  // the ELF header is no code
  CHECK(names[1] == "stallcast::collect::probe_me::a_function_with_a_name");
  CHECK(names[2] == names[1]);
}

TEST_CASE("copying memory has a name even in a C library without symbols") {
  const LibcFunctions& libc = libc_functions();
  if (libc.entries.empty()) {
    MESSAGE("skipped: the C library's own functions cannot be told here (a sanitizer replaces them)");
    return;
  }
  void* (*volatile copy)(void*, const void*, std::size_t) = std::memmove;
  const InFile at = in_file(reinterpret_cast<const void*>(copy));
  if (at.path.find("libc") == std::string::npos) {
    MESSAGE("skipped: memmove does not come from the C library here");
    return;
  }
  const std::vector<std::uint64_t> offsets{at.offset + 16};
  const std::string name = function_names(at.path, offsets).at(0);
  CHECK(name.find("mem") != std::string::npos);
}

TEST_CASE("what is no ELF file, is gone or is damaged names nothing") {
  FakeRoot root;
  root.put("text", "no program")
      .put("half", std::string("\x7f"
                               "ELF\x02\x01\x01") +
                       std::string(60, '\xff'));
  const std::vector<std::uint64_t> offsets{1, 2};
  for (const char* file : {"text", "half", "absent"}) {
    CHECK(function_names(root.path() / file, offsets) == std::vector<std::string>(2));
  }
  CHECK(function_names(root.path(), offsets) == std::vector<std::string>(2));
  CHECK(function_names("/dev/zero", offsets) == std::vector<std::string>(2));
}

TEST_CASE("kernel addresses by the symbol before them; none where they are hidden") {
  const std::string text =
      "ffffffff81000000 T _stext\nffffffff81002000 t clear_page_erms\nffffffff81001000 T copy_user\n"
      "ffffffff82000000 D some_data\nffffffffc0000000 t ext4_read\t[ext4]\ngarbage\n";
  const std::vector<std::uint64_t> addresses{0xfff, 0xffffffff81000010, 0xffffffff81001fff, 0xffffffff81002000,
                                             0xffffffffc0000100};
  const std::vector<std::string> expected{"", "_stext", "copy_user", "clear_page_erms", "ext4_read"};
  CHECK(kernel_names(text, addresses) == expected);
  CHECK(kernel_names("0000000000000000 T _stext\n0000000000000000 T x\n", addresses) == std::vector<std::string>(5));
}

TEST_CASE("function names without types and arguments") {
  CHECK(short_function_name("memcpy") == "memcpy");
  CHECK(short_function_name("_ZN2at6native4copyERKNS_6TensorES3_b") == "at::native::copy");
  CHECK(short_function_name("_ZN2at6native12_GLOBAL__N_111copy_kernelEi") == "at::native::(anonymous)::copy_kernel");
  CHECK(short_function_name("_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_") == "std::move");
  CHECK(short_function_name("_Znot mangled") == "_Znot mangled");
}

}  // namespace
}  // namespace stallcast::collect
