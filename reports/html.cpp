#include "reports/formats.hpp"

namespace stallcast::reports {

Result<std::string> render_html(const ReportData&) {
  return Error{ErrorCode::internal, "the HTML report is not built yet", ""};
}

}  // namespace stallcast::reports
