"""
A stream of messages with a new class
=====================================

A shop receives messages: dicts with words, a channel and a length. Neither the words nor the topics are known in
advance. After 6000 messages a sale starts, and with it a new topic. `StreamClassifier` predicts the topic of each
message and then learns from it.

The messages are synthetic. A quarter of the words of a message are specific to its topic; the others are common words
and two hundred uninformative ones.
"""

import random

import matplotlib.pyplot as plt
import numpy as np

from scwlearn import StreamClassifier

WORDS = {
    "delivery": ["parcel", "late", "courier", "address", "tracking", "arrived", "door", "lost", "week", "box"],
    "payment": ["card", "invoice", "charged", "twice", "bank", "refund", "amount", "transfer", "price", "paid"],
    "returns": ["broken", "size", "exchange", "label", "colour", "wrong", "refund", "back", "receipt", "box"],
    "sale": ["coupon", "discount", "code", "sale", "expired", "voucher", "price", "offer", "percent", "cart"],
}
COMMON = ["hello", "please", "order", "my", "the", "you", "thanks"] + [f"word{i}" for i in range(200)]
CHANNELS = {
    "delivery": ["mail", "app", "phone"],
    "payment": ["mail", "mail", "phone"],
    "returns": ["mail", "app", "app"],
    "sale": ["app", "app", "chat"],
}


def messages(count, sale_from, seed=0):
    """Yield dicts of named features, and their topics."""
    draw = random.Random(seed)
    for number in range(count):
        topic = draw.choice([name for name in WORDS if name != "sale" or number >= sale_from])
        length = draw.randint(3, 15)
        words = [draw.choice(WORDS[topic] if draw.random() < 1 / 4 else COMMON) for _ in range(length)]
        yield {"words": words, "channel": draw.choice(CHANNELS[topic]), "length": length}, topic


count, sale_from, window = 12000, 6000, 500
algorithms = {"Perceptron": "perceptron", "PA-I": "pa1", "AROW": "arow", "SCW-I": "scw1"}
models = {title: StreamClassifier(rule, scale="rms") for title, rule in algorithms.items()}
wrong = {title: [] for title in models}
topics = []
for x, topic in messages(count, sale_from):
    topics.append(topic)
    for title, model in models.items():
        wrong[title].append(model.predict_one(x) != topic)
        model.learn_one(x, topic)

# %%
# Mistakes during learning. The first message of a new topic is always misclassified. The right panel shows the messages
# about the sale alone: the class starts from the prior, and after a dozen messages most are recognised.

is_sale = np.array(topics) == "sale"
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
for title, mistakes in wrong.items():
    by_window = np.reshape(mistakes, (-1, window)).mean(axis=1)
    left.plot(np.arange(window, count + 1, window), 100 * by_window, label=title)
    right.plot(np.cumsum(np.array(mistakes)[is_sale])[:200], label=title)
left.axvline(sale_from, color="k", linestyle=":", label="start of the sale")
left.set(xlabel="messages", ylabel=f"mistakes (%) per {window} messages", ylim=(0, None))
right.plot([0, 200], [0, 200], "k:", label="every message")
right.set(xlabel="messages about the sale", ylabel="cumulative mistakes", ylim=(0, 60))
left.legend()
right.legend()
plt.show()

# %%
# The largest weights of each topic in SCW-I, with standard deviations:

figure, panels = plt.subplots(1, 4, figsize=(12, 4), layout="constrained", sharex=True)
for panel, (topic, weights) in zip(panels, models["SCW-I"].top_features(10).items(), strict=True):
    names, means, deviations = zip(*weights[::-1], strict=True)
    panel.barh(names, means, xerr=deviations, color=np.where(np.array(means) > 0, "C0", "C3"), ecolor="0.4")
    panel.axvline(0, color="k", linewidth=0.8)
    panel.set(title=topic, xlabel="weight")
plt.show()

# %%
# The probability of each topic for a message, and the features that contribute most:

message = {"words": ["hello", "refund", "charged", "twice", "please"], "channel": "mail", "length": 5}
for topic, probability in models["SCW-I"].predict_proba_one(message).items():
    parts = models["SCW-I"].explain(message)[topic][:3]
    print(f"{topic:9} {probability:.2f}  " + "  ".join(f"{part.name} {part.adds:+.2f}" for part in parts))
