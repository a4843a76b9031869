/* The phase calls of the capture library, for the Python shim only: exported, but no public API.
 *
 * A worker (or the consumer, without workers) sets the phase before it makes a batch and clears it after; in between
 * the hooks evict or delay as the phase says and count what they found. */
#ifndef STALLCAST_CAPTURE_PHASE_H
#define STALLCAST_CAPTURE_PHASE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 while states are made in this run (control block's mode and let_go), else 0. */
int stallcast_phased(void);

/* Copies published segment `index` into out[8]: first, batches, phase, round, at_once, argument, seed, made_as.
 * 0 if it is not published yet. */
int stallcast_segment(uint32_t index, uint64_t* out);

/* Segments published so far; 0 if this run has no phases. */
uint32_t stallcast_segments(void);

/* 1: batches are made of what comes over the network. */
int stallcast_data_received(void);

/* 1: the tool has shown a sign of life in the last 3 s. A hold that finds 0 lets go. */
int stallcast_tool_alive(void);

/* Serial of the tool's last question what comes next (0: none), its first turn and number of turns in out[2]. */
uint32_t stallcast_ahead(uint64_t* out);

/* The consumer's line of the control block: turns taken, first turn of the pass, turn after its last (UINT64_MAX: not
 * known), passes begun, workers, prefetch factor, missed segments, record::PhaseSupport. Claims the line if need be. */
void stallcast_phase_slot(uint64_t turns, uint64_t pass_first, uint64_t pass_end, uint32_t passes, uint32_t workers,
                          uint32_t prefetch, uint32_t missed, uint32_t support);

/* Only the turns taken, on the line that stallcast_phase_slot has filled. */
void stallcast_phase_turn(uint64_t turns);

/* In the hold of this synthetic segment all is made. 1 once that holds of every rank that is armed. */
int stallcast_phase_ready(uint32_t segment);

/* The script was held back for so long. */
void stallcast_phase_held(uint64_t nanoseconds);

/* PhaseSlot::at_end: 1: everything of ours has let go; 2: this process waits to be ended. */
void stallcast_phase_at_end(uint32_t how);

/* From here on this process makes a batch of `phase` (record::Phase) in segment `segment`. `stream`: 1 where its data
 * set is iterable. */
void stallcast_phase_begin(uint32_t phase, uint32_t segment, uint32_t stream, uint64_t argument, uint32_t seed,
                           uint64_t iterator_id, uint64_t batch);
/* It is made: writes its PhaseRecord; the phase is as found again. */
void stallcast_phase_end(void);

#ifdef __cplusplus
}
#endif

#endif
