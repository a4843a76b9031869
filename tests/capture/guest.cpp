#include "tests/capture/guest.hpp"

#include <stallcast/capture.h>

#include <cstdio>
#include <cstdlib>

namespace stallcast::test {

void require(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::_Exit(1);
}

namespace {

std::map<std::string, Family> all_families() {
  auto families = descriptor_families();
  families.merge(stdio_families());
  families.merge(stat_families());
  return families;
}

/// family NAME PATH sample|batch|none: one family, inside a sample of a batch, a batch, or neither.
int family_scene(const Arguments& arguments) {
  const auto families = all_families();
  const auto family = families.find(arguments.at(0));
  require(family != families.end(), "no such family");
  const std::string& path = arguments.at(1);
  const std::string& where = arguments.at(2);
  stallcast_step();
  if (where != "none") stallcast_batch_begin(3, 7, 1);
  if (where == "sample") stallcast_sample_begin(42);
  family->second(path);
  if (where == "sample") stallcast_sample_end();
  if (where != "none") stallcast_batch_end(1);
  return 0;
}

int list_scene(const Arguments& /*arguments*/) {
  for (const auto& [name, family] : all_families()) std::puts(name.c_str());
  return 0;
}

}  // namespace
}  // namespace stallcast::test

int main(int argc, char** argv) {
  using namespace stallcast::test;  // NOLINT(google-build-using-namespace)
  auto scenes = life_scenes();
  scenes.merge(process_scenes());
  scenes["family"] = family_scene;
  scenes["list"] = list_scene;
  require(argc >= 2, "usage: capture_guest SCENE [ARGUMENTS]");
  const auto scene = scenes.find(argv[1]);
  require(scene != scenes.end(), "no such scene");
  return scene->second(Arguments(argv + 2, argv + argc));
}
