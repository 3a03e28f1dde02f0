"""A residual network of ResNet-50's shape for images, and an encoder of BERT-base's shape for text; random weights."""

import torch
from torch import nn
from torch.nn import functional


def build(name, outputs):
    torch.manual_seed(1)
    return {"image": lambda: Residual(outputs), "text": lambda: Encoder(outputs)}[name]().eval()


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            *convolution(inputs, width, 1),
            nn.ReLU(inplace=True),
            *convolution(width, width, 3, stride),
            nn.ReLU(inplace=True),
            *convolution(width, outputs, 1),
        )
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else nn.Sequential(*convolution(inputs, outputs, 1, stride))

    def forward(self, images):
        return functional.relu(self.body(images) + self.shortcut(images))


def convolution(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs)


class Residual(nn.Module):
    """Stages of 3, 4, 6 and 3 bottlenecks: 25.6 million weights with 1000 outputs."""

    def __init__(self, outputs):
        super().__init__()
        layers = [*convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)]
        inputs = 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for index in range(count):
                layers.append(Bottleneck(inputs, width, stride if index == 0 else 1))
                inputs = 4 * width
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(inputs, outputs)

    def forward(self, images):
        return self.head(self.layers(images).mean(dim=(2, 3)))


class Layer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.mixed = nn.Linear(width, width)
        self.inner = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, tokens):
        count, length, width = tokens.shape
        parts = self.queries_keys_values(tokens).view(count, length, 3, self.heads, width // self.heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        heads = functional.scaled_dot_product_attention(queries, keys, values)
        tokens = self.norms[0](tokens + self.mixed(heads.transpose(1, 2).reshape(count, length, width)))
        return self.norms[1](tokens + self.inner(tokens))


class Encoder(nn.Module):
    """12 layers of width 768 with 12 heads, inner width 3072: 109 million weights with the embeddings."""

    VOCABULARY = 30522
    LONGEST = 512

    def __init__(self, width):
        super().__init__()
        self.words = nn.Embedding(self.VOCABULARY, width)
        self.places = nn.Embedding(self.LONGEST, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(*(Layer(width, 12, 4 * width) for _ in range(12)))

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.layers(self.norm(self.words(ids) + self.places(places))).mean(dim=1)
