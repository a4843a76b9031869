/// A mustache template and its data to a page.
#pragma once

#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace stallcast::reports {

/// Every string of `page` is escaped for HTML unless the template says `{{{ }}}`. A broken template is a bug of ours
/// (ErrorCode::internal).
[[nodiscard]] Result<std::string> render_page(std::string_view layout, const kainjow::mustache::data& page);

}  // namespace stallcast::reports
