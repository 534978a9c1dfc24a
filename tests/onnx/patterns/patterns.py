"""Exporters' forms of common idioms, as ONNX text. Inputs whose names begin with "w_" become initializers with drawn
values; `runs` are the values of the symbols in each run, all served by one plan.

    PATTERNS[name] = (opset, text, runs)

TWINS[name] is what ONNX Runtime runs in place of operators that it computes on GPUs alone, or by other roundings.
"""
PATTERNS, TWINS = {}, {}


def pattern(name: str, opset: int, text: str, *runs: dict):
    PATTERNS[name] = (opset, text, runs or ({},))


def twin(name: str, text: str):
    TWINS[name] = text


# The legacy PyTorch exporter spells out view() with Shape, Gather and Concat.
pattern("view_of_heads", 17, """
g (float[b,s,32] x, float[32,96] w_qkv, float[96] w_bias) => (float[b,s,32] y) {
  qkv_0 = MatMul (x, w_qkv)
  qkv = Add (qkv_0, w_bias)
  three = Constant <value = int64[3] {32,32,32}> ()
  q0, k0, v0 = Split <axis = 2> (qkv, three)
  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  axis = Constant <value = int64[1] {0}> ()
  shape = Shape (x)
  b0 = Gather (shape, zero)
  s0 = Gather (shape, one)
  b1 = Unsqueeze (b0, axis)
  s1 = Unsqueeze (s0, axis)
  heads = Constant <value = int64[1] {4}> ()
  size = Constant <value = int64[1] {8}> ()
  split_shape = Concat <axis = 0> (b1, s1, heads, size)
  q1 = Reshape (q0, split_shape)
  k1 = Reshape (k0, split_shape)
  v1 = Reshape (v0, split_shape)
  q = Transpose <perm = [0,2,1,3]> (q1)
  k = Transpose <perm = [0,2,3,1]> (k1)
  v = Transpose <perm = [0,2,1,3]> (v1)
  scores = MatMul (q, k)
  scale = Constant <value_float = 2.828427> ()
  scaled = Div (scores, scale)
  p = Softmax <axis = -1> (scaled)
  o = MatMul (p, v)
  o1 = Transpose <perm = [0,2,1,3]> (o)
  whole = Constant <value = int64[1] {32}> ()
  join_shape = Concat <axis = 0> (b1, s1, whole)
  y = Reshape (o1, join_shape)
}""", {"b": 1, "s": 5}, {"b": 3, "s": 7}, {"b": 2, "s": 1})

# expand(-1, n, -1) as PyTorch exports it.
pattern("expand_with_minus_one", 13, """
g (float[b,1,4] x) => (float[b,6,4] y) {
  wanted = Constant <value = int64[3] {-1,6,-1}> ()
  ones = ConstantOfShape <value = int64[1] {1}> (three)
  minus = Constant <value = int64[1] {-1}> ()
  all_minus = Mul (ones, minus)
  is_minus = Equal (wanted, all_minus)
  target = Where (is_minus, ones, wanted)
  y = Expand (x, target)
  three = Constant <value = int64[1] {3}> ()
}""".replace("  three = Constant <value = int64[1] {3}> ()\n", "").replace(
    "  wanted =", "  three = Constant <value = int64[1] {3}> ()\n  wanted ="), {"b": 1}, {"b": 4})

# squeeze() of an axis that may not be 1.
pattern("if_axis_is_one", 13, """
g (float[b,c,1] x) => (y) {
  shape = Shape (x)
  two = Constant <value = int64[1] {2}> ()
  extent = Gather (shape, two)
  one = Constant <value = int64[1] {1}> ()
  is_one = Equal (extent, one)
  y = If (is_one) <
    then_branch = then_graph () => (float[b,c] a) { a = Squeeze (x, two) },
    else_branch = else_graph () => (float[b,c,1] e) { e = Identity (x) }>
}""", {"b": 2, "c": 3}, {"b": 1, "c": 1})

pattern("if_on_data", 16, """
g (float[n] x) => (float[n] y) {
  sum = ReduceSum <keepdims = 0> (x)
  zero = Constant <value_float = 0.0> ()
  positive = Greater (sum, zero)
  y = If (positive) <
    then_branch = then_graph () => (float[n] a) { a = Exp (x) },
    else_branch = else_graph () => (float[n] e) { e = Neg (x) }>
}""", {"n": 5}, {"n": 1}, {"n": 6})

pattern("loop_over_time", 15, """
g (float[t,b,4] x, float[4,4] w_state) => (float[b,4] last, float[t,b,4] all) {
  shape = Shape (x)
  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  trips = Gather (shape, zero)
  first = Gather <axis = 0> (x, zero)
  start = Mul (first, first)
  yes = Constant <value = bool {1}> ()
  last, all = Loop (trips, yes, start) <
    body = step (int64 i, bool go, float[b,4] h) => (bool go_out, float[b,4] h_out, float[b,4] scan) {
      xt = Gather <axis = 0> (x, i)
      hw = MatMul (h, w_state)
      sum = Add (xt, hw)
      h_out = Tanh (sum)
      scan = Identity (h_out)
      go_out = Identity (go)
    }>
}""", {"t": 3, "b": 2}, {"t": 1, "b": 1}, {"t": 6, "b": 3})

pattern("loop_until_condition", 15, """
g (float[n] x) => (float[n] y, int64 steps) {
  yes = Constant <value = bool {1}> ()
  none = Constant <value_int = 50> ()
  count = Constant <value_int = 0> ()
  y, steps = Loop (none, yes, x, count) <
    body = step (int64 i, bool go, float[n] v, int64 c) => (bool go_out, float[n] v_out, int64 c_out) {
      half = Constant <value_float = 0.5> ()
      v_out = Mul (v, half)
      absolute = Abs (v_out)
      most = ReduceMax <keepdims = 0> (absolute)
      limit = Constant <value_float = 0.01> ()
      go_out = Greater (most, limit)
      one = Constant <value_int = 1> ()
      c_out = Add (c, one)
    }>
}""", {"n": 4}, {"n": 1})

pattern("scan_cumulates", 13, """
g (float[t,b] x, float[b] s) => (float[b] last, float[t,b] y) {
  last, y = Scan <num_scan_inputs = 1,
    body = step (float[b] a, float[b] v) => (float[b] a_out, float[b] out) {
      a_out = Add (a, v)
      out = Mul (a_out, a_out)
    }> (s, x)
}""", {"t": 4, "b": 3}, {"t": 1, "b": 1})

pattern("lstm_dynamic_batch", 14, """
g (float[s,b,6] x, float[2,20,6] w_w, float[2,20,5] w_r, float[2,40] w_b) => (float[s,b,10] y, float[2,b,5] h) {
  shape = Shape (x)
  one = Constant <value_int = 1> ()
  axis = Constant <value = int64[1] {0}> ()
  b0 = Gather (shape, one)
  b1 = Unsqueeze (b0, axis)
  two = Constant <value = int64[1] {2}> ()
  five = Constant <value = int64[1] {5}> ()
  state_shape = Concat <axis = 0> (two, b1, five)
  zeros = ConstantOfShape (state_shape)
  all, h, c = LSTM <hidden_size = 5, direction = "bidirectional"> (x, w_w, w_r, w_b, , zeros, zeros)
  t = Transpose <perm = [0,2,1,3]> (all)
  join = Constant <value = int64[3] {0,0,-1}> ()
  y = Reshape (t, join)
}""", {"s": 4, "b": 2}, {"s": 1, "b": 1}, {"s": 7, "b": 3})

pattern("gru_linear_before_reset", 14, """
g (float[s,b,6] x, float[1,15,6] w_w, float[1,15,5] w_r, float[1,30] w_b) => (float[s,1,b,5] y, float[1,b,5] h) {
  y, h = GRU <hidden_size = 5, linear_before_reset = 1> (x, w_w, w_r, w_b)
}""", {"s": 4, "b": 2}, {"s": 1, "b": 1})

for mode, transform, extra in (("nearest", "asymmetric", 'nearest_mode = "floor", '), ("linear", "half_pixel", ""),
                               ("linear", "align_corners", ""), ("linear", "pytorch_half_pixel", ""),
                               ("cubic", "half_pixel", "cubic_coeff_a = -0.75, "),
                               ("nearest", "half_pixel", 'nearest_mode = "round_prefer_ceil", ')):
    pattern(f"resize_scales_{mode}_{transform}", 13, f"""
g (float[b,3,h,w] x) => (y) {{
  scales = Constant <value = float[4] {{1.0,1.0,2.0,3.0}}> ()
  y = Resize <mode = "{mode}", {extra}coordinate_transformation_mode = "{transform}"> (x, , scales)
}}""", {"b": 1, "h": 4, "w": 6}, {"b": 2, "h": 5, "w": 3})

# interpolate(size=other.shape[2:]) as PyTorch exports it.
pattern("resize_to_the_size_of_another", 13, """
g (float[b,2,h,w] x, float[b,5,p,q] other) => (y) {
  shape = Shape (x)
  zero = Constant <value = int64[1] {0}> ()
  two = Constant <value = int64[1] {2}> ()
  four = Constant <value = int64[1] {4}> ()
  front = Slice (shape, zero, two)
  goal = Shape (other)
  back = Slice (goal, two, four)
  sizes = Concat <axis = 0> (front, back)
  y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (x, , , sizes)
}""", {"b": 1, "h": 4, "w": 4, "p": 8, "q": 6}, {"b": 2, "h": 7, "w": 3, "p": 5, "q": 9})

pattern("upsample_9", 9, """
g (float[b,3,h,w] x) => (y) {
  scales = Constant <value = float[4] {1.0,1.0,2.0,2.0}> ()
  y = Upsample <mode = "nearest"> (x, scales)
}""", {"b": 1, "h": 4, "w": 6}, {"b": 2, "h": 5, "w": 3})

# F.pad as PyTorch exports it: pads are put in order by Reshape, Slice and Transpose.
pattern("pad_computed", 13, """
g (float[b,2,h,w] x) => (y) {
  given = Constant <value = int64[4] {1,2,0,1}> ()
  four = Constant <value = int64[1] {4}> ()
  zeros = ConstantOfShape <value = int64[1] {0}> (four)
  all = Concat <axis = 0> (given, zeros)
  pairs_shape = Constant <value = int64[2] {-1,2}> ()
  pairs = Reshape (all, pairs_shape)
  from_end = Constant <value = int64[1] {-1}> ()
  to_front = Constant <value = int64[1] {-9223372036854775807}> ()
  axis = Constant <value = int64[1] {0}> ()
  turned = Slice (pairs, from_end, to_front, axis, from_end)
  flat = Transpose <perm = [1,0]> (turned)
  one_row = Reshape (flat, from_end)
  pads = Cast <to = 7> (one_row)
  y = Pad <mode = "reflect"> (x, pads)
}""", {"b": 1, "h": 4, "w": 5}, {"b": 2, "h": 3, "w": 4})

pattern("slices_to_the_end", 13, """
g (float[b,s,8] x) => (a, c, d) {
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  minus = Constant <value = int64[1] {-1}> ()
  end = Constant <value = int64[1] {9223372036854775807}> ()
  start = Constant <value = int64[1] {-9223372036854775807}> ()
  a = Slice (x, one, end, one)
  c = Slice (x, zero, minus, two, two)
  d = Slice (x, minus, start, one, minus)
}""", {"b": 1, "s": 3}, {"b": 2, "s": 8})

pattern("qdq_convolution", 13, """
g (float[b,3,h,w] x, float[4,3,3,3] w_float) => (y) {
  xs = Constant <value_float = 0.02> ()
  xz = Constant <value = uint8 {128}> ()
  q = QuantizeLinear (x, xs, xz)
  d = DequantizeLinear (q, xs, xz)
  ws = Constant <value = float[4] {0.01,0.02,0.008,0.015}> ()
  wz = Constant <value = int8[4] {0,0,0,0}> ()
  wq = QuantizeLinear <axis = 0> (w_float, ws, wz)
  wd = DequantizeLinear <axis = 0> (wq, ws, wz)
  c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (d, wd)
  r = Relu (c)
  ys = Constant <value_float = 0.05> ()
  yz = Constant <value = uint8 {0}> ()
  rq = QuantizeLinear (r, ys, yz)
  y = DequantizeLinear (rq, ys, yz)
}""", {"b": 1, "h": 6, "w": 6}, {"b": 2, "h": 5, "w": 7})

pattern("qdq_matmul", 13, """
g (float[b,16] x, float[16,8] w_float) => (y) {
  xs = Constant <value_float = 0.015> ()
  xz = Constant <value = int8 {0}> ()
  q = QuantizeLinear (x, xs, xz)
  d = DequantizeLinear (q, xs, xz)
  ws = Constant <value_float = 0.01> ()
  wq = QuantizeLinear (w_float, ws, xz)
  wd = DequantizeLinear (wq, ws, xz)
  m = MatMul (d, wd)
  ys = Constant <value_float = 0.0313> ()
  mq = QuantizeLinear (m, ys, xz)
  y = DequantizeLinear (mq, ys, xz)
}""", {"b": 1}, {"b": 5})

pattern("causal_mask", 14, """
g (float[b,4,s,8] q, float[b,4,s,8] k, float[b,4,s,8] v) => (y) {
  shape = Shape (q)
  two = Constant <value_int = 2> ()
  s0 = Gather (shape, two)
  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  positions = Range (zero, s0, one)
  a0 = Constant <value = int64[1] {0}> ()
  a1 = Constant <value = int64[1] {1}> ()
  row = Unsqueeze (positions, a0)
  column = Unsqueeze (positions, a1)
  allowed = LessOrEqual (row, column)
  kt = Transpose <perm = [0,1,3,2]> (k)
  scores = MatMul (q, kt)
  low = Constant <value_float = -3.4028235e38> ()
  masked = Where (allowed, scores, low)
  p = Softmax <axis = -1> (masked)
  y = MatMul (p, v)
}""", {"b": 1, "s": 5}, {"b": 2, "s": 9}, {"b": 1, "s": 1})

pattern("trilu_mask", 14, """
g (float[b,s,s] x) => (y) {
  shape = Shape (x)
  ones = ConstantOfShape <value = float[1] {1.0}> (shape)
  upper = Trilu <upper = 1> (ones)
  y = Mul (x, upper)
}""", {"b": 1, "s": 4}, {"b": 2, "s": 6})

pattern("group_norm_by_instance_norm", 13, """
g (float[b,8,h,w] x, float[8,1,1] w_scale, float[8,1,1] w_shift) => (y) {
  shape = Shape (x)
  groups = Constant <value = int64[3] {0,4,-1}> ()
  r = Reshape (x, groups)
  one = Constant <value = float[4] {1.0,1.0,1.0,1.0}> ()
  zero = Constant <value = float[4] {0.0,0.0,0.0,0.0}> ()
  n = InstanceNormalization <epsilon = 0.00001> (r, one, zero)
  back = Reshape (n, shape)
  m = Mul (back, w_scale)
  y = Add (m, w_shift)
}""", {"b": 1, "h": 4, "w": 4}, {"b": 2, "h": 3, "w": 5})

pattern("layer_norm_spelled_out", 13, """
g (float[b,s,16] x, float[16] w_scale, float[16] w_shift) => (y) {
  mean = ReduceMean <axes = [-1]> (x)
  centered = Sub (x, mean)
  two = Constant <value_float = 2.0> ()
  squares = Pow (centered, two)
  variance = ReduceMean <axes = [-1]> (squares)
  epsilon = Constant <value_float = 0.00001> ()
  sum = Add (variance, epsilon)
  deviation = Sqrt (sum)
  normal = Div (centered, deviation)
  scaled = Mul (normal, w_scale)
  y = Add (scaled, w_shift)
}""", {"b": 1, "s": 3}, {"b": 4, "s": 5})

# tf2onnx: channels last outside, SAME padding, a stride.
pattern("tensorflow_convolution", 13, """
g (float[b,h,w,3] x, float[8,3,3,3] w_k, float[8] w_b, float[8,1,3,3] w_d) => (y) {
  t = Transpose <perm = [0,3,1,2]> (x)
  c = Conv <auto_pad = "SAME_UPPER", strides = [2,2], kernel_shape = [3,3]> (t, w_k, w_b)
  low = Constant <value_float = 0.0> ()
  high = Constant <value_float = 6.0> ()
  r = Clip (c, low, high)
  d = Conv <auto_pad = "SAME_UPPER", kernel_shape = [3,3], group = 8> (r, w_d)
  back = Transpose <perm = [0,2,3,1]> (d)
  m = ReduceMean <axes = [1,2], keepdims = 0> (back)
  y = Sigmoid (m)
}""", {"b": 1, "h": 8, "w": 8}, {"b": 2, "h": 7, "w": 9})

pattern("nonzero_and_gather", 13, """
g (float[n,4] x) => (y) {
  zero = Constant <value_float = 0.0> ()
  column = Constant <value = int64 {0}> ()
  first = Gather <axis = 1> (x, column)
  keep = Greater (first, zero)
  where = NonZero (keep)
  turned = Transpose <perm = [1,0]> (where)
  rows = GatherND (x, turned)
  y = Relu (rows)
}""", {"n": 8}, {"n": 3})

pattern("boolean_assignment", 16, """
g (float[n,m] x) => (y) {
  zero = Constant <value_float = 0.0> ()
  negative = Less (x, zero)
  where = NonZero (negative)
  places = Transpose <perm = [1,0]> (where)
  shape = Shape (places)
  i0 = Constant <value = int64[1] {0}> ()
  i1 = Constant <value = int64[1] {1}> ()
  count = Slice (shape, i0, i1)
  ones = ConstantOfShape <value = float[1] {7.0}> (count)
  y = ScatterND (x, places, ones)
}""", {"n": 4, "m": 5}, {"n": 1, "m": 9})

pattern("top_k_of_a_computed_number", 13, """
g (float[b,n] x) => (values, int64 indices) {
  shape = Shape (x)
  one = Constant <value = int64[1] {1}> ()
  n0 = Gather (shape, one)
  five = Constant <value = int64[1] {5}> ()
  k = Min (n0, five)
  values, indices = TopK <axis = 1> (x, k)
}""".replace("int64 indices)", "int64[b,k] indices)"), {"b": 2, "n": 9}, {"b": 1, "n": 3})

pattern("boxes_and_suppression", 13, """
g (float[1,n,4] boxes, float[1,3,n] scores) => (int64[k,3] selected, float[k,4] kept) {
  most = Constant <value = int64[1] {5}> ()
  overlap = Constant <value = float[1] {0.5}> ()
  score = Constant <value = float[1] {0.1}> ()
  corner, size = Split <axis = 2> (boxes, two_two)
  absolute = Abs (size)
  end = Add (corner, absolute)
  good = Concat <axis = 2> (corner, end)
  selected = NonMaxSuppression (good, scores, most, overlap, score)
  two = Constant <value_int = 2> ()
  which = Gather <axis = 1> (selected, two)
  i0 = Constant <value = int64[1] {0}> ()
  flat = Squeeze (good, i0)
  kept = Gather <axis = 0> (flat, which)
}""".replace("  most =", "  two_two = Constant <value = int64[2] {2,2}> ()\n  most ="), {"n": 12}, {"n": 5})

# torch.onnx.export(dynamo=True) calls functions of its own domains.
FUNCTIONS = """
<domain: "pkg.torch", opset_import: ["": 18]>
gelu (x) => (y) {
  half = Constant <value_float = 0.5> ()
  root = Constant <value_float = 1.4142135> ()
  one = Constant <value_float = 1.0> ()
  a = Div (x, root)
  e = Erf (a)
  s = Add (e, one)
  m = Mul (x, s)
  y = Mul (m, half)
}
<domain: "pkg.torch", opset_import: ["": 18, "pkg.torch": 1]>
mlp <factor: float = 2.0> (x, a, b) => (y) {
  h = MatMul (x, a)
  g = pkg.torch.gelu (h)
  f = Constant <value_float: float = @factor> ()
  s = Mul (g, f)
  y = MatMul (s, b)
}
"""
pattern("functions", 18, """
g (float[b,s,8] x, float[8,16] w_a, float[16,8] w_b) => (y) {
  first = pkg.torch.mlp (x, w_a, w_b)
  second = pkg.torch.mlp <factor = 0.5> (first, w_a, w_b)
  y = Add (x, second)
}""" + FUNCTIONS, {"b": 1, "s": 3}, {"b": 2, "s": 5})

pattern("opset_18_operands", 18, """
g (float[b,9] x) => (a, c, d, m) {
  axes = Constant <value = int64[1] {1}> ()
  a, c, d = Split <axis = 1, num_outputs = 3> (x)
  m = ReduceMax <keepdims = 0> (x, axes)
}""", {"b": 1}, {"b": 3})

pattern("sequence_of_chunks", 13, """
g (float[b,6] x) => (y) {
  parts = SplitToSequence <axis = 1, keepdims = 1> (x, two)
  last = SequenceAt (parts, minus)
  doubled = Add (last, last)
  more = SequenceInsert (parts, doubled)
  y = ConcatFromSequence <axis = 1> (more)
}""".replace("  parts =", "  two = Constant <value_int = 2> ()\n  minus = Constant <value_int = -1> ()\n  parts ="),
        {"b": 1}, {"b": 3})

pattern("masked_positions", 14, """
g (int64[b,s] mask, float[6,4] w_table) => (y) {
  one = Constant <value_int = 1> ()
  two = Constant <value_int = 2> ()
  m = Mod (mask, two)
  summed = CumSum (m, one)
  less = Sub (summed, one)
  zero = Constant <value_int = 0> ()
  is_masked = Equal (m, zero)
  position = Where (is_masked, one, less)
  y = Gather (w_table, position)
}""", {"b": 1, "s": 4}, {"b": 2, "s": 6})

pattern("einsum_attention", 13, """
g (float[b,s,2,4] q, float[b,s,2,4] k) => (y) {
  y = Einsum <equation = "bqhd,bkhd->bhqk"> (q, k)
}""", {"b": 1, "s": 4}, {"b": 2, "s": 6})

pattern("pixel_shuffle_reshape", 13, """
g (float[b,8,h,w] x) => (a, c) {
  a = DepthToSpace <blocksize = 2, mode = "CRD"> (x)
  c = SpaceToDepth <blocksize = 2> (a)
}""", {"b": 1, "h": 3, "w": 4}, {"b": 2, "h": 2, "w": 2})

pattern("transposed_convolution", 13, """
g (float[b,4,h,w] x, float[4,3,3,3] w_k, float[3] w_b) => (y) {
  y = ConvTranspose <kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1], output_padding = [1,1]> (x, w_k, w_b)
}""", {"b": 1, "h": 4, "w": 5}, {"b": 2, "h": 3, "w": 3})

# Extents of two inputs, of which each run may broadcast either.
pattern("broadcasts_either_way", 17, """
g (float[n,4] x, float[m,4] y, float[4,4] w_k) => (z, e) {
  d = Sub (x, y)
  p = MatMul (d, w_k)
  z = Add (p, y)
  s = Shape (d)
  e = Expand (x, s)
}""", {"n": 5, "m": 5}, {"n": 1, "m": 5}, {"n": 4, "m": 1}, {"n": 1, "m": 1}, {"n": 3, "m": 3})

pattern("wrapped_borders_beside_crops", 21, """
g (float[b,6] x) => (y) {
  pads = Constant <value = int64[4] {0,2,0,-1}> ()
  y = Pad <mode = "wrap"> (x, pads)
}""", {"b": 1}, {"b": 3})
