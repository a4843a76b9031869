/// Documents against the JSON Schemas that are shipped.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace stallcast::testing {

class SchemaCheck {
 public:
  /// Reads the schema in the file `path`; throws what nlohmann::json does where it is none.
  explicit SchemaCheck(const std::string& path);
  ~SchemaCheck();
  SchemaCheck(const SchemaCheck&) = delete;
  SchemaCheck& operator=(const SchemaCheck&) = delete;

  /// Empty if `document` is valid, else what speaks against it, a line each.
  [[nodiscard]] std::string complaint(const nlohmann::json& document) const;
  [[nodiscard]] bool is_valid(const nlohmann::json& document) const { return complaint(document).empty(); }

  /// The schema itself.
  [[nodiscard]] const nlohmann::json& root() const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace stallcast::testing
