// The sum of a bin's taps; included by one source an instruction set, inside its own namespace.

inline constexpr int64_t kLanes = 16;

inline void add_taps(const RoiBin& bin, const float* image, int64_t lanes, float* out) {
  float sum[kLanes] = {};
  for (int64_t i = 0; i < bin.row_count; ++i)
    for (int64_t j = 0; j < bin.column_count; ++j) {
      const float weight = bin.rows[i].weight * bin.columns[j].weight;
      const float* from = image + bin.rows[i].offset + bin.columns[j].offset;
      for (int64_t k = 0; k < lanes; ++k) sum[k] += weight * from[k];
    }
  for (int64_t k = 0; k < lanes; ++k) out[k] = sum[k];
}

inline void sum_bin(const RoiBin& bin, const float* image, int64_t channels, float* out) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) add_taps(bin, image + c, kLanes, out + c);
  if (c < channels) add_taps(bin, image + c, channels - c, out + c);
}
