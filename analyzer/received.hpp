/// Data that come over the network: from object stores, web servers, databases. To a job they are what storage gives.
///
/// A client waits for them in recv and poll, which the interposer counts among the batch's reads; one of several
/// threads (asyncio, a pool of connections) waits in a lock, of which nobody knows what it is for. So of a batch that
/// is made of such data all time counts as reading in which its maker neither ran nor waited for a core.
///
/// Worked example. A batch of 8 samples took 100 ms: 14 computing, 2 waiting for a core, 84 blocked, of which 60 are
/// known as reads. 1.6 MB came over the network: 84 ms of reading. Had 100 bytes come, it would stay at 60.
#pragma once

#include <vector>

#include "analyzer/run_data.hpp"
#include "analyzer/sections.hpp"

namespace stallcast {

/// Notes that `bytes` came over the network for this batch, and counts the waiting for them among its reads.
void count_received(Delivery& delivery, std::uint64_t bytes);

namespace sections {

/// Bytes that came over the network for a sample, in the steady windows; 0 where none was seen.
[[nodiscard]] double received_per_sample(const std::vector<RankView>& ranks);

/// Whether most of what samples are made of came over the network.
[[nodiscard]] bool is_over_network(const std::vector<RankView>& ranks);

/// Says so; and where storage was emulated, that such data were not.
void add_network_issues(const RunData& run, const std::vector<RankView>& ranks, std::vector<DataIssue>& issues);

}  // namespace sections
}  // namespace stallcast
