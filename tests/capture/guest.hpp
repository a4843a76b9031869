/// The program that the tests preload the capture library into: `capture_guest SCENE [ARGUMENTS]`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stallcast::test {

using Arguments = std::vector<std::string>;
using Scene = std::function<int(const Arguments&)>;

/// Ends the guest with a message if `holds` is false.
void require(bool holds, const char* what);

/// One way of doing I/O on the file `path`.
using Family = std::function<void(const std::string& path)>;

/// Ways of opening, reading, asking about, mapping and duplicating, by name.
std::map<std::string, Family> descriptor_families();
std::map<std::string, Family> stdio_families();
std::map<std::string, Family> stat_families();

/// Scenes about which processes are recorded.
std::map<std::string, Scene> process_scenes();
/// Scenes about threads, switches, refusals and interruptions.
std::map<std::string, Scene> life_scenes();

/// What scenes do again and again.
void read_file(const std::string& path);
void make_sample(std::int64_t index);
void make_batch(std::uint64_t number, int samples);

}  // namespace stallcast::test
