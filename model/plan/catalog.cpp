#include "model/plan/catalog.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "core/utf8.hpp"
#include "model/plan/constants.hpp"
#include "model/scenario/nearest_word.hpp"
#include "model/scenario/scenario.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

constexpr int k_schema_version = 1;
constexpr const char* k_hint = "model/schema/catalog.schema.json describes the file; samples/catalog has an example";

constexpr std::array<std::string_view, 4> k_catalog_keys{"schema_version", "currency", "shared_storage", "machines"};
constexpr std::array<std::string_view, 5> k_storage_keys{"bandwidth_bytes_per_s", "files_per_s", "metadata_per_s",
                                                         "contention", "coherence"};
constexpr std::array<std::string_view, 10> k_machine_keys{"name",
                                                          "cores",
                                                          "memory_bytes",
                                                          "gpus",
                                                          "gpu_speed",
                                                          "local_disk_bytes",
                                                          "local_disk_bytes_per_s",
                                                          "network_bytes_per_s",
                                                          "price_per_hour",
                                                          "max_nodes"};

/// What a number may be.
struct Range {
  double least = 0.0;
  double most = 1e18;
  bool above_least = true;  ///< `least` itself is not allowed
  bool whole = false;
};

/// Reads one object; keeps the first thing that was wrong.
class Reader {
 public:
  Reader(const json& object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {
    if (!object.is_object()) fail("", "must be an object");
  }

  void only(std::span<const std::string_view> known) {
    if (error_ || !object_.is_object()) return;
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const auto nearest = nearest_word(key, known);
      return fail(key, "is not a key of a catalogue" +
                           (nearest ? "; did you mean '" + std::string(*nearest) + "'?" : std::string()));
    }
  }

  std::optional<double> number(const char* key, const Range& range, bool needed) {
    const json* found = find(key, needed);
    if (found == nullptr) return std::nullopt;
    if (!found->is_number()) return fail(key, "must be a number"), std::nullopt;
    const double value = found->get<double>();
    const bool low = range.above_least ? value > range.least : value >= range.least;
    if (std::isfinite(value) && low && value <= range.most && (!range.whole || value == std::floor(value)))
      return value;
    char words[160];
    if (!low) {
      std::snprintf(words, sizeof words, "must be %s %g, but is %g", range.above_least ? "above" : "at least",
                    range.least, value);
    } else if (!(value <= range.most)) {
      std::snprintf(words, sizeof words, "must be at most %g, but is %g", range.most, value);
    } else {
      std::snprintf(words, sizeof words, "must be a whole number, but is %g", value);
    }
    return fail(key, words), std::nullopt;
  }

  std::string text(const char* key, bool needed) {
    const json* found = find(key, needed);
    if (found == nullptr) return {};
    if (!found->is_string()) return fail(key, "must be a text"), std::string();
    return valid_utf8(found->get<std::string>());
  }

  const json* find(const char* key, bool needed) {
    if (error_ || !object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    if (needed) fail(key, "is missing");
    return nullptr;
  }

  void fail(const std::string& key, const std::string& what) {
    if (error_) return;
    const std::string place = path_.empty() || key.empty() ? path_ + key : path_ + "." + key;
    error_ = Error{ErrorCode::bad_input, "catalogue: " + (place.empty() ? "the file" : place) + " " + what, k_hint};
  }

 private:
  const json& object_;
  std::string path_;
  std::optional<Error>& error_;
};

template <class Q>
std::optional<Q> as(std::optional<double> value) {
  return value ? std::optional(Q(*value)) : std::nullopt;
}

Machine read_machine(const json& object, const std::string& path, std::optional<Error>& error) {
  Reader in(object, path, error);
  in.only(k_machine_keys);
  Machine machine;
  machine.name = in.text("name", true);
  if (machine.name.empty()) in.fail("name", "must not be empty");
  machine.cores = in.number("cores", {}, true).value_or(1.0);
  machine.memory = Bytes(in.number("memory_bytes", {}, true).value_or(0.0));
  machine.gpus = static_cast<int>(in.number("gpus", {0.0, k_most_gpus, false, true}, true).value_or(1.0));
  machine.gpu_speed = in.number("gpu_speed", {0.001, 1000.0, false, false}, false).value_or(1.0);
  machine.disk = as<Bytes>(in.number("local_disk_bytes", {}, false));
  machine.disk_bandwidth = as<BytesPerSecond>(in.number("local_disk_bytes_per_s", {}, machine.disk.has_value()));
  machine.network_bandwidth = as<BytesPerSecond>(in.number("network_bytes_per_s", {}, false));
  machine.price_per_hour = in.number("price_per_hour", {0.0, 1e9, false, false}, true).value_or(0.0);
  machine.most_nodes = static_cast<int>(in.number("max_nodes", {1.0, k_most_nodes, false, true}, false).value_or(1.0));
  return machine;
}

void read_shared(const json& object, Catalog& catalog, std::optional<Error>& error) {
  Reader in(object, "shared_storage", error);
  in.only(k_storage_keys);
  SharedStorage shared;
  shared.bandwidth = as<BytesPerSecond>(in.number("bandwidth_bytes_per_s", {}, false));
  shared.files_per_s = as<PerSecond>(in.number("files_per_s", {}, false));
  shared.metadata_per_s = as<PerSecond>(in.number("metadata_per_s", {}, false));
  constexpr Range k_coefficient{0.0, 1.0, false, false};
  shared.contention = in.number("contention", k_coefficient, false);
  shared.coherence = in.number("coherence", k_coefficient, false);
  const bool scales = shared.contention || shared.coherence;
  if (!shared.bandwidth && !shared.files_per_s && !shared.metadata_per_s && !scales) {
    in.fail("", "needs bandwidth_bytes_per_s, files_per_s, metadata_per_s, contention or coherence");
  }
  catalog.shared = shared;
}

void read_machines(const json& list, Reader& in, Catalog& catalog, std::optional<Error>& error) {
  if (!list.is_array() || list.empty()) return in.fail("machines", "must be a list of at least one");
  if (list.size() > k_most_machines) return in.fail("machines", "has more than " + std::to_string(k_most_machines));
  std::set<std::string> names;
  for (std::size_t i = 0; i < list.size() && !error; ++i) {
    const std::string path = "machines[" + std::to_string(i) + "]";
    catalog.machines.push_back(read_machine(list[i], path, error));
    const bool is_new = names.insert(catalog.machines.back().name).second;
    if (!is_new) in.fail(path + ".name", "is that of another machine as well");
  }
}

}  // namespace

Result<Catalog> parse_catalog(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return Error{ErrorCode::bad_input, "catalogue: the file is not JSON", k_hint};
  std::optional<Error> error;
  Catalog catalog;
  Reader in(document, "", error);
  in.only(k_catalog_keys);
  const auto version = in.number("schema_version", {1.0, 1e9, false, true}, true);
  if (version && *version > k_schema_version) in.fail("schema_version", "is newer than this version reads (1)");
  catalog.currency = in.text("currency", false);
  if (const json* shared = in.find("shared_storage", false)) read_shared(*shared, catalog, error);
  if (const json* machines = in.find("machines", true)) read_machines(*machines, in, catalog, error);
  if (error) return *error;
  return catalog;
}

}  // namespace stallcast
