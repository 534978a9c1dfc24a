"""Operators of the domain com.microsoft, as ONNX Runtime's optimizer and builders of language models write them."""
from patterns import pattern, twin

SIZES = {"b": 2, "s": 5}, {"b": 1, "s": 3}

pattern("microsoft_gelu", 17, """
g (float[b,s,8] x, float[8] w_b) => (y) {
  a = com.microsoft.BiasGelu (x, w_b)
  b = com.microsoft.FastGelu (a, w_b)
  c = com.microsoft.FastGelu (b)
  y = com.microsoft.QuickGelu <alpha = 1.5> (c)
}""", *SIZES)

pattern("microsoft_fused_convolution", 17, """
g (float[b,4,s,6] x, float[b,8,s,6] z, float[8,4,3,3] w_0, float[8] w_b, float[8,8,1,1] w_1) => (y) {
  a = com.microsoft.FusedConv <pads = [1,1,1,1], activation = "Relu"> (x, w_0, w_b, z)
  b = com.microsoft.FusedConv <activation = "LeakyRelu", activation_params = [0.2]> (a, w_1)
  c = com.microsoft.FusedConv <activation = "HardSigmoid", activation_params = [0.3, 0.4]> (b, w_1)
  y = com.microsoft.FusedConv <activation = "Clip", activation_params = [-0.5, 0.5]> (c, w_1)
}""", *SIZES)

# Rows, or columns, lie ahead of the batch.
pattern("microsoft_fused_product", 17, """
g (float[5,b,s,6] x, float[7,b,s,6] z, float[b,s,6,7] w, float[6,b,s,5] v) => (y, c, d) {
  y = com.microsoft.FusedMatMul <transBatchA = 1, alpha = 0.5> (x, w)
  c = com.microsoft.FusedMatMul <transBatchA = 1, transBatchB = 1, transB = 1> (x, z)
  d = com.microsoft.FusedMatMul <transBatchA = 1, transA = 1> (v, w)
}""", *SIZES)

pattern("microsoft_fused_gemm", 17, """
g (float[b,8] x, float[6,8] w_0, float[6] w_b) => (y) {
  y = com.microsoft.FusedGemm <transB = 1, alpha = 0.5, activation = "LeakyRelu", activation_alpha = 0.1> (x, w_0, w_b)
}""", *SIZES)

pattern("microsoft_skip_normalization", 17, """
g (float[b,s,8] x, float[b,s,8] skip, float[8] w_g, float[8] w_b) => (y, z, total) {
  y, m, d, total_0 = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (x, skip, w_g, w_b)
  z, m1, d1, total = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.00001> (total_0, x, w_g, w_b)
}""".replace("m, d, ", " , , ").replace("m1, d1, ", " , , "), *SIZES)

pattern("microsoft_embedding", 17, """
g (int32[b,s] ids, int32[b,s] segments, int32[b,s] drawn, float[9,8] w_w, float[9,8] w_p, float[4,8] w_s, float[8] w_g, float[8] w_b)
    => (y, count) {
  one = Constant <value = int32[1] {1}> ()
  mask = Min (drawn, one)
  y, count = com.microsoft.EmbedLayerNormalization <epsilon = 0.00001> (ids, segments, w_w, w_p, w_s, w_g, w_b, mask)
}""", *SIZES)

# A mask of numbers, one of lengths, and the past in front, which is given on.
pattern("microsoft_attention", 17, """
g (float[b,s,16] x, int32[b,s] mask, int32[b] lengths, float[16,48] w_0, float[48] w_b) => (y, z, c) {
  y = com.microsoft.Attention <num_heads = 2> (x, w_0, w_b, mask)
  z = com.microsoft.Attention <num_heads = 4> (x, w_0, w_b, lengths)
  c = com.microsoft.Attention <num_heads = 2, unidirectional = 1> (x, w_0, w_b)
}""", *SIZES)

pattern("microsoft_attention_past", 17, """
g (float[b,s,16] x, float[2,b,2,p,8] past, int32[b,t] mask, float[1,2,s,s] bias, float[16,48] w_0, float[48] w_b)
    => (y, present, z) {
  y, present = com.microsoft.Attention <num_heads = 2, unidirectional = 1> (x, w_0, w_b, mask, past)
  z = com.microsoft.Attention <num_heads = 2> (x, w_0, w_b, , , bias)
}""", {"b": 2, "s": 3, "p": 4, "t": 7}, {"b": 1, "s": 1, "p": 6, "t": 7})

pattern("microsoft_multi_head_attention", 17, """
g (float[b,s,16] q, float[b,t,16] k, float[b,t,16] v, int32[b,t] mask, float[48] w_b) => (y, z) {
  y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v, w_b, mask)
  z = com.microsoft.MultiHeadAttention <num_heads = 4, scale = 0.5> (q, k, v)
}""", {"b": 2, "s": 3, "t": 5}, {"b": 1, "s": 4, "t": 2})

pattern("microsoft_multi_head_attention_past", 17, """
g (float[b,s,16] q, float[b,s,16] k, float[b,s,16] v, float[b,2,p,8] past_k, float[b,2,p,8] past_v, float[48] w_b)
    => (y, present_k, present_v) {
  y, present_k, present_v = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v, w_b, , , past_k, past_v)
}""", {"b": 2, "s": 3, "p": 4}, {"b": 1, "s": 1, "p": 6})

# Keys and values of another network, computed once.
pattern("microsoft_attention_to_cache", 17, """
g (float[b,s,16] q, float[b,2,t,8] k, float[b,2,t,8] v, float[48] w_b) => (y) {
  y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v, w_b)
}""", {"b": 2, "s": 3, "t": 5}, {"b": 1, "s": 4, "t": 2})

PACKED = "g (float[b,s,2,3,8] all, float[b,s,16] q, float[b,t,2,2,8] kv, float[48] w_b) => (y, z) {"
pattern("microsoft_packed_multi_head_attention", 17, PACKED + """
  y = com.microsoft.MultiHeadAttention <num_heads = 2> (all, , , w_b)
  z = com.microsoft.MultiHeadAttention <num_heads = 2> (q, kv)
}""", {"b": 2, "s": 3, "t": 5}, {"b": 1, "s": 4, "t": 2})
twin("microsoft_packed_multi_head_attention", PACKED + """
  joined = Constant <value = int64[3] {0,0,-1}> ()
  q_0, k_0, v_0 = Split <axis = 3> (all)
  q_1 = Reshape (q_0, joined)
  k_1 = Reshape (k_0, joined)
  v_1 = Reshape (v_0, joined)
  y = com.microsoft.MultiHeadAttention <num_heads = 2> (q_1, k_1, v_1, w_b)
  k_2, v_2 = Split <axis = 3> (kv)
  k_3 = Reshape (k_2, joined)
  v_3 = Reshape (v_2, joined)
  z = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k_3, v_3)
}""")

pattern("microsoft_rotary_embedding", 17, """
g (float[b,s,16] x, float[b,2,s,8] h, int64[b,s] ids, int64[1] first, float[16,4] w_cos, float[16,4] w_sin, float[16,2] w_c, float[16,2] w_s)
    => (y, z, p) {
  y = com.microsoft.RotaryEmbedding (x, ids, w_cos, w_sin)
  z = com.microsoft.RotaryEmbedding <interleaved = 1> (h, first, w_cos, w_sin)
  p = com.microsoft.RotaryEmbedding <num_heads = 2, rotary_embedding_dim = 4> (x, ids, w_c, w_s)
}""", *SIZES)

# The number of all keys is known to the caller; sequences are of one length.
LENGTHS = """
  shape = Shape (pk)
  batch = Slice (shape, zero, one)
  past = Slice (shape, two, three)
  news = Shape <start = 1, end = 2> (q)
  all = Add (past, news)
  last = Sub (all, one)
  wide = Expand (last, batch)
  lengths = Cast <to = 6> (wide)
  total_0 = Squeeze (all)
  total = Cast <to = 6> (total_0)
"""
NUMBERS = """
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  three = Constant <value = int64[1] {3}> ()
"""
STEPS = {"b": 2, "s": 1, "p": 4}, {"b": 1, "s": 6, "p": 0}, {"b": 1, "s": 1, "p": 7}

pattern("microsoft_group_query_attention", 17, f"""
g (float[b,s,64] q, float[b,s,32] k, float[b,s,32] v, float[b,2,p,16] pk, float[b,2,p,16] pv, float[32,8] w_cos, float[32,8] w_sin)
    => (y, present_k, present_v, w, c) {{{NUMBERS}{LENGTHS}
  y, present_k, present_v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1>
    (q, k, v, pk, pv, lengths, total, w_cos, w_sin)
  w, wk, wv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, local_window_size = 3>
    (q, k, v, pk, pv, lengths, total)
  c, ck, cv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, softcap = 0.5>
    (q, k, v, pk, pv, lengths, total)
}}""", *STEPS)

# A key more whose value is zero, and keys behind the query.
pattern("microsoft_group_query_attention_with_sinks", 17, f"""
g (float[b,s,64] q, float[b,s,32] k, float[b,s,32] v, float[b,2,p,16] pk, float[b,2,p,16] pv, float[32,8] w_cos, float[32,8] w_sin,
   float[4] w_sink) => (y, present_k, present_v, z, a) {{{NUMBERS}{LENGTHS}
  y, present_k, present_v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1, local_window_size = 3>
    (q, k, v, pk, pv, lengths, total, w_cos, w_sin, , , w_sink)
  z, zk, zv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, smooth_softmax = 1>
    (q, k, v, pk, pv, lengths, total)
  a, ak, av = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, causal = 0>
    (q, k, v, pk, pv, lengths, total)
}}""", *STEPS)

NORMALIZED = f"""
g (float[b,s,64] q, float[b,s,32] k, float[b,s,32] v, float[b,2,p,16] pk, float[b,2,p,16] pv, float[32,8] w_cos, float[32,8] w_sin,
   float[16] w_q, float[16] w_k) => (y, present_k) {{{NUMBERS}{LENGTHS}"""
pattern("microsoft_normalized_group_query_attention", 17, NORMALIZED + """
  y, present_k, present_v = com.microsoft.GroupQueryAttention
    <num_heads = 4, kv_num_heads = 2, do_rotary = 1, qk_norm_epsilon = 0.01, smooth_softmax = -1, k_norm_epsilon = 0.1>
    (q, k, v, pk, pv, lengths, total, w_cos, w_sin, , , , , , w_q, w_k)
}""", *STEPS)
twin("microsoft_normalized_group_query_attention", NORMALIZED + """
  heads_of_q = Constant <value = int64[4] {0,0,4,16}> ()
  heads_of_k = Constant <value = int64[4] {0,0,2,16}> ()
  joined = Constant <value = int64[3] {0,0,-1}> ()
  q_0 = Reshape (q, heads_of_q)
  q_1 = SimplifiedLayerNormalization <epsilon = 0.01> (q_0, w_q)
  q_2 = Reshape (q_1, joined)
  k_0 = Reshape (k, heads_of_k)
  k_1 = SimplifiedLayerNormalization <epsilon = 0.1> (k_0, w_k)
  k_2 = Reshape (k_1, joined)
  y, present_k, present_v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1>
    (q_2, k_2, v, pk, pv, lengths, total, w_cos, w_sin)
}""")

pattern("microsoft_packed_group_query_attention", 17, f"""
g (float[b,s,128] q, float[b,2,p,16] pk, float[b,2,p,16] pv, float[32,8] w_cos, float[32,8] w_sin)
    => (y, present_k, present_v) {{{NUMBERS}{LENGTHS}
  y, present_k, present_v = com.microsoft.GroupQueryAttention
    <num_heads = 4, kv_num_heads = 2, do_rotary = 1, rotary_interleaved = 1> (q, , , pk, pv, lengths, total, w_cos, w_sin)
}}""", *STEPS)

# Rows of numbers of 4 bits, of which the test draws bytes, with scales of blocks.
pattern("microsoft_gather_of_blocks", 17, """
g (int64[b,s] ids, float[4,2] w_scale) => (y, z) {
  table = Constant <value = uint8[4,16] {7,18,29,130,241,52,163,74,185,96,207,118,229,140,251,162,
    3,114,225,36,147,58,169,180,91,102,213,224,235,46,157,168,79,90,201,12,23,134,245,56,67,178,189,100,
    211,222,33,44,55,66,177,188,99,110,121,132,143,254,165,76,87,98,109,20}> ()
  zeros = Constant <value = uint8[4,1] {120,69,154,7}> ()
  y = com.microsoft.GatherBlockQuantized <block_size = 16, quantize_axis = 1> (table, ids, w_scale)
  z = com.microsoft.GatherBlockQuantized <block_size = 16, quantize_axis = 1> (table, ids, w_scale, zeros)
}""", *SIZES)

# Tables that have a type of 4 bits, along either axis.
pattern("microsoft_gather_of_nibbles", 21, """
g (int64[b,s] ids, float[4,2] w_scale, float[2,3] w_columns) => (y, z, c) {
  rows = Constant <value = int8[4,32] {-1,-4,3,7,-6,-8,7,0,-1,-2,7,7,4,-4,-1,-4,4,-8,-6,-3,-7,1,-8,0,7,4,5,4,6,-4,3,-5,-7,-4,
    7,-2,0,5,1,5,4,3,5,-1,2,-8,0,-3,2,-5,-2,0,1,-5,-6,7,7,-6,3,-6,5,-4,-8,1,5,5,-5,-7,-7,4,2,0,-1,-7,1,-8,-6,-5,-7,-2,5,1,0,
    -4,-7,2,2,3,-4,4,4,6,4,-5,0,5,-1,1,5,0,1,2,-8,5,2,-8,4,-4,-7,2,6,3,3,0,7,-8,-7,-8,3,0,6,1,2,-3,3,-3,2,3}> ()
  columns = Constant <value = uint8[32,3] {8,9,12,3,0,4,9,7,8,7,10,5,13,3,3,10,10,7,14,5,2,10,6,14,8,7,3,1,6,10,5,8,10,2,11,4,
    13,9,8,14,11,13,9,13,13,1,13,4,6,0,15,13,7,1,14,9,10,7,2,9,3,7,1,1,6,13,1,0,15,3,5,9,7,0,13,1,3,10,4,8,15,1,11,7,6,3,3,5,
    7,8,4,0,15,12,1,8}> ()
  shifts = Constant <value = int8[4,2] {3,-4,0,7,-8,1,2,-1}> ()
  three = Constant <value = int64 {3}> ()
  fewer = Mod (ids, three)
  table = Cast <to = 22> (rows)
  turned = Cast <to = 21> (columns)
  zeros = Cast <to = 22> (shifts)
  y = com.microsoft.GatherBlockQuantized <block_size = 16> (table, ids, w_scale)
  z = com.microsoft.GatherBlockQuantized <block_size = 16> (table, ids, w_scale, zeros)
  c = com.microsoft.GatherBlockQuantized <block_size = 16, gather_axis = 1, quantize_axis = 0> (turned, fewer, w_columns)
}""", *SIZES)

pattern("microsoft_quantized_embedding", 17, """
g (int32[b,s] ids, int32[b,s] segments, int32[b,s] drawn, uint8[9,8] w_w, uint8[9,8] w_p, uint8[4,8] w_s, uint8[8] w_g, uint8[8] w_b)
    => (y, count) {
  one = Constant <value = int32[1] {1}> ()
  mask = Min (drawn, one)
  a = Constant <value = float {0.25}> ()
  c = Constant <value = float {0.5}> ()
  z = Constant <value = uint8 {1}> ()
  u = Constant <value = uint8 {2}> ()
  y, count = com.microsoft.QEmbedLayerNormalization <epsilon = 0.00001>
    (ids, segments, w_w, w_p, w_s, w_g, w_b, mask, a, c, a, c, a, z, u, u, z, u)
}""", *SIZES)

# Weights with one scale, and with one for each column; rows with a mask and a past.
pattern("microsoft_quantized_attention", 17, """
g (float[b,s,16] x, int32[b,t] mask, float[2,b,2,p,8] past, int8[16,48] w_0, float[48] w_b, float[48] w_scale, int8[48] w_zero)
    => (y, present, z) {
  a = Constant <value = float {0.01}> ()
  c = Constant <value = uint8 {130}> ()
  d = Constant <value = int8 {1}> ()
  q = QuantizeLinear (x, a, c)
  size = Abs (w_scale)
  y, present = com.microsoft.QAttention <num_heads = 2, unidirectional = 1> (q, w_0, w_b, a, a, mask, c, d, past)
  z = com.microsoft.QAttention <num_heads = 4> (q, w_0, w_b, a, size, , c, w_zero)
}""", {"b": 2, "s": 3, "p": 4, "t": 7}, {"b": 1, "s": 1, "p": 6, "t": 7})

# ONNX Runtime makes bytes of inputs and states too.
pattern("microsoft_lstm_of_bytes", 17, """
g (float[s,b,6] x, int8[2,6,16] w_0, int8[2,4,16] w_1, float[2,32] w_b, float[2] w_a, float[2,16] w_r, int8[2] w_z, int8[2,16] w_y)
    => (y, h, c) {
  y, h, c = com.microsoft.DynamicQuantizeLSTM <hidden_size = 4, direction = "bidirectional">
    (x, w_0, w_1, w_b, , , , , w_a, w_z, w_r, w_y)
}""", *SIZES)
twin("microsoft_lstm_of_bytes", """
g (float[s,b,6] x, int8[2,6,16] w_0, int8[2,4,16] w_1, float[2,32] w_b, float[2] w_a, float[2,16] w_r, int8[2] w_z, int8[2,16] w_y)
    => (y, h, c) {
  gate = Constant <value = int64[3] {2,1,-1}> ()
  a_0 = Cast <to = 1> (w_0)
  a_1 = Cast <to = 1> (w_z)
  a_2 = Reshape (a_1, gate)
  a_3 = Reshape (w_a, gate)
  a_4 = Sub (a_0, a_2)
  a_5 = Mul (a_4, a_3)
  w = Transpose <perm = [0,2,1]> (a_5)
  b_0 = Cast <to = 1> (w_1)
  b_1 = Cast <to = 1> (w_y)
  b_2 = Reshape (b_1, gate)
  b_3 = Reshape (w_r, gate)
  b_4 = Sub (b_0, b_2)
  b_5 = Mul (b_4, b_3)
  r = Transpose <perm = [0,2,1]> (b_5)
  y, h, c = LSTM <hidden_size = 4, direction = "bidirectional"> (x, w, r, w_b)
}""")

# 5 x 7 numbers are two blocks of 32, whose second one is cut off.
pattern("microsoft_four_bits_of_bitsandbytes", 17, """
g (float[b,s,7] x, float[2] w_a) => (y, z) {
  bytes = Constant <value = uint8[18] {7,18,29,130,241,52,163,74,185,96,207,118,229,140,251,162,61,208}> ()
  y = com.microsoft.MatMulBnb4 <K = 7, N = 5, block_size = 32, quant_type = 0> (x, bytes, w_a)
  z = com.microsoft.MatMulBnb4 <K = 7, N = 5, block_size = 32, quant_type = 1> (x, bytes, w_a)
}""", *SIZES)

# Operators of names that ONNX has too, and that differ: images with channels last, and outputs in another order.
pattern("microsoft_channels_last", 17, """
g (float[b,6,6,6] x, int8[5,6,3,3] w_0, float[5] w_drawn, int8[5] w_z, int32[5] w_b) => (y, most) {
  a = Constant <value = float {0.02}> ()
  c = Constant <value = uint8 {120}> ()
  d = Constant <value = float {0.1}> ()
  size = Abs (w_drawn)
  q = QuantizeLinear (x, a, c)
  r = com.microsoft.QLinearConv <channels_last = 1, pads = [1,0,1,1], strides = [2,1]> (q, a, c, w_0, size, w_z, d, c, w_b)
  y = DequantizeLinear (r, d, c)
  n = com.microsoft.NhwcMaxPool <kernel_shape = [2,3], strides = [2,1]> (q)
  most = DequantizeLinear (n, a, c)
}""", {"b": 2}, {"b": 1})
pattern("microsoft_unique", 17, """
g (float[b,s] x) => (y, i, count, sum) {
  all = Constant <value = int64[1] {-1}> ()
  flat = Reshape (x, all)
  steps = Round (flat)
  y, i, count = com.microsoft.Unique (steps)
  first = Constant <value = float {1}> ()
  limit = Constant <value = float {4}> ()
  counted = com.microsoft.Range (first, limit)
  sum = ReduceSum <keepdims = 0> (counted)
}""", *SIZES)
pattern("microsoft_distances", 17, """
g (float[b,8] x, float[s,8] y, float[s,8] z) => (d, e) {
  one = Constant <value = int32 {1}> ()
  c = com.microsoft.CDist <metric = "euclidean"> (x, y)
  d = com.microsoft.ExpandDims (c, one)
  e = com.microsoft.CDist <metric = "sqeuclidean"> (y, z)
}""", *SIZES)

# Diffusion models; ONNX Runtime has kernels for GPUs alone.
pattern("microsoft_groups", 17, """
g (float[b,s,4,8] x, float[b,8] skip, float[b,8,s,4] z, float[8] w_g, float[8] w_b, float[8] w_c) => (y, sum, first) {
  y, sum = com.microsoft.SkipGroupNorm <groups = 2, activation = 1, epsilon = 0.001> (x, w_g, w_b, skip, w_c)
  first = com.microsoft.GroupNorm <groups = 4, activation = 0, channels_last = 0> (z, w_g, w_b)
}""", *SIZES)
twin("microsoft_groups", """
g (float[b,s,4,8] x, float[b,8] skip, float[b,8,s,4] z, float[8] w_g, float[8] w_b, float[8] w_c) => (y, sum, first) {
  middle = Constant <value = int64[2] {1,2}> ()
  behind = Constant <value = int64[2] {1,2}> ()
  two = Constant <value = int64[3] {0,2,-1}> ()
  four = Constant <value = int64[3] {0,4,-1}> ()
  one_2 = Constant <value = float[2] {1,1}> ()
  none_2 = Constant <value = float[2] {0,0}> ()
  one_4 = Constant <value = float[4] {1,1,1,1}> ()
  none_4 = Constant <value = float[4] {0,0,0,0}> ()
  wide = Unsqueeze (skip, middle)
  half = Add (x, wide)
  sum = Add (half, w_c)
  t = Transpose <perm = [0,3,1,2]> (sum)
  shape = Shape (t)
  t_0 = Reshape (t, two)
  t_1 = InstanceNormalization <epsilon = 0.001> (t_0, one_2, none_2)
  t_2 = Reshape (t_1, shape)
  t_3 = Transpose <perm = [0,2,3,1]> (t_2)
  t_4 = Mul (t_3, w_g)
  t_5 = Add (t_4, w_b)
  t_6 = Sigmoid (t_5)
  y = Mul (t_5, t_6)
  g = Unsqueeze (w_g, behind)
  c = Unsqueeze (w_b, behind)
  z_shape = Shape (z)
  z_0 = Reshape (z, four)
  z_1 = InstanceNormalization (z_0, one_4, none_4)
  z_2 = Reshape (z_1, z_shape)
  z_3 = Mul (z_2, g)
  first = Add (z_3, c)
}""")
pattern("microsoft_diffusion", 17, """
g (float[b,s,4,3] x, float[b,s,8] r, float[b,s,8] t, float[6,3,2,3] w_0, float[6] w_c, float[8] w_b) => (y, sum, gate) {
  w = Transpose <perm = [0,2,3,1]> (w_0)
  y = com.microsoft.NhwcConv <pads = [0,1,1,1]> (x, w, w_c)
  sum = com.microsoft.BiasAdd (r, w_b, t)
  gate = com.microsoft.BiasSplitGelu (r, w_b)
}""", *SIZES)
twin("microsoft_diffusion", """
g (float[b,s,4,3] x, float[b,s,8] r, float[b,s,8] t, float[6,3,2,3] w_0, float[6] w_c, float[8] w_b) => (y, sum, gate) {
  image = Transpose <perm = [0,3,1,2]> (x)
  made = Conv <pads = [0,1,1,1]> (image, w_0, w_c)
  y = Transpose <perm = [0,2,3,1]> (made)
  added = Add (r, w_b)
  sum = Add (added, t)
  left, right = Split <axis = 2> (added)
  smooth = com.microsoft.Gelu (right)
  gate = Mul (left, smooth)
}""")

# Experts: the router's best two of each token; gates interleaved with the other halves, and one behind the other.
pattern("microsoft_experts", 17, """
g (float[b,s,8] x, float[t,4] r, float[4,12,8] w_0, float[4,12] w_b, float[4,8,6] w_1, float[4,8] w_c, float[4,6,8] w_2, float[4,8,6] w_3)
    => (y, z, one) {
  y = com.microsoft.MoE <k = 2, activation_type = "swiglu", swiglu_fusion = 1, normalize_routing_weights = 1, swiglu_limit = 0.5,
                         activation_alpha = 1.7, activation_beta = 1.0> (x, r, w_0, w_b, w_1, w_c)
  z = com.microsoft.MoE <k = 3, activation_type = "gelu"> (x, r, w_2, , w_3)
  one = com.microsoft.MoE <activation_type = "relu"> (x, r, w_2, , w_3, w_c)
}""", {"b": 2, "s": 5, "t": 10}, {"b": 1, "s": 3, "t": 3})
# Few tokens beside the experts: those of chosen ones are picked.
pattern("microsoft_experts_of_few_tokens", 17, """
g (float[1,2,8] x, float[2,16] r, float[16,12,8] w_0, float[16,12] w_b, float[16,8,6] w_1, float[16,8] w_c, float[16,6,8] w_2, float[16,8,6] w_3)
    => (y, z) {
  y = com.microsoft.MoE <k = 2, activation_type = "swiglu", swiglu_fusion = 1, normalize_routing_weights = 1> (x, r, w_0, w_b, w_1, w_c)
  z = com.microsoft.MoE <k = 2, activation_type = "silu"> (x, r, w_2, , w_3)
}""", {})
# As many tokens as there are at run time: one and two are few, ten are not.
pattern("microsoft_experts_of_any_tokens", 17, """
g (float[b,s,8] x, float[t,16] r, float[16,12,8] w_0, float[16,12] w_b, float[16,8,6] w_1, float[16,8] w_c, float[16,6,8] w_2, float[16,8,6] w_3)
    => (y, z) {
  y = com.microsoft.MoE <k = 2, activation_type = "swiglu", swiglu_fusion = 1, normalize_routing_weights = 1> (x, r, w_0, w_b, w_1, w_c)
  z = com.microsoft.MoE <k = 2, activation_type = "silu"> (x, r, w_2, , w_3)
}""", {"b": 2, "s": 5, "t": 10}, {"b": 1, "s": 2, "t": 2}, {"b": 1, "s": 1, "t": 1})
GATED = """
g (float[b,s,8] x, float[t,4] r, float[4,6,8] w_0, float[4,8,6] w_1, float[4,8] w_c, float[4,6,8] w_2) => (y, z, a) {"""
pattern("microsoft_gated_experts", 17, GATED + """
  y = com.microsoft.MoE <k = 2, activation_type = "swiglu"> (x, r, w_0, , w_1, w_c, w_2)
  z = com.microsoft.MoE <k = 2, activation_type = "silu"> (x, r, w_0, , w_1, w_c, w_2)
  joined = Concat <axis = 1> (w_0, w_2)
  a = com.microsoft.MoE <k = 2, activation_type = "swiglu", swiglu_fusion = 2> (x, r, joined, , w_1, w_c)
}""", {"b": 2, "s": 5, "t": 10}, {"b": 1, "s": 3, "t": 3})
twin("microsoft_gated_experts", GATED + """
  axis = Constant <value = int64[1] {2}> ()
  shape = Constant <value = int64[3] {4,12,8}> ()
  gate = Unsqueeze (w_0, axis)
  up = Unsqueeze (w_2, axis)
  both = Concat <axis = 2> (gate, up)
  turns = Reshape (both, shape)
  y = com.microsoft.MoE <k = 2, activation_type = "swiglu", swiglu_fusion = 1> (x, r, turns, , w_1, w_c)
  z = Identity (y)
  a = Identity (y)
}""")

# Weights of 4 bits with a scale a row, whose zero points lie beside each other; of 8 bits; of 4 bits with blocks.
pattern("microsoft_quantized_experts", 17, """
g (float[b,s,32] x, float[t,2] r, float[t,2] drawn, uint8[2,4,16] w_0, float[2,4] w_s, uint8[2,32,2] w_1, float[2,32] w_t, uint8[2,2] w_z,
   uint8[2,16] w_y, float[2,4] w_b, uint8[2,32,32] w_2, float[2,32] w_r, uint8[2,32,32] w_3, uint8[2,16,16] w_6, float[2,16,2] w_u, uint8[2,32,8] w_5, float[2,32,1] w_v) => (y, z, a) {
  y = com.microsoft.QMoE <k = 1, activation_type = "relu", normalize_routing_weights = 1>
    (x, r, w_0, w_s, w_b, w_1, w_t, , , , , w_z, w_y)
  share = Abs (drawn)
  z = com.microsoft.QMoE <k = 2, activation_type = "silu", normalize_routing_weights = 1, expert_weight_bits = 8>
    (x, r, w_2, w_r, , w_3, w_r, , , , , , , , share)
  a = com.microsoft.QMoE <k = 2, activation_type = "silu", normalize_routing_weights = 1, block_size = 16>
    (x, r, w_6, w_u, , w_5, w_v)
}""", {"b": 2, "s": 5, "t": 10}, {"b": 1, "s": 3, "t": 3})
