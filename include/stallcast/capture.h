/* The C API of stallcast's capture library: for loaders and training loops that the Python shim does not know.
 *
 * Link with -lstallcast_capture, or find the symbols with dlsym(RTLD_DEFAULT, ...): under `stallcast profile` the
 * library is preloaded. Outside a run every call returns at once, so marks may stay in production code.
 * No call allocates, locks, prints or fails; a failure inside disables the recording and is reported as a data issue.
 * All calls are thread-safe; a sample or a batch begins and ends on one thread. Times are CLOCK_MONOTONIC.
 */
#ifndef STALLCAST_CAPTURE_H
#define STALLCAST_CAPTURE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 while a recording is possible in this process, else 0. Asking starts none: the first of the calls below does. */
int stallcast_active(void);

/* Kinds of JSON text, as in probes/record/layout.hpp (TextKind). */
#define STALLCAST_TEXT_PROCESS 1
#define STALLCAST_TEXT_LOADER 2
#define STALLCAST_TEXT_ITERATOR 3
#define STALLCAST_TEXT_ISSUE 4
#define STALLCAST_TEXT_MARK 5
#define STALLCAST_TEXT_PART 7
/* Appends one JSON object (NUL-terminated, at most 16 KiB). Also while the tool has the recording switched off for a
 * moment: what describes a loader must be known when it is on again. A loader that fetches and prepares batches side by
 * side in threads says "composition": "overlapped"; who says nothing makes each batch in one thread ("serial"). */
void stallcast_text(uint32_t kind, const char* json);

/* The consumer: asks for batch `batch` (0-based) of pass `iterator_id` and gets it. `samples` 0: not known;
 * `ready` UINT32_MAX: not known; flags: STALLCAST_WAIT_*. */
#define STALLCAST_WAIT_END_OF_EPOCH 1u
#define STALLCAST_WAIT_FIRST 2u
void stallcast_wait_begin(void);
void stallcast_wait_end(uint64_t iterator_id, uint64_t batch, uint32_t samples, uint32_t ready, uint32_t flags);

/* One optimizer step is done. */
void stallcast_step(void);

/* The maker of batches (a worker process, a thread, or the consumer itself with worker UINT32_MAX). */
void stallcast_batch_asked(void); /* begins to wait for work; optional */
void stallcast_batch_begin(uint64_t iterator_id, uint64_t batch, uint32_t worker);
void stallcast_collate_begin(void);
void stallcast_collate_end(void);
void stallcast_batch_end(uint32_t samples);
void stallcast_batch_put(void); /* handed over; optional */

/* One sample of the batch that this thread is making. index -1: none. */
void stallcast_sample_begin(int64_t index);
void stallcast_sample_end(void);

/* Several samples of it, made by one call. */
void stallcast_at_once_begin(const int64_t* indices, uint32_t count);
void stallcast_at_once_end(void);

/* A part of that sample, or of its batch's collate: a decoder, a transform. `part` is a number of the caller's choice,
 * 16 to 4095, named once by a text {"parts": [[16, "decode", ""]]}. Parts may lie within each other, 8
 * deep, and end in the reverse order; only in samples that are timed are they timed. */
void stallcast_part_begin(uint32_t part);
void stallcast_part_end(void);

#ifdef __cplusplus
}
#endif

#endif
