/// The cost per operator as every format words it.
#pragma once

#include <string>
#include <vector>

#include "reports/findings/report_data.hpp"

namespace stallcast::reports {

struct OperatorRow {
  std::string name{};   ///< raw: class names come from the script
  std::string where{};  ///< likewise; may be empty
  std::string share{};  ///< "41 %"
  std::string wall{};   ///< own time per sample, "1.84 ms (1.80 to 1.88)"
  std::string cpu{};
  std::string median{};  ///< of the samples in which it ran; empty where not known
  std::string q95{};
  std::string without{};  ///< rate without it, "252 (244 to 259)"; empty where nobody asked
};

/// The rows worth a line, the dearest first; the others in the last one. Empty where nothing was measured.
[[nodiscard]] std::vector<OperatorRow> operator_rows(const ReportData& data);

/// "Cost per operator, every byte from memory".
[[nodiscard]] std::string operator_title(const Profile& profile);

/// What the columns say.
[[nodiscard]] std::string operator_note(const ReportData& data);

}  // namespace stallcast::reports
