#include "model/job/job_model.hpp"

namespace stallcast {

std::string_view name_of(Input input) {
  switch (input) {
    case Input::cores:
      return "usable CPU cores";
    case Input::workers:
      return "number of loader workers";
    case Input::making_times:
      return "times of making single batches";
    case Input::step_times:
      return "times of single steps";
    case Input::operators:
      return "cost per operator";
    case Input::storage_cost:
      return "cost of reading from storage";
    case Input::sample_bytes:
      return "bytes read per sample";
    case Input::requests_per_sample:
      return "requests to storage per sample";
    case Input::files_per_sample:
      return "files read per sample";
    case Input::opens_per_sample:
      return "files opened per sample";
    case Input::metadata_time:
      return "time in opens and stats";
    case Input::stream:
      return "latency and bandwidth of one stream of reads";
    case Input::one_node:
      return "most that one node gets from the storage";
    case Input::dataset_bytes:
      return "size of the data set";
    case Input::page_cache:
      return "memory that the page cache may use";
    case Input::prepared_bytes:
      return "bytes of a prepared sample";
  }
  return "";
}

}  // namespace stallcast
