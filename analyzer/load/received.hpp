/// Data that come over the network: from object stores, web servers, databases. To a job they are what storage gives.
///
/// A client waits for them in recv and poll, which the interposer counts among the batch's reads; one of several
/// threads (asyncio, a pool of connections) waits in a lock, of which nobody knows what it is for. So of a batch that
/// is made of such data all time counts as reading in which its maker neither ran nor waited for a core.
///
/// Worked example. A batch of 8 samples took 100 ms: 14 computing, 2 waiting for a core, 84 blocked, of which 60 are
/// known as reads. 1.6 MB came over the network: 84 ms of reading. Had 100 bytes come, it would stay at 60.
#pragma once

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// Notes that `bytes` came over the network for this batch, and counts the waiting for them among its reads.
void count_received(Delivery& delivery, std::uint64_t bytes);

}  // namespace stallcast
