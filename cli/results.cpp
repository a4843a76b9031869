#include "cli/results.hpp"

#include "analyzer/profile_json.hpp"
#include "cli/terminal.hpp"
#include "core/private_file.hpp"
#include "probes/collect/output_folder.hpp"

namespace stallcast::cli {

RenderOptions render_options(const Profile& profile, const std::filesystem::path& named) {
  (void)profile;
  RenderOptions options;
  options.profile_path = named.string();
  return options;
}

Status write_results(const Profile& profile, const std::filesystem::path& output) {
  STALLCAST_RETURN_IF_ERROR(save_profile(profile, output / collect::k_profile_file));
  const auto html = render(profile, {}, ReportFormat::html, render_options(profile, output));
  if (!html) return html.error();
  return write_private_file(output / collect::k_report_file, html.value());
}

Status print_report(const Profile& profile, const std::filesystem::path& output) {
  RenderOptions options = render_options(profile, output);
  options.color = stdout_has_color();
  options.unicode = stdout_has_unicode();
  const auto text = render(profile, {}, ReportFormat::text, options);
  if (!text) return text.error();
  return print_result(text.value());
}

}  // namespace stallcast::cli
