/// The shipped JSON Schema and the writer agree: every profile validates, every key is described.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "analyzer/profile/json.hpp"
#include "tests/reports/random_profile.hpp"
#include "tests/reports/sample_profiles.hpp"
#include "tests/schema_check.hpp"

namespace stallcast::testing {
namespace {

using nlohmann::json;

const SchemaCheck& shipped() {
  static const SchemaCheck check(STALLCAST_SCHEMA_FILE);
  return check;
}

/// The schema of what `node` describes: references followed, "anyOf" [it, null] opened.
json resolved(json node) {
  if (node.contains("anyOf")) node = json(node["anyOf"][0]);
  if (node.contains("$ref"))
    node = json(shipped().root().at(json::json_pointer(node["$ref"].get<std::string>().substr(1))));
  return node;
}

/// Paths of `value` that the schema does not describe.
void undescribed(const json& value, const json& schema, const std::string& path, std::vector<std::string>& found) {
  if (value.is_array() && schema.contains("items")) {
    for (const json& element : value) undescribed(element, resolved(schema["items"]), path + "[]", found);
  }
  if (!value.is_object()) return;
  for (const auto& [key, inner] : value.items()) {
    const std::string where = path + "." + key;
    if (schema.contains("properties") && schema["properties"].contains(key)) {
      undescribed(inner, resolved(schema["properties"][key]), where, found);
    } else if (schema.contains("additionalProperties")) {
      undescribed(inner, resolved(schema["additionalProperties"]), where, found);
    } else {
      found.push_back(where);
    }
  }
}

}  // namespace

TEST_CASE("sample and random profiles validate against the shipped schema") {
  for (const NamedProfile& named : sample_profiles())
    CHECK_MESSAGE(shipped().complaint(to_json(named.profile)).empty(), named.name);
  for (unsigned seed = 0; seed < 60; ++seed) {
    json document = to_json(random_profile(seed));
    // Random integers are absurd on purpose; the schema bounds counts that cannot be negative.
    for (const char* key : {"logical_cpus", "physical_cpus", "hosts_seen"}) document["host"][key] = 1;
    for (const char* key : {"loaders_seen", "ranks_seen", "ranks_expected"}) document["job"][key] = 1;
    document["schema_version"] = 1;
    CHECK(shipped().complaint(document) == "");
  }
}

TEST_CASE("the schema refuses what the reader refuses") {
  const auto with = [](const char* pointer, const json& value) {
    json document = to_json(multi_rank());
    document[json::json_pointer(pointer)] = value;
    return document;
  };
  for (const json& bad :
       {with("/schema_version", 2), with("/rates/as_is_samples_per_s", 3.0), with("/command", "x"),
        with("/rates/as_is_samples_per_s/mean", "x"), with("/host/logical_cpus", -1), with("/issues", json::object()),
        with("/points/0/unit", "ms"), with("/premises/0/holds", 1)}) {
    CHECK_FALSE(shipped().complaint(bad).empty());
    CHECK_FALSE((profile_from_json(bad).ok() && bad["host"]["logical_cpus"] != -1));
  }
  json missing = to_json(multi_rank());
  missing.erase("overhead");
  CHECK_FALSE(shipped().complaint(missing).empty());
}

TEST_CASE("every key that is written is described, with its type and meaning") {
  for (const auto& [name, profile] : sample_profiles()) {
    std::vector<std::string> found;
    undescribed(to_json(profile), shipped().root(), name, found);
    CHECK_MESSAGE(found.empty(), (found.empty() ? "" : found.front()));
  }
}

}  // namespace stallcast::testing
