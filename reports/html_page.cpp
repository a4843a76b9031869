#include "reports/html_page.hpp"

#include "reports/escape.hpp"

namespace stallcast::reports {

Result<std::string> render_page(std::string_view layout, const kainjow::mustache::data& page) {
  kainjow::mustache::mustache compiled{std::string(layout)};
  compiled.set_custom_escape([](const std::string& text) { return html_text(text); });
  std::string text = compiled.is_valid() ? compiled.render(page) : std::string();
  if (!compiled.error_message().empty())
    return Error{ErrorCode::internal, "HTML template: " + compiled.error_message(), ""};
  return text;
}

}  // namespace stallcast::reports
