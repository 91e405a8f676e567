"""Colours as seen with each kind of colour vision, and their distances."""

import numpy as np
from matplotlib.colors import to_rgb

# How each kind of colour vision sees linear RGB: Machado, Oliveira and Fernandes 2009. A physiologically-based model
# for simulation of color vision deficiency. IEEE TVCG 15(6), severity 1.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
#: Distance in CIELAB at which the colours of thin lines can be told apart; for patches, 2.3 is just noticeable.
DISTINCT = 15


def linear_rgb(colour):
    c = np.array(to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return np.array([0.2126729, 0.7151522, 0.0721750]) @ linear_rgb(colour)


def cielab(colour, vision):
    seen = np.clip(np.array(VISIONS[vision]) @ linear_rgb(colour), 0, 1)
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    share = (to_xyz @ seen) / to_xyz.sum(axis=1)
    x, y, z = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
