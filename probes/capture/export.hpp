/// Visibility: everything of ours is hidden but what these mark.
#pragma once

/// A function of the C API, declared in stallcast/capture.h.
#define STALLCAST_EXPORT extern "C" __attribute__((visibility("default")))
