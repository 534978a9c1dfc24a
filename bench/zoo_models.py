"""The architectures of bench/zoo.py, with random weights: one row a model in a table of functions that make it.

A function returns (module, inputs); `dynamic` says which inputs have a batch in front that may vary. Sizes are small
but real: depth and width are left out, never a kind of layer. """
import torch
import torch.nn.functional as F
from torch import nn

MODELS = {}  # name -> Entry


class Entry:
    def __init__(self, name, make, dynamic):
        self.name, self.make, self.dynamic = name, make, dynamic


def model(name, dynamic=False):
    """Puts a function into the table. dynamic: the first axis of each input is a batch."""

    def put(make):
        MODELS[name] = Entry(name, make, dynamic)
        return make

    return put


def image(size, batch=1, channels=3):
    return torch.randn(batch, channels, size, size)


def ids(batch, length, count):
    return torch.randint(0, count, (batch, length))


# ---- torchvision -------------------------------------------------------------------------------------------------

CLASSIFIERS = {"efficientnet_b0": 224, "convnext_tiny": 224, "regnet_y_400mf": 224, "regnet_x_400mf": 224,
               "densenet121": 224, "shufflenet_v2_x1_0": 224, "squeezenet1_1": 224, "inception_v3": 299,
               "googlenet": 224, "mnasnet1_0": 224, "swin_t": 224, "swin_v2_t": 224, "maxvit_t": 224,
               "mobilenet_v2": 224, "vgg11_bn": 224, "alexnet": 224, "resnext50_32x4d": 224}


def put_classifier(name, size):
    @model(name, dynamic=True)
    def make():
        import torchvision

        more = {"init_weights": False, "aux_logits": False} if name in ("inception_v3", "googlenet") else {}
        return getattr(torchvision.models, name)(weights=None, **more), (image(size),)


for row in CLASSIFIERS.items():
    put_classifier(*row)


class Out(nn.Module):
    """A segmentation model without the dictionary around its result."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)["out"]


def put_segmentation(name):
    @model(name, dynamic=True)
    def make():
        import torchvision

        net = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=21)
        return Out(net), (image(256),)


for row in ("deeplabv3_mobilenet_v3_large", "fcn_resnet50", "lraspp_mobilenet_v3_large"):
    put_segmentation(row)


class Detect(nn.Module):
    """A detector with tensors as results."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        found = self.inner([x])[0]
        return found["boxes"], found["scores"], found["labels"]


def put_detector(name, size):
    @model(name)
    def make():
        import torchvision

        net = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, num_classes=21)
        return Detect(net), (torch.rand(3, size, size),)


for row in {"ssdlite320_mobilenet_v3_large": 320, "ssd300_vgg16": 300, "retinanet_resnet50_fpn": 256,
            "fasterrcnn_mobilenet_v3_large_320_fpn": 320, "maskrcnn_resnet50_fpn": 256}.items():
    put_detector(*row)


@model("r3d_18", dynamic=True)
def r3d_18():
    import torchvision

    return torchvision.models.video.r3d_18(weights=None), (torch.randn(1, 3, 8, 64, 64),)


@model("r2plus1d_18", dynamic=True)
def r2plus1d_18():
    import torchvision

    return torchvision.models.video.r2plus1d_18(weights=None), (torch.randn(1, 3, 8, 64, 64),)


@model("raft_small")
def raft_small():
    import torchvision

    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torchvision.models.optical_flow.raft_small(weights=None)

        def forward(self, a, b):
            return self.net(a, b, num_flow_updates=3)[-1]

    return Flow(), (image(128), image(128))


# ---- timm --------------------------------------------------------------------------------------------------------

TIMM = {"deit_tiny_patch16_224": {}, "beit_base_patch16_224": {"depth": 4, "embed_dim": 384, "num_heads": 6},
        "levit_128s": {}, "mobilevit_s": {}, "mobilevitv2_050": {}, "fastvit_t8": {}, "mixer_s32_224": {},
        "ghostnet_100": {}, "efficientformer_l1": {}, "poolformer_s12": {}, "edgenext_xx_small": {},
        "xcit_nano_12_p16_224": {}, "nf_regnet_b0": {}, "hrnet_w18_small": {}, "repvgg_a0": {}, "tiny_vit_5m_224": {},
        "eva02_tiny_patch14_224": {}, "coat_tiny": {}, "mobilenetv4_conv_small": {}, "convnextv2_atto": {},
        "resnest14d": {}, "cspdarknet53": {}, "eca_resnet33ts": {}, "volo_d1_224": {},
        "gcvit_xxtiny": {}, "efficientvit_b0": {}, "rexnet_100": {}, "pvt_v2_b0": {}, "davit_tiny": {},
        "repvit_m1": {}, "starnet_s1": {}, "visformer_tiny": {}, "tnt_s_patch16_224": {"depth": 4},
        "halonet26t": {}, "lambda_resnet26t": {}, "botnet26t_256": {}, "dla34": {}, "dpn68": {}, "res2net50_26w_4s": {},
        "skresnet18": {}, "selecsls42": {}, "tf_efficientnet_lite0": {}, "mambaout_femto": {}, "cait_xxs24_224": {},
        "crossvit_tiny_240": {}, "twins_pcpvt_small": {}, "vit_tiny_patch16_224": {}, "hiera_tiny_224": {},
        "nextvit_small": {}, "inception_next_atto": {}, "focalnet_tiny_srf": {}, "mvitv2_tiny": {}, "visformer_small": {},
        "convit_tiny": {}, "efficientvit_m0": {}, "gmlp_s16_224": {}, "pvt_v2_b2_li": {}, "swiftformer_xs": {}}


def put_timm(name, more):
    @model(name, dynamic=True)
    def make():
        import timm

        net = timm.create_model(name, pretrained=False, **more)
        return net, (image(net.default_cfg["input_size"][-1]),)


for row in TIMM.items():
    put_timm(*row)


# ---- transformers ------------------------------------------------------------------------------------------------


class First(nn.Module):
    """A transformers model called with plain tensors by name, giving its first result."""

    def __init__(self, inner, *names, **fixed):
        super().__init__()
        self.inner, self.names, self.fixed = inner, names, fixed

    def forward(self, *tensors):
        result = self.inner(**dict(zip(self.names, tensors)), **self.fixed, return_dict=False)
        return result[0] if isinstance(result, tuple) else result


def configured(kind, attention="sdpa", **settings):
    import transformers

    config = getattr(transformers, f"{kind}Config")(**settings)
    config._attn_implementation = attention
    return config


def encoder(kind, model_kind="Model", length=64, attention="sdpa", **settings):
    import transformers

    config = configured(kind, attention, **settings)
    net = getattr(transformers, kind + model_kind)(config)
    mask = torch.ones(1, length, dtype=torch.int64)
    mask[:, length - 7:] = 0
    return First(net, "input_ids", "attention_mask"), (ids(1, length, 900), mask)


BERT = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 1024}


@model("distilbert", dynamic=True)
def distilbert():
    return encoder("DistilBert", vocab_size=1000, dim=256, n_layers=3, n_heads=4, hidden_dim=1024)


@model("bert_eager", dynamic=True)
def bert_eager():
    return encoder("Bert", attention="eager", **BERT)


@model("roberta", dynamic=True)
def roberta():
    return encoder("Roberta", **BERT)


@model("albert", dynamic=True)
def albert():
    return encoder("Albert", embedding_size=128, **BERT)


@model("deberta", dynamic=True)
def deberta():
    return encoder("Deberta", attention="eager", relative_attention=True, pos_att_type=["c2p", "p2c"],
                   max_relative_positions=64, position_biased_input=False, **BERT)


@model("deberta_v2", dynamic=True)
def deberta_v2():
    return encoder("DebertaV2", attention="eager", relative_attention=True, pos_att_type=["c2p", "p2c"],
                   position_buckets=32, norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False,
                   **BERT)


@model("mpnet", dynamic=True)
def mpnet():
    return encoder("MPNet", attention="eager", **BERT)


@model("modernbert", dynamic=True)
def modernbert():
    return encoder("ModernBert", vocab_size=1000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                   intermediate_size=512, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1,
                   sep_token_id=2)


@model("electra", dynamic=True)
def electra():
    return encoder("Electra", embedding_size=128, **BERT)


@model("fnet", dynamic=True)
def fnet():
    import transformers

    settings = dict(BERT)
    settings.pop("num_attention_heads")
    return First(transformers.FNetModel(transformers.FNetConfig(**settings)), "input_ids"), (ids(1, 64, 900),)


T5 = {"vocab_size": 1000, "d_model": 256, "d_kv": 64, "d_ff": 1024, "num_layers": 3, "num_heads": 4}


@model("t5_encoder", dynamic=True)
def t5_encoder():
    return encoder("T5", "EncoderModel", attention="eager", **T5)


@model("t5_decoder", dynamic=True)
def t5_decoder():
    import transformers

    net = transformers.T5Model(configured("T5", "eager", feed_forward_proj="gated-gelu", **T5)).decoder
    return (First(net, "input_ids", "encoder_hidden_states", use_cache=False),
            (ids(1, 24, 900), torch.randn(1, 48, 256)))


LLAMA = {"vocab_size": 1000, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 3,
         "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 256}


class Causal(nn.Module):
    """A decoder with its past keys and values as inputs and the new ones as results."""

    def __init__(self, inner, layers):
        super().__init__()
        self.inner, self.layers = inner, layers

    def forward(self, tokens, *past):
        from transformers import DynamicCache

        cache = DynamicCache()
        for i in range(len(past) // 2):
            cache.update(past[2 * i], past[2 * i + 1], i)
        result = self.inner(input_ids=tokens, past_key_values=cache, use_cache=True)
        keys = [t for layer in result.past_key_values.layers for t in (layer.keys, layer.values)]
        return (result.logits, *keys)


def put_decoder(name, kind, attention="sdpa", **more):
    def build():
        import transformers

        config = configured(kind, attention, **{**LLAMA, **more})
        return getattr(transformers, f"{kind}ForCausalLM")(config), config

    @model(name + "_prefill", dynamic=True)
    def prefill():
        net, _ = build()
        return First(net, "input_ids", use_cache=False), (ids(1, 32, 900),)

    @model(name + "_past", dynamic=True)
    def with_past():
        net, config = build()
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        past = [torch.randn(1, heads, 48, width) for _ in range(2 * config.num_hidden_layers)]
        return Causal(net, config.num_hidden_layers), (ids(1, 1, 900), *past)


for row in (("llama", "Llama"), ("mistral", "Mistral"), ("qwen2", "Qwen2"), ("llama_eager", "Llama", "eager")):
    put_decoder(*row)
put_decoder("qwen3", "Qwen3", head_dim=32)
put_decoder("gemma", "Gemma", head_dim=32)
put_decoder("gemma2", "Gemma2", "eager", head_dim=32, query_pre_attn_scalar=32)
put_decoder("phi", "Phi", num_key_value_heads=8)
put_decoder("gpt_neox", "GPTNeoX", num_key_value_heads=8)
put_decoder("opt", "OPT", ffn_dim=688, word_embed_proj_dim=256, num_key_value_heads=8)
put_decoder("falcon", "Falcon", num_kv_heads=2, new_decoder_architecture=True, num_key_value_heads=2)
put_decoder("stablelm", "StableLm")
put_decoder("olmo2", "Olmo2")


@model("mixtral_prefill")
def mixtral():
    import transformers

    config = configured("Mixtral", **{**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2})
    config._experts_implementation = "eager"
    return First(transformers.MixtralForCausalLM(config), "input_ids", use_cache=False), (ids(1, 32, 900),)


@model("mamba", dynamic=True)
def mamba():
    import transformers

    config = transformers.MambaConfig(vocab_size=1000, hidden_size=128, state_size=16, num_hidden_layers=2)
    return First(transformers.MambaForCausalLM(config), "input_ids", use_cache=False), (ids(1, 24, 900),)


WHISPER = {"vocab_size": 1000, "d_model": 256, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
           "decoder_attention_heads": 4, "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024, "max_source_positions": 200,
           "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}


@model("whisper_encoder", dynamic=True)
def whisper_encoder():
    import transformers

    net = transformers.WhisperModel(configured("Whisper", **WHISPER)).encoder
    return First(net, "input_features"), (torch.randn(1, 80, 400),)


@model("whisper_decoder", dynamic=True)
def whisper_decoder():
    import transformers

    net = transformers.WhisperModel(configured("Whisper", **WHISPER)).decoder
    return (First(net, "input_ids", "encoder_hidden_states", use_cache=False),
            (ids(1, 16, 900), torch.randn(1, 200, 256)))


@model("wav2vec2", dynamic=True)
def wav2vec2():
    import transformers

    config = configured("Wav2Vec2", vocab_size=32, hidden_size=256, num_hidden_layers=3, num_attention_heads=4,
                        intermediate_size=1024)
    return First(transformers.Wav2Vec2ForCTC(config), "input_values"), (torch.randn(1, 16000),)




@model("wav2vec2_conformer", dynamic=True)
def wav2vec2_conformer():
    import transformers

    config = configured("Wav2Vec2Conformer", "eager", vocab_size=32, hidden_size=256, num_hidden_layers=3,
                        num_attention_heads=4, intermediate_size=1024, position_embeddings_type="relative")
    return First(transformers.Wav2Vec2ConformerForCTC(config), "input_values"), (torch.randn(1, 16000),)




@model("clip_text", dynamic=True)
def clip_text():
    import transformers

    net = transformers.CLIPTextModel(configured("CLIPText", vocab_size=1000, hidden_size=256, num_hidden_layers=3,
                                                num_attention_heads=4, intermediate_size=1024, eos_token_id=999))
    return First(net, "input_ids"), (ids(1, 77, 900),)


@model("dinov2", dynamic=True)
def dinov2():
    import transformers

    net = transformers.Dinov2Model(configured("Dinov2", hidden_size=192, num_hidden_layers=4, num_attention_heads=3,
                                              image_size=518, patch_size=14))
    return First(net, "pixel_values"), (image(224),)


@model("segformer", dynamic=True)
def segformer():
    import transformers

    net = transformers.SegformerForSemanticSegmentation(configured("Segformer", "eager", num_labels=21))
    return First(net, "pixel_values"), (image(256),)


@model("detr")
def detr():
    import transformers

    config = transformers.DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, encoder_layers=2,
                                     decoder_layers=2, num_queries=50,
                                     backbone_config=transformers.ResNetConfig(out_features=["stage4"]))
    config._attn_implementation = "eager"
    return First(transformers.DetrForObjectDetection(config), "pixel_values"), (image(256),)


@model("yolos", dynamic=True)
def yolos():
    import transformers

    net = transformers.YolosForObjectDetection(configured("Yolos", hidden_size=192, num_hidden_layers=4,
                                                          num_attention_heads=3, intermediate_size=768,
                                                          image_size=[256, 256], num_detection_tokens=50))
    return First(net, "pixel_values"), (image(256),)


@model("rt_detr")
def rt_detr():
    import transformers

    config = transformers.RTDetrConfig(encoder_layers=1, decoder_layers=2, num_queries=100,
                                       backbone_config=transformers.RTDetrResNetConfig(
                                           depths=[2, 2, 2, 2], layer_type="basic", hidden_sizes=[64, 128, 256, 512],
                                           out_features=["stage2", "stage3", "stage4"]),
                                       encoder_in_channels=[128, 256, 512])
    config._attn_implementation = "eager"
    return First(transformers.RTDetrForObjectDetection(config), "pixel_values"), (image(320),)


@model("sam_prompt")
def sam_prompt():
    import transformers

    config = transformers.SamConfig(vision_config=transformers.SamVisionConfig(
        hidden_size=192, num_hidden_layers=3, num_attention_heads=3, image_size=256, global_attn_indexes=[1]),
        prompt_encoder_config=transformers.SamPromptEncoderConfig(image_size=256, image_embedding_size=16))
    config._attn_implementation = "eager"
    net = transformers.SamModel(config)
    return First(net, "pixel_values", "input_points"), (image(256), torch.rand(1, 1, 2, 2) * 256)



# ---- written out here --------------------------------------------------------------------------------------------


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, base=16):
        super().__init__()
        widths = [base, 2 * base, 4 * base, 8 * base]
        self.down = nn.ModuleList([block(i, o) for i, o in zip([3] + widths[:-1], widths)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in reversed(widths[:-1])])
        self.join = nn.ModuleList([block(2 * w, w) for w in reversed(widths[:-1])])
        self.head = nn.Conv2d(base, 2, 1)

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.down):
            x = down(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, reversed(kept[:-1])):
            x = join(torch.cat([skip, up(x)], 1))
        return self.head(x)


@model("unet_transposed", dynamic=True)
def unet_transposed():
    return UNet(), (image(128),)


@model("gan_generator", dynamic=True)
def gan_generator():
    """Residual generator with instance normalization and reflected borders."""

    class Residual(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.body = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3), nn.InstanceNorm2d(width),
                                      nn.ReLU(), nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3),
                                      nn.InstanceNorm2d(width))

        def forward(self, x):
            return x + self.body(x)

    layers = [nn.ReflectionPad2d(3), nn.Conv2d(3, 32, 7), nn.InstanceNorm2d(32), nn.ReLU()]
    for width in (32, 64):
        layers += [nn.Conv2d(width, 2 * width, 3, 2, 1), nn.InstanceNorm2d(2 * width, affine=True), nn.ReLU()]
    layers += [Residual(128) for _ in range(3)]
    for width in (128, 64):
        layers += [nn.ConvTranspose2d(width, width // 2, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(width // 2),
                   nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.ReflectionPad2d(3), nn.Conv2d(32, 3, 7), nn.Tanh()), (image(128),)


@model("dcgan", dynamic=True)
def dcgan():
    layers, width = [], 64
    for outputs in (256, 128, 64, 32):
        layers += [nn.ConvTranspose2d(width, outputs, 4, 2 if layers else 1, 1 if layers else 0, bias=False),
                   nn.BatchNorm2d(outputs), nn.ReLU()]
        width = outputs
    return nn.Sequential(*layers, nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()), (torch.randn(1, 64, 1, 1),)


@model("style_generator", dynamic=True)
def style_generator():
    """Convolutions whose weights are computed from a style (StyleGAN2), grouped by sample."""

    class Modulated(nn.Module):
        def __init__(self, inputs, outputs, style):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(outputs, inputs, 3, 3) * 0.1)
            self.style = nn.Linear(style, inputs)

        def forward(self, x, style):
            w = self.weight[None] * self.style(style)[:, None, :, None, None]
            w = w * torch.rsqrt(w.square().sum((2, 3, 4), keepdim=True) + 1e-8)
            n, _, height, width = x.shape
            x = F.conv2d(x.reshape(1, -1, height, width), w.reshape(-1, *w.shape[2:]), padding=1, groups=n)
            return F.leaky_relu(x.reshape(n, -1, height, width), 0.2)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.map = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64))
            self.start = nn.Parameter(torch.randn(1, 64, 8, 8))
            self.convolutions = nn.ModuleList([Modulated(64, 64, 64), Modulated(64, 32, 64), Modulated(32, 32, 64)])
            self.rgb = nn.Conv2d(32, 3, 1)

        def forward(self, z):
            style = self.map(F.normalize(z, dim=1))
            x = self.start.expand(z.shape[0], -1, -1, -1)
            for convolution in self.convolutions:
                x = convolution(F.interpolate(x, scale_factor=2, mode="bilinear"), style)
            return self.rgb(x)

    return Net(), (torch.randn(1, 64),)


class ResBlock(nn.Module):
    def __init__(self, inputs, outputs, embedding=0):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(16, inputs, eps=1e-6), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(16, outputs, eps=1e-6), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(embedding, outputs) if embedding else None
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time=None):
        h = self.conv1(F.silu(self.norm1(x)))
        if self.time is not None:
            h = h + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class SpatialAttention(nn.Module):
    def __init__(self, width, context=None, heads=4):
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(16, width, eps=1e-6)
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.k = nn.Linear(context or width, width, bias=False)
        self.v = nn.Linear(context or width, width, bias=False)

    def forward(self, x, context=None):
        n, c, height, width = x.shape
        h = self.norm(x).permute(0, 2, 3, 1).reshape(n, height * width, c)
        context = h if context is None else context
        q, k, v = (layer(t).view(n, -1, self.heads, c // self.heads).transpose(1, 2)
                   for layer, t in ((self.q, h), (self.k, context), (self.v, context)))
        h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, height * width, c)
        return x + self.out(h).reshape(n, height, width, c).permute(0, 3, 1, 2)


@model("diffusion_unet", dynamic=True)
def diffusion_unet():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 256))
            self.start = nn.Conv2d(4, 64, 3, padding=1)
            self.r1, self.a1 = ResBlock(64, 64, 256), SpatialAttention(64, 128)
            self.down = nn.Conv2d(64, 64, 3, 2, 1)
            self.r2, self.a2 = ResBlock(64, 128, 256), SpatialAttention(128)
            self.r3 = ResBlock(128 + 64, 64, 256)
            self.norm, self.head = nn.GroupNorm(16, 64), nn.Conv2d(64, 4, 3, padding=1)

        def forward(self, x, step, context):
            frequencies = torch.exp(torch.arange(32, dtype=torch.float32) * -0.28)
            angles = step[:, None].float() * frequencies[None]
            time = self.time(torch.cat([torch.cos(angles), torch.sin(angles)], -1))
            x = self.a1(self.r1(self.start(x), time), context)
            h = self.a2(self.r2(self.down(x), time))
            h = self.r3(torch.cat([F.interpolate(h, scale_factor=2.0), x], 1), time)
            return self.head(F.silu(self.norm(h)))

    return Net(), (image(32, channels=4), torch.tensor([7]), torch.randn(1, 20, 128))


@model("vae_decoder", dynamic=True)
def vae_decoder():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.start = nn.Conv2d(4, 128, 3, padding=1)
            self.middle = nn.ModuleList([ResBlock(128, 128), SpatialAttention(128, heads=1), ResBlock(128, 128)])
            self.up = nn.ModuleList([ResBlock(128, 64), ResBlock(64, 32)])
            self.grow = nn.ModuleList([nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)])
            self.norm, self.head = nn.GroupNorm(16, 32), nn.Conv2d(32, 3, 3, padding=1)

        def forward(self, x):
            x = self.start(x)
            for part in self.middle:
                x = part(x)
            for up, grow in zip(self.up, self.grow):
                x = grow(F.interpolate(up(x), scale_factor=2.0, mode="nearest"))
            return self.head(F.silu(self.norm(x)))

    return Net(), (image(16, channels=4),)


@model("seq2seq_gru", dynamic=True)
def seq2seq_gru():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(1000, 128)
            self.encoder = nn.GRU(128, 128, 2, batch_first=True, bidirectional=True)
            self.decoder = nn.GRU(128 + 256, 256, batch_first=True)
            self.query, self.head = nn.Linear(256, 256), nn.Linear(256, 1000)

        def forward(self, source, target):
            memory, _ = self.encoder(self.table(source))
            state = memory[:, -1][None].contiguous()
            results = []
            for i in range(4):
                scores = torch.bmm(memory, self.query(state[0])[:, :, None]).softmax(1)
                context = (memory * scores).sum(1, keepdim=True)
                out, state = self.decoder(torch.cat([self.table(target[:, i:i + 1]), context], -1), state)
                results.append(self.head(out))
            return torch.cat(results, 1)

    return Net(), (ids(1, 24, 1000), ids(1, 4, 1000))


@model("lstm_stack", dynamic=True)
def lstm_stack():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(80, 256, 3, batch_first=True), nn.Linear(256, 40)

        def forward(self, x):
            return self.head(self.lstm(x)[0]).log_softmax(-1)

    return Net(), (torch.randn(1, 60, 80),)


@model("lstm_cell_loop", dynamic=True)
def lstm_cell_loop():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.LSTMCell(64, 128), nn.Linear(128, 10)

        def forward(self, x):
            h = c = x.new_zeros(x.shape[0], 128)
            for i in range(12):
                h, c = self.cell(x[:, i], (h, c))
            return self.head(h)

    return Net(), (torch.randn(1, 12, 64),)


@model("tcn", dynamic=True)
def tcn():
    class Part(nn.Module):
        def __init__(self, inputs, outputs, dilation):
            super().__init__()
            self.pad = 2 * dilation
            self.a = nn.Conv1d(inputs, outputs, 3, padding=self.pad, dilation=dilation)
            self.b = nn.Conv1d(outputs, outputs, 3, padding=self.pad, dilation=dilation)
            self.skip = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

        def forward(self, x):
            h = F.relu(self.a(x)[:, :, :-self.pad])
            h = F.relu(self.b(h)[:, :, :-self.pad])
            return F.relu(h + self.skip(x))

    widths = [16, 64, 64, 64, 64]
    parts = [Part(i, o, 2**k) for k, (i, o) in enumerate(zip(widths, widths[1:]))]
    return nn.Sequential(*parts, nn.Conv1d(64, 10, 1)), (torch.randn(1, 16, 256),)


@model("wavenet_vocoder", dynamic=True)
def wavenet():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.start = nn.ConvTranspose1d(80, 64, 16, 8, 4)
            self.gates = nn.ModuleList([nn.Conv1d(64, 128, 3, padding=2**k, dilation=2**k) for k in range(6)])
            self.outs = nn.ModuleList([nn.Conv1d(64, 128, 1) for _ in range(6)])
            self.head = nn.Conv1d(64, 1, 7, padding=3)

        def forward(self, mel):
            x, skips = self.start(mel), 0
            for gate, out in zip(self.gates, self.outs):
                a, b = gate(x).chunk(2, 1)
                residual, skip = out(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
                x, skips = x + residual, skips + skip
            return torch.tanh(self.head(F.leaky_relu(skips, 0.1)))

    return Net(), (torch.randn(1, 80, 32),)


@model("pointnet", dynamic=True)
def pointnet():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            widths = [3, 64, 128, 512]
            self.points = nn.Sequential(*[layer for i, o in zip(widths, widths[1:]) for layer in
                                          (nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU())])
            self.turn = nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 9))
            self.head = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 40))

        def forward(self, x):
            turn = self.turn(self.points(x).max(2)[0]).view(-1, 3, 3) + torch.eye(3)
            x = torch.bmm(x.transpose(1, 2), turn).transpose(1, 2)
            return self.head(self.points(x).max(2)[0]).log_softmax(-1)

    return Net(), (torch.randn(1, 3, 512),)


@model("graph_net")
def graph_net():
    """Messages along edges, summed at their targets; attention over the edges of a node."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.start, self.messages = nn.Linear(16, 64), nn.ModuleList([nn.Linear(128, 64) for _ in range(2)])
            self.scores, self.head = nn.ModuleList([nn.Linear(64, 1) for _ in range(2)]), nn.Linear(64, 8)

        def forward(self, x, edges):
            x = F.relu(self.start(x))
            source, target = edges[0], edges[1]
            for message, score in zip(self.messages, self.scores):
                m = F.relu(message(torch.cat([x[source], x[target]], 1)))
                weight = torch.exp(torch.tanh(score(m)))
                total = torch.zeros(x.shape[0], 1).index_add(0, target, weight)
                x = x + torch.zeros_like(x).index_add(0, target, m * weight / total[target])
            return self.head(x)

    return Net(), (torch.randn(200, 16), torch.randint(0, 200, (2, 1600)))


@model("index_writes", dynamic=True)
def index_writes():
    """Assignments to slices and to chosen places, which become ScatterND and ScatterElements."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(32, 32), nn.Linear(32, 32)

        def forward(self, x, chosen):
            y = self.a(x).clone()
            y[:, 1:9] = y[:, 1:9] * 2 + 1
            y[:, 0] = x[:, 3]
            y[..., 4:8] = torch.tanh(x[..., 8:12])
            z = torch.zeros_like(y).scatter(1, chosen[:, :, None].expand(-1, -1, 32), self.b(x[:, :8]))
            hot = F.one_hot(chosen, 16).float()
            return y + z, hot, torch.gather(y, 1, chosen[:, :, None].expand(-1, -1, 32))

    return Net(), (torch.randn(1, 16, 32), torch.stack([torch.randperm(16)[:8]]))


@model("ranking_dcn", dynamic=True)
def ranking():
    """Cross network and embeddings with hashing of ids."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ModuleList([nn.Embedding(1000, 16) for _ in range(12)])
            self.cross = nn.ModuleList([nn.Linear(12 * 16 + 13, 12 * 16 + 13) for _ in range(3)])
            self.deep = nn.Sequential(nn.Linear(12 * 16 + 13, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU())
            self.head = nn.Linear(64 + 12 * 16 + 13, 1)

        def forward(self, dense, sparse):
            start = torch.cat([torch.log1p(dense.abs())] + [table(sparse[:, i] % 1000)
                                                             for i, table in enumerate(self.tables)], 1)
            x = start
            for cross in self.cross:
                x = start * cross(x) + x
            return torch.sigmoid(self.head(torch.cat([x, self.deep(start)], 1)))

    return Net(), (torch.randn(32, 13), torch.randint(0, 100000, (32, 12)))


@model("ctc_crnn", dynamic=True)
def crnn():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.image = nn.Sequential(block(1, 32), nn.MaxPool2d(2), block(32, 64), nn.MaxPool2d(2), block(64, 128),
                                       nn.MaxPool2d((2, 1)))
            self.rnn, self.head = nn.LSTM(512, 128, bidirectional=True, batch_first=True), nn.Linear(256, 64)

        def forward(self, x):
            x = self.image(x)
            x = x.permute(0, 3, 1, 2).flatten(2)
            return self.head(self.rnn(x)[0]).log_softmax(2).transpose(0, 1)

    return Net(), (torch.randn(1, 1, 32, 128),)


@model("super_resolution", dynamic=True)
def super_resolution():
    layers = [nn.Conv2d(1, 64, 5, padding=2), nn.PReLU(64), nn.Conv2d(64, 64, 3, padding=1), nn.PReLU(64),
              nn.Conv2d(64, 32, 3, padding=1), nn.PReLU(), nn.Conv2d(32, 9, 3, padding=1), nn.PixelShuffle(3)]
    return nn.Sequential(*layers), (torch.randn(1, 1, 96, 96),)


@model("nerf_mlp", dynamic=True)
def nerf():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(63 if i == 0 else 128 + (63 if i == 3 else 0), 128)
                                         for i in range(6)])
            self.density, self.color = nn.Linear(128, 1), nn.Linear(128, 3)

        def forward(self, points):
            parts = [points] + [f(points * 2.0**k) for k in range(10) for f in (torch.sin, torch.cos)]
            code = h = torch.cat(parts, -1)
            for i, layer in enumerate(self.layers):
                h = F.relu(layer(torch.cat([code, h], -1) if i == 3 else h))
            return torch.sigmoid(self.color(h)), F.softplus(self.density(h))

    return Net(), (torch.rand(1024, 3),)
