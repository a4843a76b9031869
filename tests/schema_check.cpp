#include "tests/schema_check.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace stallcast::testing {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

struct SchemaCheck::Parsed {
  nlohmann::json root;
  valijson::Schema schema;
};

SchemaCheck::SchemaCheck(const std::string& path) : parsed_(std::make_unique<Parsed>()) {
  parsed_->root = nlohmann::json::parse(std::ifstream(path));
  valijson::SchemaParser().populateSchema(Adapter(parsed_->root), parsed_->schema);
}

SchemaCheck::~SchemaCheck() = default;

const nlohmann::json& SchemaCheck::root() const {
  return parsed_->root;
}

std::string SchemaCheck::complaint(const nlohmann::json& document) const {
  valijson::ValidationResults results;
  if (valijson::Validator().validate(parsed_->schema, Adapter(document), &results)) return "";
  std::string text = "invalid\n";
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    for (const std::string& part : error.context) text += part;
    text += ": " + error.description + "\n";
  }
  return text;
}

}  // namespace stallcast::testing
