#include "model/scenario/scenario.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/scenario/keys.hpp"
#include "model/scenario/nearest_word.hpp"

namespace stallcast {
namespace {

const std::vector<std::string_view>& key_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const ScenarioKey& key : key_table()) all.push_back(key.name);
    return all;
  }();
  return names;
}

const ScenarioKey* find_key(std::string_view name) {
  const auto keys = key_table();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const ScenarioKey& key) { return key.name == name; });
  return found != keys.end() ? &*found : nullptr;
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

/// What to write instead of a key that is not known.
std::string instead_of(std::string_view key) {
  const auto nearest = nearest_word(key, key_names());
  if (nearest) return "did you mean '" + std::string(*nearest) + "'?";
  const auto alike = words_with_part(key, key_names());
  if (alike.size() == 1) return "did you mean '" + std::string(alike.front()) + "'?";
  return alike.empty() ? "keys: " + joined(key_names()) : "did you mean one of " + joined(alike) + "?";
}

/// The error of a key that is not answered, or of one that was set before.
Status check_key(const Scenario& scenario, std::string_view key) {
  const std::string name(key);
  if (find_key(key) == nullptr) {
    return usage_error("there is no scenario key '" + name + "'", instead_of(key));
  }
  const bool twice = std::any_of(scenario.items.begin(), scenario.items.end(),
                                 [&](const ScenarioItem& item) { return item.key == name; });
  if (twice) return usage_error("the scenario key '" + name + "' is set twice", "set each key once");
  return {};
}

bool contradicts_itself(const Scenario& scenario) {
  return scenario.workers == 0 && scenario.prefetch.has_value();
}

Error contradiction() {
  return usage_error("workers=0 prefetches nothing, so a prefetch factor means nothing beside it",
                     "leave out prefetch, or ask for at least one worker");
}

/// "key=value" cut in two; an error that shows how to write it.
Result<std::pair<std::string, std::string>> cut(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == setting.size()) {
    return usage_error("'" + setting + "' is not KEY=VALUE", "write for example workers=4 or cache=35%");
  }
  return std::pair(setting.substr(0, equals), setting.substr(equals + 1));
}

/// One sweep: its key and the values between the commas.
struct Sweep {
  std::string key{};
  std::vector<std::string> values{};
};

Result<Sweep> parse_sweep(const std::string& text) {
  auto parts = cut(text);
  if (!parts) return parts.error();
  Sweep sweep{parts.value().first, {}};
  const std::string& list = parts.value().second;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    if (comma == begin) return usage_error("'" + text + "' has an empty value", "write for example workers=1,2,4");
    sweep.values.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return sweep;
}

}  // namespace

std::span<const std::string_view> scenario_keys() {
  return key_names();
}

bool asks_beyond_machine(std::string_view key) {
  const ScenarioKey* known = find_key(key);
  return known != nullptr && known->beyond_machine;
}

Status set_key(Scenario& scenario, std::string_view key, std::string_view value) {
  STALLCAST_RETURN_IF_ERROR(check_key(scenario, key));
  Status status = find_key(key)->set(scenario, value);
  if (!status) {
    return Error{status.error().code, std::string(key) + ": " + status.error().what, status.error().hint};
  }
  scenario.items.push_back({std::string(key), std::string(value)});
  return {};
}

Result<Scenario> parse_scenario(std::span<const std::string> settings) {
  Scenario scenario;
  for (const std::string& setting : settings) {
    auto parts = cut(setting);
    if (!parts) return parts.error();
    STALLCAST_RETURN_IF_ERROR(set_key(scenario, parts.value().first, parts.value().second));
  }
  if (contradicts_itself(scenario)) return contradiction();
  return scenario;
}

Result<std::vector<Scenario>> parse_grid(std::span<const std::string> settings, std::span<const std::string> sweeps) {
  auto base = parse_scenario(settings);
  if (!base) return base.error();
  std::vector<Sweep> axes;
  std::size_t size = 1;
  for (const std::string& text : sweeps) {
    auto sweep = parse_sweep(text);
    if (!sweep) return sweep.error();
    size *= sweep.value().values.size();
    if (size > k_largest_grid) {
      return usage_error("the sweeps make a grid of more than " + std::to_string(k_largest_grid) + " scenarios",
                         "use fewer values, or several smaller sweeps");
    }
    axes.push_back(std::move(sweep).value());
  }
  std::vector<Scenario> grid{base.value()};
  for (const Sweep& axis : axes) {
    std::vector<Scenario> wider;
    wider.reserve(grid.size() * axis.values.size());
    for (const Scenario& scenario : grid) {
      for (const std::string& value : axis.values) {
        Scenario next = scenario;
        STALLCAST_RETURN_IF_ERROR(set_key(next, axis.key, value));
        wider.push_back(std::move(next));
      }
    }
    grid = std::move(wider);
  }
  // A grid over both keys means every sensible combination; a contradiction that was fixed by hand is a mistake.
  const std::size_t before = grid.size();
  std::erase_if(grid, contradicts_itself);
  const auto swept = [&](std::string_view key) {
    return std::any_of(axes.begin(), axes.end(), [&](const Sweep& axis) { return axis.key == key; });
  };
  if (grid.size() != before && !(swept("workers") && swept("prefetch"))) return contradiction();
  if (grid.empty()) return contradiction();
  return grid;
}

}  // namespace stallcast
