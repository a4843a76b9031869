/// The program that the tests preload the capture library into: `capture_guest SCENE [ARGUMENTS]`.
#pragma once

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

/// Scenes about processes, threads, switches and refusals.
std::map<std::string, Scene> life_scenes();

}  // namespace stallcast::test
