/// The shipped schema of catalogues, the reader and the example agree.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "model/plan/catalog.hpp"
#include "tests/schema_check.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_catalog(const json& document) {
  static const testing::SchemaCheck check(STALLCAST_CATALOG_SCHEMA);
  return check.is_valid(document);
}

TEST_CASE("the example is a catalogue") {
  const std::string text = text_of(STALLCAST_EXAMPLE_CATALOG);
  CHECK(is_catalog(json::parse(text)));
  const auto catalog = parse_catalog(text);
  REQUIRE(catalog.ok());
  CHECK(catalog.value().machines.size() == 3);
  CHECK(catalog.value().currency.find("example prices") != std::string::npos);
}

TEST_CASE("what the schema refuses the reader refuses, and what it allows is read") {
  const json example = json::parse(text_of(STALLCAST_EXAMPLE_CATALOG));
  const auto agree = [](const json& document, bool valid) {
    CAPTURE(document.dump());
    CHECK(is_catalog(document) == valid);
    CHECK(parse_catalog(document.dump()).ok() == valid);
  };
  const auto with = [&](const char* key, const json& value) {
    json changed = example;
    changed["machines"][0][key] = value;
    return changed;
  };
  for (const char* needed : {"name", "cores", "memory_bytes", "gpus", "price_per_hour"}) {
    json without = example;
    without["machines"][0].erase(needed);
    agree(without, false);
  }
  agree(with("cores", 0), false);
  agree(with("cores", 1.5), true);
  agree(with("cores", "8"), false);
  agree(with("gpus", 1.5), false);
  agree(with("gpus", 0), true);
  agree(with("gpus", -1), false);
  agree(with("gpu_speed", 0), false);
  agree(with("max_nodes", 0), false);
  agree(with("price_per_hour", -1), false);
  agree(with("price_per_hour", 0), true);
  agree(with("local_disk_bytes", 1e12), false);  // how fast?
  agree(with("colour", "blue"), false);
  json storage = example;
  storage["shared_storage"] = json::object();
  agree(storage, false);
  storage.erase("shared_storage");
  agree(storage, true);
  storage["machines"] = json::array();
  agree(storage, false);
}

}  // namespace
}  // namespace stallcast
