#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon {

/// Everything that the process environment decides; nothing else reads it.

/// Where compiled kernels and the paces of builds are kept between runs: TENON_CACHE_DIR, else
/// XDG_CACHE_HOME/tenon, else ~/.cache/tenon. Empty (nothing is kept) where none of them is set, or
/// TENON_CACHE_DIR is empty.
std::filesystem::path cache_folder();

/// The best instruction set that kernels of the CPU may use, TENON_CPU_ISA; empty: no limit.
std::string instruction_set_limit();

/// Folders to look for CUDA's libraries in besides those of the dynamic loader, most specific
/// first: those of TENON_CUDA_PATH, LD_LIBRARY_PATH, CUDA_HOME and CUDA_PATH, of NVIDIA's Python
/// packages beside the Python that VIRTUAL_ENV or PATH names, and /usr/local/cuda.
std::vector<std::filesystem::path> cuda_library_folders();

/// Whether products of FP32 may use TF32: not where NVIDIA_TF32_OVERRIDE is 0, which NVIDIA's own
/// libraries obey too.
bool allows_tf32();

/// Whether contexts replay runs that come again and again as graphs: not where TENON_GRAPH_REPLAY
/// is 0.
bool allows_graph_replay();

/// Folder for the networks of builds that fail, TENON_REPRODUCERS; empty: they are not kept.
std::filesystem::path reproducer_folder();

/// Whether a tool was told to CUDA or NVTX that shows a program's launches (nsys, ncu).
bool profiler_is_attached();

/// Whether the user allows colors on a terminal: NO_COLOR is not set, or empty, and TERM is not
/// "dumb".
bool wants_colors();
/// The user's folder, or empty.
std::filesystem::path home_folder();

}  // namespace tenon
