/* The phase calls of the capture library, for the Python shim only: exported, but no public API.
 *
 * A worker (or the consumer, without workers) sets the phase before it makes a batch and clears it after; in between
 * the hooks evict, redirect or delay as the phase says and count what they found. */
#ifndef STALLCAST_CAPTURE_PHASE_H
#define STALLCAST_CAPTURE_PHASE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 if this run has phases (control block's mode), else 0. */
int stallcast_phased(void);

/* Copies published segment `index` into out[8]: first, batches, phase, round, workers, argument, seed, lists.
 * 0 if it is not published yet. */
int stallcast_segment(uint32_t index, uint64_t* out);

/* Segments published so far; 0 if this run has no phases. */
uint32_t stallcast_segments(void);

/* 1 if epochs are too short for blocks, so that passes are to be joined (ControlBlock::joins_passes), else 0. */
int stallcast_joins_passes(void);
/* 1: batches are made of what comes over the network. */
int stallcast_data_received(void);

/* The consumer's line of the control block: armed (0/1), turns taken, first turn of the pass, turn after its last
 * (UINT64_MAX: not known), workers, prefetch factor, missed segments, record::PhaseSupport. Claims the line if need be.
 */
void stallcast_phase_slot(uint64_t armed, uint64_t turns, uint64_t pass_first, uint64_t pass_end, uint32_t workers,
                          uint32_t prefetch, uint64_t missed, uint32_t support);

/* Only the turns taken, on the line that stallcast_phase_slot has filled. */
void stallcast_phase_turn(uint64_t turns);

/* Segment `index` begins. */
void stallcast_phase_segment(uint32_t index);

/* This process has come to the agreed end of the run, and exits now. */
void stallcast_phase_left(void);

/* From here on this process makes a batch of `phase` (record::Phase) in segment `segment`. */
void stallcast_phase_begin(uint32_t phase, uint32_t segment, uint32_t round, uint64_t argument, uint32_t seed,
                           uint64_t iterator_id, uint64_t batch);
/* It is made: writes its PhaseRecord; the phase is as found again. */
void stallcast_phase_end(void);

#ifdef __cplusplus
}
#endif

#endif
