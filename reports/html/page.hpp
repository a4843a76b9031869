/// A mustache template and its data to a page.
#pragma once

#include <initializer_list>
#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "reports/html/assets.hpp"

namespace stallcast::reports {

/// What a template's tags stand for: names with their texts, lists and sections.
using Tags = kainjow::mustache::data;

/// Every string of `page` is escaped for HTML unless the template says `{{{ }}}`. A broken template is a bug of ours
/// (ErrorCode::internal).
[[nodiscard]] Result<std::string> render_page(std::string_view layout, const Tags& page);

/// The content security policy of a page that runs these scripts, at least one, and loads nothing.
[[nodiscard]] std::string content_policy(std::initializer_list<const Asset*> scripts);

}  // namespace stallcast::reports
