"""
An explanation in words
=======================

Letters to a shop, each about one or two things. With names of features and labels an explanation is a sentence: which
words speak for which label, and how much of the letter none of them explains.
"""

import random

import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer

from sdgs import SDGSClassifier

SENTENCES = {
    "payment": [
        "the invoice shows the wrong amount",
        "my card was charged twice",
        "please refund the money to my card",
        "I paid the invoice but got a reminder",
        "the refund has not reached my bank account",
    ],
    "delivery": [
        "the parcel has not arrived",
        "the courier left the parcel in the rain",
        "tracking says that the parcel is lost",
        "delivery is two weeks late",
        "the courier never rang and took the parcel away",
    ],
    "account": [
        "I cannot log in with my password",
        "please reset my password",
        "my email address has changed",
        "close my account and delete my email address",
        "the log in page says that my password is wrong",
    ],
    "damage": [
        "the lamp came broken",
        "the glass has a crack",
        "one leg of the chair is broken",
        "the screen has a scratch and a crack",
        "the box was open and the lamp broken",
    ],
}
FILLERS = ["hello", "thank you", "please answer soon", "this is the second time I write", "kind regards"]


def letters(n, seed):
    """Letters, and what they are about."""
    rng, texts, topics = random.Random(seed), [], []
    for _ in range(n):
        about = rng.sample(sorted(SENTENCES), rng.choice([1, 2]))
        parts = [sentence for topic in about for sentence in rng.sample(SENTENCES[topic], 2)]
        texts.append(". ".join([*parts, *rng.sample(FILLERS, 2)]))
        topics.append({topic: int(topic in about) for topic in SENTENCES})
    return texts, pd.DataFrame(topics)


texts, topics = letters(300, seed=0)
words = CountVectorizer(stop_words="english")
X = pd.DataFrame(words.fit_transform(texts).toarray(), columns=words.get_feature_names_out())
model = SDGSClassifier(scaling="idf", random_state=0).fit(X, topics)

# %%
# A letter that somebody writes now. Names of labels come back as they came.
new = ["The parcel arrived two weeks late, and the lamp is broken. I want the money back on my card!"]
X_new = pd.DataFrame(words.transform(new).toarray(), columns=X.columns)
model.predict(X_new)

# %%
explanation = model.explain(X_new)
print(explanation[0].text(unit="words"))

# %%
# The same as a picture. Colours are what the labels say of a word, the black mark is what stands in the letter, as the
# model weights it, and white is the rest. Letters about deliveries often have the word "delivery", so the label says
# that it should be there; in this one it is not.
explanation[0].plot(max_features=10)

# %%
# And as a table, for further use:
explanation.to_frame(by="label").round(3)
