#include "kernels/conv/grouped.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/worker_memory.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu {
namespace {

// A copied piece stays in the first-level cache beside a panel of weights.
constexpr int64_t kPieceBytes = 24 << 10;
// Whole cache lines of the image; and no more channels of few groups than fit many lines.
constexpr int64_t kChannelsTogether = 16;
// Input pixels of a line: several tiles of the widest kernels.
constexpr int64_t kColumns = 56;
constexpr int64_t kTasksPerThread = 4;
// A matrix of the windows of more channels costs little beside its products.
constexpr int64_t kMostChannels = 256;
// Of one group: a piece meets all weights before the next one does, which stay in the second-level
// cache so.
constexpr int64_t kMostWeightBytesAlone = 1 << 20;
// A window that is dilated far would have more copied between its taps than is multiplied.
constexpr double kMostPieceBytes = 1 << 20;

const GroupedFunctions& grouped_functions(Isa isa) {
  return TENON_BEST_OF_ISA(isa, kGroupedGeneric, kGroupedAvx2, kGroupedAvx512);
}

/// Of the piece under one line of the result.
double least_piece_bytes(const ConvProblem& p) {
  const auto reach = [&](int axis) {
    return static_cast<double>(p.kernel[axis] - 1) * static_cast<double>(p.dilation[axis]) + 1;
  };
  const int64_t channels = std::max(kChannelsTogether, p.input_channels / p.groups);
  return reach(1) * (reach(2) + kColumns) * static_cast<double>(channels * sizeof(float));
}

}  // namespace

bool GroupedConvolution::fits(const ConvProblem& p) {
  const bool flat = p.input[0] == 1 && p.output[0] == 1 && p.kernel[0] == 1 && p.pad[0] == 0;
  const int64_t in = p.input_channels / p.groups, out = p.output_channels / p.groups;
  return !p.transposed && !p.channels_first_input && flat && in > 1 && in <= kMostChannels &&
         out <= kMostChannels && least_piece_bytes(p) <= kMostPieceBytes;
}

bool GroupedConvolution::pays_alone(const ConvProblem& p) {
  const bool is_copied = volume(p.kernel) > 1 || volume(p.stride) > 1;
  const int64_t weights = volume(p.kernel) * p.input_channels * p.output_channels;
  return fits(p) && p.groups == 1 && is_copied && p.input_type == ElementType::f32 &&
         p.compute == ElementType::f32 &&
         weights * static_cast<int64_t>(sizeof(float)) <= kMostWeightBytesAlone;
}

Result<GroupedConvolution> GroupedConvolution::prepare(const ConvProblem& problem,
                                                       const void* weights) {
  if (!fits(problem))
    return unsupported("not a convolution of images with few channels in each group");
  TENON_TRY(check_steps(problem));
  GroupedConvolution conv;
  conv.problem_ = problem.with_strides();
  ConvProblem& p = conv.problem_;
  const Isa isa = capped_isa(p.isa);
  conv.functions_ = &grouped_functions(isa);
  conv.finish_ = finish_function(isa);
  conv.registers_ = register_epilogue(p.steps, p.output_type);
  conv.cut_panels();
  conv.choose_blocks();
  conv.find_offsets();
  TENON_TRY(conv.pack(weights));
  return conv;
}

/// Bundles, and their output channels in panels: wide ones as long as these are full, then the
/// narrowest that takes the rest.
void GroupedConvolution::cut_panels() {
  const GroupedFunctions& f = *functions_;
  const int64_t out = problem_.output_channels / problem_.groups;
  const int narrowest = f.widths[f.count - 1].columns;
  for (int64_t b = 2; b * out <= narrowest; ++b)
    if (problem_.groups % b == 0) bundle_ = b;
  const int64_t depth = volume(problem_.kernel) * bundle_inputs();
  for (int64_t first = 0; first < bundle_outputs();) {
    const int64_t left = bundle_outputs() - first;
    int width = f.count - 1;
    const auto takes = [&](int w) {  // the rest, or all but a narrow panel for less lanes
      const int columns = f.widths[w].columns;
      return columns >= left ||
             (columns + narrowest >= left && columns + narrowest < f.widths[w - 1].columns);
    };
    while (width > 0 && !takes(width)) --width;
    const int64_t columns = std::min<int64_t>(left, f.widths[width].columns);
    panels_.push_back({first, columns, width, bundle_floats_});
    bundle_floats_ += depth * f.widths[width].columns;
    first += columns;
  }
}

int64_t GroupedConvolution::lines_of(int64_t lines) const {
  return (lines - 1) * problem_.stride[1] + (problem_.kernel[1] - 1) * problem_.dilation[1] + 1;
}
int64_t GroupedConvolution::columns_of(int64_t columns) const {
  return (columns - 1) * problem_.stride[2] + (problem_.kernel[2] - 1) * problem_.dilation[2] + 1;
}
bool GroupedConvolution::reads_image() const {
  return problem_.input_type == ElementType::f32 && problem_.groups == 1;
}
int64_t GroupedConvolution::piece_bytes(int64_t lines) const {
  return lines_of(lines) * columns_of(column_block_) * together_ * bundle_inputs() *
         int64_t{sizeof(float)};
}

int64_t GroupedConvolution::tasks() const {
  return problem_.batch * ceil_div(problem_.output[1], line_block_) *
         ceil_div(problem_.output[2], column_block_) * (bundles() / together_);
}

void GroupedConvolution::choose_blocks() {
  const Spatial& output = problem_.output;
  for (int64_t t = 2; t * bundle_inputs() <= kChannelsTogether; ++t)
    if (bundles() % t == 0) together_ = t;
  // Pieces of one tile's pixels, of which most lie inside the image; longer ones are copied.
  const int64_t most = reads_image() ? functions_->widths[panels_[0].width].max_rows
                                     : std::max<int64_t>(1, kColumns / problem_.stride[2]);
  column_block_ = ceil_div(output[2], ceil_div(output[2], most));
  line_block_ = 1;
  while (line_block_ < output[1] && piece_bytes(line_block_ + 1) <= kPieceBytes) ++line_block_;
  const int64_t wanted = problem_.threads > 1 ? problem_.threads * kTasksPerThread : 1;
  while (line_block_ > 1 && tasks() < wanted) --line_block_;
  line_block_ = ceil_div(output[1], ceil_div(output[1], line_block_));
}

/// Taps whose channels lie side by side are one run.
GroupedConvolution::Pixels GroupedConvolution::pixels_of(int64_t pixel, int64_t line) const {
  const int64_t channels = bundle_inputs();
  const bool joins = pixel == channels && problem_.dilation[2] == 1;
  const int64_t taps = joins ? problem_.kernel[2] : 1;
  Pixels pixels{.pixel = pixel, .line = line, .run = taps * channels};
  for (int64_t h = 0; h < problem_.kernel[1]; ++h)
    for (int64_t w = 0; w < problem_.kernel[2]; w += taps)
      pixels.offsets.push_back(h * problem_.dilation[1] * line + w * problem_.dilation[2] * pixel);
  return pixels;
}

void GroupedConvolution::find_offsets() {
  const int64_t channels = together_ * bundle_inputs();
  copied_ = pixels_of(channels, columns_of(column_block_) * channels);
  if (reads_image())
    image_ =
        pixels_of(problem_.input_pixel_stride, problem_.input[2] * problem_.input_pixel_stride);
}

Status GroupedConvolution::pack(const void* weights) {
  const size_t bytes = static_cast<size_t>(bundles() * bundle_floats_) * sizeof(float);
  TENON_ASSIGN(packed_, PackedWeights::make(bytes, problem_.packed, weights));
  if (packed_.filled()) return {};
  auto* to = static_cast<float*>(packed_.target());
  for (int64_t b = 0; b < bundles(); ++b) pack_bundle(weights, b, to + b * bundle_floats_);
  return {};
}

/// For each panel [tap][channel of the bundle][column], with zeros between groups.
void GroupedConvolution::pack_bundle(const void* weights, int64_t bundle, float* to) const {
  const ConvProblem& p = problem_;
  const int64_t in = p.input_channels / p.groups, out = p.output_channels / p.groups;
  const int64_t taps = volume(p.kernel);
  std::fill_n(to, bundle_floats_, 0.0f);
  for (const Panel& panel : panels_)
    for (int64_t c = 0; c < panel.columns; ++c) {
      const int64_t group = (panel.first + c) / out;
      const int64_t from = (bundle * bundle_outputs() + panel.first + c) * in * taps;
      const int64_t width = functions_->widths[panel.width].columns;
      for (int64_t i = 0; i < in; ++i)
        for (int64_t t = 0; t < taps; ++t)
          to[panel.offset + (t * bundle_inputs() + group * in + i) * width + c] =
              p.weight_at(weights, from + i * taps + t);
    }
}

size_t GroupedConvolution::worker_bytes() const {
  int64_t tile = 0;
  for (int i = 0; i < functions_->count; ++i)
    tile = std::max<int64_t>(tile, functions_->widths[i].columns * functions_->widths[i].max_rows);
  return worker_stride(align_up(piece_bytes(line_block_)) + tile * sizeof(float), problem_.threads);
}

void GroupedConvolution::run(const ConvArguments& arguments, ThreadPool& pool,
                             void* scratch) const {
  pool.for_each(tasks(), 1, [&](int64_t task, int worker) {
    char* own = static_cast<char*>(scratch) + worker * worker_bytes();
    run_task(arguments, place_of(task), own);
  });
}

/// Tasks run over channels fastest: neighbours read the same pixels.
GroupedConvolution::Place GroupedConvolution::place_of(int64_t task) const {
  const int64_t parts = bundles() / together_;
  const int64_t columns = ceil_div(problem_.output[2], column_block_);
  const int64_t lines = ceil_div(problem_.output[1], line_block_);
  Place place;
  place.bundle = task % parts * together_, task /= parts;
  place.column = task % columns * column_block_, task /= columns;
  place.line = task % lines * line_block_;
  place.image = task / lines;
  return place;
}

GroupedPiece GroupedConvolution::piece_of(const ConvArguments& arguments, const Place& place,
                                          float* to) const {
  const ConvProblem& p = problem_;
  const int64_t first =
      place.image * volume(p.input) * p.input_pixel_stride + place.bundle * bundle_inputs();
  return {.input = static_cast<const char*>(arguments.input) + first * element_size(p.input_type),
          .type = p.input_type,
          .height = p.input[1],
          .width = p.input[2],
          .pixel_stride = p.input_pixel_stride,
          .first_line = place.line * p.stride[1] - p.pad[1],
          .first_column = place.column * p.stride[2] - p.pad[2],
          .lines = lines_of(std::min(line_block_, p.output[1] - place.line)),
          .columns = columns_of(std::min(column_block_, p.output[2] - place.column)),
          .channels = together_ * bundle_inputs(),
          .to = to};
}

void GroupedConvolution::run_task(const ConvArguments& arguments, const Place& place,
                                  char* scratch) const {
  GroupedPiece piece = piece_of(arguments, place, reinterpret_cast<float*>(scratch));
  const Pixels* source = &copied_;
  const float* first = piece.to;
  if (reads_image() && piece.is_inside()) {
    source = &image_;
    first = static_cast<const float*>(piece.input) + piece.first_line * image_.line +
            piece.first_column * image_.pixel;
  } else {
    piece.columns = columns_of(column_block_);  // as far apart as the offsets of copies say
    functions_->copy(piece);
  }
  auto* sums = reinterpret_cast<float*>(scratch + align_up(piece_bytes(line_block_)));
  for (int64_t b = 0; b < together_; ++b) {
    Place one = place;
    one.bundle += b;
    run_bundle(arguments, one, *source, first + b * bundle_inputs(), sums);
  }
}

void GroupedConvolution::run_bundle(const ConvArguments& arguments, const Place& place,
                                    const Pixels& source, const float* first, float* sums) const {
  const ConvProblem& p = problem_;
  const int64_t lines = std::min(line_block_, p.output[1] - place.line);
  GroupedTile grouped{.offsets = source.offsets.data(),
                      .runs = static_cast<int>(source.offsets.size())};
  grouped.tile.a_stride = p.stride[2] * source.pixel;
  grouped.tile.k = source.run;
  for (const Panel& panel : panels_) {
    grouped.tile.b = packed_.at((place.bundle * bundle_floats_ + panel.offset) * sizeof(float));
    grouped.tile.columns = static_cast<int>(panel.columns);
    for (int64_t l = 0; l < lines; ++l) {
      Place at = place;
      at.line += l;
      grouped.tile.a = first + l * p.stride[1] * source.line;
      run_line(arguments, at, panel, grouped, sums);
    }
  }
}

void GroupedConvolution::run_line(const ConvArguments& arguments, const Place& place,
                                  const Panel& panel, GroupedTile grouped, float* sums) const {
  const ConvProblem& p = problem_;
  const GroupedFunctions::Width& width = functions_->widths[panel.width];
  const int64_t pixels = std::min(column_block_, p.output[2] - place.column);
  const int64_t tiles = ceil_div(pixels, width.max_rows);
  const int64_t first = (place.image * p.output[1] + place.line) * p.output[2] + place.column;
  const int64_t channel = place.bundle * bundle_outputs() + panel.first;
  const float* line = static_cast<const float*>(grouped.tile.a);
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t r = i * pixels / tiles;
    grouped.tile.rows = static_cast<int>((i + 1) * pixels / tiles - r);
    grouped.tile.a = line + r * grouped.tile.a_stride;
    finish(arguments, first + r, channel, grouped, width, sums);
  }
}

/// The tile's products with all steps of the epilogue.
void GroupedConvolution::finish(const ConvArguments& arguments, int64_t pixel, int64_t channel,
                                GroupedTile& grouped, const GroupedFunctions::Width& width,
                                float* sums) const {
  const ConvProblem& p = problem_;
  Tile& tile = grouped.tile;
  if (registers_.bias >= 0)
    tile.initial = static_cast<const float*>(arguments.operands[registers_.bias].data) + channel;
  const int64_t at = pixel * p.output_pixel_stride + channel;
  void* output = static_cast<char*>(arguments.output) + at * element_size(p.output_type);
  if (registers_.rest < static_cast<int>(p.steps.size())) {
    tile.output = sums, tile.output_stride = width.columns;
    width.run(grouped);
    return finish_({.tile = sums,
                    .tile_stride = width.columns,
                    .rows = tile.rows,
                    .columns = tile.columns,
                    .row = pixel,
                    .column = channel,
                    .output = output,
                    .output_stride = p.output_pixel_stride,
                    .output_type = p.output_type},
                   std::span<const EpilogueStep>(p.steps).subspan(registers_.rest),
                   arguments.operands + registers_.rest);
  }
  tile.output = output, tile.output_stride = p.output_pixel_stride;
  tile.output_type = p.output_type;
  tile.activation = registers_.activation;
  tile.low = registers_.low, tile.high = registers_.high;
  if (registers_.residual >= 0) {
    const EpilogueOperand& residual = arguments.operands[registers_.residual];
    tile.residual = static_cast<const char*>(residual.data) +
                    (pixel * residual.row_stride + channel) * element_size(p.output_type);
    tile.residual_stride = residual.row_stride;
  }
  width.run(grouped);
}

}  // namespace tenon::cpu
