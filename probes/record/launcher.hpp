/// What launchers leave in the environment of a process about the job that it is part of. Names only: they are read
/// inside the job (open_writer.cpp) and by the tool (collect/launch/launcher.hpp), which must agree.
#pragma once

#include <cstddef>

namespace stallcast::record {

/// The number of a process among all of its job, and how many there are.
struct RankVariables {
  const char* rank;
  const char* world;
};

/// In this order: torch's own, which launchers inside of others set last, then MPI's, then Slurm's. Beyond the first a
/// rank counts only with a world of more than one: a batch script of Slurm is task 0 of a step that does not exist.
inline constexpr RankVariables k_rank_variables[] = {{"RANK", "WORLD_SIZE"},
                                                     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                     {"PMI_RANK", "PMI_SIZE"},
                                                     {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                                     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

/// What tells one job from another; the first that is set counts. PMIX_NAMESPACE is that of one mpirun or one step.
inline constexpr const char* k_job_variables[] = {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "SLURM_JOB_ID"};

inline constexpr char k_no_job[] = "none";  ///< torchrun's TORCHELASTIC_RUN_ID where the user gave none
inline constexpr char k_restart_variable[] = "TORCHELASTIC_RESTART_COUNT";
inline constexpr std::size_t k_job_bytes = 96;  ///< "NAME=value", NUL-terminated, cut if longer

}  // namespace stallcast::record
